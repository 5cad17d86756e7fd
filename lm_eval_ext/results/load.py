"""Loads the results and samples files of one or many runs: the scores of every row of every task."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.results.files import ResultFile, find, read
from lm_eval_ext.results.issue import Issue, error, named, note, warning
from lm_eval_ext.results.models import EvaluatedModel, evaluated_model
from lm_eval_ext.results.models import labels as labels_of
from lm_eval_ext.results.recognition import Choice, other_task_runs, require_choice, task_runs
from lm_eval_ext.results.rows import DatasetRows
from lm_eval_ext.results.runs import GivenName, Runs, TaskRun, newest, renamed
from lm_eval_ext.results.samples import COLUMN, of_rows, read_other_samples, read_samples, with_other_rows
from lm_eval_ext.results.sampling import Decoding, decoding, repeated, shown_once, sweeps, swept
from lm_eval_ext.results.settings import placements, settings_that_differ, unified, wherever_placed
from lm_eval_ext.results.validation import (
    disagreement,
    replacements,
    rows_that_differ,
    symptoms,
    versions_that_differ,
    without_samples,
)
from lm_eval_ext.sources import RowsError

Progress = Callable[[Sequence[TaskRun]], Iterable[TaskRun]]
"""Wraps the runs whose samples are about to be read, and yields them one by one."""
What = tuple[EvaluatedModel, str, str]
"""What the newest run counts of: a model, a task and a placement."""


def load(paths: Sequence[Path], progress: Progress = lambda runs: runs, names: Sequence[GivenName] = ()) -> Runs:
    """Return the runs of our tasks in results files, with their samples.

    If a model ran a task several times, the newest run counts, unless they are draws of a sweep (``sampling``).

    Args:
        paths: results files, or folders whose ``results_*.json`` are all read.
        progress: see ``Progress``.
        names: names for models, instead of those made from their arguments.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is not a results file, none has results of our tasks, or a name fits no model.
    """
    (runs,) = load_apart([paths], progress, names, sweep=True)
    return runs


def load_apart(
    sides: Sequence[Sequence[Path]],
    progress: Progress = lambda runs: runs,
    names: Sequence[GivenName] = (),
    *,
    sweep: bool = False,
    others: Choice | None = None,
) -> list[Runs]:
    """Like ``load``, for each of several sets of files that are to be compared; they may contain the same model.

    All sets share one numbering of the datasets' rows and, for every task, one answer reader.

    Args:
        sides: the paths of each set, as for ``load``.
        progress: see ``Progress``.
        names: names for models of the first set.
        sweep: whether several draws of a task, and several placements of its instructions, are one model's; otherwise,
            each is a model of its own.
        others: what is chosen about tasks that are not ours; ``None``: they are left out.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is not a results file, a set has no results of our tasks, a name fits no model, or no task has
            the chosen metric or column.
    """
    found = [find_runs(paths, sweep=sweep, others=others) for paths in sides]
    if others is not None:
        require_choice(others, [run for side in found for run in side.runs])
    common = _common_readers([run for side in found for run in (*side.runs, *side.draws, *side.placed)])
    dataset_rows = DatasetRows()
    labels = [labels_of(side.models) for side in found]
    labels[0] = renamed(labels[0], [*found[0].runs, *found[0].placed], names)
    column = others.cluster if others else ""
    runs = [_loaded(side, of, common, (dataset_rows, column), progress) for side, of in zip(found, labels, strict=True)]
    if column and not any(isinstance(key, tuple) and key[:2] == (COLUMN, column) for key in dataset_rows):
        raise RowsError(f"no document has the column {column!r}; expected the name of a field of doc in the samples")
    return runs


@dataclass(frozen=True)
class FoundRuns:
    """The contents of results files, without their samples.

    Attributes:
        runs: the newest run of each task by each model.
        models: in the order of the arguments, then by name.
        groups: the tasks of each group.
        unevaluated: tasks without rows in a model's newest run of them; ``runs`` may have an older one.
        doubts: by model, task and placement, why the run that counts may not be the newest.
        issues: what was left out or replaced, and why.
        draws: all runs of the tasks in a sweep.
        placed: the newest run of each task by each model at each other placement, where these are one model's.
    """

    runs: tuple[TaskRun, ...]
    models: tuple[EvaluatedModel, ...]
    groups: Mapping[str, tuple[str, ...]]
    unevaluated: tuple[TaskRun, ...]
    doubts: Mapping[What, tuple[Issue, ...]]
    issues: tuple[Issue, ...]
    draws: tuple[TaskRun, ...] = ()
    placed: tuple[TaskRun, ...] = ()

    @property
    def empty(self) -> frozenset[str]:
        """The tasks for which no model has evaluated rows."""
        everything = (*self.runs, *self.placed)
        return frozenset(run.task for run in self.unevaluated).difference(run.task for run in everything)


def find_runs(
    paths: Sequence[Path],
    families: Collection[str] = tuple(FAMILIES),
    *,
    sweep: bool = False,
    others: Choice | None = None,
) -> FoundRuns:
    """Return the runs in results files, without reading samples.

    A file in a folder that is unreadable or not a results file is left out with an issue if there are others.

    Args:
        paths: results files, or folders whose ``results_*.json`` are all read.
        families: the families whose tasks count.
        sweep: whether runs at several temperatures, and with several placements, are one model's; otherwise they are
            different models.
        others: what is chosen about tasks that are not ours; ``None``: they are left out.

    Raises:
        OSError: a file given by name cannot be read.
        RowsError: a file given by name is not a results file, or no file has results of these families.
    """
    issues: list[Issue] = []
    unusable: list[Issue] = []
    unread: list[Path] = []
    unusable_tasks: list[tuple[str, ResultFile]] = []
    found: list[TaskRun] = []
    groups: dict[str, tuple[str, ...]] = {}
    foreign: set[str] = set()
    for path in find(paths):
        try:
            file = _read(path, named=path in paths)
        except _UnreadError as reason:
            unusable.append(error(str(reason)))
            unread.append(path)
            continue
        recognized = [task_runs(file, families), *([] if others is None else [other_task_runs(file, others)])]
        found += [run for each in recognized for run in each.runs]
        unusable += [issue for each in recognized for issue in each.issues]
        unusable_tasks += [(task, file) for each in recognized for task in sorted(each.unusable)]
        if not any(each.runs or each.issues for each in recognized):
            tasks = sorted(file.content["results"])
            foreign |= set(tasks)
            issues.append(note(f"{path}: no results of {_ours(families)} ({named(tasks)}); ignored"))
        groups |= file.groups
    found = unified(swept(wherever_placed(found)) if sweep else found)
    empty = {run.task: run for run in found if not run.count}
    unusable += [error(f"{run.file.path}, task {run.task!r}: no rows were evaluated") for run in empty.values()]
    latest, _ = newest(found, _what)
    evaluated = [run for run in found if run.count]
    if not evaluated and unusable:
        raise RowsError(f"{'; '.join(map(str, unusable))}; expected at least one task with evaluated rows")
    if not evaluated:
        only = f", only of {named(sorted(foreign))}" if foreign else ""
        which = f" for the families {', '.join(families)}" if others is None else ""
        raise RowsError(
            f"no results of {_ours(families) if others is None else 'any task'} in {', '.join(map(str, paths))}{only}; "
            f"expected results_*.json files that `lm_eval --tasks … --output_path FOLDER` writes{which}"
        )
    issues += [error(f"{issue}; left out") for issue in unusable]
    latest_draws, replaced = newest(evaluated, _draw if sweep else _what)
    issues += replacements(replaced)
    placed = [run for run in latest_draws.values() if sweep and run.placement]
    once, draws = shown_once([run for run in latest_draws.values() if not (sweep and run.placement)])
    chosen = {_what(run): run for run in (*once, *placed)}
    unevaluated = [run for run in latest.values() if not run.count]
    unusable_tasks += [(run.task, run.file) for run in unevaluated]
    return FoundRuns(
        tuple(once),
        _in_order(evaluated, paths),
        groups,
        tuple(unevaluated),
        {what: tuple(_doubts(run, unread, unusable_tasks)) for what, run in chosen.items()},
        tuple(dict.fromkeys(issues)),
        tuple(draws),
        tuple(placed),
    )


def _doubts(run: TaskRun, unread: Sequence[Path], unusable: Sequence[tuple[str, ResultFile]]) -> Iterator[Issue]:
    """Yield why a run may not be the newest of its task: the one that would replace it cannot be used."""
    for path in unread:
        yield warning(f"{path} cannot be read and may be newer than the results shown")
    newer = [file for task, file in unusable if task == run.task and file.order > run.file.order]
    of_model = [file for file in newer if evaluated_model(file, None, None).full_name == run.model.full_name]
    for path in dict.fromkeys(file.path for file in of_model):
        yield warning(f"{run.task}: its run in {path} is newer than the one shown but cannot be used")


class _UnreadError(Exception):
    """A file in a folder that is unreadable or not a results file."""


def _read(path: Path, *, named: bool) -> ResultFile:
    """Read a results file and check its groups.

    Raises:
        _UnreadError: it was found in a folder, and is unreadable or not a results file.
        OSError, RowsError: the same for a file given by name.
    """
    try:
        if not named and not path.is_file():
            raise RowsError(f"{path}: is not a file; expected a results_*.json of the harness")
        file = read(path)
        # Groups are checked on first access.
        _ = file.groups
    except RowsError as reason:
        if named:
            raise
        raise _UnreadError(str(reason)) from reason
    except OSError as reason:
        if named:
            raise
        raise _UnreadError(f"{path}: {reason.strerror}") from reason
    return file


def _what(run: TaskRun) -> What:
    return run.model, run.task, run.placement


def _draw(run: TaskRun) -> tuple[What, Decoding | None]:
    """Return what a newer run replaces: the same task at the same temperature with the same seed."""
    return _what(run), decoding(run) if run.schema.over_temperatures else None


def _ours(families: Collection[str]) -> str:
    return "our tasks" if {*families} == {*FAMILIES} else f"{', '.join(families)} tasks"


def _in_order(found: Sequence[TaskRun], paths: Sequence[Path]) -> tuple[EvaluatedModel, ...]:
    """Return the models in the order of the arguments, those of one folder by name: 7B before 70B."""
    names = labels_of(dict.fromkeys(run.model for run in found))
    places: dict[EvaluatedModel, int] = {}
    for run in found:
        path = run.file.path
        place = next(number for number, given in enumerate(paths) if given == path or given in path.parents)
        places[run.model] = min(place, places.get(run.model, place))
    in_words_and_numbers = {
        model: [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name.casefold())]
        for model, name in names.items()
    }
    return tuple(sorted(names, key=lambda model: (places[model], in_words_and_numbers[model], names[model])))


def _loaded(
    found: FoundRuns,
    names: Mapping[EvaluatedModel, str],
    readers: Mapping[str, set[str]],
    into: tuple[DatasetRows, str],
    progress: Progress,
) -> Runs:
    issues = list(found.issues)
    chosen = _same_readers(found.runs, readers, issues)
    placed = _same_readers(found.placed, readers, issues)
    others = _same_readers([run for run in found.draws if run not in found.runs], readers, [])
    issues += sweeps(found.draws, names)
    issues += placements(placed, names)
    issues += versions_that_differ([*chosen, *others, *placed], found.groups)
    issues += rows_that_differ([*chosen, *placed], names)
    issues += settings_that_differ([*chosen, *placed], names)
    # Each once: one of several draws is among the others, too.
    read = [_with_samples(run, *into) for run in progress([*chosen, *placed, *others])]
    counted, in_a_sweep = read[: len(chosen) + len(placed)], set(map(_draw, found.draws))
    draws = [run for run in read if _draw(run) in in_a_sweep]
    draws.sort(key=lambda run: (found.models.index(run.model), run.task, decoding(run)))
    counted.sort(key=lambda run: (found.models.index(run.model), run.task, run.placement))
    issues += repeated(counted, names)
    issues += without_samples(counted)
    counted = [replace(run, issues=(*run.issues, *found.doubts[_what(run)])) for run in counted]
    issues += [issue for run in (*counted, *draws) for issue in run.issues]
    issues += symptoms(counted, names)
    elsewhere = {_what(run) for run in placed}
    return Runs(
        tuple(run for run in counted if _what(run) not in elsewhere),
        names,
        found.groups,
        into[0],
        found.empty,
        tuple(dict.fromkeys(issues)),
        tuple(draws),
        tuple(run for run in counted if _what(run) in elsewhere),
    )


def _common_readers(runs: Sequence[TaskRun]) -> dict[str, set[str]]:
    """Return the readers of each task that every model's run of it has."""
    common: dict[str, set[str]] = {}
    for run in runs:
        common[run.task] = common.get(run.task, set(run.readers)) & set(run.readers)
    return common


