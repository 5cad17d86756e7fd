"""The harness task of every Natural Instructions leaf."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import datasets

from lm_eval_ext import sources
from lm_eval_ext.families.leaf import refuse_rows
from lm_eval_ext.families.natural_instructions import files
from lm_eval_ext.families.natural_instructions.bleurt import bleurt_scorer
from lm_eval_ext.families.natural_instructions.budget import budget_of
from lm_eval_ext.families.natural_instructions.encodings import ALL_ENCODINGS, missing_field
from lm_eval_ext.families.natural_instructions.files import REPOSITORY, address, instruction, is_there
from lm_eval_ext.families.natural_instructions.rouge import has_words, rouge_l
from lm_eval_ext.families.natural_instructions.rows import PUBLISHED, evaluated, instances_hash, rows, rows_hash
from lm_eval_ext.families.natural_instructions.schema import SCHEMA
from lm_eval_ext.families.natural_instructions.subtasks import EVALUATION, SUBTASKS
from lm_eval_ext.harness.family_task import Documents, FamilyTask, Share
from lm_eval_ext.harness.known_answers import KnownAnswers
from lm_eval_ext.verifiers.reasoning import without_reasoning

NAME = "natural_instructions"
SPLIT = "test"
VERSION = 1.0
"""``metadata.version`` of leaves and groups."""
GENERATION = {"until": ["\n\n"], "do_sample": False, "temperature": 0.0, "max_gen_toks": 16}
"""Greedy, 16 new tokens, stop at a blank line (section 6.1)."""


@dataclass(frozen=True)
class ProcessResults:
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


class NaturalInstructionsTask(FamilyTask):
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

    FAMILY = "natural_instructions"

    @classmethod
    def datasets(cls) -> Mapping[str, str]:
        """Return the subtasks, and of each a task that files of either version serve."""
        return {name: f"natural_instructions_{name}_instance" for name in SUBTASKS}

    @classmethod
    def datasets_at(cls, source: str) -> list[str]:
        """Return the subtasks that a folder has a file of."""
        return [name for name in SUBTASKS if is_there(name, source)]

    @classmethod
    def web_address(cls) -> tuple[str, str] | None:
        """Return the public repository of the files, and the address of one of them."""
        return files.ADDRESS, address(next(iter(SUBTASKS)))

    @classmethod
    def incomplete(cls, datasets: Collection[str]) -> str:
        """Return how many subtasks of the evaluation split are not there."""
        missing = len(set(EVALUATION) - set(datasets))
        return f"{missing} of the evaluation split missing" if missing else ""

    NO_DEMONSTRATIONS = (
        "a prompt shows the examples of its subtask as its encoding says, as many as fit; for a number of your own say "
        "--metadata '{{\"examples\": {n}}}' with an encoding that has examples, as positive"
    )
    METADATA: ClassVar[Mapping[str, Any]] = {"version": VERSION}

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Take the subtask and the encoding from a leaf's config; see the base class."""
        name, subtask, metadata = config["task"], config.get("dataset_name"), config["metadata"]
        encoding = config.pop("encoding", None)
        if not isinstance(subtask, str) or not subtask:
            raise ValueError(
                f"task {name!r}: dataset_name {subtask!r}; expected a subtask, as in {next(iter(SUBTASKS))}"
            )
        if encoding not in ALL_ENCODINGS:
            raise ValueError(f"task {name!r}: encoding {encoding!r}; expected one of {', '.join(ALL_ENCODINGS)}")
        refuse_rows(config, "how many instances of a subtask are evaluated, these tasks are told by --metadata's n")
        self._encoding = ALL_ENCODINGS[encoding]
        self._n = _count(name, metadata, "n") or PUBLISHED
        self._examples = _count(name, metadata, "examples")
        bleurt = _checkpoint(name, metadata)
        given = [metric for metric in SCHEMA.metrics if metric.name != "bleurt" or bleurt]
        config |= {
            "dataset_path": REPOSITORY if self.source == sources.HUB else NAME,
            "test_split": SPLIT,
            "output_type": "generate_until",
            "generation_kwargs": GENERATION | (config.get("generation_kwargs") or {}),
            "doc_to_text": "prompt",
            "doc_to_target": "output",
            "process_results": ProcessResults(bleurt),
            "metric_list": [
                {"metric": metric.name, "aggregation": "mean", "higher_is_better": metric.higher_is_better}
                for metric in given
            ],
        }
        return {
            "dataset": subtask,
            "subtask": subtask,
            "category": SUBTASKS[subtask].category if subtask in SUBTASKS else None,
            "encoding": encoding,
        }

    def documents(self) -> Documents:
        """Return the instances with their prompts, which have as many examples as there is room for."""
        subtask = self.config.dataset_name
        merged = [field for field in self._encoding.fields if field != "definition"]
        if self.source == sources.HUB and merged:
            # Known without a download.
            raise missing_field(subtask, address(subtask), merged[0])
        file = instruction(subtask, self.source)
        self._made_for = self._room()
        budget = budget_of(self.config.metadata, *self._made_for)
        found = rows(file, self._encoding, budget, self._n, self._examples)
        facts: dict[str, Any] = {
            "prompt_budget": budget.described(),
            "instances_hash": instances_hash(found),
            "rows_hash": rows_hash(found),
        }
        if left_out := len(evaluated(len(file.instances), self._n)) - len(found):
            facts["left_out"] = left_out
            _warn_of(subtask, file.origin, left_out)
        return Documents(
            SPLIT,
            datasets.Dataset.from_list([vars(row) for row in found]),
            facts,
            None if subtask in SUBTASKS else self._share_of(len(found), len(file.instances)),
        )

    def _share_of(self, rows: int, instances: int) -> Share:
        more = len(evaluated(instances, instances))
        dropped = len(evaluated(instances, self._n)) < more and "n" not in self.config.metadata
        return Share(rows, instances, f"--metadata '{{\"n\": {more}}}' evaluates {more}" if dropped else "")

    def _room(self) -> tuple[int, str]:
        """Return what leaves less room for examples: the number of new tokens, and the system instruction."""
        return self.config.generation_kwargs["max_gen_toks"], self.asking.system_instruction

    def before_requests(self) -> None:
        """Make the prompts anew if the run leaves another room for examples than was known when they were made."""
        if self._made_for != self._room():
            self.download()

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return a right answer, and the input."""
        return {"oracle": _right(doc["output"]), "echo": doc["input"]}


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
