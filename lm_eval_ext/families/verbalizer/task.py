"""The harness task of every verbalizer leaf: what a leaf's YAML says, turned into rows, requests and scores."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, get_args

import datasets
import jinja2
import jinja2.meta
from lm_eval.api.filter import Filter
from lm_eval.api.registry import filter_registry
from lm_eval.api.samplers import ContextSampler
from lm_eval.api.task import ConfigurableTask
from lm_eval.utils import env

from lm_eval_ext import sources
from lm_eval_ext.families.leaf import DATASET_KEYS, own_dataset, refuse_keys
from lm_eval_ext.families.verbalizer.answer import Reads, read_answer
from lm_eval_ext.families.verbalizer.datasets import DATASETS, Classification
from lm_eval_ext.families.verbalizer.rows import GOLDEN, Selection, demonstrations, evaluation_rows, rows_hash
from lm_eval_ext.families.verbalizer.verbalizer import INVALID, Verbalizer, verbalizer_of_leaf
from lm_eval_ext.known_answers import KnownAnswers, KnownInstance

if TYPE_CHECKING:
    from lm_eval.api.instance import Instance

ANSWER_FILTER = "verbalizer_answer"
METRICS = [
    {"metric": "acc", "aggregation": "mean", "higher_is_better": True},
    {"metric": "prior_rate", "aggregation": "mean", "higher_is_better": False},
    {"metric": "invalid_rate", "aggregation": "mean", "higher_is_better": False},
]
"""What ``Verbalizer.score`` gives. Not in the templates, which the harness parses again for each of 216 leaves."""
OPENING = 40
"""Characters of a prompt's beginning by which its repetition is known."""


class VerbalizerAnswer(Filter):  # type: ignore[misc] # the harness ships no types
    """Turns each response into the label word that it answers with.

    Args:
        labels: the label words.
        prior: words that are looked for where no label is named: in a neutral task the golden names.
        reads, row_starts: see ``answer.read_answer``.
    """

    def __init__(
        self,
        labels: Sequence[str],
        prior: Sequence[str] = (),
        reads: Reads = "first",
        row_starts: Sequence[str] = (),
    ) -> None:
        self._labels, self._prior, self._reads, self._row_starts = labels, prior, reads, row_starts

    def apply(self, resps: Iterable[Sequence[str]], docs: Sequence[dict[str, Any]]) -> list[list[str]]:
        """Return, per document and response, a label word, a prior word, or ``INVALID``."""
        return [[self._read(response) for response in responses] for responses in resps]

    def _read(self, response: str | None) -> str:
        for words in (self._labels, self._prior):
            # An API that withholds a completion gives None.
            answer = read_answer(response or "", words, self._reads, self._row_starts) if words else None
            if answer is not None:
                return answer
        return INVALID


# For a run without autoload (--include_path): the YAML names the filter, so it must be known once this class is.
if ANSWER_FILTER not in filter_registry:
    filter_registry.register(ANSWER_FILTER, target=VerbalizerAnswer)


@dataclass(frozen=True)
class Target:
    """``doc_to_target``: the word that the prompt demands for a row.

    This and ``Score`` are dataclasses, not methods or closures, because the harness copies a task's config and writes
    it into the results: it gets the verbalizer, and no memory address.
    """

    verbalizer: Verbalizer

    def __call__(self, doc: Mapping[str, Any]) -> str:
        """Return the word for the row's golden label."""
        return self.verbalizer.word(doc[GOLDEN])


@dataclass(frozen=True)
class Score:
    """``process_results``: the metrics of one row."""

    verbalizer: Verbalizer

    def __call__(self, doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, float]:
        """Score the filtered answer; see ``Verbalizer.score``."""
        return self.verbalizer.score(results[0], doc[GOLDEN])


