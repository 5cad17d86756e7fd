"""What a number of rows can show: by formula for a measured drop, and by simulation before anything is run.

A drop is a ``MeanChange`` for the worse. In simulations, two runs of equal quality do not give the same answers: a
retrained model, or one that samples, gets some wrong that it got right, and as many right that it got wrong. How many
is either assumed, and then answers change one by one, or known from two runs: then the rows of each simulated pair are
drawn from theirs, and it is left to chance which of the two was the first. On top of that, the candidate loses answers
at random until the true drop is reached. The gate's own functions judge the result.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf, isinf, sqrt
from statistics import NormalDist, fmean

import numpy as np
from scipy.special import stdtrit

from lm_eval_ext.reports.paired import MeanChange, RowSums
from lm_eval_ext.reports.statistics import Floats

ALPHA = 0.05
"""The error rate of a test: how often, at most, it calls an allowed drop a regression, or a larger one not worse."""
MOST_ROWS = 1_000_000
"""The most rows that anybody would evaluate."""
MOST_DRAWS = 1000
"""The most draws of each row that anybody would sample."""
POWER = 0.8
"""The probability of the outcome that a number of rows, or a drop, is given for."""
SEED = 20231101
AT_ONCE = 2_000_000
"""The most rows that are simulated at once."""


def rows_to_decide(drop: MeanChange, bound: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Return about how many rows like these would decide, with some power, if the true drop is the measured one.

    They decide if the gate calls the drop what it is, a regression or not worse.

    Args:
        drop: the measured drop.
        bound: the largest allowed drop.
        alpha: the error rate of the test for a regression: 0.05, or less where several drops are tested.
        power: the probability that the rows decide.

    Returns:
        The number; infinite if no practical number would, if the drop is the bound, or if there is no standard error.
    """
    return _fewest(lambda rows: _decides(_as_many(drop, rows), bound, alpha, power), MOST_ROWS)


def draws_to_decide(
    drop: MeanChange, error: Callable[[float], float], bound: float, alpha: float = ALPHA, power: float = POWER
) -> float:
    """Return about how many draws of these rows on each side would decide.

    Args:
        drop: the measured drop.
        error: the standard error of a drop by the number of draws, without the made-up rows.
        bound: as for ``rows_to_decide``.
        alpha: as for ``rows_to_decide``.
        power: as for ``rows_to_decide``.

    Returns:
        The number; infinite if no practical number would.
    """
    made_up = _made_up(drop)
    return _fewest(
        lambda draws: _decides(replace(drop, error=sqrt(error(draws) ** 2 + made_up)), bound, alpha, power), MOST_DRAWS
    )


def rows_to_show(drop: MeanChange, true_drop: float, bound: float, alpha: float) -> float:
    """Return about how many rows like these would show a true drop to be beyond the bound, with 80 % power.

    Args:
        drop: the measured drop, whose error the rows are taken to have, but for what the drop adds to it.
        true_drop: the drop to be shown.
        bound: the largest allowed drop.
        alpha: as for ``smallest_regression``.

    Returns:
        The number; infinite if no practical number would, or if there is no standard error.
    """
    none = replace(drop, value=0.0, error=sqrt(_variance_without_drop(drop)))
    return _fewest(lambda rows: smallest_regression(_as_many(none, rows), bound, alpha) <= true_drop, MOST_ROWS)


def _fewest(enough: Callable[[int], bool], most: int) -> float:
    """Return the smallest number that is enough, infinite if none up to ``most`` is."""
    number = bisect_left(range(most + 1), True, lo=1, key=enough)
    return number if number <= most else inf


def _decides(drop: MeanChange, bound: float, alpha: float, power: float) -> bool:
    """Return whether the gate calls a true drop what it is, with some power.

    That is so if it does where chance has moved the measured drop so far towards the bound as in ``1 - power`` of runs.
    """
    away = NormalDist().inv_cdf(power) * sqrt(max(0.0, drop.error**2 - _made_up(drop)))
    value = drop.value - away if drop.value > bound else drop.value + away
    measured = replace(drop, value=value, center=value * drop.rows / (drop.rows + 2) if drop.is_share else value)
    return measured.p_above(bound) < alpha if drop.value > bound else measured.p_below(bound) < ALPHA


def _as_many(drop: MeanChange, rows: int) -> MeanChange:
    """Return the same drop over another number of rows like these, besides two made-up ones in either case."""
    found = replace(
        drop,
        freedom=max(1, drop.freedom + rows - drop.rows),
        rows=rows,
        answers=max(1, round(drop.answers * rows / drop.rows)) if drop.answers else 0,
    )
    of_rows = max(0.0, drop.error**2 - _made_up(drop)) * drop.rows / rows
    return replace(found, error=sqrt(of_rows + _made_up(found)))