def _same_readers(runs: Sequence[TaskRun], common: Mapping[str, set[str]], issues: list[Issue]) -> list[TaskRun]:
    """Return the runs, each with the best reader that every model's run of its task has."""
    for task in sorted({run.task for run in runs}):
        if not common[task]:
            issues.append(
                warning(
                    f"{task}: the models have no answer reader in common; each is read by its own, so figures may "
                    "differ for that reason"
                )
            )
    worse = {run.task: run.offered for run in runs if common[run.task] and run.offered not in common[run.task]}
    if worse:
        issues.append(
            note(
                f"not every model's answers to {named(sorted(worse))} were read by "
                f"{named(sorted(set(worse.values())))}: all are shown with the best reader that all models have"
            )
        )
    return [
        replace(run, readers=tuple(sorted(run.readers, key=lambda reader: reader not in common[run.task])))
        for run in runs
    ]


def _with_samples(run: TaskRun, dataset_rows: DatasetRows, column: str) -> TaskRun:
    """Return a run with its rows, if its samples file exists.

    Args:
        run: the run.
        dataset_rows: the dataset rows that have been seen.
        column: the column that groups the rows of a task that is not ours.
    """
    path = run.samples_path
    # Path.is_file raises if a name is too long for the file system; this does not.
    if not os.path.isfile(path):  # noqa: PTH113 # as above
        return run
    numbers = dataset_rows.of(run.dataset)
    if run.is_ours:
        rows, wrong = read_samples(path, run.schema.of_task(run.metadata), run.metrics, run.readers, numbers)
    else:
        rows, limits, wrong = read_other_samples(run, column, numbers)
    issues = []
    if wrong.count:
        issues.append(warning(f"{path}: {wrong}"))
    if not len(rows):
        issues.append(
            warning(
                f"{path}: no rows of the filter {run.reader!r}: its figures have no confidence intervals, and no "
                "answers are shown"
            )
        )
        return replace(run, issues=tuple(issues))
    if len(rows) != run.count:
        issues.append(
            warning(
                f"{path}: {len(rows)} rows here but {run.count} in the results; figures are computed from the rows here"
            )
        )
    else:
        issues += disagreement(run, rows) if run.is_ours else of_rows(run, rows)
    run = replace(run, issues=tuple(issues))
    return replace(run, rows=rows) if run.is_ours else with_other_rows(run, rows, limits)
