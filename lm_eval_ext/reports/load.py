"""From the files of one or many runs to what every row of every task scored."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lm_eval_ext.reports.kinds import KINDS, recognise
from lm_eval_ext.reports.remarks import (
    disagreement,
    named,
    rows_that_differ,
    versions_that_differ,
    without_samples,
)
from lm_eval_ext.reports.runs import Runs, TaskRun
from lm_eval_ext.reports.samples import read_samples
from lm_eval_ext.reports.statistics import Population
from lm_eval_ext.reports.subjects import Subject, labels, subject
from lm_eval_ext.result_files import ResultFile, find, read
from lm_eval_ext.sources import RowsError

FEW = 3
"""So many bad lines of a file are named; the rest are counted."""


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
