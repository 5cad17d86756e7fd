"""How the score of a task or group differs between two sides, whatever kind of score it is.

Most scores are means over rows, and ``paired`` has their difference. Those of tasks that are not ours can be functions
of sums over rows, such as a perplexity or a corpus BLEU; and where there are no samples, only the results tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, nan, sqrt

import numpy as np

from lm_eval_ext.reports.evidence import Floor, replicates, terms_by_cluster, without_each
from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.gate.units import TASKS_NAMED, Compared, Sides
from lm_eval_ext.reports.paired import ByDataset, Difference, MeanChange, difference_of, in_common, sums_by_row
from lm_eval_ext.reports.statistics import Floats, Population, estimate
from lm_eval_ext.results.issue import Issue, named, warning
from lm_eval_ext.results.runs import TaskRun

NORMAL = 1.959964
"""The 97.5th percentile of the standard normal distribution."""


def measured(unit: Compared, sides: Sides) -> Difference:
    """Return how the second side's score differs; NaN if no answers and no figures can be paired."""
    if unsampled := _unsampled(unit, sides):
        return _of_figures(unit, unsampled)
    if unknown := _unknown_aggregation(unit):
        return _of_figures(unit, unknown, may_have_error=False)
    if is_mean_of_rows(unit):
        return difference_of(
            unit.runs, unit.headline.name, tasks_weigh_alike=unit.tasks_weigh_alike, is_share=unit.is_share
        )
    return _of_sums(unit, sides.evidence.population)


@dataclass(frozen=True)
class AboveFloor:
    """How far the scores of both sides are above what the best answer without content scores (``evidence.Floor``).

    Both are measured on the rows that are compared: those that both sides have, with a number on each.

    Attributes:
        floor: the floor.
        sides: how far each side is above it.
    """

    floor: Floor
    sides: tuple[Estimate, Estimate]


def above_floor(unit: Compared, sides: Sides) -> tuple[AboveFloor | None, list[Issue]]:
    """Return how far the scores of both sides are above the floor, if there is one, and why there is none."""
    evidence, metric = sides.evidence, unit.headline.name
    paired = [pair for pair in (_on_paired_rows(pair, metric) for pair in unit.runs) if pair[0].count]
    both = [(of_side, evidence.floor(of_side, metric)) for of_side in zip(*paired, strict=True)]
    found = [(floor, floor.above(evidence.mean(of_side, metric))) for of_side, floor in both if floor is not None]
    if not found or len(found) < len(both):
        return None, evidence.no_floor([run for pair in unit.runs for run in pair], metric)
    (_, before), (floor, after) = found
    return AboveFloor(floor, (estimate(before), estimate(after))), []


def _on_paired_rows(pair: tuple[TaskRun, TaskRun], metric: str) -> tuple[TaskRun, TaskRun]:
    """Return two runs of a task with the rows on which they are compared; without samples, as they are."""
    first, second = pair[0].rows, pair[1].rows
    if first is None or second is None:
        return pair
    mine, theirs = in_common(first, second)
    known = ~np.isnan(first.numbers(metric)[mine] + second.numbers(metric)[theirs])
    ids = first.ids[mine][known]
    if len(ids) == len(first) == len(second):
        return pair
    before, after = (
        replace(run, rows=rows.kept(np.isin(rows.ids, ids)), count=len(ids))
        for run, rows in zip(pair, (first, second), strict=True)
    )
    return before, after


def is_mean_of_rows(unit: Compared) -> bool:
    """Return whether every row of both sides has a number whose mean is the score."""
    metric = unit.headline.name
    rows = [run.rows for pair in unit.runs for run in pair if run.rows is not None]
    # A row without a number does not count.
    return all(metric in of_run.values and not np.isnan(of_run.values[metric]).any() for of_run in rows)


def _unsampled(unit: Compared, sides: Sides) -> Issue | None:
    for side, of_side in zip(sides.names, zip(*unit.runs, strict=True), strict=True):
        lacking = [run.task for run in of_side if run.rows is None]
        if lacking:
            return warning(f"no samples in {side}" + (f": {named(lacking, TASKS_NAMED)}" if unit.is_group else ""))
    return None


def _unknown_aggregation(unit: Compared) -> Issue | None:
    """Return which tasks' scores come from their rows in an unknown way; ``None`` if there are none."""
    metric = unit.headline.name
    unknown = [
        pair[0].task
        for pair in unit.runs
        if not pair[0].is_ours and any(run.rows is not None and metric not in run.rows.aggregates for run in pair)
    ]
    if not unknown:
        return None
    which = f" ({named(unknown, TASKS_NAMED)})" if unit.is_group else ""
    return warning(f"{metric} is neither the mean of its rows nor another known aggregation{which}")


