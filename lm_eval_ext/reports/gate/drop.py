"""How much worse a score is, and between which limits: answers are paired, and each dataset row is one observation."""

from __future__ import annotations

from math import inf, isinf, sqrt
from statistics import NormalDist

from scipy.special import stdtrit

from lm_eval_ext.reports.gate.difference import Difference
from lm_eval_ext.reports.paired import MeanChange

LEVEL = 0.05
"""The probability, at most, of each error: calling an allowed drop a regression, or a larger one not worse."""
MOST_ROWS = 1_000_000
"""The most rows that anybody would evaluate."""
POWER = 0.8
"""The probability of the outcome that a number of rows, or a drop, is given for."""


def drop_of(difference: Difference) -> MeanChange:
    """Return the drop that a difference is."""
    if not difference.answers:
        # From standard errors: each is of many rows, as far as the results tell.
        value, rows = -difference.sign * difference.change.value, difference.unit.pairs[0].before.count
        return MeanChange(value, value, difference.error, max(1, 2 * rows - 2), rows, is_share=difference.unit.is_share)
    return MeanChange.of_rows(
        -difference.sign * difference.by_row,
        difference.weight_by_row,
        difference.rows_by_dataset,
        difference.answers,
        is_share=difference.unit.is_share,
    )


def rows_to_decide(drop: MeanChange, bound: float, level: float = LEVEL) -> float:
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


def _errors(level: float) -> float:
    """Return how many standard errors away a value must be for a test at this level to see it."""
    normal = NormalDist()
    return normal.inv_cdf(1 - level) + normal.inv_cdf(POWER)
