"""The figures of runs with their uncertainty, computed from their rows by resampling.

Those of tasks that are not ours can be functions of sums over rows (``results.aggregation``): a resample draws rows of
the dataset, and the figure is computed anew from the sums over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.schema import SHARE
from lm_eval_ext.reports.statistics import Floats, Population, Ratio, Replicates
from lm_eval_ext.results.aggregation import Aggregate
from lm_eval_ext.results.models import Sizes
from lm_eval_ext.results.runs import Runs, TaskRun


@dataclass(frozen=True, eq=False)
class Evidence:
    """Runs, with the resamples of their rows; every figure in a report's sections is computed with it.

    Attributes:
        runs: all runs.
        sizes: the sizes of the models.
        upper_bound: runs of task-specific models, with which a section compares those of ``runs``; loaded together with
            them, so that rows are paired.
    """

    runs: Runs
    sizes: Sizes = field(default_factory=Sizes)
    upper_bound: Runs | None = None

    @cached_property
    def population(self) -> Population:
        """The resampled dataset rows: everything measured on the same rows shares the same resamples."""
        return Population(self.runs.dataset_rows.count)

    def ratio(self, run: TaskRun, metric: str, kept: NDArray[np.bool_] | None = None) -> Ratio:
        """Return a mean over a task's rows, with its resamples if there are samples.

        It is NaN if the results predate the metric.

        Args:
            run: the task.
            metric: one of its metrics.
            kept: which rows count, shape (rows,); ``None``: all of them. Without samples, all rows count.

        Raises:
            KeyError: the family has no such metric.
        """
        limits = run.schema.metric(metric).range
        if run.rows is None:
            value = run.figure(metric)
            return Ratio.of(np.nan if value is None else value, run.count)
        values = run.rows.values.get(metric)
        if values is None:
            return Ratio.of(np.nan, run.count)
        # Missing values (NaN) do not count.
        of_kept = values if kept is None else np.where(kept, values, np.nan)
        found = self.population.ratio(run.dataset, run.rows.clusters, of_kept)
        # Figures on other scales do not come near an end.
        return found.measured(name_of(run, metric), limits if limits == SHARE else None)

    def mean(self, runs: Sequence[TaskRun], metric: str) -> Replicates:
        """Return a figure over several tasks of one family, aggregated as in the harness's groups, with its resamples.

        Raises:
            KeyError: the family has no such metric.
        """
        ratios = [self.ratio(run, metric) for run in runs]
        return (Ratio.mean if runs[0].schema.tasks_weigh_alike else Ratio.sum)(ratios).value

    def share(self, run: TaskRun, metric: str, asked: str, kept: NDArray[np.bool_] | None = None) -> Ratio:
        """Return the ratio of two sums over a task's rows, for example followed over asked.

        Without samples it is the task's own figure with the weight of one row, and must not be summed with others.

        Args:
            run: the task.
            metric: the column of the numerator.
            asked: the column of the denominator.
            kept: which rows count, shape (rows,); ``None``: all of them. Without samples, all rows count.
        """
        if run.rows is None:
            value = run.figure(metric)
            return Ratio.of(np.nan if value is None else value, 1)
        part, whole = (run.rows.values[column] for column in (metric, asked))
        if kept is not None:
            part, whole = np.where(kept, part, 0.0), np.where(kept, whole, 0.0)
        return self.of_counts(run, part, whole, metric)

    def every_variant(self, run: TaskRun, metric: str, measured: str) -> Ratio:
        """Return the share of a task's dataset rows that are right in every variant, a mean over draws if any.

        Args:
            run: a task that asks every dataset row in several variants.
            metric: whether an answer is right.
            measured: the name of the task's own figure, which is used where there are no samples.
        """
        if run.rows is None:
            value = run.figure(measured)
            return Ratio.of(np.nan if value is None else value, 1)
        right, clusters = run.rows.draws_of(metric), run.rows.clusters
        # One number per row of the dataset, at its first variant.
        _, first, of = np.unique(clusters, return_index=True, return_inverse=True)
        least = np.ones((len(first), right.shape[1]))
        np.minimum.at(least, of, right)
        all_right, counted = np.zeros(len(clusters)), np.zeros(len(clusters))
        all_right[first], counted[first] = least.mean(axis=1), 1
        return self.of_counts(run, all_right, counted, measured)

    def of_counts(self, run: TaskRun, part: Floats, whole: Floats, measured: str) -> Ratio:
        """Return the ratio of two sums over a task's rows, of which the first is a part of the second.

        Args:
            run: the task.
            part: what the first sums over, shape (rows,).
            whole: what the second sums over, shape (rows,).
            measured: a name for the ratio.

        Raises:
            ValueError: the task has no samples.
        """
        if run.rows is None:
            raise ValueError(f"{run.task}: no samples")
        clusters = run.rows.clusters
        return self.population.ratio(run.dataset, clusters, part, whole).measured(name_of(run, measured))


def name_of(run: TaskRun, metric: str) -> str:
    """Return a name for a figure that no other figure of a report has."""
    return f"{run.model.full_name} {run.setting} {run.task} {metric}"


def terms_by_cluster(population: Population, dataset: str, clusters: NDArray[np.int32], terms: Floats) -> Floats:
    """Return the sums of terms over each row of the dataset, shape (rows, terms).

    Args:
        population: the dataset rows.
        dataset: the dataset.
        clusters: the dataset row of each answer, shape (answers,).
        terms: the terms of each answer, shape (answers, terms).
    """
    return np.stack([population.by_cluster(dataset, clusters, term) for term in terms.T], axis=1)


def replicates(population: Population, dataset: str, aggregate: Aggregate, by_cluster: Floats) -> Replicates:
    """Return the replicates of a figure; NaN in resamples where it does not exist.

    Args:
        population: the dataset rows.
        dataset: the dataset.
        aggregate: how the figure comes from sums.
        by_cluster: the sums over each row of the dataset, shape (rows, terms).
    """
    figures: Replicates = aggregate.of_sums(population.weights(dataset) @ by_cluster)
    return np.where(np.isfinite(figures), figures, np.nan)


def without_each(aggregate: Aggregate, by_cluster: Floats) -> Floats:
    """Return the figure without each row in turn, shape (rows,).

    Args:
        aggregate: how the figure comes from sums.
        by_cluster: the sums over each row, shape (rows, terms).
    """
    return aggregate.of_sums(by_cluster.sum(axis=0) - by_cluster)