def _of_figures(unit: Compared, unpaired: Issue, *, may_have_error: bool = True) -> Difference:
    """Return the difference of the scores in the results, with an interval from their standard errors if there are any.

    The rows of the two sides are then taken to be independent.
    """
    before, after = (_pooled(unit, of_side) for of_side in zip(*unit.runs, strict=True))
    change = after - before
    # The standard errors take all answers for independent, and those of our tasks are not.
    error = nan if any(first.is_ours for first, _ in unit.runs) or not may_have_error else _pooled_error(unit)
    interval = Estimate(change)
    if error > 0:
        most = 1.0 if unit.is_share else inf
        interval = Estimate(change, max(-most, change - NORMAL * error), min(most, change + NORMAL * error))
        unpaired = warning(f"{unpaired}; interval and p are from the standard errors in the results, unpaired")
    # Each standard error is of many rows, as far as the results tell.
    rows = unit.runs[0][0].count
    mean = MeanChange(change, change, error if error > 0 else inf, max(1, 2 * rows - 2), rows, is_share=unit.is_share)
    return Difference(before, after, interval, mean, unpaired=unpaired)


def _pooled(unit: Compared, runs: Sequence[TaskRun]) -> float:
    """Return the mean of a side's figures, weighted as in its score; NaN if a figure is missing."""
    figures = [run.figure(unit.headline.name) for run in runs]
    weights = [1 if unit.tasks_weigh_alike else run.count for run in runs]
    return float(np.average([nan if figure is None else figure for figure in figures], weights=weights))


def _pooled_error(unit: Compared) -> float:
    """Return the standard error of the difference of independent rows; NaN if the results lack one."""
    variance = total = 0.0
    for pair in unit.runs:
        weight = 1.0 if unit.tasks_weigh_alike else float(pair[0].count)
        errors = [run.standard_error(unit.headline.name) for run in pair]
        variance += weight**2 * sum(nan if error is None else error**2 for error in errors)
        total += weight
    return sqrt(variance) / total


def _of_sums(unit: Compared, population: Population) -> Difference:
    """Return how a score differs that is a function of sums over rows, such as a perplexity or a corpus BLEU.

    The interval resamples the rows of both sides together. What each row contributes is its jackknife pseudo-value
    (Tukey 1958): the number of rows times the change, minus that number less one times the change without the row.
    A group's change is the weighted mean of its tasks'.
    """
    metric = unit.headline.name
    total, before, after = 0.0, 0.0, 0.0
    changes: list[Floats] = []
    contributed: ByDataset = {}
    answers = lost = added = 0
    for pair in unit.runs:
        first, second = pair[0].rows, pair[1].rows
        if first is None or second is None:
            raise ValueError(f"{pair[0].task}: no samples")
        mine, theirs = in_common(first, second)
        lost, added, answers = lost + len(first) - len(mine), added + len(second) - len(mine), answers + len(mine)
        if not len(mine):
            continue
        dataset, clusters = pair[0].dataset, first.clusters[mine]
        asked = np.unique(clusters)
        sides = [
            (of_side, terms_by_cluster(population, dataset, clusters, of_side.terms[rows]))
            for of_side, rows in ((first.aggregates[metric], mine), (second.aggregates[metric], theirs))
        ]
        old, new = (replicates(population, dataset, *of_side) for of_side in sides)
        without = [without_each(of_side, sums[asked]) for of_side, sums in sides]
        weight = 1.0 if unit.tasks_weigh_alike else float(len(mine))
        total, before, after = total + weight, before + weight * old[0], after + weight * new[0]
        changes.append(weight * (new - old))
        of_rows = pseudo_values(float(new[0] - old[0]), without[1] - without[0])
        share = weight / len(asked)
        contributed.setdefault(dataset, []).append((asked, share * of_rows, share))
    if not answers:
        return Difference.none(lost, added)
    by_row, weight_by_row, rows_by_dataset = sums_by_row(contributed)
    return Difference(
        float(before / total),
        float(after / total),
        estimate(np.sum(changes, axis=0) / total),
        MeanChange.of_rows(by_row, weight_by_row, rows_by_dataset, answers, is_share=unit.is_share),
        by_row,
        weight_by_row,
        rows_by_dataset,
        answers,
        lost,
        added,
    )


def pseudo_values(change: float, without: Floats) -> Floats:
    """Return what each row contributes to a change, with the change as their mean; without NaNs.

    Args:
        change: the change over all rows.
        without: the change without each row, shape (rows,).
    """
    rows = len(without)
    # Without its only positive, for example, a task has no F1.
    values = rows * change - (rows - 1) * np.where(np.isfinite(without), without, change)
    return np.asarray(values - values.mean() + change)
