"""What several draws per row tell: reliability, components of variance, and how many draws suffice.

A row has an expected value, the mean over infinitely many draws; a draw deviates from it by chance. With n rows and K
draws of each, the variance of a mean is ``(between + within / K) / n``: more rows reduce both parts, more draws only
the second. The estimators are those of the one-way analysis of variance with random effects (Searle, Casella and
McCulloch 1992, chapter 3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import ceil, inf, isnan, nan

import numpy as np

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.units import Compared, on_paired_rows
from lm_eval_ext.reports.paired import Difference, difference_of
from lm_eval_ext.reports.statistics import Floats
from lm_eval_ext.results.rows import Rows

TOLERANCE = 0.05
"""The share of a standard error that more draws could still remove, at most, where draws suffice."""


def all_right(right: Floats, draws: int, k: int) -> Floats:
    """Return, per row, the share of the sets of k draws in which all are right: reliable@k.

    This is C(c, k) / C(n, k), the unbiased estimator of the chance that k new draws are all right (pass^k of Yao et al.
    2024, tau-bench, for n attempts at a task of which c succeed).

    Args:
        right: the number of right draws of each row, shape (rows,).
        draws: the number of draws of each row, n.
        k: the size of the sets, at least 1 and at most ``draws``.
    """
    share = np.ones(len(right))
    for number in range(k):
        # A factor of 0 makes the product 0 before a later factor could be negative.
        share = share * (right - number) / (draws - number)
    return share.clip(min=0.0)


def any_right(right: Floats, draws: int, k: int) -> Floats:
    """Return, per row, the share of the sets of k draws in which at least one is right: pass@k.

    This is 1 - C(n - c, k) / C(n, k) (Chen et al. 2021, equation 1).

    Args:
        right: the number of right draws of each row, shape (rows,).
        draws: the number of draws of each row, n.
        k: the size of the sets, at least 1 and at most ``draws``.
    """
    return 1.0 - all_right(draws - right, draws, k)


def components(draws: Floats) -> tuple[float, float]:
    """Return the components of the variance of a task's answers.

    Args:
        draws: their values, shape (rows, draws).

    Returns:
        The variance of a draw around the expected value of its row, averaged over rows; NaN if each row has a single
        draw. And the variance of the rows' expected values; 0 where the estimate is negative.
    """
    rows, count = draws.shape
    within = float(within_rows(draws).mean())
    between = draws.mean(axis=1).var(ddof=1) - within / count if rows > 1 else nan
    return within, float(np.maximum(between, 0.0))


def within_rows(draws: Floats) -> Floats:
    """Return the unbiased variance of the draws of each row, shape (rows,); NaN if there is a single draw.

    Args:
        draws: the values, shape (rows, draws).
    """
    rows, count = draws.shape
    return np.asarray(draws.var(axis=1, ddof=1), np.float64) if count > 1 else np.full(rows, np.nan)


@dataclass(frozen=True)
class ChangeComponents:
    """The components of the variance of a change between two sides, whose rows are paired and whose draws are not.

    Attributes:
        within: the variance that one draw on each side adds to a row's change, averaged over rows; NaN if it is not
            known, because a side has a single draw of each row.
        between: the variance of the rows' expected changes; 0 where the estimate is negative.
        rows: the number of rows.
        scale: what a row's change is divided by, so that its mean over rows is the change of the score.
    """

    within: float
    between: float
    rows: int
    scale: float = 1.0

    def error(self, draws: float) -> float:
        """Return the standard error of the change with this many draws on each side."""
        return float(np.sqrt((self.between + self.within / draws) / self.rows) / self.scale)

    @property
    def sufficient(self) -> float:
        """The number of draws on each side from which on any number of further draws removes at most ``TOLERANCE``.

        Infinite if the rows' expected changes do not differ: then a draw is worth as much as a row. NaN if unknown.
        """
        spare = ((1 / (1 - TOLERANCE)) ** 2 - 1) * self.between
        if isnan(self.within) or isnan(spare):
            return nan
        if spare == 0:
            return inf if self.within > 0 else 1
        return max(1, ceil(self.within / spare))


@dataclass(frozen=True)
class Sampled:
    """A unit with several draws of each row, on one side at least.

    Attributes:
        unit: the unit.
        draws: the number of draws of each row, on each side.
        k: the size of the sets of draws that ``reliable`` and ``any_of`` are about.
        reliable: the chance that k draws are all right; ``None`` if answers are not either right or wrong, or if the
            results do not say which value is right.
        any_of: the chance that at least one of k draws is right; ``None`` as above.
        within, between: the ``components`` of variance of each side's answers, means over its tasks.
        change: the components of the variance of the change.
    """

    unit: Compared
    draws: tuple[int, int]
    k: int
    reliable: Difference | None
    any_of: Difference | None
    within: tuple[float, float]
    between: tuple[float, float]
    change: ChangeComponents


def draws_of(unit: Compared) -> tuple[int, int]:
    """Return the number of draws of each row on each side: of the task with the fewest."""
    before, after = (
        min(run.rows.drawn if run.rows else 1 for run in of_side) for of_side in zip(*unit.runs, strict=True)
    )
    return before, after


def sampled(unit: Compared, k: int | None = None) -> Sampled | None:
    """Return what several draws tell about a difference; ``None`` if there are no several draws, or no samples.

    Args:
        unit: what is compared, by means over rows and draws.
        k: the size of the sets of draws; by default, the number of draws of the side with fewer.

    Raises:
        ReportError: a side has fewer than k draws.
    """
    draws, metric = draws_of(unit), unit.headline.name
    if draws == (1, 1) or not unit.difference.answers:
        return None
    size = min(draws) if k is None else k
    if size > min(draws):
        of_sides = " and ".join(map(str, dict.fromkeys(draws)))
        raise ReportError(f"--k {k}: {unit.name} has {of_sides} draws per row; expected at most {min(draws)}")
    by_side = [[run.rows.draws_of(metric) for run in of_side if run.rows] for of_side in zip(*unit.runs, strict=True)]
    reliable = any_of = None
    if unit.sign and all(np.isin(values, (0, 1)).all() for of_side in by_side for values in of_side):

        def chance(rows: Rows, of_row: Callable[[Floats, int, int], Floats]) -> Floats:
            """Return, per row, the chance that k draws are all right, or any; right draws have the best value."""
            right = np.count_nonzero(rows.draws_of(metric) == max(unit.sign, 0), axis=1)
            return of_row(right.astype(np.float64), rows.drawn, size)

        reliable, any_of = (
            difference_of(
                unit.runs,
                partial(chance, of_row=of_row),
                tasks_weigh_alike=unit.tasks_weigh_alike,
                is_share=unit.is_share,
            )
            for of_row in (all_right, any_right)
        )
    before, after = (np.mean([components(values) for values in of_side], axis=0).tolist() for of_side in by_side)
    within, between = zip(before, after, strict=True)
    return Sampled(unit, draws, size, reliable, any_of, within, between, change_of(unit))


def change_of(unit: Compared) -> ChangeComponents:
    """Return the components of the variance of a difference with answers; NaN between rows if there are too few."""
    metric, difference = unit.headline.name, unit.difference
    # What the draws at hand, and a single one, add to the sum of the squares of the rows' changes.
    at_hand = of_one_draw = 0.0
    for run in (run for pair in unit.runs for run in on_paired_rows(pair, metric)):
        # Greedy decoding draws nothing.
        if run.rows and (run.rows.drawn > 1 or run.decoding.temperature != 0):
            weight = 1 / len(run.rows) if unit.tasks_weigh_alike else 1.0
            variance = weight**2 * float(within_rows(run.rows.draws_of(metric)).sum())
            at_hand, of_one_draw = at_hand + variance / run.rows.drawn, of_one_draw + variance
    changes, count, between = difference.by_row, difference.rows, nan
    if freedom := count - len(changes.rows_by_dataset):
        between = changes.squared_deviations() / freedom - at_hand / count
    scale = float(changes.weights.sum()) / count
    return ChangeComponents(of_one_draw / count, float(np.maximum(between, 0.0)), count, scale)
