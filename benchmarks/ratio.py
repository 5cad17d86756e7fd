"""One line of the benchmark table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """Our time and a peer's for the same work, in one run.

    Attributes:
        work: a description of the work.
        ours, peer: seconds.
        goal: the goal in words.
        figure: computes the figure to which the goal applies, from ``(ours, peer)``.
        reached: whether a figure reaches the goal.
    """

    work: str
    ours: float
    peer: float
    goal: str
    figure: Callable[[float, float], float]
    reached: Callable[[float], bool]

    def __str__(self) -> str:
        value = self.figure(self.ours, self.peer)
        verdict = "reached" if self.reached(value) else "MISSED"
        return f"{self.work:58} {self.ours:9.4f} {self.peer:9.4f} {value:8.3f}  {self.goal}: {verdict}"
