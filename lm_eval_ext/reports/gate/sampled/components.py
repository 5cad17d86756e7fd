"""The components of variance of sampled answers: between rows, and between the draws of a row.

A row has an expected value, the mean over infinitely many draws; a draw deviates from it by chance. With n rows and K
draws of each, the variance of a mean is ``(between + within / K) / n``: more rows reduce both parts, more draws only
the second. The estimators are those of the one-way analysis of variance with random effects (Searle, Casella and
McCulloch 1992, chapter 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, nan

import numpy as np

from lm_eval_ext.reports.paired import squared_deviations
from lm_eval_ext.reports.statistics import Floats

TOLERANCE = 0.05
"""The share of a standard error that more draws could still remove, at most, where draws suffice."""


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


@dataclass(frozen=True)
class DrawnChange:
    """The changes of the rows, and the variance that drawing adds to them.

    Attributes:
        changes: the sum of the changes of all answers to each row, shape (rows,).
        weights: the sum of the weights of these answers, shape (rows,).
        added: the variance that the draws at hand add to each row's change, shape (rows,).
        added_by_one: the variance that one draw on each side would add, shape (rows,).
        rows_by_dataset: the number of rows of each dataset, in the order of the rows; datasets are strata.
    """

    changes: Floats
    weights: Floats
    added: Floats
    added_by_one: Floats
    rows_by_dataset: Sequence[int]

    @property
    def components(self) -> ChangeComponents:
        """The components of its variance; NaN between rows if there are too few of them."""
        rows, total = len(self.changes), float(self.weights.sum())
        freedom = rows - len(self.rows_by_dataset)
        squares = squared_deviations(self.changes, self.weights, self.rows_by_dataset)
        between = squares / freedom - float(self.added.mean()) if freedom > 0 else nan
        return ChangeComponents(float(self.added_by_one.mean()), _not_negative(between), rows, total / rows)


def _not_negative(variance: float) -> float:
    return variance if np.isnan(variance) else max(0.0, variance)


def _whole(draws: float) -> float:
    """Return the next whole number; what rounding made slightly larger than one is that number."""
    return max(1, ceil(draws - 1e-9))
