"""What a number of rows can show: by formula for a measured drop, and by simulation before anything is run.

A drop is a ``MeanChange`` for the worse. In simulations, two runs of equal quality do not give the same answers: a
retrained model, or one that samples, gets some wrong that it got right, and as many right that it got wrong. How many
is either assumed, and then answers change one by one, or known from two runs: then the rows of each simulated pair are
drawn from theirs, and it is left to chance which of the two was the first. On top of that, the candidate loses answers
at random until the true drop is reached. The gate's own functions judge the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, isinf, sqrt
from statistics import NormalDist, fmean

import numpy as np
from scipy.special import stdtrit

from lm_eval_ext.reports.paired import MeanChange
from lm_eval_ext.reports.statistics import Floats

LEVEL = 0.05
"""The probability, at most, of each error: calling an allowed drop a regression, or a larger one not worse."""
MOST_ROWS = 1_000_000
"""The most rows that anybody would evaluate."""
POWER = 0.8
"""The probability of the outcome that a number of rows, or a drop, is given for."""
SEED = 20231101
AT_ONCE = 2_000_000
"""The most rows that are simulated at once."""


def rows_to_decide(drop: MeanChange, bound: float, level: float = LEVEL, power: float = POWER) -> float:
    """Return how many rows like these would decide, with some power, if the true drop is the measured one.

    Args:
        drop: the measured drop.
        bound: the largest allowed drop.
        level: the level of the test that decides.
        power: the probability that it does.

    Returns:
        The number; infinite if the drop is the bound, or if there is no standard error.
    """
    gap = abs(drop.value - bound)
    return drop.rows * (_errors(level, power) * drop.error / gap) ** 2 if gap else inf


def smallest_regression(drop: MeanChange, bound: float, tests: int) -> float:
    """Return the smallest true drop that rows like these would show to be beyond the bound, with 80 % power.

    Args:
        drop: the measured drop, whose error the rows are taken to have.
        bound: the largest allowed drop.
        tests: the number of drops tested: the level is that of the first step of Holm's method.
    """
    if isinf(drop.error):
        return inf
    smallest_measured = _away(drop, bound, _quantile(drop, LEVEL / tests))
    return _away(drop, smallest_measured, NormalDist().inv_cdf(POWER))


def rows_to_show(drop: MeanChange, true_drop: float, bound: float, tests: int) -> float:
    """Return about how many rows like these, more than there are, would show a true drop to be beyond the bound.

    They show it with 80 % power.

    Args:
        drop: the measured drop, whose error the rows are taken to have.
        true_drop: the drop to be shown.
        bound: the largest allowed drop.
        tests: as for ``smallest_regression``.

    Returns:
        The number; infinite if no practical number would, or if there is no standard error.
    """
    few, many = drop.rows, MOST_ROWS
    if smallest_regression(_of_rows(drop, many), bound, tests) > true_drop:
        return inf
    while many - few > 1:
        middle = (few + many) // 2
        if smallest_regression(_of_rows(drop, middle), bound, tests) > true_drop:
            few = middle
        else:
            many = middle
    return many


def _of_rows(drop: MeanChange, rows: int) -> MeanChange:
    """Return no drop over another number of rows like these; there are always two made-up rows."""
    if isinf(drop.error):
        return drop
    made_up = 2 * drop.rows / drop.answers if drop.is_share and drop.answers else 0.0
    of_rows = max(0.0, _variance_without_drop(drop) - made_up / (drop.rows + 2) ** 2)
    error = sqrt(of_rows * drop.rows / rows + made_up / (rows + 2) ** 2)
    freedom = drop.freedom + rows - drop.rows
    return MeanChange(0.0, 0.0, error, freedom, rows, round(drop.answers * rows / drop.rows), drop.is_share)


def _away(drop: MeanChange, start: float, errors: float) -> float:
    """Return the drop that is so many of its own standard errors larger than another one."""
    # Rows that become worse also differ: a drop adds its own variance, at most drop / rows.
    own = errors**2 / drop.rows if drop.is_share else 0.0
    return start + (own + sqrt(own**2 + 4 * (own * start + errors**2 * _variance_without_drop(drop)))) / 2


def _variance_without_drop(drop: MeanChange) -> float:
    """Return the variance of a drop, less what the measured one has added to it."""
    own = abs(drop.value) * (1 - abs(drop.value)) / drop.answers if drop.is_share and drop.answers else 0.0
    return max(0.0, drop.error**2 - own)


def _quantile(drop: MeanChange, level: float) -> float:
    return float(stdtrit(drop.freedom, 1 - level))


def _errors(level: float, power: float) -> float:
    """Return how many standard errors away a value must be for a test at this level to see it with this power."""
    normal = NormalDist()
    return normal.inv_cdf(1 - level) + normal.inv_cdf(power)


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
class Simulated:
    """What the gate says about a true drop.

    Attributes:
        beyond: the share of runs in which it is called a regression.
        within: the share of runs in which it is called not worse.
        typical: a drop of this size, with the mean standard error of the runs.
    """

    beyond: float
    within: float
    typical: MeanChange


def simulate(asked: Asked, drop: float, bound: float, pairs: int, level: float = LEVEL) -> Simulated:
    """Return what the gate says about a true drop.

    Args:
        asked: the rows, and how much changes.
        drop: the true drop.
        bound: the allowed drop.
        pairs: the number of simulated pairs of runs.
        level: the level of the lower limit; below 0.05 if several drops are tested.
    """
    found = list(drops(asked, drop, pairs))
    error = fmean(one.error for one in found)
    typical = MeanChange(drop, drop, error, found[0].freedom, asked.rows, asked.rows * asked.answers, asked.is_share)
    return Simulated(
        fmean(one.p_above(bound) < level for one in found),
        fmean(one.p_below(bound) < LEVEL for one in found),
        typical,
    )


def drops(asked: Asked, drop: float, pairs: int) -> Iterator[MeanChange]:
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
