"""Where in a list the instructions are that are followed."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise


def in_thirds(verdicts: Sequence[bool]) -> list[float]:
    """Return the share of each third of at least three verdicts that are true."""
    ends = [round(len(verdicts) * third / 3) for third in range(4)]
    return [share(verdicts[start:end]) for start, end in pairwise(ends)]


def share(verdicts: Sequence[bool]) -> float:
    """Return the share of verdicts that are true; there is at least one."""
    return sum(verdicts) / len(verdicts)
