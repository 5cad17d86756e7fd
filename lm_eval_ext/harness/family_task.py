"""The base class of the tasks of all families: the layer between the harness and a family's ``task.py``."""

from __future__ import annotations

import errno
import logging
import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar

import datasets
import lm_eval
import pyarrow
from lm_eval.api.metrics import mean
from lm_eval.api.samplers import ContextSampler

import lm_eval_ext
from lm_eval_ext import sources
from lm_eval_ext.endings import (
    ENDED,
    LIMIT,
    PROMPT_TRUNCATED_RATE,
    TRUNCATED_RATE,
    UNKNOWN,
    ending_of,
    has_truncated_prompt,
)
from lm_eval_ext.harness import engines
from lm_eval_ext.harness.endings import listen, lm_of_run, over_processes
from lm_eval_ext.harness.lm import CachingLM
from lm_eval_ext.harness.requests import (
    Asking,
    KnownAnswers,
    KnownInstance,
    asked,
    fingerprint,
    functions,
    with_floors,
)
from lm_eval_ext.harness.requirements import Requirements
from lm_eval_ext.harness.responses import (
    DRAWS,
    OverDraws,
    are_alike,
    by_draw,
    combined,
    generated_answers,
    number_of_draws,
    of_single_draws,
    removes_reasoning,
    together,
    with_opening,
)
from lm_eval_ext.harness.run_metadata import metadata_of_run
from lm_eval_ext.harness.versions import (
    GenerationTask,
    aggregate_by,
    keep_filters,
    maybe_delimit,
    metric_list,
    one_request,
    resolve_field,
    standard_errors,
    with_details,
)
from lm_eval_ext.metadata import (
    chosen_details,
    chosen_row_seed,
    misspelt_keys,
    refuse_keys_of_others,
    require_version,
)

if TYPE_CHECKING:
    from lm_eval.api.instance import Instance

    from lm_eval_ext.families.schema import Schema

log = logging.getLogger(f"lm_eval.{__name__}")
"""A child of the harness's own logger, because only that one shows ``INFO`` messages."""


@dataclass(frozen=True)
class Share:
    """How much of a user-defined dataset is evaluated.

    Attributes:
        rows: the number of evaluated rows.
        usable: the number of rows that could be evaluated.
        for_more: how to evaluate more; empty if the user chose the number, or if there are no more.
    """

    rows: int
    usable: int
    for_more: str = ""


@dataclass(frozen=True)
class Documents:
    """The rows that a task evaluates.

    Attributes:
        split: the name of their split.
        dataset: the rows, in the harness's form; ``as_dataset`` makes it.
        facts: what the results record about them, including ``rows_hash``, which two runs share if and only if they
            were asked about the same rows.
        share: how much of a user-defined dataset they are; ``None`` for a built-in dataset.
    """

    split: str
    dataset: datasets.Dataset
    facts: Mapping[str, Any]
    share: Share | None = None


def as_dataset(docs: Sequence[Mapping[str, Any]], rows_hash: str) -> datasets.Dataset:
    """Return documents in the harness's form.

    Args:
        docs: values by column, in order.
        rows_hash: the hash of their rows, as their fingerprint. Without it, the library makes one of the whole table,
            which takes six times as long as the table.
    """
    return datasets.Dataset(pyarrow.Table.from_pylist(docs), fingerprint=rows_hash)


class Demonstrations(ContextSampler):  # type: ignore[misc] # the harness ships no types
    """The fixed demonstrations of a task, read on first use.

    Args:
        first: returns the first ``n`` demonstrations, as documents of the task.
    """

    def __init__(self, first: Callable[[int], list[dict[str, Any]]]) -> None:
        super().__init__()
        self._first = first

    def sample(self, n: int, *_args: Any, **_kwargs: Any) -> list[dict[str, Any]]:
        """Return the first ``n`` demonstrations, the same ones for every row."""
        return self._first(n)


