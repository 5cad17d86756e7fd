"""From the files of one or many runs to what every row of every task scored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.kinds import KINDS, Headline, Kind, recognise
from lm_eval_ext.reports.remarks import (
    disagreement,
    named,
    rows_that_differ,
    versions_that_differ,
    without_samples,
)
from lm_eval_ext.reports.samples import Rows, read_samples
from lm_eval_ext.reports.statistics import Floats, Population, Ratio, Replicates
from lm_eval_ext.reports.subjects import Subject, labels, subject
from lm_eval_ext.result_files import ResultFile, find, read
from lm_eval_ext.sources import RowsError

FEW = 3
"""So many bad lines of a file are named; the rest are counted."""


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


Progress = Callable[[Sequence[TaskRun]], Iterable[TaskRun]]
"""Is given the runs before their samples are read, and yields them one by one."""


def load(paths: Sequence[Path], progress: Progress = lambda runs: runs) -> Runs:
    """Return what files of results and their samples say of our tasks.

    Of several runs of a task by one subject the newest counts.

    Args:
        paths: result files, or folders, in which all ``results_*.json`` are read.
        progress: see there.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is no file of results, or none has results of our tasks.
    """
    (runs,) = load_apart([paths], progress)
    return runs


def load_apart(sides: Sequence[Sequence[Path]], progress: Progress = lambda runs: runs) -> list[Runs]:
    """Return the same of each of several sets of files, to be compared: one subject may be in all of them.

    They have one population, so that the same rows are drawn for all, and of every task a common reader of answers.

    Args:
        sides: each as for ``load``.
        progress: see there.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is no file of results, or a side has no results of our tasks.
    """
    found = [_find(paths) for paths in sides]
    common = _common_readers([run for side in found for run in side.runs])
    population = Population()
    return [_loaded(side, common, population, progress) for side in found]


@dataclass
class _Found:
    """What stands in files of results, before their samples are read.

    Attributes:
        runs: of each subject and task the newest.
        subjects: in the order of the arguments, then by name.
        groups: the leaves of each.
        empty: tasks of which no row was evaluated.
        notes: what was left out or replaced, and why.
    """

    runs: list[TaskRun]
    subjects: list[Subject]
    groups: dict[str, tuple[str, ...]]
    empty: frozenset[str]
    notes: list[str]


def _find(paths: Sequence[Path]) -> _Found:
    notes: list[str] = []
    found: list[TaskRun] = []
    groups: dict[str, tuple[str, ...]] = {}
    foreign: set[str] = set()
    empty: dict[str, str] = {}
    for path in find(paths):
        file = read(path)
        runs = _task_runs(file)
        found += [run for run in runs if run.count]
        empty |= {run.task: f"{path}, task {run.task!r}: no row was evaluated" for run in runs if not run.count}
        if not runs:
            others = sorted(file.content["results"])
            foreign |= set(others)
            notes.append(f"{path}: no results of our tasks ({named(others)}); not used")
        groups |= _groups(file)
    if empty and not found:
        raise RowsError(f"{'; '.join(empty.values())}; expected at least one row, run the task anew")
    if not found:
        raise RowsError(
            f"no results of our tasks in {', '.join(map(str, paths))}, but of {named(sorted(foreign))}; expected what "
            f"`lm_eval --tasks … --output_path FOLDER` writes of the families {', '.join(KINDS)}: results_*.json"
        )
    notes += [f"{task}; left out" for task in empty.values()]
    newest = _newest(found, notes)
    never = frozenset(empty).difference(run.task for run in newest)
    return _Found(newest, _in_order(found, paths), groups, never, notes)


def _in_order(found: Sequence[TaskRun], paths: Sequence[Path]) -> list[Subject]:
    """Return who was evaluated in the order of the arguments, those of one folder by name: 7B comes before 70B."""
    names = labels(dict.fromkeys(run.subject for run in found))
    places: dict[Subject, int] = {}
    for run in found:
        path = run.file.path
        place = next(number for number, given in enumerate(paths) if given == path or given in path.parents)
        places[run.subject] = min(place, places.get(run.subject, place))
    in_words_and_numbers = {
        who: [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name.casefold())]
        for who, name in names.items()
    }
    return sorted(names, key=lambda who: (places[who], in_words_and_numbers[who], names[who]))


def _loaded(found: _Found, readers: Mapping[str, set[str]], population: Population, progress: Progress) -> Runs:
    notes = found.notes
    names = labels(found.subjects)
    chosen = _same_readers(found.runs, readers, notes)
    notes += versions_that_differ(chosen, found.groups)
    notes += rows_that_differ(chosen, names)
    runs = [_with_samples(run, population) for run in progress(chosen)]
    runs.sort(key=lambda run: (found.subjects.index(run.subject), run.task))
    notes += without_samples(runs)
    notes += [doubt for run in runs for doubt in run.doubts]
    return Runs(tuple(runs), names, found.groups, population, found.empty, tuple(dict.fromkeys(notes)))


def _task_runs(file: ResultFile) -> list[TaskRun]:
    runs = []
    for task, config in file.content["configs"].items():
        figures = file.content["results"].get(task)
        recognised = isinstance(config, dict) and isinstance(figures, dict) and recognise(figures, config)
        if not recognised:
            continue
        kind, readers = recognised
        count = _count(file, task)
        who = subject(file, config.get("num_fewshot"), config["metadata"].get("source"))
        runs.append(TaskRun(who, task, kind, readers, figures, config, count, file, readers[0]))
    return runs


def _count(file: ResultFile, task: str) -> int:
    counts = file.content.get("n-samples")
    of_task = counts.get(task) if isinstance(counts, dict) else None
    effective = of_task.get("effective") if isinstance(of_task, dict) else None
    if not isinstance(effective, int) or effective < 0:
        raise RowsError(
            f"{file.path}, task {task!r}: 'effective' in n-samples is {effective!r}; expected the number of rows, as "
            "`lm_eval` writes it"
        )
    return effective


def _groups(file: ResultFile) -> dict[str, tuple[str, ...]]:
    """Return the leaves of each group."""
    tree = file.content.get("group_subtasks")
    if not isinstance(tree, dict):
        return {}

    def leaves(name: str, above: frozenset[str] = frozenset()) -> list[str]:
        parts = tree.get(name)
        if not parts or name in above:
            return [name]
        return [leaf for part in parts for leaf in leaves(str(part), above | {name})]

    return {name: tuple(dict.fromkeys(leaves(name))) for name in tree if tree[name]}


def _newest(found: Sequence[TaskRun], notes: list[str]) -> list[TaskRun]:
    newest: dict[tuple[Subject, str], TaskRun] = {}
    # Sorting is stable: of two runs of the same moment the later file counts, wherever the files lie.
    for run in sorted(found, key=lambda run: (run.file.date, str(run.file.path))):
        older = newest.get((run.subject, run.task))
        if older is not None:
            rows = "" if older.count == run.count else f" ({run.count} rows replace {older.count})"
            notes.append(
                f"{older.file.path}: replaced by the newer run {run.file.path}, where both have the same task{rows}"
            )
        newest[run.subject, run.task] = run
    return list(newest.values())


def _common_readers(runs: Sequence[TaskRun]) -> dict[str, set[str]]:
    """Return by task which readers everybody's answers to it were read by."""
    common: dict[str, set[str]] = {}
    for run in runs:
        common[run.task] = common.get(run.task, set(run.readers)) & set(run.readers)
    return common


