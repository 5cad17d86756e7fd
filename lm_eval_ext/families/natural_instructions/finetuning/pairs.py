"""Training pairs: a prompt as the tasks build it, and the answer that should follow, for each split of the subtasks.

The instances of a subtask are split for supervision (section 4.1), without those that are evaluated.
"""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from lm_eval_ext.families.natural_instructions.budget import Budget
from lm_eval_ext.families.natural_instructions.encodings import ALL_ENCODINGS, most_examples
from lm_eval_ext.families.natural_instructions.rows import PUBLISHED, evaluated, prompt_that_fits
from lm_eval_ext.families.natural_instructions.scores import has_words
from lm_eval_ext.families.natural_instructions.subtasks import Instruction, instruction
from lm_eval_ext.sources import HUB

SplitName = Literal["train", "dev", "test"]
SIZES: Mapping[SplitName, int] = {"train": 6500, "dev": 500, "test": 1000}
"""The paper's sizes, in instances per subtask."""
PAPERS = sum(SIZES.values())
LeftOut = Literal["too_long", "without_answer"]
LEFT_OUT: Mapping[LeftOut, str] = {
    "too_long": "too long for the context",  # even with the fewest examples
    "without_answer": "no reference that ROUGE can see",  # no Latin letter or digit, so it is not evaluated either
}
"""Why an instance gives no pair."""


@dataclass(frozen=True)
class Splits:
    """The instances of a subtask, by their indices in the file.

    Attributes:
        indices: the instances of each split, in a random order.
        evaluated: how many are not in any split because the tasks evaluate them or another instance with their input.
        total: how many the file has.
    """

    indices: Mapping[SplitName, tuple[int, ...]]
    evaluated: int
    total: int


def splits(instruction: Instruction, n: int = PUBLISHED, seed: int = 0) -> Splits:
    """Return the splits of a subtask's instances.

    The instances that the tasks evaluate are set aside first. The others are divided at random into the paper's sizes;
    if there are fewer than these 8,000, in the same proportions (13 : 1 : 2), with ``dev`` and ``test`` rounded down.

    Args:
        instruction: the subtask with its instances.
        n: how many instances the tasks evaluate (``n`` of their metadata).
        seed: seed of the division. It does not depend on other subtasks.
    """
    instances = instruction.instances
    evaluated_inputs = {instances[index].input.strip() for index in evaluated(len(instances), n)}
    available = [index for index, instance in enumerate(instances) if instance.input.strip() not in evaluated_inputs]
    withheld = len(instances) - len(available)
    draw = random.Random(f"natural_instructions/{instruction.task}/{seed}")  # noqa: S311 # reproducible by design
    draw.shuffle(available)
    divided = min(len(available), PAPERS)
    dev, test = (divided * SIZES[split] // PAPERS for split in ("dev", "test"))
    indices: dict[SplitName, tuple[int, ...]] = {
        "train": tuple(available[dev + test : divided]),
        "dev": tuple(available[:dev]),
        "test": tuple(available[dev : dev + test]),
    }
    return Splits(indices, withheld, len(instances))


@dataclass(frozen=True)
class Pair:
    """One training pair.

    Attributes:
        subtask: the name of the subtask.
        index: the instance's position in the task file, from 0.
        encoding: the encoding of the instruction.
        prompt: the prompt, which ends with ``output:``.
        completion: the first reference that ROUGE can see, after a space, as examples in a prompt show it.
        references: all references.
    """

    subtask: str
    index: int
    encoding: str
    prompt: str
    completion: str
    references: tuple[str, ...]


def encoded(
    instruction: Instruction, encoding: str, indices: Sequence[int], budget: Budget
) -> tuple[tuple[Pair, ...], Mapping[LeftOut, int]]:
    """Return the training pairs of some of a subtask's instances, with the prompts that the tasks would show.

    Args:
        instruction: the subtask with its instances.
        encoding: a name among ``ALL_ENCODINGS``.
        indices: the instances' positions in the task file.
        budget: the maximum length of a prompt. It decides how many of the instruction's examples a prompt has.

    Returns:
        The pairs in the order of the indices, and how many instances gave none.

    Raises:
        RowsError: the encoding needs something that the task file lacks.
    """
    parts = ALL_ENCODINGS[encoding]
    most = most_examples(instruction, parts)
    pairs = []
    left_out = dict.fromkeys(LEFT_OUT, 0)
    for index in indices:
        instance = instruction.instances[index]
        answer = next(filter(has_words, instance.outputs), None)
        if answer is None:
            left_out["without_answer"] += 1
            continue
        prompt, _, fits = prompt_that_fits(instruction, parts, index, most, budget)
        if not fits:
            left_out["too_long"] += 1
            continue
        completion = f" {answer.strip()}"
        pairs.append(Pair(instruction.task, index, encoding, prompt, completion, instance.outputs))
    return tuple(pairs), left_out


@dataclass(frozen=True)
class Request:
    """Which pairs to make.

    Attributes:
        encoding: the encoding of the instruction.
        source: ``"hub"``, ``"embedded"`` or the path of a folder with task files.
        evaluated: how many instances of each subtask are kept for the evaluation.
        instances: the maximum number of training instances of each subtask.
        seed: seed of the splits.
    """

    encoding: str
    source: str = HUB
    evaluated: int = PUBLISHED
    instances: int = SIZES["train"]
    seed: int = 0


@dataclass(frozen=True)
class SubtaskPairs:
    """The pairs of one split of a subtask.

    Attributes:
        subtask: the subtask's name.
        split: the split.
        splits: the splits of its instances.
        pairs: the pairs, in the order of the split's indices.
        left_out: how many instances gave none.
    """

    subtask: str
    split: SplitName
    splits: Splits
    pairs: tuple[Pair, ...]
    left_out: Mapping[LeftOut, int]

    def __str__(self) -> str:
        pairs, total = len(self.pairs), self.splits.total
        sizes = ", ".join(f"{len(indices)} {name}" for name, indices in self.splits.indices.items())
        text = f"{self.subtask}: {pairs} pairs ({self.split}) of {total} instances: {sizes}, {self.splits.evaluated} "
        left_out = (f"{count} left out: {LEFT_OUT[why]}" for why, count in self.left_out.items() if count)
        return "; ".join([f"{text}kept for the evaluation", *left_out])


def pairs_of(subtask: str, split: SplitName, request: Request, budget: Budget) -> SubtaskPairs:
    """Return the pairs of a split of a subtask.

    Raises:
        RowsError: the task file is not available or not valid, or lacks a field that the encoding needs.
    """
    file = instruction(subtask, request.source)
    divided = splits(file, request.evaluated, request.seed)
    indices = divided.indices[split]
    if split == "train":
        indices = indices[: request.instances]
    return SubtaskPairs(subtask, split, divided, *encoded(file, request.encoding, indices, budget))


def pairs_in(material: Sequence[SubtaskPairs]) -> list[Pair]:
    """Return the pairs of several subtasks, in their order."""
    return [pair for prepared in material for pair in prepared.pairs]


def pairs_hash(*parts: Sequence[Pair]) -> str:
    """Return 16 hexadecimal digits that are equal if all pairs and their order are equal."""
    digest = hashlib.sha256()
    for part in parts:
        for pair in part:
            digest.update(json.dumps([pair.subtask, pair.index, pair.prompt, pair.completion]).encode())
        digest.update(b"\n")
    return digest.hexdigest()[:16]
