"""What every row of every task scored, of everybody who was evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.kinds import Headline, Kind
from lm_eval_ext.reports.samples import Rows
from lm_eval_ext.reports.statistics import Floats, Population, Ratio, Replicates
from lm_eval_ext.reports.subjects import Subject
from lm_eval_ext.result_files import ResultFile


@dataclass(frozen=True)
class TaskRun:
    """One task, as one model did it.

    Attributes:
        subject: who.
        task: its name.
        kind: its family.
        readers: of its answers, the best first; the first is the one that ``rows`` are of.
        figures: its results as the harness wrote them: ``{"metric,filter": value}``.
        config: of the task.
        count: how many rows were evaluated.
        file: the file of its results.
        offered: the reader that is the best of those in its file; a model that it is compared with may lack it.
        doubts: in words, how its samples and its results do not agree.
        rows: its samples; ``None`` if there are none.
        clusters: by row, the number that its row of the data set has in the population, shape (rows,).
    """

    subject: Subject
    task: str
    kind: Kind
    readers: tuple[str, ...]
    figures: Mapping[str, Any]
    config: Mapping[str, Any]
    count: int
    file: ResultFile
    offered: str
    doubts: tuple[str, ...] = ()
    rows: Rows | None = None
    clusters: NDArray[np.int32] | None = None

    @property
    def reader(self) -> str:
        """The one whose figures count."""
        return self.readers[0]

    @property
    def samples_path(self) -> Path:
        """Where the harness writes its samples: beside the results, with the same time in the name."""
        stamp = self.file.path.stem.removeprefix("results_")
        return self.file.path.with_name(f"samples_{self.task}_{stamp}.jsonl")

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What the task says of itself: version, source, hash of its rows."""
        metadata: Mapping[str, Any] = self.config["metadata"]
        return metadata

    @property
    def identity(self) -> tuple[object, object]:
        """What two runs of a task must share for their scores to be of one thing: version and rows."""
        # Prompts of natural_instructions are as long as the model has room for; its instances must be the same.
        return self.metadata.get("version"), self.metadata.get("instances_hash", self.metadata.get("rows_hash"))

    @cached_property
    def stratum(self) -> str:
        """The data set that its rows are of."""
        return f"{self.kind.name} {self.kind.stratum(self.task, self.config)}"

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The names of what its reader's answers were scored by."""
        pairs = (field.partition(",") for field in self.figures)
        return tuple(metric for metric, _, reader in pairs if reader == self.reader and not metric.endswith("_stderr"))

    @cached_property
    def headline(self) -> Headline:
        """The figure that stands for it."""
        return self.kind.headline(self.metrics)

    def figure(self, metric: str, reader: str | None = None) -> float | None:
        """Return a figure of the results; ``None`` if there is none, or it is no number."""
        value = self.figures.get(f"{metric},{reader or self.reader}")
        return float(value) if isinstance(value, float | int) and isfinite(value) else None


@dataclass(frozen=True)
class Runs:
    """Everything that the files say of our tasks.

    Attributes:
        runs: of each subject and task one, subjects in the order of the arguments, then by name, tasks by name.
        labels: a short name for each subject.
        groups: of tasks, by name: their tasks, without groups between.
        population: the rows of the data sets.
        empty: tasks of which no row was evaluated.
        notes: what was left out or replaced, and why.
    """

    runs: tuple[TaskRun, ...]
    labels: Mapping[Subject, str]
    groups: Mapping[str, tuple[str, ...]]
    population: Population
    empty: frozenset[str]
    notes: tuple[str, ...]

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """Who was evaluated, in the order of the arguments, then by name."""
        return tuple(self.labels)

    def of(self, family: str, who: Subject | None = None) -> tuple[TaskRun, ...]:
        """Return the runs of a family's tasks, of everybody or of one."""
        return tuple(run for run in self.runs if run.kind.name == family and who in (None, run.subject))

    def ratio(self, run: TaskRun, metric: str) -> Ratio:
        """Return a mean over a task's rows, with its resamples if its samples are there.

        Raises:
            KeyError: the task has no such metric.
        """
        if run.rows is None or run.clusters is None:
            value = run.figure(metric)
            return Ratio.of(np.nan if value is None else value, run.count)
        return self.population.ratio(run.stratum, run.clusters, run.rows.values[metric])

    def mean(self, runs: Sequence[TaskRun], metric: str) -> Replicates:
        """Return a figure of several tasks of one family, as the harness's groups have it, with its resamples.

        Raises:
            KeyError: a task has no such metric.
        """
        ratios = [self.ratio(run, metric) for run in runs]
        if runs[0].kind.tasks_weigh_alike:
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
        if run.rows is None or run.clusters is None:
            value = run.figure(metric)
            return Ratio.of(np.nan if value is None else value, 1)
        values = run.rows.values
        return Ratio(self.sum(run, values[metric]), self.sum(run, values[asked]))

    def sum(self, run: TaskRun, values: Floats) -> Floats:
        """Return the replicates of the sum of a value for each row of a task.

        Raises:
            ValueError: the task's samples are not there.
        """
        if run.clusters is None:
            raise ValueError(f"{run.task}: no samples")
        return self.population.sum(run.stratum, run.clusters, values)
