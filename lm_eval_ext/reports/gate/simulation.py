"""Simulated pairs of runs: how often the gate says what about a true drop.

Two runs of equal quality do not give the same answers: a retrained model, or one that samples, gets some wrong that it
got right, and as many right that it got wrong. How many is either assumed, and then answers change one by one, or known
from two runs: then the rows of each simulated pair are drawn from theirs, and it is left to chance which of the two was
the first. On top of that, the candidate loses answers at random until the true drop is reached. The gate's own
functions judge the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from lm_eval_ext.reports.gate.drop import LEVEL
from lm_eval_ext.reports.paired import MeanChange
from lm_eval_ext.reports.statistics import Floats

SEED = 20231101
AT_ONCE = 2_000_000
"""The most rows that are simulated at once."""


@dataclass(frozen=True, eq=False)
class Asked:
    """What a task or group asks of a model, and how much of it changes between two runs of equal quality.

    Attributes:
        weights: the sum of the weights of all answers to each row, shape (rows,).
        rows_by_dataset: the number of rows of each dataset, in the order of the rows.
        answers: the number of answers to each row.
        changed: the share of the answers whose score changes; half of these get better. It does not count if two runs
            show it.
        shown: how much worse each row is in the second of two runs, in units of the weights, shape (rows,); ``None`` if
            there are not two.
        is_share: whether the score is a share.
    """

    weights: Floats
    rows_by_dataset: tuple[int, ...]
    answers: int
    changed: float = 0.0
    shown: Floats | None = None
    is_share: bool = True

    @classmethod
    def alike(cls, rows: int, answers: int, changed: float) -> Asked:
        """Return so many rows of one dataset, all with as many answers of equal weight."""
        return cls(np.full(rows, float(answers)), (rows,), answers, changed)

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(self.weights)


@dataclass(frozen=True)
class Outcome:
    """What the gate says about a true drop.

    Attributes:
        beyond: the share of runs in which it is called a regression.
        within: the share of runs in which it is called not worse.
        typical: a drop of this size, with the mean standard error of the runs.
    """

    beyond: float
    within: float
    typical: MeanChange


def outcome(asked: Asked, drop: float, bound: float, pairs: int, level: float = LEVEL) -> Outcome:
    """Return what the gate says about a true drop.

    Args:
        asked: the rows, and how much changes.
        drop: the true drop.
        bound: the allowed drop.
        pairs: the number of simulated pairs of runs.
        level: the level of the lower limit; below 0.05 if several drops are tested.
    """
    drops = list(simulated(asked, drop, pairs))
    error = fmean(one.error for one in drops)
    typical = MeanChange(drop, drop, error, drops[0].freedom, asked.rows, asked.rows * asked.answers, asked.is_share)
    return Outcome(
        fmean(one.p_above(bound) < level for one in drops),
        fmean(one.p_below(bound) < LEVEL for one in drops),
        typical,
    )


def simulated(asked: Asked, drop: float, pairs: int) -> Iterator[MeanChange]:
    """Yield the measured drop of each of some pairs of runs.

    Args:
        asked: the rows, and how much changes.
        drop: the true drop.
        pairs: the number of pairs.
    """
    generator = np.random.default_rng([SEED, asked.rows, asked.answers, round(1e6 * drop), round(1e6 * asked.changed)])
    at_once = max(1, AT_ONCE // asked.rows)
    for start in range(0, pairs, at_once):
        shape = min(at_once, pairs - start), asked.rows
        weights, worse, lost = _changed(asked, generator, shape)
        if not asked.is_share:
            worse += drop * weights
        elif drop:
            # What was lost cannot be lost again.
            worse += weights / asked.answers * generator.binomial(asked.answers - lost, min(1.0, drop / _left(asked)))
        for of_pair, changes in zip(weights, worse, strict=True):
            yield MeanChange.of_rows(
                changes, of_pair, asked.rows_by_dataset, asked.rows * asked.answers, is_share=asked.is_share
            )


def _left(asked: Asked) -> float:
    """Return the share of the answers that do not get worse by themselves."""
    return 1.0 if asked.shown is not None else 1 - asked.changed / 2


def _changed(
    asked: Asked, generator: np.random.Generator, shape: tuple[int, int]
) -> tuple[Floats, Floats, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """Return the weights of the rows of some pairs, how much worse they are, and how many answers to them are lost.

    All three have the shape (pairs, rows).
    """
    none = np.zeros(shape, np.int64)
    if asked.shown is not None:
        starts = np.repeat(np.cumsum([0, *asked.rows_by_dataset[:-1]]), asked.rows_by_dataset)
        drawn = starts + generator.integers(0, np.repeat(asked.rows_by_dataset, asked.rows_by_dataset), shape)
        return asked.weights[drawn], generator.choice([-1.0, 1.0], shape) * asked.shown[drawn], none
    half = asked.changed / 2
    lost = generator.binomial(asked.answers, half, shape)
    won = generator.binomial(asked.answers - lost, half / (1 - half))
    weights = np.broadcast_to(asked.weights, shape)
    return weights, weights / asked.answers * (lost - won), lost
