"""The harness task of every ManyIFEval leaf."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import datasets
from lm_eval.api.samplers import ContextSampler
from lm_eval.api.task import ConfigurableTask
from lm_eval.api.utils import maybe_delimit

from lm_eval_ext import sources
from lm_eval_ext.families.manyifeval.compose import INSTRUCTIONS
from lm_eval_ext.families.manyifeval.published import arguments
from lm_eval_ext.families.manyifeval.request import RowInstance, Shown
from lm_eval_ext.families.manyifeval.row import Row
from lm_eval_ext.families.manyifeval.rows import FEWSHOT, NAME, TEST, origin, rows, rows_hash
from lm_eval_ext.families.manyifeval.scores import Score, type_metrics
from lm_eval_ext.families.manyifeval.witness import respond
from lm_eval_ext.self_refine.metrics import Metric, metric, scores
from lm_eval_ext.self_refine.refined import Refined
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import instructions_of, sentences
from lm_eval_ext.verifiers.case import CapitalWordFrequency
from lm_eval_ext.verifiers.length import NumberSentences

if TYPE_CHECKING:
    from lm_eval.api.instance import Instance

SPLIT_BY_NLTK = (NumberSentences, CapitalWordFrequency)
"""The instructions whose verdict may need NLTK's sentence data."""


