"""The runs of tasks in the files: their roles, which is the newest, their settings, and how a group weighs them."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from math import isclose
from pathlib import Path
from typing import Any, TypeVar

from lm_eval_ext.families.registry import Family
from lm_eval_ext.families.schema import Metric, Schema
from lm_eval_ext.metadata import without_mark
from lm_eval_ext.results.files import ResultFile, bare_name, metric_and_filter
from lm_eval_ext.results.issue import Issue, error, grouped, named, note, warning
from lm_eval_ext.results.models import (
    BY_TASK,
    EXAMPLES,
    FEW_SHOT,
    GEN_KWARGS,
    EvaluatedModel,
    Setting,
    arguments_as_text,
    sampling_temperature,
    shortened,
)
from lm_eval_ext.results.rows import DatasetRows, Rows

Key = TypeVar("Key", bound=Hashable)

OTHER = "other"
"""The family name of tasks that are not ours; each has a schema of its own, made from its results."""
SAMPLING_SEED = "seed"
"""The argument, of a generation or of a model, that seeds it."""
OF_RUN = ("random_seed", "numpy_seed", "torch_seed")
"""The seeds of the harness (``--seed``) that a model can draw by."""
CHOSEN_ROWS = "--samples"
"""The harness's option for rows chosen one by one; the results do not record which."""
OPTIONS = (FEW_SHOT, GEN_KWARGS, EXAMPLES)
"""The settings that depend on the task. A chat template or a system instruction changes every prompt of a model."""


class Role(Enum):
    """What a run is among all runs in the files. Of a task by a model, at most one run counts.

    Only families whose report has figures over temperatures (``Schema.over_temperatures``) have runs that are swept.
    """

    COUNTS = "in every figure"
    PLACED = "states its instructions elsewhere than published: only in the figure on placements"
    SWEPT = "at another temperature than the one that counts, or another draw: only in figures over temperatures"
    PART = "of other rows than the run that counts, which has its rows, too: only where the parts of runs are joined"
    OLDER = "replaced by a newer run: in no figure"
    UNEVALUATED = "the newest run, but without rows: in no figure"


@dataclass(frozen=True, order=True, slots=True)
class Decoding:
    """How a run's texts were decoded.

    Attributes:
        temperature: 0 for greedy decoding.
        seeds: what distinguishes draws at one temperature; empty for greedy decoding, where it makes no difference.
    """

    temperature: float
    seeds: str = ""


