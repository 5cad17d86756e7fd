"""The difference between two runs of tasks that are not ours, without a mean over rows, or without rows."""

from __future__ import annotations

from math import inf, nan, sqrt

import numpy as np

from lm_eval_ext.reports.evidence import replicates, terms_by_cluster, without_each
from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.gate.difference import Difference
from lm_eval_ext.reports.gate.units import FEW, Unit
from lm_eval_ext.reports.statistics import Floats, Population, estimate
from lm_eval_ext.results.comparability import Pair
from lm_eval_ext.results.issue import Issue, named, warning

NORMAL = 1.959964
"""The 97.5th percentile of the standard normal distribution."""


def is_mean_of_rows(unit: Unit) -> bool:
    """Return whether every row of both sides has a number whose mean is the score."""
    metric = unit.headline.name
    rows = [run.rows for pair in unit.pairs for run in (pair.before, pair.after) if run.rows is not None]
    # A row without a number does not count.
    return all(metric in of_run.values and not np.isnan(of_run.values[metric]).any() for of_run in rows)


def unknown_aggregation(unit: Unit) -> Issue | None:
    """Return which tasks' scores come from their rows in an unknown way; ``None`` if there are none."""
    metric = unit.headline.name
    unknown = [
        pair.before.task
        for pair in unit.pairs
        if not pair.before.is_ours
        and any(run.rows is not None and metric not in run.rows.aggregates for run in (pair.before, pair.after))
    ]
    if not unknown:
        return None
    which = f" ({named(unknown, FEW)})" if unit.is_group else ""
    return warning(f"{metric} is no mean of its rows, nor another known aggregation{which}")


def of_aggregates(unit: Unit, population: Population) -> Difference:
    """Return how a score differs that is a function of sums over rows, such as a perplexity or a corpus BLEU.

    The interval resamples the rows of both sides together. What each row contributes is its jackknife pseudo-value
    (Tukey 1958): the number of rows times the change, minus that number less one times the change without the row.
    A group's change is the weighted mean of its tasks'.
    """
    metric = unit.headline.name
    total, before, after = 0.0, 0.0, 0.0
    changes: list[Floats] = []
    by_row: dict[str, Floats] = {}
    weight_by_row: dict[str, Floats] = {}
    answers = lost = added = 0
    for pair in unit.pairs:
        first, second = pair.before.rows, pair.after.rows
        if first is None or second is None:
            raise ValueError(f"{pair.before.task}: no samples")
        both, mine, theirs = np.intersect1d(first.ids, second.ids, assume_unique=True, return_indices=True)
        lost, added, answers = lost + len(first) - len(both), added + len(second) - len(both), answers + len(both)
        if not len(both):
            continue
        dataset, clusters = pair.before.dataset, first.clusters[mine]
        asked = population.by_cluster(dataset, clusters, np.ones(len(both))) > 0
        sides = [
            (of_side, terms_by_cluster(population, dataset, clusters, of_side.terms[rows]))
            for of_side, rows in ((first.aggregates[metric], mine), (second.aggregates[metric], theirs))
        ]
        old, new = (replicates(population, dataset, *of_side) for of_side in sides)
        without = [without_each(of_side, sums[asked]) for of_side, sums in sides]
        weight = 1.0 if unit.tasks_weigh_alike else float(len(both))
        total, before, after = total + weight, before + weight * old[0], after + weight * new[0]
        changes.append(weight * (new - old))
        contributions = pseudo_values(float(new[0] - old[0]), without[1] - without[0])
        for sums, values in ((by_row, contributions), (weight_by_row, np.ones(len(contributions)))):
            of_dataset = sums.setdefault(dataset, np.zeros(len(asked)))
            of_dataset[asked] += weight / len(contributions) * values
    if not answers:
        return Difference(unit, nan, nan, Estimate(nan), lost=lost, added=added)
    return Difference(
        unit,
        float(before / total),
        float(after / total),
        estimate(np.sum(changes, axis=0) / total),
        np.concatenate([by_row[dataset][weights > 0] for dataset, weights in weight_by_row.items()]),
        np.concatenate([weights[weights > 0] for weights in weight_by_row.values()]),
        tuple(int(np.count_nonzero(weights)) for weights in weight_by_row.values()),
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


def unpaired(unit: Unit, difference: Difference, pairs: tuple[Pair, ...]) -> Difference:
    """Return a difference of scores without rows, with an interval from the standard errors in the results.

    Args:
        unit: what is compared.
        difference: the difference of the scores.
        pairs: the tasks; the rows of the two sides are taken to be independent.
    """
    variance = total = 0.0
    for pair in pairs:
        weight = 1.0 if unit.tasks_weigh_alike else float(pair.before.count)
        errors = [run.standard_error(unit.headline.name) for run in (pair.before, pair.after)]
        if any(error is None for error in errors):
            return difference
        variance += weight**2 * sum(error**2 for error in errors if error is not None)
        total += weight
    error, change = sqrt(variance) / total, difference.change.value
    if not error:
        return difference
    most = 1.0 if unit.is_share else inf
    interval = Estimate(change, max(-most, change - NORMAL * error), min(most, change + NORMAL * error))
    issue = difference.unsampled
    said = warning(f"{issue}; interval and p are from the standard errors in the results, unpaired") if issue else None
    return Difference(unit, difference.before, difference.after, interval, unsampled=said, error=error)
