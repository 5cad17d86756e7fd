"""The training pairs of several subtasks, and how many of the paper's number there are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lm_eval_ext.families.natural_instructions.budget import Budget
from lm_eval_ext.families.natural_instructions.files import instruction
from lm_eval_ext.families.natural_instructions.rows import PUBLISHED
from lm_eval_ext.families.natural_instructions.training.errors import TrainingError
from lm_eval_ext.families.natural_instructions.training.pairs import Encoded, Pair, encoded
from lm_eval_ext.families.natural_instructions.training.splits import SIZES, SplitName, Splits, splits
from lm_eval_ext.sources import HUB


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
        subtask: its name.
        split: the split.
        splits: the splits of its instances.
        encoded: its pairs.
    """

    subtask: str
    split: SplitName
    splits: Splits
    encoded: Encoded

    def __str__(self) -> str:
        pairs, total = len(self.encoded.pairs), self.splits.total
        sizes = ", ".join(f"{len(of)} {name}" for name, of in self.splits.indices.items())
        said = f"{self.subtask}: {pairs} pairs ({self.split}) of {total} instances: {sizes}, {self.splits.evaluated} "
        said += "kept for the evaluation"
        if self.encoded.too_long:
            said += f"; {self.encoded.too_long} left out: too long for the context"
        if self.encoded.without_answer:
            said += f"; {self.encoded.without_answer} left out: no reference that ROUGE can see"
        return said


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
    return SubtaskPairs(subtask, split, divided, encoded(file, request.encoding, indices, budget))


@dataclass(frozen=True)
class Material:
    """The pairs of several subtasks."""

    of_subtasks: tuple[SubtaskPairs, ...]

    @classmethod
    def of(cls, found: Iterable[SubtaskPairs]) -> Material:
        """Return the pairs of several subtasks, in their order."""
        return cls(tuple(found))

    @property
    def pairs(self) -> list[Pair]:
        """All pairs."""
        return [pair for one in self.of_subtasks for pair in one.encoded.pairs]

    def described(self) -> list[str]:
        """Return a line for each subtask, and lines that compare the numbers with the paper's."""
        lines = [str(one) for one in self.of_subtasks]
        for split, size in SIZES.items():
            numbers = [len(one.encoded.pairs) for one in self.of_subtasks if one.split == split]
            short = [number for number in numbers if number < size]
            if nothing := [one.subtask for one in self.of_subtasks if one.split == split and not one.encoded.pairs]:
                lines.append(f"{len(nothing)} of {len(numbers)} subtasks have no pairs: {', '.join(nothing)}")
            if short:
                least, most = min(short), max(short)
                found = f"{least:,}" if least == most else f"{least:,} to {most:,}"
                lines.append(
                    f"{len(short)} of {len(numbers)} subtasks have fewer pairs than the paper's {size:,}: {found}"
                )
        return lines

    def require_pairs(self) -> None:
        """Check that there are pairs; a subtask without any among others is only described.

        Raises:
            TrainingError: there are none; the message says why.
        """
        if not self.pairs:
            raise TrainingError(
                f"{'; '.join(map(str, self.of_subtasks))}. Nothing is left to train on; give files with more "
                "instances, a shorter encoding or a smaller --evaluated (and the same n in lm_eval's --metadata)"
            )

    def as_json(self) -> list[dict[str, object]]:
        """Return the numbers of each subtask."""
        return [
            {
                "subtask": one.subtask,
                "pairs": len(one.encoded.pairs),
                "instances": one.splits.total,
                "kept_for_the_evaluation": one.splits.evaluated,
                "too_long": one.encoded.too_long,
                "without_answer": one.encoded.without_answer,
            }
            for one in self.of_subtasks
        ]