@dataclass(frozen=True)
class TaskRun:
    """A task, as run by a model.

    Attributes:
        model: the model; its tasks may have been run in different settings.
        task: its name.
        family: the task's family.
        readers: the filters that read its answers, the best first; ``rows`` are read by the first.
        figures: its results as the harness wrote them: ``{"metric,filter": value}``.
        config: the task's config.
        shots: the number of demonstrations; ``None`` if it is not recorded.
        count: the number of evaluated rows.
        file: its results file.
        samples_path: where the harness writes its samples: beside the results, with the same time in the name.
        setting: its settings that are not the harness's defaults; the model's own if all its tasks have the same.
        offered: the best reader in its file; a model that it is compared with may lack it.
        left_out_by: the option that left rows out, ``--limit 20`` or ``CHOSEN_ROWS``; empty if all were evaluated.
        role: whether it counts, and if not, what it is.
        issues: how its samples and results disagree, and why it may not be the newest.
        rows: its samples; ``None`` if there are none.
        further: the runs with other seeds whose draws it has, too; without their samples.
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
    left_out_by: str = ""
    role: Role = Role.COUNTS
    issues: tuple[Issue, ...] = ()
    rows: Rows | None = None
    further: tuple[TaskRun, ...] = ()

    @property
    def schema(self) -> Schema:
        """The schema of its family's results."""
        return self.family.schema

    @property
    def reader(self) -> str:
        """The reader whose figures are used."""
        return self.readers[0]

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The facts that the task records about itself, and what was given with ``--metadata``."""
        metadata: Mapping[str, Any] = self.config["metadata"]
        return metadata

    @property
    def generation(self) -> Mapping[str, Any]:
        """The generation arguments of the task; empty if they are not recorded."""
        arguments = self.config.get("generation_kwargs")
        return arguments if isinstance(arguments, dict) else {}

    @property
    def placement(self) -> str:
        """Where its prompts state the instructions; empty for the published place."""
        return self.schema.placement(self.metadata)

    @property
    def name(self) -> str:
        """Its task, with the placement unless that is the published one: ``manyifeval_n02 (system)``."""
        return f"{self.task} ({self.placement})" if self.placement else self.task

    @property
    def version(self) -> str:
        """Its version, without the mark of its placement."""
        return without_mark(self.metadata["version"], self.placement)

    @property
    def identity(self) -> tuple[object, object]:
        """Version and rows, which two runs of a task must share for their scores to be comparable."""
        return self.metadata["version"], self.metadata[self.schema.rows_fact]

    @cached_property
    def dataset(self) -> str:
        """The dataset of its rows, prefixed with the family so that names are unique."""
        return f"{self.family.name} {self.metadata['dataset']}"

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The names of the metrics that its reader's answers were scored with."""
        pairs = filter(None, map(metric_and_filter, self.figures))
        return tuple(metric for metric, reader in pairs if reader == self.reader and not metric.endswith("_stderr"))

    @cached_property
    def headline(self) -> Metric:
        """Its headline metric."""
        return self.schema.headline(self.metrics)

    @cached_property
    def decoding(self) -> Decoding:
        """How its texts were decoded, according to its generation arguments and its seeds, or as its LM does anyway."""
        temperature, _ = sampling_temperature(self.file, self.generation)
        if not temperature:
            return Decoding(0.0)
        seeds = [self.generation.get(SAMPLING_SEED), *(self.file.config.get(name) for name in OF_RUN)]
        return Decoding(temperature, "/".join(str(seed) for seed in seeds if seed is not None))

    @property
    def samples_name(self) -> str:
        """What the user calls its samples file."""
        return self.file.name.removesuffix(self.file.path.name) + self.samples_path.name

    @property
    def has_samples(self) -> bool:
        """Whether its samples file exists."""
        # Path.is_file raises if a name is too long for the file system; this does not.
        return os.path.isfile(self.samples_path)  # noqa: PTH113 # as above

    @property
    def is_ours(self) -> bool:
        """Whether it is a task of one of our families."""
        return self.family.name != OTHER

    def standard_error(self, metric: str) -> float | None:
        """Return the standard error of a figure in the results; ``None`` if there is none."""
        value = self.figures.get(f"{metric}_stderr,{self.reader}")
        return float(value) if isinstance(value, float | int) and 0 <= value < sys.float_info.max else None

    def figure(self, metric: str, reader: str | None = None) -> float | None:
        """Return a figure of the results; ``None`` if it is missing or not a number that the metric can have."""
        value = self.figures.get(f"{metric},{reader or self.reader}")
        # Values outside the metric's range are refused as the file is read, but for NaN and infinity.
        return float(value) if isinstance(value, float | int) and abs(value) <= sys.float_info.max else None


@dataclass(frozen=True)
class Runs:
    """The runs in results files, each with its role.

    Attributes:
        all: every run. Once their samples are loaded: those that count or are placed elsewhere, by model in the
            order of the labels, task and placement; then those of sweeps, by model, task and decoding; then those in
            no figure.
        labels: a short name for each model, in the order of the arguments, then by name; models that differ only in
            arguments or setting are next to each other.
        groups: the tasks of each group, with nested groups expanded.
        issues: what was left out or replaced, and why; what makes figures unreliable.
        dataset_rows: the dataset rows that the rows of all samples belong to.
    """

    all: tuple[TaskRun, ...]
    labels: Mapping[EvaluatedModel, str]
    groups: Mapping[str, tuple[str, ...]]
    issues: tuple[Issue, ...]
    dataset_rows: DatasetRows = field(default_factory=dict)

    @property
    def models(self) -> tuple[EvaluatedModel, ...]:
        """The evaluated models, in the order of the labels."""
        return tuple(self.labels)

    def with_role(self, *roles: Role) -> tuple[TaskRun, ...]:
        """Return the runs with one of these roles."""
        return tuple(run for run in self.all if run.role in roles)

    @cached_property
    def counting(self) -> tuple[TaskRun, ...]:
        """The run of each task by each model that counts."""
        return self.with_role(Role.COUNTS)

    @cached_property
    def current(self) -> tuple[TaskRun, ...]:
        """The run of each task by each model that counts, and those of other placements that no newer one replaces."""
        return self.with_role(Role.COUNTS, Role.PLACED)

    @cached_property
    def by_model(self) -> Mapping[EvaluatedModel, Sequence[TaskRun]]:
        """The runs of ``current`` of each model."""
        return dict.fromkeys(self.labels, ()) | grouped((run.model, run) for run in self.current)

    @property
    def swept(self) -> tuple[TaskRun, ...]:
        """All runs of the tasks in a sweep, task by task: the one that counts, then the others by decoding."""
        by_task = grouped(((run.model, run.task), run) for run in self.with_role(Role.COUNTS, Role.SWEPT))
        return tuple(run for of_task in by_task.values() if len(of_task) > 1 for run in of_task)

    @property
    def empty(self) -> frozenset[str]:
        """The tasks for which no model has evaluated rows."""
        return frozenset(run.task for run in self.with_role(Role.UNEVALUATED)) - {run.task for run in self.current}

    def of_family(self, family: str, model: EvaluatedModel | None = None) -> tuple[TaskRun, ...]:
        """Return the runs of a family's tasks that count, by all models or by one."""
        return tuple(run for run in self.counting if run.family.name == family and model in (None, run.model))