class ManyIFEvalTask(ConfigurableTask):  # type: ignore[misc] # the harness ships no types
    """A task prompt with n verifiable instructions (Curse of Instructions, 2024).

    A leaf's YAML says, besides the harness's own keys:

    * ``instructions``: n, from 1 to 10;
    * ``repeat``: whether it is the first instruction n times, not the first n (appendix C).

    Raises:
        ValueError: a leaf that does not say this (the message names leaf and key).
        RowsError: rows that cannot be had or are not what they should be.
        MissingDataError: a row needs NLTK's sentence data, which are not installed.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        config = {key: value for key, value in config.items() if key != "class"}
        self._count = _number_of_instructions(config["task"], config.pop("instructions", None))
        self._repeat = _is_repeated(config["task"], config.pop("repeat", False))
        metadata = config["metadata"] = dict(config.get("metadata") or {})
        self._source = sources.chosen_source(metadata)
        metadata["rows"] = origin(self._source)
        config |= {
            "test_split": TEST,
            "process_results": Score(),
            "metric_list": [*(config.get("metric_list") or []), *type_metrics()],
        }
        if self._source != sources.HUB:
            config["dataset_path"] = NAME
        self._system_instruction: str | None = None
        self._of_refinement: dict[str, Metric] = {}
        super().__init__(config=config)
        self.sampler = Demonstrations(self._source, self._count, self._repeat)

    def download(self, *_args: Any, **_kwargs: Any) -> None:
        """Read the rows; the harness's name for it.

        What a verdict needs is asked for now, not after the last answer.
        """
        found = rows(self._source, TEST, self._count, self._repeat)
        if any(isinstance(instruction, SPLIT_BY_NLTK) for row in found for instruction in row.instructions):
            sentences.require()
        self.dataset = {TEST: _as_dataset(self._source, self._count, self._repeat)}
        self.config.metadata["rows_hash"] = rows_hash(self._source, TEST, self._count, self._repeat)

    def fewshot_docs(self) -> None:
        """Return nothing: the harness reads this of every task, and demonstrations are read only on demand."""

    def build_all_requests(self, *, tokenizer_name: str = "", **options: Any) -> None:
        """Build the requests; a cache of them (``--cache_requests``) serves only the rows that it was made of."""
        self._system_instruction = options.get("system_instruction")
        seen = rows_hash(self._source, TEST, self._count, self._repeat)
        super().build_all_requests(tokenizer_name=f"{tokenizer_name}-rows{seen}", **options)

    def construct_requests(self, doc: dict[str, Any], ctx: str, **kwargs: Any) -> RowInstance:
        """Return the harness's request with its row, from which everything follows that may be asked further."""
        shown = Shown(self._system_prompt(doc), bool(kwargs.get("apply_chat_template")))
        request: Instance = super().construct_requests(doc, ctx, **kwargs)
        return RowInstance.asking(request, _by_key(self._source, self._count, self._repeat)[doc["key"]], shown)

    def _system_prompt(self, doc: dict[str, Any]) -> str:
        """Return the system prompt as the harness puts it together for the first prompt."""
        description = self.resolve_field(doc, self.config.description) or ""
        prompt: str = maybe_delimit(self._system_instruction, description, self.config.fewshot_delimiter)
        return prompt

    def process_results(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Score a row; only a refined answer has metrics of its refinement, so the harness learns of them here."""
        found: dict[str, Any] = super().process_results(doc, results)
        if isinstance(results[0], Refined):
            refinement = scores(results[0], instructions_of(doc["instruction_id_list"], doc["kwargs"]))
            # --predict_only wants no metrics, but every answer.
            found |= {"rounds": refinement["rounds"]} if "bypass" in found else refinement
        self._of_refinement |= {name: metric(name) for name in found.keys() - super().aggregation().keys()}
        return found

    def aggregation(self) -> dict[str, Any]:
        """Return how each metric is aggregated."""
        own: dict[str, Any] = super().aggregation()
        return own | {name: found.aggregation for name, found in self._of_refinement.items()}

    def higher_is_better(self) -> dict[str, bool | None]:
        """Return, for each metric, whether it is better the higher it is."""
        own: dict[str, bool | None] = super().higher_is_better()
        return own | {name: found.higher_is_better for name, found in self._of_refinement.items()}


class Demonstrations(ContextSampler):  # type: ignore[misc] # the harness ships no types
    """The few-shot task prompts with as many instructions, answered by program; the same ones for every row."""

    def __init__(self, source: str, count: int, repeat: bool) -> None:
        super().__init__()
        self._arguments = (source, FEWSHOT, count, repeat)

    def sample(self, n: int, *_args: Any, **_kwargs: Any) -> list[dict[str, Any]]:
        """Return the first ``n`` demonstrations.

        Raises:
            RowsError: there are not so many.
        """
        found = rows(*self._arguments)
        if n > len(found) or not all(row.witness for row in found):
            raise RowsError(
                f"source {self._arguments[0]!r}: --num_fewshot {n} asks for more demonstrations than the "
                f"{sum(bool(row.witness) for row in found)} task prompts with a known answer in the {FEWSHOT} split"
            )
        # Not the rows' own witnesses, which follow all ten instructions: a model would be shown what nobody asked for.
        return [_doc(replace(row, witness=respond(row.instructions))) for row in found[:n]]


def _number_of_instructions(task: str, count: object) -> int:
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= INSTRUCTIONS:
        raise ValueError(f"task {task!r}: instructions must be a number from 1 to {INSTRUCTIONS}, found {count!r}")
    return count


def _is_repeated(task: str, repeat: object) -> bool:
    if not isinstance(repeat, bool):
        raise ValueError(f"task {task!r}: repeat must be true or false, found {repeat!r}")
    return repeat


def _doc(row: Row) -> dict[str, Any]:
    return {
        "key": row.key,
        "task_prompt": row.task_prompt,
        "prompt": row.prompt,
        "instruction_id_list": [instruction.id for instruction in row.instructions],
        "kwargs": [dict(arguments(instruction)) for instruction in row.instructions],
        "witness": row.witness,
    }


@cache
def _by_key(source: str, count: int, repeat: bool) -> dict[int | str, Row]:
    return {row.key: row for row in rows(source, TEST, count, repeat)}


@cache
def _as_dataset(source: str, count: int, repeat: bool) -> datasets.Dataset:
    return datasets.Dataset.from_list([_doc(row) for row in rows(source, TEST, count, repeat)])
