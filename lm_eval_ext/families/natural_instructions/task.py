"""The harness task of every Natural Instructions leaf."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from lm_eval_ext import sources
from lm_eval_ext.families.leaf import refuse_rows
from lm_eval_ext.families.natural_instructions.budget import DEFAULT_CONTEXT, NEW_TOKENS, budget_of
from lm_eval_ext.families.natural_instructions.encodings import ALL_ENCODINGS, missing_field
from lm_eval_ext.families.natural_instructions.rows import (
    PAPER,
    PUBLISHED,
    Examples,
    evaluated,
    instances_hash,
    rows,
    rows_hash,
    spare,
)
from lm_eval_ext.families.natural_instructions.schema import BLEURT, SCHEMA
from lm_eval_ext.families.natural_instructions.scores import bleurt_scorer, has_words, score
from lm_eval_ext.families.natural_instructions.subtasks import (
    EVALUATION,
    REPOSITORY,
    SUBTASKS,
    address,
    instruction,
    is_there,
)
from lm_eval_ext.harness.engines import warn_once
from lm_eval_ext.harness.family_task import Documents, FamilyTask, Share, as_dataset
from lm_eval_ext.harness.requests import KnownAnswers
from lm_eval_ext.metadata import mark_version

SPLIT = "test"
VERSION = 1.1
"""The ``metadata.version`` of leaves and groups."""
GENERATION = {"until": ["\n\n"], "do_sample": False, "temperature": 0.0, "max_gen_toks": NEW_TOKENS}
"""Greedy, 16 new tokens, stop at a blank line (section 6.1)."""


class NaturalInstructionsTask(FamilyTask):
    """One subtask under one encoding of its instruction (Mishra et al., ACL 2022).

    In addition to the harness's own keys, a leaf's YAML has:

    * ``dataset_name``: the subtask, given as the name of its version-1 file without the suffix, or of any task file in
      either format;
    * ``encoding``: one of ``encodings.ENCODINGS`` and ``encodings.ABLATIONS``.

    In addition to ``source``, ``--metadata`` accepts ``n`` (instances per subtask, 100 by default), ``examples`` (the
    maximum number of each kind in a prompt, as far as they fit; by default those of the instruction; ``"paper"``: the
    context is filled with instances as in the published runs, and the version is marked), ``tokenizer`` and
    ``max_length`` (see ``budget``), and ``bleurt``.

    Raises:
        ValueError: a key of the leaf or of ``--metadata`` is missing or invalid (the message names leaf and key).
        RowsError: a task file is not available or not valid, or prompts do not fit.
    """

    FAMILY = "natural_instructions"
    SCHEMA = SCHEMA
    TAKES = ("row_seed", "n", "examples")

    @classmethod
    def datasets(cls) -> Mapping[str, str]:
        """Return the subtasks, each with a task that works with files of either version."""
        return {name: f"natural_instructions_{name}_instance" for name in SUBTASKS}

    @classmethod
    def datasets_at(cls, source: str) -> list[str]:
        """Return the subtasks for which a folder has a file."""
        return [name for name in SUBTASKS if is_there(name, source)]

    @classmethod
    def web_address(cls) -> tuple[str, str] | None:
        """Return the URL of the public repository's files and the URL of one of them."""
        first = address(next(iter(SUBTASKS)))
        return first.rpartition("/")[0], first

    @classmethod
    def incomplete(cls, datasets: Collection[str]) -> str:
        """Say how many subtasks of the evaluation split are missing."""
        missing = len(set(EVALUATION) - set(datasets))
        return f"{missing} of the evaluation split missing" if missing else ""

    NO_DEMONSTRATIONS = (
        "the encoding determines which examples of the subtask a prompt shows, as many as fit; to set their number, "
        "use --metadata '{{\"examples\": {n}}}' with an encoding that has examples, such as positive"
    )
    METADATA: ClassVar[Mapping[str, Any]] = {"version": VERSION}

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Take the subtask and the encoding from a leaf's config; see the base class."""
        name, subtask, metadata = config["task"], config.get("dataset_name"), config["metadata"]
        encoding = config.pop("encoding", None)
        if not isinstance(subtask, str) or not subtask:
            raise ValueError(
                f"task {name!r}: dataset_name {subtask!r}; expected a subtask, such as {next(iter(SUBTASKS))}"
            )
        if not isinstance(encoding, str) or encoding not in ALL_ENCODINGS:
            raise ValueError(f"task {name!r}: encoding {encoding!r}; expected one of {', '.join(ALL_ENCODINGS)}")
        refuse_rows(config, "set the number of instances of a subtask with n in --metadata")
        self._encoding = ALL_ENCODINGS[encoding]
        self._n = _count(name, metadata, "n") or PUBLISHED
        self._examples: Examples = PAPER
        if metadata.get("examples") == PAPER:
            # Other prompts for the same instances: scores of both settings are no versions of one figure.
            mark_version(metadata, PAPER)
        else:
            self._examples = _count(name, metadata, "examples", f', or "{PAPER}"')
        self._bleurt = metadata.get("bleurt")
        if self._bleurt is not None:
            if not isinstance(self._bleurt, str) or not self._bleurt:
                raise ValueError(
                    f"task {name!r}: metadata bleurt {self._bleurt!r}; expected the name or folder of a checkpoint"
                )
            # Loaded now, so that a missing file is reported before the first request, not after the last answer.
            bleurt_scorer(self._bleurt)
        config |= {
            "dataset_path": REPOSITORY if self.source == sources.HUB else self.FAMILY,
            "test_split": SPLIT,
            "output_type": "generate_until",
            "generation_kwargs": GENERATION | (config.get("generation_kwargs") or {}),
            "doc_to_text": "prompt",
            "doc_to_target": "output",
        }
        self.has = (BLEURT,) if self._bleurt else ()
        return {
            "dataset": subtask,
            "subtask": subtask,
            "category": SUBTASKS[subtask].category if subtask in SUBTASKS else None,
            "encoding": encoding,
        }

    def documents(self) -> Documents:
        """Return the instances with their prompts, which have as many examples as fit."""
        subtask = self.config.dataset_name
        merged = [field for field in self._encoding.fields if field != "definition"]
        if self.source == sources.HUB and merged:
            # This is known without a download.
            raise missing_field(subtask, address(subtask), merged[0])
        file = instruction(subtask, self.source)
        self._made_for = self._room()
        paper = self._examples == PAPER
        budget = budget_of(self.config.metadata, *self._made_for, DEFAULT_CONTEXT if paper else None)
        encoded = rows(file, self._encoding, budget, self._n, self._examples, row_seed=self.row_seed)
        facts: dict[str, Any] = {
            "prompt_budget": budget.described(),
            "instances_hash": instances_hash(encoded),
            "rows_hash": rows_hash(encoded),
        }
        total = len(file.instances)
        if left_out := len(evaluated(total, self._n)) - len(encoded):
            facts["left_out"] = left_out
            warn_once(
                f"{subtask} ({file.origin}): {left_out} instances left out: their references have no Latin letter or "
                "digit, and ROUGE sees no others"
            )
        if paper and self._encoding.positive and not spare(total):
            warn_once(
                f"{subtask} ({file.origin}): all {total} instances are evaluated, so none fills the context; prompts "
                "show the file's own examples"
            )
        share = None
        if subtask not in SUBTASKS:
            most = len(evaluated(total, total))
            dropped = len(evaluated(total, self._n)) < most and "n" not in self.config.metadata
            hint = f"--metadata '{{\"n\": {most}}}' evaluates {most}" if dropped else ""
            share = Share(len(encoded), total, hint)
        docs = [vars(row) for row in encoded]
        return Documents(SPLIT, as_dataset(docs, facts["rows_hash"]), facts, share)

    def _room(self) -> tuple[int, str]:
        """Return what reduces the room for examples: the number of new tokens and the system instruction."""
        return self.config.generation_kwargs["max_gen_toks"], self.asking.system_instruction

    def before_requests(self) -> None:
        """Rebuild the prompts if the room for examples has changed since they were built."""
        if self._made_for != self._room():
            self.download()

    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the value of each metric; see ``scores.score``."""
        return dict(score(doc, results, self._bleurt))

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return the first reference that is not empty for ROUGE, and the input."""
        return {"oracle": next(filter(has_words, doc["output"])), "echo": doc["input"]}


def _count(task: str, metadata: Mapping[str, Any], key: str, otherwise: str = "") -> int | None:
    value = metadata.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"task {task!r}: metadata {key} {value!r}; expected a whole number, 1 or more{otherwise}")
    return value
