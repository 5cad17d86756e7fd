"""Whether a reader's certainty can be relied on: how many of the readings of each certainty are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from lm_eval_ext.classifier.reading import Reading

EDGES = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0)
"""The bounds of the bins of certainty; a bin includes its upper bound."""


@dataclass(frozen=True, slots=True)
class CertaintyBin:
    """The readings of a range of certainty.

    Attributes:
        above: the certainty is greater than this,
        most: and at most this.
        rows: the number of readings.
        certainty: their mean certainty.
        accuracy: the fraction of them that is right.
    """

    above: float
    most: float
    rows: int
    certainty: float
    accuracy: float


def reliability(readings: Sequence[Reading], right: Sequence[bool]) -> list[CertaintyBin]:
    """Return the non-empty bins of a reader's readings, the least certain first; abstentions are in none.

    Args:
        readings: its readings.
        right: for each of them, whether it is right.
    """
    judged = [(reading.certainty, is_right) for reading, is_right in zip(readings, right, strict=True)]
    bins = []
    for above, most in pairwise(EDGES):
        inside = [(certainty, is_right) for certainty, is_right in judged if above < certainty <= most]
        if inside:
            certainty = sum(one for one, _ in inside) / len(inside)
            accuracy = sum(is_right for _, is_right in inside) / len(inside)
            bins.append(CertaintyBin(above, most, len(inside), certainty, accuracy))
    return bins