def rows_of(run: TaskRun) -> Rows:
    """Return the rows of a run.

    Raises:
        ValueError: it has no samples.
    """
    if run.rows is None:
        raise ValueError(f"{run.task}: no samples")
    return run.rows


def newest(runs: Iterable[TaskRun], key: Callable[[TaskRun], Key]) -> tuple[dict[Key, TaskRun], list[Issue]]:
    """Return the newest of the runs that share a key, and which runs a newer one replaces.

    Every reader of results uses this to decide which of two runs counts.
    """
    newest_runs: dict[Key, TaskRun] = {}
    tasks: dict[tuple[str, Issue], list[str]] = {}
    for run in sorted(runs, key=lambda run: run.file.order):
        older = newest_runs.get(key(run))
        newest_runs[key(run)] = run
        if older is None:
            continue
        unlike = [f"{run.count} instead of {older.count} rows"] if older.count != run.count else []
        # One that the task's own YAML sets is no setting that tells models apart.
        temperature, earlier = run.decoding.temperature, older.decoding.temperature
        unlike += [f"temperature {temperature:g} instead of {earlier:g}"] if temperature != earlier else []
        differences = f" ({', '.join(unlike)})" if unlike else ""
        reason = note(f"{run.file.name} is newer{differences}")
        if older.file.date == run.file.date:
            # It is unknown which is newer.
            reason = warning(f"{run.file.name} has the same date and is used because its name sorts later{differences}")
        tasks.setdefault((older.file.name, reason), []).append(older.task)
    return newest_runs, [
        Issue(reason.severity, f"{name}: not used for {named(replaced)}: {reason}")
        for (name, reason), replaced in tasks.items()
    ]


