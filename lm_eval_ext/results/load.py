"""Loads the results and samples files of one or many runs: the scores of every row of every task.

From top to bottom, this is the way from files to runs that count: ``load_apart`` finds the runs in each set of files
and reads their samples; ``find_runs`` reads the results files, recognizes the tasks in each (``recognition``), decides
which runs are of one model and which of them counts, and names the models.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.families.schema import PLACEMENT
from lm_eval_ext.results.comparability import in_parts, unlike_runs
from lm_eval_ext.results.files import ResultFile, find, read
from lm_eval_ext.results.issue import Issue, error, grouped, named, note, warning
from lm_eval_ext.results.models import BY_TASK, EvaluatedModel, evaluated_model
from lm_eval_ext.results.models import labels as labels_of
from lm_eval_ext.results.recognition import Choice, measured_alike, task_runs, unusable_in
from lm_eval_ext.results.rows import DatasetRows
from lm_eval_ext.results.runs import OPTIONS, SAMPLING_SEED, Role, Runs, TaskRun, newest, without_arguments
from lm_eval_ext.results.samples import COLUMN, all_with_rows
from lm_eval_ext.results.validation import what_differs, what_went_wrong
from lm_eval_ext.sources import RowsError

Progress = Callable[[Sequence[TaskRun]], Iterable[TaskRun]]
"""Wraps the runs whose samples are about to be read, and yields them one by one."""
IN_FIGURES = (Role.COUNTS, Role.PLACED, Role.SWEPT, Role.PART)
"""The roles of runs whose samples are read."""
SAMPLING = ("do_sample", SAMPLING_SEED, "temperature")
"""The generation arguments that a sweep varies."""


def load(paths: Sequence[Path], progress: Progress = lambda runs: runs, names: Sequence[GivenName] = ()) -> Runs:
    """Return the runs of our tasks in results files, with their samples.

    If a model ran a task several times, the newest run counts, unless they are runs of a sweep (``Role``).

    Args:
        paths: results files, or folders whose ``results_*.json`` are all read.
        progress: see ``Progress``.
        names: names for models, instead of those made from their arguments.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is not a results file, none has results of our tasks, or a name fits no model.
    """
    (runs,) = load_apart([paths], progress, names, merge_variants=True)
    return runs


def load_apart(  # noqa: PLR0913 # what decides which runs there are
    sides: Sequence[Sequence[Path]],
    progress: Progress = lambda runs: runs,
    names: Sequence[GivenName] = (),
    *,
    merge_variants: bool = False,
    choice: Choice | None = None,
    parts: bool = False,
    called: Callable[[Path], str] = str,
) -> list[Runs]:
    """Like ``load``, for each of several sets of files that are to be compared; they may contain the same model.

    All sets share one numbering of the datasets' rows and, for every task, one answer reader.

    Args:
        sides: the paths of each set, as for ``load``.
        progress: see ``Progress``.
        names: names for models of the first set.
        merge_variants: whether several placements of a task's instructions are one model's and, in families whose
            report has figures over temperatures, several draws; otherwise, each is a model of its own.
        choice: what is chosen about tasks that are not ours; ``None``: they are left out.
        parts: whether several runs of a task by a model are one run, each of a part of the rows; otherwise, the newest
            counts.
        called: returns what the user calls a file.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is not a results file, a set has no results of our tasks, a name fits no model, no task has
            the chosen metric or column, or two runs of a task cannot be parts of one.
    """
    runs_of_sides = [
        find_runs(paths, merge_variants=merge_variants, other_tasks=choice is not None, parts=parts, called=called)
        for paths in sides
    ]
    if choice is not None:
        runs_of_sides = measured_alike(runs_of_sides, choice)
    runs_of_sides[0] = replace(runs_of_sides[0], labels=renamed(runs_of_sides[0], names))
    # The readers of each task that every model's run of it has.
    common: dict[str, set[str]] = {}
    for run in (run for side in runs_of_sides for run in side.with_role(*IN_FIGURES)):
        common[run.task] = common.get(run.task, set(run.readers)) & set(run.readers)
    column = choice.cluster if choice else ""
    dataset_rows: DatasetRows = {}
    loaded = []
    for side in runs_of_sides:
        # The best reader that every model's run of a task has comes first.
        in_figures = [
            replace(run, readers=tuple(sorted(run.readers, key=lambda reader: reader not in common[run.task])))
            for run in side.with_role(*IN_FIGURES)
        ]
        read = all_with_rows(in_figures, dataset_rows, column)
        complete = [run for _, run in zip(progress(in_figures), read, strict=True)]
        if parts:
            newest_first = sorted(complete, key=lambda run: run.file.order, reverse=True)
            complete = [in_parts(of_task) for of_task in grouped((_run_key(run), run) for run in newest_first).values()]
        places = {model: place for place, model in enumerate(side.models)}
        complete.sort(
            key=lambda run: (run.role is Role.SWEPT, places[run.model], run.task, run.placement, run.decoding)
        )
        in_order = (*complete, *side.with_role(Role.OLDER, Role.UNEVALUATED))
        of_side = replace(side, all=in_order, dataset_rows=dataset_rows)
        issues = [*_readers_that_differ(side.current, common), *what_differs(of_side), *what_went_wrong(of_side)]
        loaded.append(replace(of_side, issues=tuple(dict.fromkeys([*side.issues, *issues]))))
    keys = (key for rows in dataset_rows.values() for key in rows)
    if column and not any(isinstance(key, tuple) and key[:2] == (COLUMN, column) for key in keys):
        raise RowsError(f"no document has the column {column!r}; expected the name of a field of doc in the samples")
    return loaded


def _readers_that_differ(runs: Sequence[TaskRun], common: Mapping[str, set[str]]) -> Iterator[Issue]:
    """Yield which tasks are not read by the best reader of each run, for another run lacks it."""
    for task in sorted({run.task for run in runs if not common[run.task]}):
        yield warning(
            f"{task}: the models have no answer reader in common; each is read by its own, so figures may differ for "
            "that reason"
        )
    worse = {run.task: run.offered for run in runs if common[run.task] and run.offered not in common[run.task]}
    if worse:
        of_tasks, readers = named(sorted(worse)), named(sorted({*worse.values()}))
        advice = "all are shown with the best reader that all models have"
        yield note(f"not every model's answers to {of_tasks} were read by {readers}: {advice}")


def find_runs(
    paths: Sequence[Path],
    *,
    merge_variants: bool = False,
    other_tasks: bool = False,
    parts: bool = False,
    called: Callable[[Path], str] = str,
) -> Runs:
    """Return the runs in results files, each with its role, without reading samples.

    A file in a folder that is unreadable or not a results file is left out with an issue if there are others.

    Args:
        paths: results files, or folders whose ``results_*.json`` are all read.
        merge_variants: see ``load_apart``.
        other_tasks: whether tasks that are not ours count, each by its first metric and filter (``measured_alike``).
        parts: whether a run that a newer one would replace is a part of the same run.
        called: returns what the user calls a file.

    Raises:
        OSError: a file given by name cannot be read.
        RowsError: a file given by name is not a results file, or no file has results of our tasks.
    """
    issues: list[Issue] = []
    unusable: list[Issue] = []
    unread: list[str] = []
    unusable_tasks: list[tuple[str, ResultFile]] = []
    runs: list[TaskRun] = []
    files: list[ResultFile] = []
    foreign: set[str] = set()
    for path in find(paths):
        name = called(path)
        try:
            if path not in paths and not path.is_file():
                raise RowsError(f"{name}: is not a file; expected a results_*.json of the harness")
            file = read(path, name)
            # They are checked on first access.
            _ = file.groups
        except (RowsError, OSError) as reason:
            if path in paths:
                raise
            unusable.append(error(f"{name}: {reason.strerror}" if isinstance(reason, OSError) else str(reason)))
            unread.append(name)
            continue
        files.append(file)
        of_file = task_runs(file, other_tasks=other_tasks)
        runs += [run for _, run in of_file if isinstance(run, TaskRun)]
        unusable += unusable_in(file, of_file)
        unusable_tasks += [(task, file) for task, reason in of_file if isinstance(reason, str)]
        if not of_file:
            tasks = sorted(file.content["results"])
            foreign |= set(tasks)
            issues.append(note(f"{name}: no results of our tasks ({named(tasks)}); ignored"))
    runs = _options_as_one_model(_variants_as_one_model(runs) if merge_variants else runs)
    empty = {run.task: run for run in runs if not run.count}
    unusable += [error(f"{run.file.name}, task {run.task!r}: no rows were evaluated") for run in empty.values()]
    evaluated = [run for run in runs if run.count]
    if not evaluated and unusable:
        raise RowsError(f"{'; '.join(map(str, unusable))}; expected at least one task with evaluated rows")
    if not evaluated:
        only = f", only of {named(sorted(foreign))}" if foreign else ""
        families = f" for the families {', '.join(FAMILIES)}" if not other_tasks else ""
        raise RowsError(
            f"no results of {'any task' if other_tasks else 'our tasks'} in {', '.join(map(str, paths))}{only}; "
            f"expected results_*.json files that `lm_eval --tasks … --output_path FOLDER` writes{families}"
        )
    issues += [error(f"{issue}; left out") for issue in unusable]
    runs, replaced = _with_roles(runs, merge_variants=merge_variants, parts=parts)
    unusable_tasks += [(run.task, run.file) for run in runs if run.role is Role.UNEVALUATED]
    with_doubts = tuple(replace(run, issues=tuple(_doubts(run, unread, unusable_tasks))) for run in runs)
    groups, redefined = _groups_of(files, {run.file.path for run in runs if run.role in IN_FIGURES})
    return Runs(with_doubts, _labels(evaluated, paths), groups, tuple(dict.fromkeys([*issues, *replaced, *redefined])))


def _groups_of(
    files: Sequence[ResultFile], in_figures: Collection[Path]
) -> tuple[dict[str, tuple[str, ...]], list[Issue]]:
    """Return the tasks of each group in the newest file with it, and which have others in another file in figures."""
    groups: dict[str, tuple[str, ...]] = {}
    for file in sorted(files, key=lambda file: file.order):
        groups |= file.groups
    of_files = [(file.name, file.groups.items()) for file in files if file.path in in_figures]
    others = grouped(
        (name, file) for file, of_file in of_files for name, tasks in of_file if {*tasks} != {*groups[name]}
    )
    return groups, [
        warning(f"group {name}: other tasks in {named(where)} than in the newest results with it, whose tasks count")
        for name, where in others.items()
    ]


def _variants_as_one_model(runs: Sequence[TaskRun]) -> list[TaskRun]:
    """Return the runs, with models merged into one that differ only in the placement or in what is sampled.

    A task may be run with several placements of its instructions, or sampled in several ways (``SAMPLING``). Each run
    keeps its own ``setting``.
    """

    def unsampled(run: TaskRun) -> EvaluatedModel:
        return replace(run.model, setting=without_arguments(run, run.model.setting, SAMPLING))

    runs = [replace(run, model=_without(run.model, (PLACEMENT,))) for run in runs]
    # Only families whose report has a figure over temperatures take part.
    decodings = grouped(((unsampled(run), run.task), run.decoding) for run in runs if run.schema.over_temperatures)
    swept = {model for (model, _), of_task in decodings.items() if len({*of_task}) > 1}
    return [
        replace(run, model=unsampled(run)) if run.schema.over_temperatures and unsampled(run) in swept else run
        for run in runs
    ]


def _options_as_one_model(runs: Sequence[TaskRun]) -> list[TaskRun]:
    """Return the runs, with models merged into one that differ only in ``OPTIONS`` of the task.

    A model that ran a task which another one ran, too, with other options, is not merged, because these runs must stay
    distinct. Each run keeps its own ``setting``.
    """
    tasks = {model: {*names} for model, names in grouped((run.model, run.task) for run in runs).items()}
    merged: dict[EvaluatedModel, EvaluatedModel] = {}
    for base, models in grouped((_without(model, OPTIONS), model) for model in tasks).items():
        counts = Counter(task for model in models for task in tasks[model])
        disjoint = [model for model in models if all(counts[task] == 1 for task in tasks[model])]
        if len(disjoint) > 1:
            setting = [*base.setting]
            for option in OPTIONS:
                values = {dict(model.setting).get(option, "") for model in disjoint}
                # An option that all share keeps its value.
                if value := BY_TASK if len(values) > 1 else values.pop():
                    setting.append((option, value))
            merged |= dict.fromkeys(disjoint, replace(base, setting=tuple(setting)))
    return [replace(run, model=merged.get(run.model, run.model)) for run in runs]


def _without(model: EvaluatedModel, settings: Sequence[str]) -> EvaluatedModel:
    return replace(model, setting=tuple((name, value) for name, value in model.setting if name not in settings))


def _with_roles(runs: Sequence[TaskRun], *, merge_variants: bool, parts: bool) -> tuple[list[TaskRun], list[Issue]]:
    """Return the runs, each with its role and in the order of roles, and which of them newer ones replace.

    A newer run replaces one of the same task by the same model and, of variants to merge, with the same decoding. Of
    several decodings, the one at the lowest temperature counts, and of its draws the one with the first seeds. A run
    without rows replaces none, and where runs are parts, no run does.

    Those in figures are in the order in which a run of their kind was first made, and of their decoding: issues name
    them in this order.
    """
    newest_runs, _ = newest(runs, _run_key)
    newest_with_rows, replaced = newest(
        [run for run in runs if run.count],
        lambda run: (_run_key(run), run.decoding if merge_variants and run.schema.over_temperatures else None),
    )
    in_figures = {id(run) for run in newest_with_rows.values()}
    by_task = grouped((_run_key(run), run) for run in newest_with_rows.values())
    by_decoding = {key: sorted(of_task, key=lambda run: run.decoding) for key, of_task in by_task.items()}

    def role(run: TaskRun) -> Role:
        if not run.count:
            # Only where it is newer than all others of its task is it said that this was not evaluated.
            return Role.UNEVALUATED if run is newest_runs[_run_key(run)] else Role.OLDER
        if id(run) not in in_figures:
            return Role.PART if parts else Role.OLDER
        if merge_variants and run.placement:
            return Role.PLACED
        return Role.COUNTS if run is by_decoding[_run_key(run)][0] else Role.SWEPT

    # Each run once, in the first of these places.
    in_order = {id(run): run for run in chain(*by_decoding.values(), newest_runs.values(), runs)}
    with_roles = [replace(run, role=role(run)) for run in in_order.values()]
    return sorted(with_roles, key=lambda run: [*Role].index(run.role)), [] if parts else replaced


def _run_key(run: TaskRun) -> Hashable:
    """Return what the newest run counts of: a model, a task and a placement."""
    return run.model, run.task, run.placement


def _doubts(run: TaskRun, unread: Sequence[str], unusable: Sequence[tuple[str, ResultFile]]) -> Iterator[Issue]:
    """Yield why a run that counts may not be the newest of its task: the one that would replace it cannot be used."""
    if run.role not in (Role.COUNTS, Role.PLACED):
        return
    for name in unread:
        yield warning(f"{name} cannot be read and may be newer than the results shown")
    newer = [file for task, file in unusable if task == run.task and file.order > run.file.order]
    of_model = [file for file in newer if evaluated_model(file, None, None).full_name == run.model.full_name]
    for name in dict.fromkeys(file.name for file in of_model):
        yield warning(f"{run.task}: its run in {name} is newer than the one shown but cannot be used")


def _labels(runs: Sequence[TaskRun], paths: Sequence[Path]) -> dict[EvaluatedModel, str]:
    """Return the models' labels, in the order of the arguments, those of one folder by name: 7B before 70B.

    Known answers come after all real models. Models that differ only in arguments or setting are next to each other.
    """
    names = labels_of(dict.fromkeys(run.model for run in runs))
    places: dict[EvaluatedModel, int] = {}
    for model, path in dict.fromkeys((run.model, run.file.path) for run in runs):
        place = next(number for number, argument in enumerate(paths) if argument == path or argument in path.parents)
        places[model] = min(place, places.get(model, place))

    def order(model: EvaluatedModel) -> tuple[Any, ...]:
        parts = re.split(r"(\d+)", names[model].casefold())
        return (
            model.has_known_answers,
            places[model],
            [int(part) if part.isdecimal() else part for part in parts],
            names[model],
        )

    return labels_of(sorted(names, key=order))


def side_by_side(sides: Sequence[Runs], tags: Sequence[str]) -> Runs:
    """Return the runs of several sides, each of one model, as those of as many models.

    A model that is on several sides, such as one at two dates, is a model for each of them.

    Args:
        sides: runs that number the datasets' rows alike, as ``load_apart`` returns them.
        tags: for each side, what its issues begin with, and what distinguishes its model from the same one elsewhere.
    """
    names = labels_of(dict.fromkeys(model for side in sides for model in side.models))
    are_distinct = len({model.full_name for model in names}) == len(sides)
    runs_of_sides: list[TaskRun] = []
    labels: dict[EvaluatedModel, str] = {}
    for side, tag in zip(sides, tags, strict=True):
        (model,) = side.models
        # Figures are told apart by the model's full name.
        tagged = model if are_distinct else replace(model, arguments=(*model.arguments, ("run", tag)))
        labels[tagged] = names[model] if len(names) == len(sides) else f"{names[model]} ({tag})"
        runs_of_sides += [replace(run, model=tagged) for run in side.all]
    groups = {name: parts for side in sides for name, parts in side.groups.items()}
    joined = Runs(tuple(runs_of_sides), labels, groups, (), sides[0].dataset_rows)
    # What the runs of a side differ in is said once, with those of the other sides.
    *of_sides, of_all = ([*what_differs(runs), *unlike_runs(runs.current, runs.labels)] for runs in (*sides, joined))
    issues = [
        replace(issue, text=f"{tag}: {issue}")
        for side, tag, of_side in zip(sides, tags, of_sides, strict=True)
        for issue in side.issues
        if issue not in of_side
    ]
    return replace(joined, issues=(*issues, *of_all))


@dataclass(frozen=True)
class GivenName:
    """A name for the model whose results are at a path.

    Attributes:
        path: a results file, or a folder with the results files of one model.
        name: the model's name.
    """

    path: Path
    name: str

    def __str__(self) -> str:
        return f"{self.path}={self.name}"


def renamed(runs: Runs, given_names: Sequence[GivenName]) -> dict[EvaluatedModel, str]:
    """Return the labels of the models, replaced by the given names.

    Raises:
        RowsError: a path has results of several models or of none, a model gets two names, or two models get one.
    """
    labels = runs.labels
    chosen: dict[EvaluatedModel, GivenName] = {}
    for given_name in given_names:
        files = {path.resolve() for path in find([given_name.path])}
        of_path = {run.model for run in runs.current if run.file.path.resolve() in files}
        models = [model for model in labels if model in of_path]
        if not models:
            raise RowsError(
                f"{given_name}: none of the results in use are from {given_name.path}; expected one of the folders or "
                "files that are read, or one inside them"
            )
        if len(models) > 1:
            listed = "; ".join(labels[model] for model in models)
            raise RowsError(
                f"{given_name}: {given_name.path} has results of {len(models)} models ({listed}); expected one: give "
                "the folder or file of one model"
            )
        (model,) = models
        earlier = chosen.setdefault(model, given_name)
        if earlier.name != given_name.name:
            raise RowsError(f"two names for the model {labels[model]!r}: {earlier} and {given_name}; expected one")
    names = {model: chosen[model].name if model in chosen else label for model, label in labels.items()}
    for given_name in chosen.values():
        if [*names.values()].count(given_name.name) > 1:
            raise RowsError(f"{given_name}: another model also has this name; expected a different name for each model")
    return names
