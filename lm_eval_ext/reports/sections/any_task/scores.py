"""The scores of tasks that are not ours, and of their groups, with their uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

import numpy as np

from lm_eval_ext.families.schema import SHARE
from lm_eval_ext.reports.evidence import Evidence, replicates, terms_by_cluster
from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.gate.comparison_text import described
from lm_eval_ext.reports.gate.other_tasks import NORMAL
from lm_eval_ext.reports.gate.units import unlike, weights
from lm_eval_ext.reports.statistics import estimate
from lm_eval_ext.results.issue import Issue
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import OTHER, Runs, TaskRun


@dataclass(frozen=True)
class Score:
    """A task or group with its score by each model.

    Attributes:
        name: the name of the task or group.
        metric: its metric, with the filter if there are several, and whether higher is better.
        is_share: whether it is a share, from 0 to 1.
        estimates: by model; models without it are left out.
        rows: the most rows that any model was evaluated on.
    """

    name: str
    metric: str
    is_share: bool
    estimates: dict[EvaluatedModel, Estimate]
    rows: int


def scores(evidence: Evidence) -> list[Score]:
    """Return the scores of all groups, then of all tasks, each by name.

    A group is left out if the harness gives it no score of its tasks' metric.
    """
    runs = evidence.runs
    tasks: dict[str, dict[EvaluatedModel, list[TaskRun]]] = {}
    for run in runs.of(OTHER):
        tasks.setdefault(run.task, {})[run.model] = [run]
    groups = ((name, _by_model(runs, parts)) for name, parts in sorted(runs.groups.items()))
    found = (
        _score(name, of_metric, evidence)
        for name, by_model in (*groups, *sorted(tasks.items()))
        for of_metric in _by_metric(by_model).values()
    )
    return [score for score in found if score.estimates]


def _by_model(runs: Runs, parts: Sequence[str]) -> dict[EvaluatedModel, list[TaskRun]]:
    """Return the runs of a group's tasks, by the models that were run on all of them."""
    found = {model: [run for run in runs.of(OTHER, model) if run.task in parts] for model in runs.models}
    return {model: of_model for model, of_model in found.items() if len(of_model) == len(parts)}


def _by_metric(
    by_model: dict[EvaluatedModel, list[TaskRun]],
) -> dict[tuple[str, str], dict[EvaluatedModel, list[TaskRun]]]:
    """Return the runs by metric and filter, which the models have in common unless one lacks what others have."""
    found: dict[tuple[str, str], dict[EvaluatedModel, list[TaskRun]]] = {}
    for model, of_model in by_model.items():
        found.setdefault((of_model[0].headline.name, of_model[0].reader), {})[model] = of_model
    return found


def _score(name: str, by_model: dict[EvaluatedModel, list[TaskRun]], evidence: Evidence) -> Score:
    estimates, everything = {}, [run for of_model in by_model.values() for run in of_model]
    for model, of_model in by_model.items():
        value = _of_task(of_model[0], evidence) if name == of_model[0].task else _of_group(name, of_model, evidence)
        if value is not None:
            estimates[model] = value
    return Score(
        name,
        described(everything[0]),
        all(run.headline.range == SHARE for run in everything),
        estimates,
        max(sum(run.count for run in of_model) for of_model in by_model.values()),
    )


def _of_task(run: TaskRun, evidence: Evidence) -> Estimate:
    metric = run.headline.name
    figure, error = run.figure(metric), run.standard_error(metric)
    value = nan if figure is None else figure
    if run.rows is None:
        least, most = run.headline.range
        ends = max(least, value - NORMAL * (error or nan)), min(most, value + NORMAL * (error or nan))
        return Estimate(value, *ends) if error else Estimate(value)
    if metric in run.rows.values and not np.isnan(run.rows.values[metric]).any():
        return estimate(evidence.ratio(run, metric).value)
    found = run.rows.aggregates.get(metric)
    if found is None:
        return Estimate(value)
    sums = terms_by_cluster(evidence.population, run.dataset, run.rows.clusters, found.terms)
    return estimate(replicates(evidence.population, run.dataset, found, sums))


def _of_group(name: str, runs: Sequence[TaskRun], evidence: Evidence) -> Estimate | None:
    """Return the score of a group; ``None`` if the harness gives it none, or if it is no mean."""
    metric, alike = runs[0].headline.name, weights([(name, runs)])
    if (
        unlike(runs)
        or isinstance(alike, Issue)
        or any(run.rows is not None and metric not in run.rows.values for run in runs)
    ):
        return None
    return estimate(evidence.mean([_weighing(run, alike=alike) for run in runs], metric))


def _weighing(run: TaskRun, *, alike: bool) -> TaskRun:
    return replace(run, family=replace(run.family, schema=replace(run.schema, tasks_weigh_alike=alike)))
