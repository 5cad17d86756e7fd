"""What several draws per row tell: reliability, components of variance, and how many draws suffice.

A row has an expected value, the mean over infinitely many draws; a draw deviates from it by chance. With n rows and K
draws of each, the variance of a mean is ``(between + within / K) / n``: more rows reduce both parts, more draws only
the second. The estimators are those of the one-way analysis of variance with random effects (Searle, Casella and
McCulloch 1992, chapter 3).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import ceil, inf, nan, sqrt

import numpy as np

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.units import Compared
from lm_eval_ext.reports.paired import ByDataset, Difference, difference_of, in_common, squared_deviations, sums_by_row
from lm_eval_ext.reports.statistics import Floats
from lm_eval_ext.results.rows import Rows
from lm_eval_ext.results.runs import TaskRun

TOLERANCE = 0.05
"""The share of a standard error that more draws could still remove, at most, where draws suffice."""


def all_right(right: Floats, draws: int, k: int) -> Floats:
    """Return, per row, the share of the sets of k draws in which all are right: reliable@k.

    This is C(c, k) / C(n, k), the unbiased estimator of the chance that k new draws are all right (pass^k of Yao et al.
    2024, tau-bench, for n attempts at a task of which c succeed).

    Args:
        right: the number of right draws of each row, shape (rows,).
        draws: the number of draws of each row, n.
        k: the size of the sets.

    Raises:
        ValueError: ``k`` is not from 1 to ``draws``.
    """
    if not 1 <= k <= draws:
        raise ValueError(f"k is {k}; expected a number from 1 to {draws}, the number of draws")
    share = np.ones(len(right))
    for taken in range(k):
        # A factor of 0 makes the product 0 before a later factor could be negative.
        share = share * (right - taken) / (draws - taken)
    return share.clip(min=0.0)


def any_right(right: Floats, draws: int, k: int) -> Floats:
    """Return, per row, the share of the sets of k draws in which at least one is right: pass@k.

    This is 1 - C(n - c, k) / C(n, k) (Chen et al. 2021, equation 1).

    Args:
        right: the number of right draws of each row, shape (rows,).
        draws: the number of draws of each row, n.
        k: the size of the sets.

    Raises:
        ValueError: ``k`` is not from 1 to ``draws``.
    """
    return 1.0 - all_right(draws - right, draws, k)


@dataclass(frozen=True)
class Components:
    """The components of the variance of one answer.

    Attributes:
        within: the variance of a draw around the expected value of its row, averaged over rows; NaN if each row has a
            single draw.
        between: the variance of the rows' expected values; 0 where the estimate is negative.
    """

    within: float
    between: float


def components(draws: Floats) -> Components:
    """Return the components of a task's values.

    Args:
        draws: the values, shape (rows, draws).
    """
    rows, count = draws.shape
    within = float(within_rows(draws).mean())
    between = float(draws.mean(axis=1).var(ddof=1)) - within / count if rows > 1 else nan
    return Components(within, _not_negative(between))


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

    @classmethod
    def of(cls, difference: Difference, added: Floats, by_one: Floats) -> ChangeComponents:
        """Return the components of a difference; NaN between rows if there are too few of them.

        Args:
            difference: how the rows change.
            added: the variance that the draws at hand add to each row's change, shape (rows,).
            by_one: the variance that one draw on each side would add, shape (rows,).
        """
        changes, weights, of_datasets = difference.by_row, difference.weight_by_row, difference.rows_by_dataset
        rows = len(changes)
        freedom = rows - len(of_datasets)
        between = squared_deviations(changes, weights, of_datasets) / freedom - float(added.mean()) if freedom else nan
        return cls(float(by_one.mean()), _not_negative(between), rows, float(weights.sum()) / rows)

    def error(self, draws: float) -> float:
        """Return the standard error of the change with this many draws on each side."""
        return float(np.sqrt((self.between + self.within / draws) / self.rows) / self.scale)

    @property
    def sufficient(self) -> float:
        """The number of draws on each side from which on any number of further draws removes at most ``TOLERANCE``.

        Infinite if the rows' expected changes do not differ: then a draw is worth as much as a row. NaN if unknown.
        """
        spare = ((1 / (1 - TOLERANCE)) ** 2 - 1) * self.between
        return self._draws(spare)

    def decisive(self, error: float) -> float:
        """Return the number of draws on each side with which the standard error is this small.

        Infinite if these rows cannot have it with any number of draws; NaN if unknown.
        """
        return self._draws(self.rows * (error * self.scale) ** 2 - self.between)

    def _draws(self, most: float) -> float:
        """Return the number of draws that together add at most this variance to a row's change."""
        if np.isnan(self.within) or np.isnan(most):
            return nan
        if most <= 0:
            # Not even a draw without chance would do, if the rows alone have more variance.
            return inf if self.within > 0 or most < 0 else 1
        return _whole(self.within / most)


def _not_negative(variance: float) -> float:
    return variance if np.isnan(variance) else max(0.0, variance)


