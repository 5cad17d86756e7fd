"""The harness task of every Natural Instructions leaf."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import datasets
from lm_eval.api.task import ConfigurableTask

from lm_eval_ext import sources
from lm_eval_ext.families.natural_instructions.bleurt import bleurt_scorer
from lm_eval_ext.families.natural_instructions.budget import budget_of
from lm_eval_ext.families.natural_instructions.encodings import ALL_ENCODINGS, missing_field
from lm_eval_ext.families.natural_instructions.files import REPOSITORY, address, instruction
from lm_eval_ext.families.natural_instructions.rouge import has_words, rouge_l
from lm_eval_ext.families.natural_instructions.rows import PUBLISHED, evaluated, instances_hash, rows, rows_hash
from lm_eval_ext.families.natural_instructions.subtasks import SUBTASKS
from lm_eval_ext.known_answers import KnownInstance
from lm_eval_ext.reasoning import without_reasoning

if TYPE_CHECKING:
    from lm_eval.api.instance import Instance

NAME = "natural_instructions"
SPLIT = "test"
VERSION = 1.0
"""``metadata.version`` of leaves and groups."""
GENERATION = {"until": ["\n\n"], "do_sample": False, "temperature": 0.0, "max_gen_toks": 16}
"""Greedy, 16 new tokens, stop at a blank line (section 6.1)."""


@dataclass(frozen=True)
class Score:
    """``process_results``: the metrics of one row.

    A dataclass and no closure, because the harness copies a task's config and writes it into the results.

    Attributes:
        bleurt: name or folder of a BLEURT checkpoint; absent: that metric is not asked for.
    """

    bleurt: str | None = None

    def __call__(self, doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, float]:
        """Score a generated text; an API that withholds one gives None, which scores as an empty one."""
        prediction = without_reasoning(results[0] or "")
        scores = {"rouge_l": rouge_l(prediction, doc["output"]), "examples": float(doc["examples"])}
        if self.bleurt:
            (scores["bleurt"],) = bleurt_scorer(self.bleurt)([prediction], [doc["output"]])
        return scores


class NaturalInstructionsTask(ConfigurableTask):  # type: ignore[misc] # the harness ships no types
    """One subtask under one encoding of its instruction (Mishra et al., ACL 2022).

    A leaf's YAML says, besides the harness's own keys:

    * ``dataset_name``: the subtask: the name of its version-1 file without the suffix, or that of any task file in
      either format;
    * ``encoding``: one of ``encodings.ENCODINGS`` and ``encodings.ABLATIONS``.

    ``--metadata`` takes, besides ``source``: ``n`` (instances per subtask, 100), ``examples`` (how many of each kind a
    prompt shows at most; absent: those of the instruction; always as many as fit), ``tokenizer`` and ``max_length``
    (see ``budget``), ``bleurt``.

    Raises:
        ValueError: a leaf or ``--metadata`` that do not say this (the message names leaf and key).
        RowsError: a task file that cannot be had or is not what it should be, or prompts that do not fit.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        config = {key: value for key, value in config.items() if key != "class"}
        name, subtask = config["task"], config.get("dataset_name")
        encoding = config.pop("encoding", None)
        if not isinstance(subtask, str) or not subtask:
            raise ValueError(
                f"task {name!r}: dataset_name {subtask!r}; expected a subtask, as in {next(iter(SUBTASKS))}"
            )
        if encoding not in ALL_ENCODINGS:
            raise ValueError(f"task {name!r}: encoding {encoding!r}; expected one of {', '.join(ALL_ENCODINGS)}")
        metadata = config["metadata"] = {"version": VERSION} | (config.get("metadata") or {})
        self._source = sources.chosen_source(metadata)
        self._encoding = ALL_ENCODINGS[encoding]
        self._n = _count(name, metadata, "n") or PUBLISHED
        self._examples = _count(name, metadata, "examples")
        bleurt = _checkpoint(name, metadata)
        metadata |= {
            "subtask": subtask,
            "category": SUBTASKS[subtask].category if subtask in SUBTASKS else None,
            "encoding": encoding,
        }
        # More examples are neither better nor worse.
        higher_is_better = {"rouge_l": True, "examples": None} | ({"bleurt": True} if bleurt else {})
        config |= {
            "dataset_path": REPOSITORY if self._source == sources.HUB else NAME,
            "test_split": SPLIT,
            "output_type": "generate_until",
            "generation_kwargs": GENERATION | (config.get("generation_kwargs") or {}),
            "doc_to_text": "prompt",
            "doc_to_target": "output",
            "process_results": Score(bleurt),
            "metric_list": [
                {"metric": metric, "aggregation": "mean", "higher_is_better": better}
                for metric, better in higher_is_better.items()
            ],
        }
        super().__init__(config=config)

    def download(self, *_args: Any, **_kwargs: Any) -> None:
        """Read the task file and make the prompts; the harness's name for it."""
        self._make_rows("")

    def _make_rows(self, system_instruction: str) -> None:
        merged = [field for field in self._encoding.fields if field != "definition"]
        if self._source == sources.HUB and merged:
            # Known without a download.
            raise missing_field(self.config.dataset_name, address(self.config.dataset_name), merged[0])
        file = instruction(self.config.dataset_name, self._source)
        self._made_for = (self.config.generation_kwargs["max_gen_toks"], system_instruction)
        budget = budget_of(self.config.metadata, *self._made_for)
        found = rows(file, self._encoding, budget, self._n, self._examples)
        self.dataset = {SPLIT: datasets.Dataset.from_list([vars(row) for row in found])}
        self.config.metadata |= {
            "prompt_budget": budget.described(),
            "instances_hash": instances_hash(found),
            "rows_hash": rows_hash(found),
        }
        if left_out := len(evaluated(len(file.instances), self._n)) - len(found):
            self.config.metadata["left_out"] = left_out
            _warn_of(self.config.dataset_name, file.origin, left_out)

    def fewshot_docs(self) -> None:
        """Return nothing: the harness reads this of every task, and the prompts bring their own examples."""

    def build_all_requests(self, *, tokenizer_name: str = "", **options: Any) -> None:
        """Build the requests; a cache of them (``--cache_requests``) serves only the prompts that it was made of.

        Raises:
            ValueError: demonstrations are asked for.
        """
        if self.config.num_fewshot:
            raise ValueError(
                f"task {self.config.task!r}: --num_fewshot {self.config.num_fewshot}; a prompt shows the examples of "
                "its subtask as its encoding says, as many as fit; for a number of your own say --metadata "
                f"'{{\"examples\": {self.config.num_fewshot}}}' with an encoding that has examples, as positive"
            )
        system_instruction = options.get("system_instruction") or ""
        if self._made_for != (self.config.generation_kwargs["max_gen_toks"], system_instruction):
            # Both come after the prompts were made, and leave less room for examples.
            self._make_rows(system_instruction)
        made_of = self.config.metadata["rows_hash"]
        super().build_all_requests(tokenizer_name=f"{tokenizer_name}-rows{made_of}", **options)

    def construct_requests(self, doc: dict[str, Any], ctx: str, **kwargs: Any) -> KnownInstance:
        """Return the harness's request, with what each policy of the ``reference`` LM would answer to it."""
        request: Instance = super().construct_requests(doc, ctx, **kwargs)
        return KnownInstance.of(request, {"oracle": _right(doc["output"]), "echo": doc["input"]})


def _right(outputs: Sequence[str]) -> str:
    """Return the first reference that ROUGE sees anything of."""
    return next(output for output in outputs if has_words(output))


@cache
def _warn_of(subtask: str, origin: str, left_out: int) -> None:
    message = "%s (%s): %d instances left out, whose references have no Latin letter or digit, which is all ROUGE sees"
    logging.getLogger(__name__).warning(message, subtask, origin, left_out)


def _count(task: str, metadata: Mapping[str, Any], key: str) -> int | None:
    value = metadata.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"task {task!r}: metadata {key} {value!r}; expected a whole number, 1 or more")
    return value


def _checkpoint(task: str, metadata: Mapping[str, Any]) -> str | None:
    checkpoint = metadata.get("bleurt")
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, str) or not checkpoint:
        raise ValueError(f"task {task!r}: metadata bleurt {checkpoint!r}; expected the name or folder of a checkpoint")
    # What is missing is said now, not after the last answer.
    bleurt_scorer(checkpoint)
    return checkpoint
