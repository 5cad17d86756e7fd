"""The prompts: an instruction of one of the constraint levels, the question, its options (Table 1, appendix A.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_LOW = "Please read the multiple-choice question below carefully and select ONE of the listed options"
# The paper prints the example on one line; here each element has its own line, as in the question below it.
_EXAMPLE = (
    _LOW
    + ". Here is an example of the format: \nQuestion: Question 1 \nA. Option 1 \nB. Option 2 \nC. Option 3 \nAnswer:"
)
INSTRUCTIONS: Mapping[str, str] = {
    "low": f"{_LOW}.",
    "medium": f"{_LOW} and only give a single letter.",
    "high": f"{_LOW} and start your answer with a single letter.",
    "example": f"{_EXAMPLE} C",
    "example_abc": f"{_EXAMPLE} A/B/C",
}
"""Constraint level to general instruction: Table 1, and the example of Figure 3 (b) and 7 (b)."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True)
class Prompt:
    """``doc_to_text``: the prompt of a row.

    A dataclass, not a closure, because the harness copies a task's config and writes it into the results.

    Attributes:
        level: a key of ``INSTRUCTIONS``.
    """

    level: str

    def __call__(self, doc: Mapping[str, Any]) -> str:
        """Return the prompt of one row, with the line endings of the published prompts.

        Args:
            doc: the row: its ``question`` as in the dataset, and its ``options`` in the order shown, at most 26.
        """
        lines = "".join(f"{letter}. {option} \n" for letter, option in zip(LETTERS, doc["options"], strict=False))
        return f"{INSTRUCTIONS[self.level]} \nQuestion: {doc['question']}\n\n{lines}Answer:"
