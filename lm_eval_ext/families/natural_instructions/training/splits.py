"""Splits the instances of a subtask for supervision (section 4.1), without those that are evaluated."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from lm_eval_ext.families.natural_instructions.files import Instruction
from lm_eval_ext.families.natural_instructions.rows import PUBLISHED, evaluated

SplitName = Literal["train", "dev", "test"]
SIZES: Mapping[SplitName, int] = {"train": 6500, "dev": 500, "test": 1000}
"""The paper's sizes, in instances per subtask."""
PAPERS = sum(SIZES.values())


@dataclass(frozen=True)
class Splits:
    """The instances of a subtask, by their indices in the file.

    Attributes:
        indices: those of each split, in a random order.
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
    asked = {instances[index].input.strip() for index in evaluated(len(instances), n)}
    rest = [index for index, instance in enumerate(instances) if instance.input.strip() not in asked]
    withheld = len(instances) - len(rest)
    draw = random.Random(f"natural_instructions/{instruction.task}/{seed}")  # noqa: S311 # reproducible by design
    draw.shuffle(rest)
    divided = min(len(rest), PAPERS)
    dev, test = (divided * SIZES[split] // PAPERS for split in ("dev", "test"))
    indices: dict[SplitName, tuple[int, ...]] = {
        "train": tuple(rest[dev + test : divided]),
        "dev": tuple(rest[:dev]),
        "test": tuple(rest[dev : dev + test]),
    }
    return Splits(indices, withheld, len(instances))