def _made_up(drop: MeanChange) -> float:
    """Return the part of the variance of a drop that is from the two made-up rows."""
    return 2 * drop.rows / drop.answers / (drop.rows + 2) ** 2 if drop.is_share and drop.answers else 0.0


def smallest_regression(drop: MeanChange, bound: float, alpha: float) -> float:
    """Return the smallest true drop that rows like these would show to be beyond the bound, with 80 % power.

    Args:
        drop: the measured drop, whose error the rows are taken to have.
        bound: the largest allowed drop.
        alpha: the error rate of the test: of the first step of Holm's method if several drops are tested.
    """
    if isinf(drop.error):
        return inf
    found = bound
    # To the smallest measured drop that is beyond the bound, then to the true drop that is mostly measured as larger.
    for errors in (float(stdtrit(drop.freedom, 1 - alpha)), NormalDist().inv_cdf(POWER)):
        # Rows that become worse also differ: a drop adds its own variance, at most drop / rows.
        own = errors**2 / drop.rows if drop.is_share else 0.0
        found += (own + sqrt(own**2 + 4 * (own * found + errors**2 * _variance_without_drop(drop)))) / 2
    return found


def _variance_without_drop(drop: MeanChange) -> float:
    """Return the variance of a drop, less what the measured one has added to it."""
    own = abs(drop.value) * (1 - abs(drop.value)) / drop.answers if drop.is_share and drop.answers else 0.0
    return max(0.0, drop.error**2 - own)


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


def simulate(asked: Asked, drop: float, bound: float, pairs: int, alpha: float = ALPHA) -> Simulated:
    """Return what the gate says about a true drop.

    Args:
        asked: the rows, and how much changes.
        drop: the true drop.
        bound: the allowed drop.
        pairs: the number of simulated pairs of runs.
        alpha: the error rate of the lower limit; below 0.05 if several drops are tested.
    """
    found = list(drops(asked, drop, pairs))
    error = fmean(one.error for one in found)
    typical = MeanChange(drop, drop, error, found[0].freedom, asked.rows, asked.rows * asked.answers, asked.is_share)
    return Simulated(
        fmean(one.p_above(bound) < alpha for one in found),
        fmean(one.p_below(bound) < ALPHA for one in found),
        typical,
    )


def drops(asked: Asked, drop: float, pairs: int) -> Iterator[MeanChange]:
    """Yield the measured drop of each of some pairs of runs; see ``changes`` for the arguments."""
    for of_pair in changes(asked, drop, pairs):
        yield MeanChange.of_rows(of_pair, asked.rows * asked.answers, is_share=asked.is_share)


def changes(asked: Asked, drop: float, pairs: int) -> Iterator[RowSums]:
    """Yield how much worse each row is in each of some pairs of runs.

    Args:
        asked: the rows, and how much changes.
        drop: the true drop.
        pairs: the number of pairs.
    """
    generator = np.random.default_rng([SEED, asked.rows, asked.answers, round(1e6 * drop), round(1e6 * asked.changed)])
    at_once = max(1, AT_ONCE // asked.rows)
    of_datasets, answers, half = asked.rows_by_dataset, asked.answers, asked.changed / 2
    for start in range(0, pairs, at_once):
        shape = min(at_once, pairs - start), asked.rows
        # The weights of the rows, how much worse they are, and how many answers to them are lost, by pair and row.
        if asked.shown is None:
            lost = generator.binomial(answers, half, shape)
            won = generator.binomial(answers - lost, half / (1 - half))
            weights = np.broadcast_to(asked.weights, shape)
            worse, left = weights / answers * (lost - won), 1 - half
        else:
            starts = np.repeat(np.cumsum([0, *of_datasets[:-1]]), of_datasets)
            drawn = starts + generator.integers(0, np.repeat(of_datasets, of_datasets), shape)
            weights, worse = asked.weights[drawn], generator.choice([-1.0, 1.0], shape) * asked.shown[drawn]
            lost, left = np.zeros(shape, np.int64), 1.0
        if not asked.is_share:
            worse += drop * weights
        elif drop:
            # What was lost cannot be lost again; it is a share of what does not get worse by itself.
            worse += weights / answers * generator.binomial(answers - lost, min(1.0, drop / left))
        for of_pair, of_rows in zip(weights, worse, strict=True):
            yield RowSums(of_rows, of_pair, of_datasets)
