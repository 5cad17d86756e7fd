"""How much worse a score is, and between which limits: answers are paired, and each dataset row is one observation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isinf, nan, sqrt
from statistics import NormalDist

import numpy as np
from scipy.special import stdtr, stdtrit

from lm_eval_ext.reports.gate.difference import Difference
from lm_eval_ext.reports.statistics import Floats

LEVEL = 0.05
"""The probability, at most, of each error: calling an allowed drop a regression, or a larger one not worse."""
MOST_ROWS = 1_000_000
"""The most rows that anybody would evaluate."""
POWER = 0.8
"""The probability of the outcome that a number of rows, or a drop, is given for."""


@dataclass(frozen=True)
class Drop:
    """A drop of a score, positive if it is worse in either direction of the metric.

    Its limits are those of a t distribution around ``center``. This is the mean over the rows and two made-up rows, of
    which one gets better and the other worse (Bonett and Price 2012, for one answer per row; with K answers, the
    made-up rows change by the square root of K of them, as independent answers would). Without these, equal answers to
    few rows would seem to exclude every drop. Where the center would tell more than the measured drop, the latter
    counts.

    Attributes:
        value: the measured drop.
        center: the drop with the made-up rows, slightly closer to zero.
        error: the standard error of ``center``; infinite if there are too few rows for one.
        freedom: the degrees of freedom: rows minus datasets.
        rows: the number of dataset rows.
        answers: the number of pairs of answers to them; 0 if there are none.
        is_share: whether the score is a share; another score has no made-up rows, and its drop no ends.
    """

    value: float
    center: float
    error: float
    freedom: int
    rows: int
    answers: int = 0
    is_share: bool = True

    def p_beyond(self, bound: float) -> float:
        """Return the one-sided p-value of "the true drop is at most ``bound``"."""
        return self._p(bound - self._low)

    def p_within(self, bound: float) -> float:
        """Return the one-sided p-value of "the true drop is at least ``bound``"."""
        return self._p(self._high - bound)

    def limits(self, lower: float, upper: float) -> tuple[float, float]:
        """Return the one-sided limits at two levels, such as 0.05; NaN if there is no standard error."""
        if isinf(self.error):
            return nan, nan
        below, above = (float(stdtrit(self.freedom, 1 - level)) * self.error for level in (lower, upper))
        low, high = self._low - below, self._high + above
        return (max(-1.0, low), min(1.0, high)) if self.is_share else (low, high)

    @property
    def _low(self) -> float:
        return min(self.value, self.center)

    @property
    def _high(self) -> float:
        return max(self.value, self.center)

    def _p(self, deviation: float) -> float:
        return 1.0 if isinf(self.error) else float(stdtr(self.freedom, deviation / self.error))


def drop_of(difference: Difference) -> Drop:
    """Return the drop that a difference is."""
    if not difference.answers:
        # From standard errors: each is of many rows, as far as the results tell.
        value, rows = -difference.sign * difference.change.value, difference.unit.pairs[0].before.count
        return Drop(value, value, difference.error, max(1, 2 * rows - 2), rows, is_share=difference.unit.is_share)
    return drop_of_changes(
        -difference.sign * difference.by_row,
        difference.weight_by_row,
        difference.rows_by_dataset,
        difference.answers,
        is_share=difference.unit.is_share,
    )


def drop_of_changes(
    changes: Floats, weights: Floats, rows_by_dataset: Sequence[int], answers: int, *, is_share: bool = True
) -> Drop:
    """Return the drop of rows.

    Args:
        changes: the sum of the changes for the worse of all answers to each row, shape (rows,).
        weights: the sum of the weights of these answers, shape (rows,).
        rows_by_dataset: the number of rows of each dataset, in the order of the rows; datasets are strata.
        answers: the number of pairs of answers.
        is_share: see ``Drop``.
    """
    rows, total = len(changes), float(weights.sum())
    value = float(changes.sum()) / total
    freedom = rows - len(rows_by_dataset)
    if freedom < 1:
        return Drop(value, value, inf, 0, rows, answers, is_share)
    deviations = changes - value * weights
    starts = np.cumsum([0, *rows_by_dataset[:-1]])
    means = np.add.reduceat(deviations, starts) / rows_by_dataset
    squares = float(np.sum((deviations - np.repeat(means, rows_by_dataset)) ** 2))
    if not is_share:
        # Rows that are all equal do not tell how rows vary.
        error = sqrt(squares * rows / freedom) / total if squares else inf
        return Drop(value, value, error, freedom, rows, answers, is_share)
    made_up = 2 * (total / rows) ** 2 / (answers / rows)
    with_both = total * (rows + 2) / rows
    error = sqrt(squares * rows / freedom + made_up) / with_both
    return Drop(value, float(changes.sum()) / with_both, error, freedom, rows, answers)


def rows_to_decide(drop: Drop, bound: float, level: float = LEVEL) -> float:
    """Return how many rows like these would decide, with 80 % power, if the true drop is the measured one.

    Args:
        drop: the measured drop.
        bound: the largest allowed drop.
        level: the level of the test that decides.

    Returns:
        The number; infinite if the drop is the bound, or if there is no standard error.
    """
    gap = abs(drop.value - bound)
    return drop.rows * (_errors(level) * drop.error / gap) ** 2 if gap else inf


def smallest_regression(drop: Drop, bound: float, tests: int) -> float:
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


def rows_to_show(drop: Drop, true_drop: float, bound: float, tests: int) -> float:
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


def _of_rows(drop: Drop, rows: int) -> Drop:
    """Return no drop over another number of rows like these; there are always two made-up rows."""
    if isinf(drop.error):
        return drop
    made_up = 2 * drop.rows / drop.answers if drop.is_share and drop.answers else 0.0
    of_rows = max(0.0, _variance_without_drop(drop) - made_up / (drop.rows + 2) ** 2)
    error = sqrt(of_rows * drop.rows / rows + made_up / (rows + 2) ** 2)
    freedom = drop.freedom + rows - drop.rows
    return Drop(0.0, 0.0, error, freedom, rows, round(drop.answers * rows / drop.rows), drop.is_share)


def _away(drop: Drop, start: float, errors: float) -> float:
    """Return the drop that is so many of its own standard errors larger than another one."""
    # Rows that become worse also differ: a drop adds its own variance, at most drop / rows.
    own = errors**2 / drop.rows if drop.is_share else 0.0
    return start + (own + sqrt(own**2 + 4 * (own * start + errors**2 * _variance_without_drop(drop)))) / 2


def _variance_without_drop(drop: Drop) -> float:
    """Return the variance of a drop, less what the measured one has added to it."""
    own = abs(drop.value) * (1 - abs(drop.value)) / drop.answers if drop.is_share and drop.answers else 0.0
    return max(0.0, drop.error**2 - own)


def _quantile(drop: Drop, level: float) -> float:
    return float(stdtrit(drop.freedom, 1 - level))


def _errors(level: float) -> float:
    """Return how many standard errors away a value must be for a test at this level to see it."""
    normal = NormalDist()
    return normal.inv_cdf(1 - level) + normal.inv_cdf(POWER)
