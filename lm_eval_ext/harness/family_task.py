"""What the tasks of all families have in common, between the harness and a family's own ``task.py``."""

from __future__ import annotations

import errno
import logging
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import lm_eval
from lm_eval.api.samplers import ContextSampler

import lm_eval_ext
from lm_eval_ext import sources
from lm_eval_ext.harness.known_answers import KnownAnswers, KnownInstance
from lm_eval_ext.harness.request_cache import asked, fingerprint, functions
from lm_eval_ext.harness.versions import GenerationTask, keep_filters, metric_list, one_request, standard_errors

if TYPE_CHECKING:
    import datasets
    from lm_eval.api.instance import Instance

log = logging.getLogger(f"lm_eval.{__name__}")
"""Below the harness's own logger, which alone shows notes."""


@dataclass(frozen=True)
class Share:
    """How much of a dataset of the user's own is evaluated.

    Attributes:
        rows: how many rows are.
        usable: how many could be.
        for_more: what evaluates more; empty if so many were asked for, or if there are no more.
    """

    rows: int
    usable: int
    for_more: str = ""


@dataclass(frozen=True)
class Documents:
    """The rows that a task evaluates.

    Attributes:
        split: their name.
        dataset: the rows, in the harness's form.
        facts: what the results are to record of them; ``rows_hash`` is among it, which two runs share if and only if
            they were asked about the same rows.
        share: how much of a dataset of the user's own they are; ``None``: the dataset is known, and so are its rows.
    """

    split: str
    dataset: datasets.Dataset
    facts: Mapping[str, Any]
    share: Share | None = None


@dataclass(frozen=True)
class Asking:
    """How a run asks, as far as the harness tells a task before its requests are built.

    Attributes:
        num_fewshot: how many demonstrations a prompt has.
        system_instruction: the user's; empty if there is none.
        apply_chat_template: whether prompts go through a chat template.
        chat_template: what makes a prompt of messages, a method of the LM; ``None`` if none is applied.
    """

    num_fewshot: int = 0
    system_instruction: str = ""
    apply_chat_template: bool = False
    chat_template: Callable[..., Any] | None = None


class Demonstrations(ContextSampler):  # type: ignore[misc] # the harness ships no types
    """The fixed demonstrations of a task; read when they are first asked for.

    Args:
        first: returns the first so many documents, as the task's own.
    """

    def __init__(self, first: Callable[[int], list[dict[str, Any]]]) -> None:
        super().__init__()
        self._first = first

    def sample(self, n: int, *_args: Any, **_kwargs: Any) -> list[dict[str, Any]]:
        """Return the first ``n`` demonstrations, the same ones for every row."""
        return self._first(n)