def _whole(draws: float) -> float:
    """Return the next whole number; what rounding made slightly larger than one is that number."""
    return max(1, ceil(draws - 1e-9))


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
        sides: the components of variance of each side's answers.
        change: those of the change.
    """

    unit: Compared
    draws: tuple[int, int]
    k: int
    reliable: Difference | None
    any_of: Difference | None
    sides: tuple[Components, Components]
    change: ChangeComponents


def draws_of(unit: Compared) -> tuple[int, int]:
    """Return the number of draws of each row on each side: of the task with the fewest."""
    return (
        min(pair.before.rows.drawn if pair.before.rows else 1 for pair in unit.pairs),
        min(pair.after.rows.drawn if pair.after.rows else 1 for pair in unit.pairs),
    )


def sampled(unit: Compared, difference: Difference, k: int | None = None) -> Sampled | None:
    """Return what several draws tell about a difference; ``None`` if there are no several draws, or no samples.

    Args:
        unit: what is compared.
        difference: the difference of means over rows and draws.
        k: the size of the sets of draws; by default, the number of draws of the side with fewer.

    Raises:
        ReportError: a side has fewer than k draws.
    """
    draws = draws_of(unit)
    if draws == (1, 1) or not difference.answers:
        return None
    size = min(draws) if k is None else k
    if size > min(draws):
        of_sides = " and ".join(map(str, dict.fromkeys(draws)))
        raise ReportError(f"--k {k}: {unit.name} has {of_sides} draws per row; expected at most {min(draws)}")
    reliable = any_of = None
    if _is_right_or_wrong(unit):
        reliable, any_of = (
            difference_of(
                unit.runs,
                partial(_chance, unit, size, any_of=any_of),
                tasks_weigh_alike=unit.tasks_weigh_alike,
                is_share=unit.is_share,
            )
            for any_of in (False, True)
        )
    before, after = (_components(unit, of_side) for of_side in zip(*unit.runs, strict=True))
    return Sampled(unit, draws, size, reliable, any_of, (before, after), change_of(unit, difference))


def _is_right_or_wrong(unit: Compared) -> bool:
    """Return whether every draw of the unit's answers is known to be either right or wrong."""
    if unit.headline.higher_is_better is None:
        return False
    of_rows = [run.rows.draws_of(unit.headline.name) for pair in unit.runs for run in pair if run.rows]
    return all(bool(np.all((values == 0) | (values == 1))) for values in of_rows)


def _chance(unit: Compared, k: int, rows: Rows, *, any_of: bool) -> Floats:
    """Return, per row, the chance that k draws are all right, or that any is; right draws have the best value."""
    draws = rows.draws_of(unit.headline.name)
    right = np.asarray(np.count_nonzero(draws == max(unit.sign, 0), axis=1), np.float64)
    return (any_right if any_of else all_right)(right, rows.drawn, k)


def _components(unit: Compared, runs: tuple[TaskRun, ...]) -> Components:
    """Return the mean components of a side's tasks."""
    found = [components(run.rows.draws_of(unit.headline.name)) for run in runs if run.rows]
    return Components(*(float(np.mean([getattr(each, part) for each in found])) for part in ("within", "between")))


def change_of(unit: Compared, difference: Difference) -> ChangeComponents:
    """Return the components of the variance of a difference with answers; NaN between rows if there are too few."""
    metric = unit.headline.name
    noise: ByDataset = {}
    of_one_draw: ByDataset = {}
    for first, second in unit.runs:
        if first.rows is None or second.rows is None:
            raise ValueError(f"{first.task}: no samples")
        mine, theirs = in_common(first.rows, second.rows)
        if len(mine):
            weight, clusters = 1 / len(mine) if unit.tasks_weigh_alike else 1.0, first.rows.clusters[mine]
            before = weight**2 * _variance(first, first.rows.draws_of(metric)[mine])
            after = weight**2 * _variance(second, second.rows.draws_of(metric)[theirs])
            at_hand = before / first.rows.drawn + after / second.rows.drawn
            noise.setdefault(first.dataset, []).append((clusters, at_hand, 1.0))
            of_one_draw.setdefault(first.dataset, []).append((clusters, before + after, 1.0))
    return ChangeComponents.of(difference, sums_by_row(noise)[0], sums_by_row(of_one_draw)[0])


def _variance(run: TaskRun, draws: Floats) -> Floats:
    """Return the variance of the draws of each row; NaN if a single one was sampled."""
    # Greedy decoding draws nothing.
    if draws.shape[1] == 1 and run.decoding.temperature == 0:
        return np.zeros(len(draws))
    return within_rows(draws)


def draws_to_decide(measured: Sampled, rows: float) -> float:
    """Return the number of draws of these rows, on each side, that would tell as much as more rows.

    Args:
        measured: the unit.
        rows: the number of rows, with the present number of draws.

    Returns:
        The number; infinite if no number of draws would, NaN if the chance in draws is not known.
    """
    now = 2 / (1 / measured.draws[0] + 1 / measured.draws[1])
    return measured.change.decisive(measured.change.error(now) * sqrt(measured.change.rows / rows))
