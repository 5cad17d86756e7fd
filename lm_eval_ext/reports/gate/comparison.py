"""The difference between two runs, row by row, with its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np

from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.gate.difference import Difference
from lm_eval_ext.reports.gate.other_tasks import is_mean_of_rows, of_aggregates, unknown_aggregation, unpaired
from lm_eval_ext.reports.gate.units import FEW, Sides, Unit, Unpaired
from lm_eval_ext.reports.paired import Measure
from lm_eval_ext.reports.paired import difference_of as difference_of_rows
from lm_eval_ext.reports.statistics import holm
from lm_eval_ext.results.issue import Issue, named, warning


@dataclass(frozen=True)
class Compared:
    """A difference, and whether it is more than noise.

    Attributes:
        difference: the measured difference.
        p: two-sided; NaN if there was no test.
        adjusted: ``p`` adjusted by Holm's method for the number of groups, or of single tasks.
    """

    difference: Difference
    p: float
    adjusted: float

    @property
    def verdict(self) -> str:
        """Whether the second side is better, as text."""
        change = self.difference.change.value
        if change == 0:
            return "the same"
        if not self.adjusted < 0.05:
            return "unclear"
        if not self.difference.sign:
            return "different"
        return "better" if change * self.difference.sign > 0 else "worse"


@dataclass(frozen=True)
class Comparison:
    """Everything that two runs have in common, and what they do not.

    Attributes:
        compared: groups first, then tasks; the largest difference of each first.
        unpaired: what cannot be compared.
    """

    compared: tuple[Compared, ...]
    unpaired: tuple[Unpaired, ...]

    @property
    def tests(self) -> tuple[int, int]:
        """The number of p-values for groups, and for single tasks."""
        tested = [each.difference.unit.is_group for each in self.compared if not isnan(each.p)]
        return tested.count(True), tested.count(False)


def compare(sides: Sides) -> Comparison:
    """Return how the second side differs from the first, in everything that both have."""
    taken = [sides.take(name) for name in sides.known]
    unpaired = [each for each in taken if isinstance(each, Unpaired)]
    found: list[Difference] = []
    for unit in taken:
        if isinstance(unit, Unpaired):
            continue
        difference = difference_of(unit, sides)
        if difference.change.exists:
            found.append(difference)
        else:
            unpaired.append(Unpaired(unit.name, unit.family, difference.missing))
    p = {each.unit.name: value for each in found if not isnan(value := each.p)}
    # Two lists: correcting for hundreds of single tasks must not hide what a handful of groups shows.
    adjusted: dict[str, float] = {}
    for groups in (True, False):
        of_kind = [each.unit.name for each in found if each.unit.is_group is groups]
        adjusted |= holm({name: p[name] for name in of_kind if name in p})
    compared = [Compared(each, p.get(each.unit.name, nan), adjusted.get(each.unit.name, nan)) for each in found]
    compared.sort(key=_order)
    return Comparison(tuple(compared), tuple(unpaired))


def _order(compared: Compared) -> tuple[bool, bool, float, str]:
    """Return a sort key; what is no share has a unit of its own, and comes after all shares."""
    difference = compared.difference
    unit = difference.unit
    return not unit.is_group, not unit.is_share, -abs(difference.change.value), unit.name


def difference_of(unit: Unit, sides: Sides) -> Difference:
    """Return how the second side's score differs; NaN if no answers and no figures can be paired."""
    if unsampled := _unsampled(unit, sides):
        difference = _of_figures(unit, unsampled)
        # The standard errors take all answers for independent, and those of our tasks are not.
        return difference if any(pair.before.is_ours for pair in unit.pairs) else unpaired(unit, difference, unit.pairs)
    if unknown := unknown_aggregation(unit):
        return _of_figures(unit, unknown)
    metric, population = unit.headline.name, sides.evidence.population
    if is_mean_of_rows(unit):
        return over_rows(unit, metric)
    return of_aggregates(unit, population)


def _unsampled(unit: Unit, sides: Sides) -> Issue | None:
    runs = [pair.before for pair in unit.pairs], [pair.after for pair in unit.pairs]
    for side, of_side in zip(sides.names, runs, strict=True):
        lacking = [run.task for run in of_side if run.rows is None]
        if lacking:
            return warning(f"no samples in {side}" + (f": {named(lacking, FEW)}" if unit.is_group else ""))
    return None


def _of_figures(unit: Unit, unsampled: Issue) -> Difference:
    before, after = (
        _pooled(
            [run.figure(unit.headline.name) for run in runs],
            [1 if unit.tasks_weigh_alike else run.count for run in runs],
        )
        for runs in zip(*((pair.before, pair.after) for pair in unit.pairs), strict=True)
    )
    return Difference(unit, before, after, Estimate(after - before), unsampled=unsampled)


def _pooled(figures: Sequence[float | None], weights: Sequence[int]) -> float:
    """Return the weighted mean; NaN if a figure is missing."""
    known = [nan if figure is None else figure for figure in figures]
    return float(np.average(known, weights=weights))


def over_rows(unit: Unit, measure: Measure) -> Difference:
    """Return how the mean of a measure over the rows that both sides have differs; both have samples."""
    found = difference_of_rows(
        [(pair.before, pair.after) for pair in unit.pairs],
        measure,
        tasks_weigh_alike=unit.tasks_weigh_alike,
        is_share=unit.is_share,
    )
    return Difference(
        unit,
        found.before,
        found.after,
        found.change,
        found.by_row,
        found.weight_by_row,
        found.rows_by_dataset,
        found.answers,
        found.lost,
        found.added,
    )