def lowest_groups(groups: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return the groups that contain no other group; of those with the same tasks, the innermost one.

    Args:
        groups: the tasks of each.
    """
    # Of two groups with the same tasks, the harness lists the outer one first.
    names = {frozenset(parts): name for name, parts in groups.items()}
    return {name: groups[name] for parts, name in names.items() if not any(inner < parts for inner in names)}


def lacks_score(name: str, runs: Sequence[TaskRun]) -> bool:
    """Return whether the harness lists a group without a score, because a mean over its tasks would say nothing.

    Args:
        name: the name of the group.
        runs: the runs of its tasks by one model.
    """
    entries = [entry for run in runs if isinstance(entry := run.file.content["results"].get(name), dict)]
    score = f"{runs[0].headline.name},{runs[0].reader}"
    return bool(entries) and not any(isinstance(entry.get(score), int | float) for entry in entries)


def possible_weights(name: str, runs: Sequence[TaskRun]) -> frozenset[bool] | Issue:
    """Return whether a group's score can be the mean over its tasks, and over their rows, or why it is neither.

    It can be both, for example if all its tasks have one score. In the set, ``True`` stands for the mean over tasks.

    Args:
        name: the name of the group.
        runs: the runs of its tasks by one model.
    """
    possible = frozenset({False, True})
    # The scores with one seed may tell what those with another do not.
    for of_seed in zip(*((run, *run.further) for run in runs), strict=True):
        with_seed = _possible_with_seed(name, of_seed)
        if isinstance(with_seed, Issue):
            return with_seed
        possible &= with_seed
    return possible or error("its tasks are weighted by their rows with one seed, and equally with another")


def _possible_with_seed(name: str, runs: Sequence[TaskRun]) -> frozenset[bool] | Issue:
    newest_file = max((run.file for run in runs), key=lambda file: file.order)
    figures = newest_file.content["results"].get(name)
    metric, reader = runs[0].headline.name, runs[0].reader
    score = figures.get(f"{metric},{reader}") if isinstance(figures, dict) else None
    if not isinstance(score, int | float) or any(run.file.path != newest_file.path for run in runs):
        return error(
            f"the results hold no {metric},{reader} of this group, only of its tasks; --metric compares another metric"
        )
    # The runs' own figures can be means over several draws.
    recorded = runs[0].file.content["results"].items()
    of_tasks = {bare_name(name): task.get(f"{metric},{reader}") for name, task in recorded if isinstance(task, dict)}
    known = [figure for run in runs if isinstance(figure := of_tasks.get(run.task), int | float)]
    counts = [run.count for run in runs]
    if len(known) == len(runs):
        over_rows = sum(figure * count for figure, count in zip(known, counts, strict=True)) / sum(counts)
        means = {False: over_rows, True: sum(known) / len(known)}
        possible = (alike for alike, mean in means.items() if isclose(score, mean, rel_tol=1e-9, abs_tol=1e-12))
        if weights := frozenset(possible):
            return weights
    return error(f"its {metric} in the results is neither the mean over its tasks nor that over their rows")


def without_arguments(run: TaskRun, setting: Setting, names: Collection[str]) -> Setting:
    """Return a setting of a run without some of its generation arguments."""
    recorded = run.file.config.get(GEN_KWARGS)
    if isinstance(recorded, dict):
        remaining = arguments_as_text({name: value for name, value in recorded.items() if name not in names})
    else:
        parts = [part for part in arguments_as_text(recorded).split(",") if part.partition("=")[0].strip() not in names]
        remaining = ",".join(parts)
    changed = ((name, remaining if name == GEN_KWARGS and value != BY_TASK else value) for name, value in setting)
    return tuple((name, value) for name, value in changed if value)


def settings_of(runs: Sequence[TaskRun]) -> list[str]:
    """Return a model's settings that are not the harness's defaults; hashes are shortened.

    Args:
        runs: the runs of one model.
    """
    names = dict.fromkeys(name for run in runs for name, _ in run.setting)
    by_name = {name: _runs_by_value(runs, name) for name in names}
    return [
        f"{name}: {next(iter(by_value)) if len(by_value) == 1 else _in_words(by_value)}"
        for name, by_value in by_name.items()
    ]


def settings_that_differ(runs: Runs) -> Iterator[Issue]:
    """Yield which models' tasks were run with different options: a warning if a figure mixes them, else a note."""
    for model, name in runs.labels.items():
        of_model = runs.by_model[model]
        for option in OPTIONS:
            by_value = _runs_by_value(of_model, option)
            if len(by_value) == 1:
                continue
            if families := _mixed_families(by_value):
                mixed = f"figures over several tasks of {named(families)} mix them"
                yield warning(f"{name}: {option} differ between tasks: {_in_words(by_value)}; {mixed}")
            else:
                yield note(f"{name}: {option} differ between families: {_in_words(by_value)}")


def _runs_by_value(runs: Iterable[TaskRun], name: str) -> dict[str, list[TaskRun]]:
    """Group runs by the value of a setting."""
    by_value = grouped((shortened(name, dict(run.setting).get(name, "default")), run) for run in runs)
    return dict(sorted(by_value.items()))


def _mixed_families(by_value: Mapping[str, Sequence[TaskRun]]) -> list[str]:
    """Return the families whose tasks have different values; no figure is over several tasks that are not ours."""
    counts = Counter(name for runs in by_value.values() for name in {run.family.name for run in runs if run.is_ours})
    return sorted(name for name, count in counts.items() if count > 1)


def _in_words(by_value: Mapping[str, Sequence[TaskRun]]) -> str:
    """Return each value with what it applies to: families if each has one value, else tasks."""
    mixed = _mixed_families(by_value)
    return "; ".join(
        f"{value} ({named(sorted({run.task if mixed or not run.is_ours else run.family.name for run in runs}))})"
        for value, runs in by_value.items()
    )