class FamilyTask(Requirements, GenerationTask):  # type: ignore[misc] # the harness ships no types
    """A task of one of the families. A subclass implements what is specific to its family.

    For every task, the results record its family, its dataset, the source of its rows and a hash of them, and what the
    subclass adds (``families/<family>/schema.py``), so that nothing has to be inferred from names later.

    Raises:
        ValueError: the leaf, ``--metadata`` or ``--num_fewshot`` is invalid; the message names task and key.
        RowsError: the rows cannot be loaded or are invalid.
    """

    FAMILY: ClassVar[str]
    SCHEMA: ClassVar[Schema]
    """What the results contain, which declares the metrics."""
    NO_DEMONSTRATIONS: ClassVar[str] = ""
    """Why these tasks have no demonstrations, and what to do instead (``{n}``: the number requested)."""
    TAKES: ClassVar[Collection[str]] = ("row_seed",)
    """The keys of ``--metadata`` that change the rows or the prompts of these tasks; they refuse the others of
    ``metadata.KEYS`` that do so elsewhere."""
    ROW_SEED_VERSION: ClassVar[int] = 1
    """See ``metadata.chosen_row_seed``."""
    METADATA: ClassVar[Mapping[str, Any]] = {}
    """Metadata of every leaf, for families without a YAML template."""

    def __init__(self, config: dict[str, Any]) -> None:
        # The harness instantiates the class and leaves its name in the config.
        config = {key: value for key, value in config.items() if key != "class"}
        metadata = config["metadata"] = {**self.METADATA, **(config.get("metadata") or {})}
        of_model, of_run = metadata_of_run()
        for key, near in misspelt_keys(metadata.keys() - of_run if of_run is not None else ()).items():
            message = "task %r: its metadata have a key %r, which nothing reads; did you mean %s?"
            log.warning(message, config["task"], key, near)
        version = metadata.get("version")
        chosen = {key: value for key, value in metadata.items() if key not in of_model}
        refuse_keys_of_others(config["task"], chosen, self.TAKES)
        self.source = sources.chosen_source(metadata)
        self.row_seed = chosen_row_seed(config["task"], metadata, self.ROW_SEED_VERSION)
        self.reports_details = chosen_details(config["task"], metadata)
        self.asking = Asking()
        self.has: Collection[str] = ()
        self.variants: tuple[str, int] | None = None
        self._incomplete: Collection[Any] = ()
        self._lm: Any = None
        self._answers: Mapping[int, Sequence[Any]] = {}
        self._numbers: Mapping[int, int] = {}
        self._scored: int | None = None
        self._knows_endings = self._cuts_off = self._truncates_prompts = False
        self.scores_rows = True
        self._share: Share | None = None
        self.facts = {"family": self.FAMILY, **self.configure(config)}
        if config.get("metric_list"):
            raise ValueError(
                f"task {config['task']!r}: metric_list is set, but the family declares the metrics; remove metric_list"
            )
        require_version(config["task"], version)
        self.metrics = {metric.name: metric for metric in self.SCHEMA.reported(self.has)}
        details = self._details(self.metrics)
        reported = [metric for name, metric in self.metrics.items() if name not in details]
        config["metric_list"] = [
            {"metric": metric.name, "aggregation": metric.aggregation, "higher_is_better": metric.higher_is_better}
            for metric in reported
        ]
        # Not called, but without it the harness would compute the metrics itself.
        config["process_results"] = "FamilyTask.score"
        # Last, so that --metadata can configure a task but not change the facts about it.
        metadata |= self.facts
        # 0.4 has no option for it.
        config["repeats"] = metadata.get("repeats", config.get("repeats", 1))
        # 0.4 does this by itself; 0.5 would keep every response, even one that only pads the processes' shares.
        config.setdefault("filter_list", [{"name": "none", "filter": [{"function": "take_first"}]}])
        generation = config.get("generation_kwargs")
        if generation and "until" not in generation:
            raise ValueError(
                f"task {config['task']!r}: generation_kwargs without until replace those of the template, so that "
                'answers would end at the first blank line; add until, such as ["<|endoftext|>"], or leave '
                "generation_kwargs to --gen_kwargs"
            )
        try:
            super().__init__(config={**config, "metric_list": metric_list(config["metric_list"])})
        except TypeError as error:
            unknown = re.search(r"unexpected keyword argument '(.+)'", str(error))
            if unknown is None:
                raise
            raise ValueError(
                f"task {config['task']!r}: unknown key {unknown[1]!r}; expected keys of the harness's YAML and those "
                f"of tasks/{self.FAMILY}/README.md"
            ) from error
        self.sampler = Demonstrations(self.demonstrations)
        # 0.5 downloads on first access. Errors in the rows must be reported before the model generates anything.
        _ = self.dataset

    # What a family implements for a task; for all of its tasks, see ``Requirements``.

    @abstractmethod
    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Take the family's keys from a leaf's config, add the keys that the harness needs, and return the facts.

        Args:
            config: the leaf's config; its ``metadata`` have ``source`` and ``version``. ``self.source`` and
                ``self.row_seed`` are set. Sets ``self.has``, what the task has of what metrics need.

        Returns:
            The facts for the results: ``dataset``, and those of the family's schema that do not depend on the rows.
        """

    @abstractmethod
    def documents(self) -> Documents:
        """Return the rows. Called once ``self.config`` is set, and again whenever ``self.download`` is called."""

    @abstractmethod
    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return the answer of each policy of the ``reference`` LM to a document."""

    @abstractmethod
    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the value of each metric for a row, or for one draw of its text.

        The value is of the form from which the metric's aggregation computes the figure. Every row has every metric,
        because the harness gathers them from several processes by name.

        Args:
            doc: the document.
            results: the filtered answers to its ``requests``.
        """

    def demonstrations(self, n: int) -> list[dict[str, Any]]:
        """Return the first ``n`` demonstrations; the evaluated rows are not among them."""
        raise NotImplementedError(f"{type(self).__name__} has no few-shot examples")

    def is_whole(self, doc: Mapping[str, Any]) -> bool:
        """Return whether the run asks a document's row in every variant; only then do figures over variants count it.

        ``configure`` sets ``self.variants``: the field that identifies a row, and in how many variants it is asked.
        """
        return self.variants is None or doc[self.variants[0]] not in self._incomplete

    def before_requests(self) -> None:
        """Check or rebuild whatever depends on ``self.asking`` and on the final generation arguments."""

    def require_turns(self, why: str) -> None:
        """Check that the run's LM plays conversations; part of ``before_requests``.

        Args:
            why: what the task asks that another LM cannot answer, for the message.

        Raises:
            ValueError: it does not; the message says how to run the task.
        """
        if not getattr(self.asking.lm, "takes_turns", False):
            if getattr(self._lm, "takes_turns", False):
                raise ValueError(f"task {self.config.task!r} {why}, in a conversation; add --apply_chat_template")
            raise ValueError(
                f"task {self.config.task!r} {why}; run it as --model conversation --model_args "
                "base=hf,pretrained=MODEL --apply_chat_template (base: any model of the harness with a chat template, "
                "with its arguments)"
            )

    def requests(self, doc: dict[str, Any], request: Instance) -> list[Instance]:
        """Return all requests of a document, in the order in which their answers are scored.

        Args:
            doc: the document.
            request: the request for one generated text.
        """
        return [KnownInstance.of(request, self.known_answers(doc))]

    def system_prompt(self, doc: dict[str, Any]) -> str:
        """Return the system prompt of a row as the harness builds it; empty if there is none."""
        description = resolve_field(self, doc, self.config.description) or ""
        return maybe_delimit(self.asking.system_instruction, description, self.config.fewshot_delimiter)

    def unscored(self, _doc: dict[str, Any], _results: list[Any]) -> dict[str, Any]:
        """Return the metrics that a run without scores (``--predict_only``) records of a row, too."""
        return {}

    def for_draws(self, aggregation: Callable[..., Any]) -> Callable[..., Any]:
        """Return an aggregation for rows with this task's number of draws."""
        # The harness knows the standard error of its own mean, which is the same for means over draws.
        as_it_is = self.draws == 1 or not self.scores_rows or aggregation is mean or isinstance(aggregation, OverDraws)
        return aggregation if as_it_is else OverDraws(aggregation)

    @property
    def version_marks(self) -> list[str]:
        """The marks in its version, which a group of such tasks has, too (``autoload``)."""
        return str(self.config.metadata["version"]).split("+")[1:]

    @property
    def draws(self) -> int:
        """How many texts are drawn for each row."""
        repeats: object = self.config.repeats
        # What is no number is rejected when the requests are built.
        return repeats if isinstance(repeats, int) else 1

    # What the harness calls.

    def download(self, *_args: Any, **_kwargs: Any) -> None:
        """Load the rows; the name is the harness's."""
        documents = self.documents()
        self.dataset = {documents.split: documents.dataset}
        facts = dict(documents.facts)
        if documents.share:
            facts |= {"rows_evaluated": documents.share.rows, "rows_usable": documents.share.usable}
            if documents.share != self._share:
                left = f"; {documents.share.for_more}" if documents.share.for_more else ""
                message = "%s: %d of %d usable rows are evaluated%s"
                level = logging.WARNING if left else logging.INFO
                log.log(level, message, self.config.task, documents.share.rows, documents.share.usable, left)
        self._share = documents.share
        self.facts |= facts
        self.config.metadata |= facts

    def fewshot_docs(self) -> None:
        """Return nothing: the harness calls this for every task, but demonstrations are loaded only on demand."""

    def doc_to_target(self, doc: dict[str, Any], doc_to_target: Any = None) -> Any:
        """Return the field's value unchanged: 0.5 would convert the label word "0" to a number."""
        field = self.config.doc_to_target if doc_to_target is None else doc_to_target
        return field(doc) if callable(field) else doc[field]

    def build_all_requests(self, **options: Any) -> Any:
        """Build the requests; cached requests are used only if they were built from the same inputs."""
        self.asking = Asking(
            self._demonstrations_asked_for(),
            options.get("system_instruction") or "",
            bool(options.get("apply_chat_template")),
            options.get("chat_template"),
        )
        self._lm = lm_of_run()
        if self._lm is not None:
            listen(self._lm)
            engines.check(self._lm, self.config.task, self.asking, self.config.generation_kwargs or {})
        self._require_draws()
        self._leave_out_incomplete_rows(**options)
        self.before_requests()
        engines.warn_of_thinking(self.asking)
        if not options.get("cache_requests"):
            return super().build_all_requests(**options)
        if unknown := list(functions(asked(self.config))):
            message = "%s: its requests are not cached, because changes to the function %s cannot be detected"
            log.warning(message, self.config.task, unknown[0])
            return super().build_all_requests(**{**options, "cache_requests": False})
        made_of = fingerprint(self._made_of(options))
        options["tokenizer_name"] = f"{options.get('tokenizer_name', '')}-{made_of}"
        try:
            return super().build_all_requests(**options)
        except OSError as error:
            # 0.4.12 and 0.5.0.dev1 do not shorten the file name; just a system instruction adds 83 characters.
            if error.errno != errno.ENAMETOOLONG:
                raise
            log.warning("%s: its requests are not cached, because the cache's file name is too long", self.config.task)
            return super().build_all_requests(**{**options, "cache_requests": False})

    def _demonstrations_asked_for(self) -> int:
        """Return how many demonstrations a run uses, set by ``--num_fewshot`` or in a user-defined leaf."""
        n = self.config.num_fewshot
        asked_for = f"task {self.config.task!r}: --num_fewshot {n}"
        if n is None:
            return 0
        if isinstance(n, bool) or not isinstance(n, int) or n < 0:
            raise ValueError(f"{asked_for}; expected a number of few-shot examples, 0 or more")
        if n and self.NO_DEMONSTRATIONS:
            raise ValueError(f"{asked_for}; {self.NO_DEMONSTRATIONS.format(n=n)}")
        return n

    def _leave_out_incomplete_rows(
        self, *, limit: int | None = None, samples: Sequence[int] | None = None, rank: int = 0, **_options: Any
    ) -> None:
        """Find the rows that ``--limit`` and ``--samples`` leave without some of their variants.

        Raises:
            ValueError: ``--samples`` names a row that the task does not have.
        """
        if samples is not None:
            # The harness asks a row once, however often it is named.
            samples = sorted({*samples})
            count = len(self.eval_docs)
            if samples and not 0 <= samples[0] <= samples[-1] < count:
                row = samples[0] if samples[0] < 0 else samples[-1]
                raise ValueError(f"task {self.config.task!r}: --samples names row {row}; expected 0 to {count - 1}")
        if self.variants is None:
            if rank == 0:
                self._warn_of_few_rows(limit, samples)
            return
        field, variants = self.variants
        rows = list(self.eval_docs[field])
        requests_of_rows = Counter(rows[:limit] if samples is None else (rows[number] for number in samples))
        self._incomplete = {row for row, requested in requests_of_rows.items() if requested < variants}
        if self._incomplete and rank == 0:
            message = (
                "%s: --limit or --samples leave %d rows without some of their %d variants; these rows do not count for "
                "figures over variants. A multiple of %d keeps all rows whole"
            )
            log.warning(message, self.config.task, len(self._incomplete), variants, variants)

    def _warn_of_few_rows(self, limit: int | None, samples: Sequence[int] | None) -> None:
        """Warn if ``--limit`` or ``--samples`` leaves fewer rows than answers, because a row is asked repeatedly."""
        field = self.SCHEMA.row_key
        if field not in self.eval_docs.column_names:
            return
        rows = list(self.eval_docs[field])
        evaluated = rows[:limit] if samples is None else [rows[number] for number in samples]
        times = max(Counter(rows).values(), default=1)
        if times > 1 and len(evaluated) < len(rows):
            option = "--samples" if samples is not None else f"--limit {limit}"
            reached = f"{option} reaches {len(set(evaluated))} of {len(set(rows))} rows, each asked {times} times"
            is_whole = samples is not None or len(evaluated) % times == 0
            advice = "" if is_whole else f"; for {limit} whole rows, use --limit {len(evaluated) * times}"
            log.warning("%s: %s. Error bars are about rows%s", self.config.task, reached, advice)

    def _require_draws(self) -> None:
        """Check the number of draws, set by ``--repeats``, in ``--metadata`` or in a leaf."""
        repeats: object = self.config.repeats
        asked_for = f"task {self.config.task!r}: repeats {repeats!r}"
        if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
            raise ValueError(f"{asked_for}; expected a number of draws per row, 1 or more")
        if repeats == 1:
            return
        aggregate_by(self, self.for_draws)
        generation = self.config.generation_kwargs or {}
        if isinstance(self._lm, CachingLM) and generation.get("temperature") and not generation.get("do_sample"):
            # The harness asks anew only what says do_sample, but most APIs sample without it.
            raise ValueError(
                f"{asked_for} with --use_cache: all draws of a row that the cache has would be the same text; add "
                "do_sample=true to --gen_kwargs, or run without --use_cache"
            )
        if not generation.get("do_sample") and not generation.get("temperature"):
            log.warning(
                "%s with greedy decoding, which gives the same text each time; to sample, pass "
                "--gen_kwargs do_sample=true,temperature=0.7",
                asked_for,
            )

    def _made_of(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return everything that requests are built from and that the harness's own key may lack."""
        # The prompt of one row reveals any change to the demonstrations, the system prompt or the chat template. A
        # change to a template may affect only other rows, so the config is included, too.
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
            # Known answers, and follow-up requests about an answer, use fields that rows_hash may lack.
            "rows": self.eval_docs.to_dict(),
            "prompt": prompt,
            # The harness saves the requests of --samples under the same key as those of all rows.
            "samples": options.get("samples"),
            # They are pickled, with classes of both packages.
            "versions": [lm_eval.__version__, lm_eval_ext.__version__],
        }

    def construct_requests(self, doc: dict[str, Any], ctx: Any, **options: Any) -> list[Instance]:
        """Return the requests of a document, with what each policy of the ``reference`` LM would answer to them."""
        requests = self.requests(doc, one_request(super().construct_requests(doc, ctx, **options)))
        prompt = self.doc_to_text(doc)
        for request in requests:
            request.known_answers = with_floors(request.known_answers, prompt)
        return requests

    def doc_iterator(self, **options: Any) -> Iterator[tuple[int, Any]]:
        """Yield the documents with their numbers; 0.4 then has each scored, but does not say which one it is."""
        for number, doc in super().doc_iterator(**options):
            self._scored = number
            yield number, doc

    def apply_filters(self) -> Any:
        """Apply the filters to all responses, and keep what the engine said of these."""
        self._keep_answers()
        # The harness adds the model's arguments to the metadata.
        if not removes_reasoning(self.asking.lm) and not self.config.metadata.get("think_end_token"):
            for request in self.instances:
                request.resps = [with_opening(response, request.args[0]) for response in request.resps]
        if self.draws == 1:
            return super().apply_filters()
        requests: list[Instance] = self.instances
        if are_alike(requests) and (self.config.generation_kwargs or {}).get("do_sample"):
            log.warning(
                "%s: all %d draws of every row are the same text, although texts are sampled. Some APIs get the same "
                "seed with every request; run the task several times instead, with --model_args …,seed=1 and so on",
                self.config.task,
                self.draws,
            )
        single = [of_single_draws(request) for request in requests]
        # All at once: a filter may load a model.
        self._instances = [draw for of_request in single for draw in of_request]
        try:
            filtered_by_harness = super().apply_filters()
        finally:
            self._instances = requests
        for request, of_request in zip(requests, single, strict=True):
            filtered = [draw.filtered_resps for draw in of_request]
            request.resps = [draw.resps[0] for draw in of_request]
            request.filtered_resps = together(filtered) if len(filtered) > 1 else filtered[0]
        return filtered_by_harness

    def _keep_answers(self) -> None:
        """Keep the answers to each row, and which metrics there are of how they were generated."""
        self._answers = generated_answers(self.instances)
        self._numbers = {id(request.doc): request.doc_id for request in self.instances}
        answers = [answer for of_row in self._answers.values() for answer in of_row]
        endings = Counter(map(ending_of, answers))
        # Every row of every process has the same metrics.
        known, cut_off, truncated = over_processes(
            self._lm, endings.total() - endings[UNKNOWN], endings[LIMIT], sum(map(has_truncated_prompt, answers))
        )
        self._knows_endings, self._cuts_off, self._truncates_prompts = known > 0, cut_off > 0, truncated > 0
        if self.scores_rows:
            if self._knows_endings:
                self.metrics |= {TRUNCATED_RATE: self.SCHEMA.metric(TRUNCATED_RATE)}
            if self._truncates_prompts:
                self.metrics |= {PROMPT_TRUNCATED_RATE: self.SCHEMA.metric(PROMPT_TRUNCATED_RATE)}

    def _answers_to(self, doc: dict[str, Any]) -> Sequence[Any]:
        """Return the answers to a row, of each draw."""
        # 0.5 scores the document that the request has. 0.4 scores the one that doc_iterator has just yielded.
        row = self._numbers.get(id(doc), self._scored)
        return () if row is None else self._answers.get(row, ())

    def aggregation(self) -> dict[str, Any]:
        """Return how each metric is aggregated."""
        aggregations: dict[str, Any] = super().aggregation()
        # The harness selects a figure's standard error by the identity of the function: only its own mean has one.
        aggregations |= {
            name: mean if metric.aggregation == "mean" else metric.aggregation
            for name, metric in self.metrics.items()
            if name not in aggregations
        }
        # 0.5 computes a figure of everything that the samples record.
        aggregations |= {ENDED: len} if self._knows_endings else {}
        aggregations |= {} if self.scores_rows or not self._truncates_prompts else {PROMPT_TRUNCATED_RATE: len}
        if self.draws == 1 or not self.scores_rows:
            return aggregations
        return {
            **{name: self.for_draws(aggregation) for name, aggregation in aggregations.items()},
            DRAWS: number_of_draws,
        }

    def aggregate(self, bootstrap_iters: int | None = 100_000) -> tuple[dict[str, Any], int]:
        """Return the figures and the number of rows; only 0.5 calls this."""
        figures, rows = super().aggregate(bootstrap_iters=0)
        figures |= standard_errors(self) if bootstrap_iters else {}
        metrics = {field: field.partition(",")[0].removesuffix("_stderr") for field in figures}
        details = self._details(metrics.values())
        return {field: figure for field, figure in figures.items() if metrics[field] not in details}, rows

    def higher_is_better(self) -> dict[str, bool | None]:
        """Return, for each metric, what tables say of its direction; ``None`` if nothing."""
        # 0.5 replaces None by True.
        own: dict[str, bool | None] = super().higher_is_better()
        directions = own | {name: metric.direction_in_tables for name, metric in self.metrics.items()}
        directions |= {} if self.draws == 1 else {DRAWS: None}
        details = self._details(directions)
        return {name: higher for name, higher in directions.items() if name not in details}

    def override_metric(self, metric_name: str) -> None:
        """Replace all metrics by one (``--predict_only``)."""
        keep_filters(self, lambda: super(FamilyTask, self).override_metric(metric_name))
        self.scores_rows, self.metrics = False, {}

    def process_results(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the scores of a row: means over its draws."""
        drawn = by_draw(results, self.draws)
        scores = [self.score(doc, answers) for answers in drawn] if self.scores_rows else [self.unscored(doc, drawn[0])]
        # Some metrics depend on the answers: only refined ones have rounds.
        self.metrics |= {name: self.SCHEMA.metric(name) for name in scores[0].keys() - self.metrics.keys()}
        answers = self._answers_to(doc)
        ended = tuple(map(ending_of, answers)) if self._knows_endings else ()
        truncated = [float(has_truncated_prompt(answer)) for answer in answers] if self._truncates_prompts else []
        # A tuple, because 0.5 takes the entries of a list for values of the draws.
        ending = {ENDED: ended[0] if len(ended) == 1 else ended} if ended else {}
        if not self.scores_rows:
            generation = {**ending, **({PROMPT_TRUNCATED_RATE: fmean(truncated)} if truncated else {})}
            # The harness's placeholder metric; its own function for it fails under 0.5.0.dev1.
            return with_details({"bypass": None, **scores[0], **generation}, generation)
        if ended:
            scores = [{**score, TRUNCATED_RATE: float(end == LIMIT)} for score, end in zip(scores, ended, strict=True)]
        if truncated:
            scores = [{**score, PROMPT_TRUNCATED_RATE: lost} for score, lost in zip(scores, truncated, strict=True)]
        values = {**(combined(scores) if len(scores) > 1 else scores[0]), **ending}
        return with_details(values, self._details(values))

    def _details(self, metrics: Iterable[str]) -> frozenset[str]:
        """Return which of some metrics the samples have, but not the results."""
        # Without scores, no metric of how answers were generated is one of the run's, either.
        of_generation = {ENDED} if self.scores_rows else {ENDED, PROMPT_TRUNCATED_RATE}
        if self.reports_details:
            return frozenset(of_generation).intersection(metrics)
        of_family = {name for name, metric in self.metrics.items() if metric.explains}
        # Cut off answers make a score that is not one of the model: the results say so.
        reported = {TRUNCATED_RATE} if self._cuts_off else set()
        return frozenset(of_family | of_generation | {DRAWS}).difference(reported).intersection(metrics)