class FamilyTask(GenerationTask):  # type: ignore[misc] # the harness ships no types
    """A task of one of the families. A subclass says what is its own; see the methods that it overrides.

    The results record of every task its family, its dataset, the source of its rows and a hash of them, and what the
    subclass adds (``families/<family>/schema.py``), so that nothing has to be inferred from names later.

    Raises:
        ValueError: a leaf, ``--metadata`` or ``--num_fewshot`` that do not fit; the message names task and key.
        RowsError: rows that cannot be had or are not what they should be.
    """

    FAMILY: ClassVar[str]
    NO_DEMONSTRATIONS: ClassVar[str] = ""
    """Why these tasks have no demonstrations, and what to do instead (``{n}``: how many are asked for)."""
    METADATA: ClassVar[Mapping[str, Any]] = {}
    """Metadata of every leaf, where no template has them."""

    def __init__(self, config: dict[str, Any]) -> None:
        # The harness instantiates the class and leaves its name in the config.
        config = {key: value for key, value in config.items() if key != "class"}
        metadata = config["metadata"] = {**self.METADATA, **(config.get("metadata") or {})}
        self.source = sources.chosen_source(metadata)
        self.asking = Asking()
        self.scores_rows = True
        self._share: Share | None = None
        self.facts = {"family": self.FAMILY, **self.configure(config)}
        # Last: a user's --metadata can say what a task is to do, not what it is.
        metadata |= self.facts
        # 0.4 does this by itself; 0.5 would keep every draw, also one that only evens out the processes' shares.
        config.setdefault("filter_list", [{"name": "none", "filter": [{"function": "take_first"}]}])
        self._directions = {metric["metric"]: metric["higher_is_better"] for metric in config["metric_list"]}
        super().__init__(config={**config, "metric_list": metric_list(config["metric_list"])})
        self.sampler = Demonstrations(self.demonstrations)
        # 0.5 downloads at the first access. What is wrong with rows is said before a model answers anything.
        _ = self.dataset

    # What a family says of its datasets, for whoever looks at an installation.

    @classmethod
    @abstractmethod
    def datasets(cls) -> Mapping[str, str]:
        """Return the family's datasets by name, and of each the name of a task that reads it."""

    @classmethod
    def datasets_at(cls, source: str) -> list[str]:
        """Return the datasets that must be in order at a source that is not the hub; none if it holds none of them.

        Args:
            source: ``"embedded"``, a folder or a file.
        """
        if source == sources.EMBEDDED:
            return list(cls.datasets())
        files = sources.file_names(source)
        return [name for name in cls.datasets() if any(file.startswith(f"{name}_") for file in files)]

    @classmethod
    def hub_datasets(cls) -> list[sources.HubDataset]:
        """Return where the datasets lie on the hub."""
        return []

    @classmethod
    def web_address(cls) -> tuple[str, str] | None:
        """Return a place on the web that files come from which are not on the hub, and the address of one of them."""
        return None

    @classmethod
    def incomplete(cls, _datasets: Collection[str]) -> str:
        """Return what a source that has these datasets still lacks, in words; empty if nothing."""
        return ""

    # What a family says of a task.

    @abstractmethod
    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Take from a leaf's config what is the family's, put into it what the harness needs, return the facts.

        Args:
            config: of the leaf; its ``metadata`` have ``source`` and ``version``. ``self.source`` is set.

        Returns:
            What the results are to record: ``dataset``, and the facts of the family's schema that do not depend on the
            rows.
        """

    @abstractmethod
    def documents(self) -> Documents:
        """Return the rows. Called once ``self.config`` is there, and again whenever ``self.download`` is."""

    @abstractmethod
    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return what each policy of the ``reference`` LM answers to a document."""

    def demonstrations(self, n: int) -> list[dict[str, Any]]:
        """Return the first ``n`` demonstrations; the evaluated rows are not among them."""
        raise NotImplementedError(f"{type(self).__name__} has no demonstrations")

    def before_requests(self) -> None:
        """Check, or make anew, what depends on ``self.asking`` and on the final generation arguments."""

    def requests(self, doc: dict[str, Any], request: Instance) -> list[Instance]:
        """Return all requests of a document, in the order in which their answers are scored.

        Args:
            doc: the document.
            request: for one generated text.
        """
        return [KnownInstance.of(request, self.known_answers(doc))]

    # What the harness asks.

    def download(self, *_args: Any, **_kwargs: Any) -> None:
        """Read the rows; the harness's name for it."""
        found = self.documents()
        self.dataset = {found.split: found.dataset}
        facts = dict(found.facts)
        if found.share:
            facts |= {"rows_evaluated": found.share.rows, "rows_usable": found.share.usable}
            if found.share != self._share:
                _tell(self.config.task, found.share)
        self._share = found.share
        self.facts |= facts
        self.config.metadata |= facts

    def fewshot_docs(self) -> None:
        """Return nothing: the harness reads this of every task, and demonstrations are read only on demand."""

    def doc_to_target(self, doc: dict[str, Any], doc_to_target: Any = None) -> Any:
        """Return what is asked for, as it is: 0.5 would make a number of the label word "0"."""
        field = self.config.doc_to_target if doc_to_target is None else doc_to_target
        return field(doc) if callable(field) else doc[field]

    def build_all_requests(self, **options: Any) -> Any:
        """Build the requests; a cache of them serves only what was made of the same."""
        self.asking = Asking(
            self._demonstrations_asked_for(),
            options.get("system_instruction") or "",
            bool(options.get("apply_chat_template")),
            options.get("chat_template"),
        )
        self.before_requests()
        if not options.get("cache_requests"):
            return super().build_all_requests(**options)
        if unknown := list(functions(asked(self.config))):
            message = "%s: its requests are not cached, because an edit of the function %s could not be noticed"
            log.warning(message, self.config.task, unknown[0])
            return super().build_all_requests(**{**options, "cache_requests": False})
        made_of = fingerprint(self._made_of(options))
        options["tokenizer_name"] = f"{options.get('tokenizer_name', '')}-{made_of}"
        try:
            return super().build_all_requests(**options)
        except OSError as error:
            # 0.4.12 and 0.5.0.dev1 do not shorten the name of the file; a system instruction alone adds 83 characters.
            if error.errno != errno.ENAMETOOLONG:
                raise
            log.warning("%s: not cached, because the name of the cache's file would be too long", self.config.task)
            return super().build_all_requests(**{**options, "cache_requests": False})

    def _demonstrations_asked_for(self) -> int:
        """Return how many a run asks for, by ``--num_fewshot`` or in a leaf of the user's."""
        n = self.config.num_fewshot
        asked_for = f"task {self.config.task!r}: --num_fewshot {n}"
        if n is None:
            return 0
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise ValueError(f"{asked_for}; expected a number of demonstrations, 0 or more")
        if n and self.NO_DEMONSTRATIONS:
            raise ValueError(f"{asked_for}; {self.NO_DEMONSTRATIONS.format(n=n)}")
        return n

    def _made_of(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return everything that requests are made of, and that the harness's own key may lack."""
        # The prompt of one row shows a change of the demonstrations, the system prompt or the chat template, however it
        # was made; a template may show one in other rows alone, so the config counts, too.
        prompt = self.fewshot_context(
            self.eval_docs[0],
            num_fewshot=self.asking.num_fewshot,
            system_instruction=options.get("system_instruction"),
            apply_chat_template=options.get("apply_chat_template", False),
            fewshot_as_multiturn=options.get("fewshot_as_multiturn", False),
            chat_template=options.get("chat_template"),
        )
        return {
            "facts": self.facts,
            "source": self.source,
            "version": self.config.metadata["version"],
            "config": asked(self.config),
            # Known answers, and what is asked further about an answer, are made of fields that rows_hash may lack.
            "rows": self.eval_docs.to_dict(),
            "prompt": prompt,
            # The harness saves the requests of --samples as if they were those of all rows.
            "samples": options.get("samples"),
            # They are pickled, with classes of either package.
            "versions": [lm_eval.__version__, lm_eval_ext.__version__],
        }

    def construct_requests(self, doc: dict[str, Any], ctx: Any, **options: Any) -> list[Instance]:
        """Return the requests of a document, with what each policy of the ``reference`` LM would answer to them."""
        return self.requests(doc, one_request(super().construct_requests(doc, ctx, **options)))

    def aggregate(self, bootstrap_iters: int | None = 100_000) -> tuple[dict[str, Any], int]:
        """Return the figures and the number of rows; only 0.5 asks a task for them."""
        figures, rows = super().aggregate(bootstrap_iters=0)
        return {**figures, **(standard_errors(self) if bootstrap_iters else {})}, rows

    def higher_is_better(self) -> dict[str, bool | None]:
        """Return, for each metric, whether it is better the higher it is; ``None``: neither."""
        # 0.5 takes True for what is neither.
        own: dict[str, bool | None] = super().higher_is_better()
        return {name: self._directions.get(name, higher) for name, higher in own.items()}

    def override_metric(self, metric_name: str) -> None:
        """Have no scores but one (``--predict_only``)."""
        keep_filters(self, lambda: super(FamilyTask, self).override_metric(metric_name))
        self.scores_rows = False

    def process_results(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the scores of a row."""
        if not self.scores_rows:
            # The harness's name for no metric; its own function for it fails under 0.5.0.dev1.
            return {"bypass": None}
        found: dict[str, Any] = self.config.process_results(doc, results)
        return found


def _tell(task: str, share: Share) -> None:
    """Say once per task how many of its dataset's rows are evaluated."""
    left = f"; {share.for_more}" if share.for_more else ""
    level = logging.WARNING if left else logging.INFO
    log.log(level, "%s: %d of %d usable rows are evaluated%s", task, share.rows, share.usable, left)