class VerbalizerTask(ConfigurableTask):  # type: ignore[misc] # the harness ships no types
    """Classification with the words of one verbalizer for labels (Li et al., NAACL Findings 2024).

    A leaf's YAML says, in the harness's own keys:

    * ``dataset_path``: one of the nine datasets (``sst2`` …), or a dataset of the user's: a name, and on the hub
      ``owner/name`` (with ``dataset_name``, ``dataset_kwargs``: ``revision``, ``data_files``); then also
      ``test_split``, and ``training_split`` if there are to be demonstrations;
    * ``doc_to_text``: the prompt, a template over the rows' columns, with the label words in it;
    * ``doc_to_target``: the label column;
    * ``doc_to_choice``: the verbalizer, golden label name to label word. Where labels are numbers without declared
      names, the order counts: 0, 1, 2 …;
    * ``prior`` (ours): golden label name to the word that means it by itself; the golden names if absent.

    Raises:
        ValueError: a leaf that does not say this (the message names leaf and key).
        RowsError: rows that cannot be had or are not what they should be.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        config = {key: value for key, value in config.items() if key != "class"}
        name = config["task"]
        self._verbalizer = verbalizer_of_leaf(name, config.get("doc_to_choice"), config.pop("prior", None))
        self._reads = _reads(name, config.get("filter_list") or [])
        metadata = config["metadata"] = dict(config.get("metadata") or {})
        source = sources.chosen_source(metadata)
        dataset = _dataset_of_leaf(config)
        self._selection = Selection(dataset, _columns(name, config), self._verbalizer.golden, source)
        given = {
            "labels": list(self._verbalizer.words),
            "prior": list(self._verbalizer.prior),
            "row_starts": _row_starts(config["doc_to_text"]),
        }
        config |= {
            # What the results should say: the evaluated split, and where the dataset lies.
            "dataset_path": dataset.hub.repository if source == sources.HUB else dataset.name,
            "dataset_name": dataset.hub.config if source == sources.HUB else None,
            "test_split": dataset.evaluation_split,
            "training_split": None,
            # The harness would look targets up in it by number.
            "doc_to_choice": None,
            "doc_to_target": Target(self._verbalizer),
            "process_results": Score(self._verbalizer),
            "filter_list": [_with_labels(pipeline, given) for pipeline in config["filter_list"]],
            "metric_list": config.get("metric_list") or METRICS,
        }
        super().__init__(config=config)
        self.sampler = Demonstrations(self._selection)

    def download(self, *_args: Any, **_kwargs: Any) -> None:
        """Read the rows; the harness's name for it."""
        self.dataset = {self.config.test_split: _as_dataset(self._selection)}
        self.config.metadata["rows_hash"] = rows_hash(self._selection)

    def fewshot_docs(self) -> None:
        """Return nothing: the harness reads this of every task, and the training rows are read only on demand."""

    def doc_to_text(self, doc: dict[str, Any], doc_to_text: str | None = None) -> str:
        """Return the prompt of one row; the harness gives a template of its own for demonstrations."""
        return _template(doc_to_text or self.config.doc_to_text).render(doc)

    def build_all_requests(self, *, tokenizer_name: str = "", **options: Any) -> None:
        """Build the requests; a cache of them (``--cache_requests``) serves only the rows that it was made of.

        The harness keys that cache by task and tokenizer, and would give one source's requests to another's rows.
        """
        rows = rows_hash(self._selection, self.config.num_fewshot or 0)
        super().build_all_requests(tokenizer_name=f"{tokenizer_name}-rows{rows}", **options)

    def construct_requests(self, doc: dict[str, Any], ctx: str, **kwargs: Any) -> KnownInstance:
        """Return the harness's request, with what each policy of the ``reference`` LM would answer to it."""
        request: Instance = super().construct_requests(doc, ctx, **kwargs)
        return KnownInstance.of(request, self._known_answers(doc[GOLDEN]))

    def _known_answers(self, golden: str) -> KnownAnswers:
        # A chain of thought names the tempting word before its conclusion, so that reading one is put to the test.
        thought = "" if self._reads == "first" else f'By itself this means "{self._verbalizer.prior_word(golden)}". '
        say = "{}" if self._reads == "first" else 'The final answer is "{}".'
        return {
            "oracle": thought + say.format(self._verbalizer.word(golden)),
            "prior": thought + say.format(self._verbalizer.prior_word(golden)),
            "random": tuple(thought + say.format(word) for word in self._verbalizer.words),
        }


class Demonstrations(ContextSampler):  # type: ignore[misc] # the harness ships no types
    """The fixed, label-balanced demonstrations of appendix A; read when they are first asked for."""

    def __init__(self, selection: Selection) -> None:
        super().__init__()
        self._selection = selection

    def sample(self, n: int, *_args: Any, **_kwargs: Any) -> list[dict[str, Any]]:
        """Return the first ``n`` demonstrations; the evaluated rows are not among them."""
        return [dict(row) for row in demonstrations(self._selection, n)]


def _reads(task: str, filter_list: Sequence[Mapping[str, Any]]) -> Reads:
    steps = [step for pipeline in filter_list for step in pipeline["filter"] if step["function"] == ANSWER_FILTER]
    if not steps:
        raise ValueError(
            f"task {task!r}: no {ANSWER_FILTER} in its filter_list, so nothing would read its answers; "
            "include one of the templates verbalizer/_direct and verbalizer/_cot"
        )
    reads: Reads = steps[0].get("reads", "first")
    if reads not in get_args(Reads):
        raise ValueError(
            f"task {task!r}: {ANSWER_FILTER} has reads {reads!r}; expected one of {', '.join(get_args(Reads))}"
        )
    return reads


def _with_labels(pipeline: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Return a filter pipeline of the YAML with what our filter needs of the leaf."""
    return pipeline | {
        "filter": [step | given if step["function"] == ANSWER_FILTER else step for step in pipeline["filter"]]
    }


def _row_starts(prompt: str) -> list[str]:
    """Return how a row begins in a prompt: its first words, and what stands before the first field on its line."""
    before_field = re.search(r"^([^\n{]*\w[^\n{]*?)[ \t]*{{", prompt, re.MULTILINE)
    return [prompt[:OPENING], *([before_field[1]] if before_field else [])]


def _dataset_of_leaf(config: dict[str, Any]) -> Classification:
    known = DATASETS.get(str(config.get("dataset_path")))
    if known is not None:
        refuse_keys(config, DATASET_KEYS, "is one of the nine, whose place and splits are the paper's")
        return known
    own = own_dataset(config, DATASETS)
    label_column = config.get("doc_to_target") or "label"
    return Classification(own.name, own.hub, own.split, config.get("training_split"), label_column)


def _columns(task: str, config: dict[str, Any]) -> tuple[str, ...]:
    prompt = config.get("doc_to_text")
    try:
        columns = sorted(jinja2.meta.find_undeclared_variables(env.parse(prompt))) if isinstance(prompt, str) else []
    except jinja2.TemplateError as error:
        raise ValueError(f"task {task!r}: doc_to_text is no template ({error}): {prompt!r}") from error
    if not columns:
        raise ValueError(
            f"task {task!r}: doc_to_text must be a prompt that shows the row, as in 'Review: {{{{text}}}}'; "
            f"found {prompt!r}"
        )
    return tuple(columns)


@cache
def _template(prompt: str) -> jinja2.Template:
    template: jinja2.Template = env.from_string(prompt)
    return template


@cache
def _as_dataset(selection: Selection) -> datasets.Dataset:
    return datasets.Dataset.from_list([dict(row) for row in evaluation_rows(selection)])
