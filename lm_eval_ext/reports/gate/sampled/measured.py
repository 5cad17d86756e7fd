"""What several draws per row tell about a unit: reliability, components of variance, and how many draws suffice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.comparison import over_rows
from lm_eval_ext.reports.gate.difference import Difference
from lm_eval_ext.reports.gate.sampled.components import (
    ChangeComponents,
    Components,
    DrawnChange,
    components,
    within_rows,
)
from lm_eval_ext.reports.gate.sampled.reliability import all_right, any_right
from lm_eval_ext.reports.gate.units import Unit
from lm_eval_ext.reports.paired import in_common
from lm_eval_ext.reports.statistics import Floats, Population
from lm_eval_ext.results.rows import Rows
from lm_eval_ext.results.runs import TaskRun


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

    unit: Unit
    draws: tuple[int, int]
    k: int
    reliable: Difference | None
    any_of: Difference | None
    sides: tuple[Components, Components]
    change: ChangeComponents


def draws_of(unit: Unit) -> tuple[int, int]:
    """Return the number of draws of each row on each side: of the task with the fewest."""
    return (
        min(pair.before.rows.drawn if pair.before.rows else 1 for pair in unit.pairs),
        min(pair.after.rows.drawn if pair.after.rows else 1 for pair in unit.pairs),
    )


def sampled(difference: Difference, population: Population, k: int | None = None) -> Sampled | None:
    """Return what several draws tell about a difference; ``None`` if there are no several draws, or no samples.

    Args:
        difference: the difference of means over rows and draws.
        population: the resamples that its interval is from.
        k: the size of the sets of draws; by default, the number of draws of the side with fewer.

    Raises:
        ReportError: a side has fewer than k draws.
    """
    unit = difference.unit
    draws = draws_of(unit)
    if draws == (1, 1) or not difference.answers:
        return None
    size = min(draws) if k is None else k
    if size > min(draws):
        raise ReportError(f"--k {k}: {unit.name} has {_in_words(draws)} draws per row; expected at most {min(draws)}")
    right = partial(_right, unit)
    reliable, any_of = (
        over_rows(unit, partial(_estimated, estimator, size, right)) if _is_right_or_wrong(unit) else None
        for estimator in (all_right, any_right)
    )
    return Sampled(unit, draws, size, reliable, any_of, _sides(unit), change_of(difference, population))


def _in_words(draws: tuple[int, int]) -> str:
    return " and ".join(map(str, dict.fromkeys(draws)))


def _is_right_or_wrong(unit: Unit) -> bool:
    """Return whether every draw of the unit's answers is known to be either right or wrong."""
    if unit.headline.higher_is_better is None:
        return False
    metric = unit.headline.name
    of_rows = [run.rows.draws_of(metric) for pair in unit.pairs for run in (pair.before, pair.after) if run.rows]
    return all(bool(np.all((values == 0) | (values == 1))) for values in of_rows)


def _right(unit: Unit, rows: Rows) -> Floats:
    """Return the number of right draws of each row: those with the best value of the metric."""
    draws = rows.draws_of(unit.headline.name)
    return np.asarray(np.count_nonzero(draws == (1 if unit.headline.higher_is_better else 0), axis=1), np.float64)


def _estimated(
    estimator: Callable[[Floats, int, int], Floats], k: int, right: Callable[[Rows], Floats], rows: Rows
) -> Floats:
    return estimator(right(rows), rows.drawn, k)


def _sides(unit: Unit) -> tuple[Components, Components]:
    metric = unit.headline.name
    first, second = (
        [components(run.rows.draws_of(metric)) for run in runs if run.rows]
        for runs in ([pair.before for pair in unit.pairs], [pair.after for pair in unit.pairs])
    )
    return _mean(first), _mean(second)


def _mean(found: list[Components]) -> Components:
    """Return the mean components of a unit's tasks."""
    return Components(float(np.mean([each.within for each in found])), float(np.mean([each.between for each in found])))


def change_of(difference: Difference, population: Population) -> ChangeComponents:
    """Return the components of the variance of a difference with answers."""
    added: dict[str, Floats] = {}
    by_one: dict[str, Floats] = {}
    counts: dict[str, Floats] = {}
    for noise in _noise(difference.unit):
        for sums, values in (
            (added, noise.before / noise.draws[0] + noise.after / noise.draws[1]),
            (by_one, noise.before + noise.after),
            (counts, np.ones(len(noise.clusters))),
        ):
            of_task = population.by_cluster(noise.dataset, noise.clusters, values)
            sums[noise.dataset] = sums.get(noise.dataset, 0.0) + of_task
    rows = {dataset: of_dataset > 0 for dataset, of_dataset in counts.items()}
    at_hand, with_one = (np.concatenate([sums[dataset][rows[dataset]] for dataset in rows]) for sums in (added, by_one))
    return DrawnChange(
        difference.by_row, difference.weight_by_row, at_hand, with_one, difference.rows_by_dataset
    ).components


@dataclass(frozen=True)
class _Noise:
    """The chance in the draws of a task's rows.

    Attributes:
        dataset: the dataset.
        clusters: the number of the dataset's row that each row is built from, shape (rows,).
        draws: the number of draws of each row, on each side.
        before, after: the variance that one draw on a side adds to the change of the score, shape (rows,).
    """

    dataset: str
    clusters: NDArray[np.int32]
    draws: tuple[int, int]
    before: Floats
    after: Floats


def _noise(unit: Unit) -> Iterator[_Noise]:
    metric = unit.headline.name
    for pair in unit.pairs:
        first, second = pair.before.rows, pair.after.rows
        if first is None or second is None:
            raise ValueError(f"{pair.before.task}: no samples")
        mine, theirs = in_common(first, second)
        if len(mine):
            weight = 1 / len(mine) if unit.tasks_weigh_alike else 1.0
            before = weight**2 * _variance(pair.before, first.draws_of(metric)[mine])
            after = weight**2 * _variance(pair.after, second.draws_of(metric)[theirs])
            yield _Noise(pair.before.dataset, first.clusters[mine], (first.drawn, second.drawn), before, after)


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
