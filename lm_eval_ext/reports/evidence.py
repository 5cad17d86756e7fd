"""The figures of runs with their uncertainty: computed from their rows, with resamples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.statistics import Floats, Population, Ratio, Replicates
from lm_eval_ext.results.runs import Runs, TaskRun


@dataclass(frozen=True, eq=False)
class Evidence:
    """Runs, and the resamples of their rows; what the sections of a report ask for every figure.

    Attributes:
        runs: everything that was run.
    """

    runs: Runs

    @cached_property
    def population(self) -> Population:
        """The rows of the datasets that any run was asked, drawn anew: the same rows for all that is asked of them."""
        return Population(self.runs.dataset_rows.count)

    def ratio(self, run: TaskRun, metric: str, kept: NDArray[np.bool_] | None = None) -> Ratio:
        """Return a mean over a task's rows, with its resamples if its samples are there.

        It is NaN where the results were written before the family had the metric.

        Args:
            run: the task.
            metric: of it.
            kept: which rows count, shape (rows,); ``None``: all. Without samples all do.

        Raises:
            KeyError: the family has no such metric.
        """
        run.schema.metric(metric)
        if run.rows is None:
            value = run.figure(metric)
            return Ratio.of(np.nan if value is None else value, run.count)
        values = run.rows.values.get(metric)
        if values is None:
            return Ratio.of(np.nan, run.count)
        # A value that is not there does not count.
        of_kept = values if kept is None else np.where(kept, values, np.nan)
        return self.population.ratio(run.dataset, run.rows.clusters, of_kept)

    def mean(self, runs: Sequence[TaskRun], metric: str) -> Replicates:
        """Return a figure of several tasks of one family, as the harness's groups have it, with its resamples.

        Raises:
            KeyError: the family has no such metric.
        """
        ratios = [self.ratio(run, metric) for run in runs]
        if runs[0].schema.tasks_weigh_alike:
            means: Replicates = np.mean([ratio.value for ratio in ratios], axis=0)
            return means
        return Ratio.sum(ratios).value

    def share(self, run: TaskRun, metric: str, asked: str) -> Ratio:
        """Return the quotient of two sums over a task's rows, for example followed over asked.

        Without samples it is the task's own figure, as of one row: it does not add up with others.

        Args:
            run: the task.
            metric: the column of its rows above the line.
            asked: the one below it.
        """
        if run.rows is None:
            value = run.figure(metric)
            return Ratio.of(np.nan if value is None else value, 1)
        values = run.rows.values
        return Ratio(self.sum(run, values[metric]), self.sum(run, values[asked]))

    def sum(self, run: TaskRun, values: Floats) -> Replicates:
        """Return the replicates of the sum of a value for each row of a task.

        Raises:
            ValueError: the task's samples are not there.
        """
        if run.rows is None:
            raise ValueError(f"{run.task}: no samples")
        return self.population.sum(run.dataset, run.rows.clusters, values)
