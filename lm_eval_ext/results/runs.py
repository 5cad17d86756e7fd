"""The runs of our tasks in the files: one run of each task by each model, and what its rows scored."""

from __future__ import annotations

import sys
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from lm_eval_ext.families.family import Family
from lm_eval_ext.families.schema import Metric, Schema
from lm_eval_ext.results.files import ResultFile
from lm_eval_ext.results.issue import Issue
from lm_eval_ext.results.models import EvaluatedModel, Setting
from lm_eval_ext.results.samples import DatasetRows, Rows

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class TaskRun:
    """One task, as run by one model.

    Attributes:
        model: which; tasks of one model may have been run in different settings.
        task: its name.
        family: that it is of.
        readers: the filters that its answers were read by, the best first; ``rows`` are of the first.
        figures: its results as the harness wrote them: ``{"metric,filter": value}``.
        config: of the task.
        shots: how many demonstrations it was given; ``None`` if the file does not say.
        count: how many rows were evaluated.
        file: the file of its results.
        samples_path: where the harness writes its samples: beside the results, with the same time in the name.
        setting: how it was run, where that is not the harness's default: as of its model, if all its tasks are alike.
        offered: the reader that is the best of those in its file; a model that it is compared with may lack it.
        issues: how its samples and its results do not agree; why it may not be the newest.
        rows: its samples; ``None`` if there are none.
    """

    model: EvaluatedModel
    task: str
    family: Family
    readers: tuple[str, ...]
    figures: Mapping[str, Any]
    config: Mapping[str, Any]
    shots: int | None
    count: int
    file: ResultFile
    samples_path: Path
    setting: Setting
    offered: str
    issues: tuple[Issue, ...] = ()
    rows: Rows | None = None

    @property
    def schema(self) -> Schema:
        """What the results of its family hold."""
        return self.family.schema

    @property
    def reader(self) -> str:
        """The one whose figures count."""
        return self.readers[0]

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The facts that the task records of itself, and what was given with ``--metadata``."""
        metadata: Mapping[str, Any] = self.config["metadata"]
        return metadata

    @property
    def identity(self) -> tuple[object, object]:
        """What two runs of a task must share for their scores to be of one thing: version and rows."""
        return self.metadata["version"], self.metadata[self.schema.rows_fact]

    @cached_property
    def dataset(self) -> str:
        """The dataset that its rows are of, told from those of other families."""
        return f"{self.family.name} {self.metadata['dataset']}"

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The names of what its reader's answers were scored by."""
        pairs = (field.partition(",") for field in self.figures)
        return tuple(metric for metric, _, reader in pairs if reader == self.reader and not metric.endswith("_stderr"))

    @cached_property
    def headline(self) -> Metric:
        """The figure that stands for it."""
        return self.schema.headline(self.metrics)

    def figure(self, metric: str, reader: str | None = None) -> float | None:
        """Return a figure of the results; ``None`` if it is missing or not a number that the metric can have."""
        value = self.figures.get(f"{metric},{reader or self.reader}")
        least, most = self.schema.range(metric)
        # Of a metric of a user's own nothing is known but that it fits a floating-point number.
        least, most = max(least, -sys.float_info.max), min(most, sys.float_info.max)
        return float(value) if isinstance(value, float | int) and least <= value <= most else None


@dataclass(frozen=True)
class Runs:
    """All runs of our tasks that the files contain.

    Attributes:
        runs: of each model and task one, models in the order of the arguments, then by name, tasks by name.
        labels: a short name for each model.
        groups: of tasks, by name: their tasks, without groups between.
        dataset_rows: the rows of the datasets, which the rows of all samples are of.
        empty: tasks of which no rows were evaluated.
        issues: what was left out or replaced, and why; what makes figures doubtful.
    """

    runs: tuple[TaskRun, ...]
    labels: Mapping[EvaluatedModel, str]
    groups: Mapping[str, tuple[str, ...]]
    dataset_rows: DatasetRows
    empty: frozenset[str]
    issues: tuple[Issue, ...]

    @property
    def models(self) -> tuple[EvaluatedModel, ...]:
        """Who was evaluated, in the order of the arguments, then by name."""
        return tuple(self.labels)

    def of(self, family: str, model: EvaluatedModel | None = None) -> tuple[TaskRun, ...]:
        """Return the runs of a family's tasks, of everybody or of one."""
        return tuple(run for run in self.runs if run.family.name == family and model in (None, run.model))


def newest(
    runs: Iterable[TaskRun], key: Callable[[TaskRun], Key]
) -> tuple[dict[Key, TaskRun], list[tuple[TaskRun, TaskRun]]]:
    """Return the newest of the runs that share a key, and the pairs of runs that were replaced and by which.

    Everything that reads results asks here which of two runs counts.
    """
    found: dict[Key, TaskRun] = {}
    replaced = []
    for run in sorted(runs, key=lambda run: run.file.order):
        older = found.get(key(run))
        if older is not None:
            replaced.append((older, run))
        found[key(run)] = run
    return found, replaced