def _same_readers(runs: Sequence[TaskRun], common: Mapping[str, set[str]], notes: list[str]) -> list[TaskRun]:
    """Return the runs, each with the best reader that everybody's answers to its task were read by."""
    for task in sorted({run.task for run in runs}):
        if not common[task]:
            notes.append(
                f"{task}: no reader of answers is common to all models; each has its own, figures may differ by it"
            )
    worse = {run.task: run.offered for run in runs if common[run.task] and run.offered not in common[run.task]}
    if worse:
        notes.append(
            f"not every model's answers were read by {named(sorted(set(worse.values())))} in {named(sorted(worse))}: "
            "all are shown as the best reader that is common to all has them"
        )
    return [
        replace(run, readers=tuple(sorted(run.readers, key=lambda reader: reader not in common[run.task])))
        for run in runs
    ]


def _with_samples(run: TaskRun, population: Population) -> TaskRun:
    """Return a run with its rows, if its file of samples can be found."""
    path = run.samples_path
    if not path.is_file():
        return run
    rows, wrong = read_samples(path, run.kind, run.metrics, run.readers)
    doubts = []
    if wrong:
        more = f" and {len(wrong) - FEW} more" if len(wrong) > FEW else ""
        doubts.append(f"{path}: {len(wrong)} of its lines left out ({'; '.join(wrong[:FEW])}{more})")
    if not len(rows):
        doubts.append(f"{path}: no row of the filter {run.reader!r}: figures without intervals, no samples")
        return replace(run, doubts=tuple(doubts))
    if len(rows) != run.count:
        doubts.append(
            f"{path}: {len(rows)} rows, and {run.count} in the results; figures are of the rows that are there"
        )
    else:
        doubts += disagreement(run, rows)
    clusters = population.admit(run.stratum, rows.clusters)
    return replace(run, doubts=tuple(doubts), rows=rows, clusters=clusters)
