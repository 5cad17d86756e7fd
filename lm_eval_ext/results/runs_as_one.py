"""Several runs that differ only in the seed, as one run with several draws of each row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.results.aggregation import over_draws
from lm_eval_ext.results.comparability import PairOfRuns, asking_facts, differences
from lm_eval_ext.results.issue import Issue, named, note, warning
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.models import labels as labels_of
from lm_eval_ext.results.rows import Rows
from lm_eval_ext.results.runs import OF_RUN, SEED, Role, Runs, TaskRun
from lm_eval_ext.results.settings import without_arguments
from lm_eval_ext.sources import RowsError


@dataclass(frozen=True)
class OfOneSeed:
    """The runs of one model with one seed, which give one draw of every row, or several.

    Attributes:
        runs: the run of each task.
        place: where they are from, for messages.
    """

    runs: Runs
    place: str


def as_one(sides: Sequence[OfOneSeed]) -> Runs:
    """Return the runs of a model with several seeds as one run, whose rows have the draws of all of them.

    Args:
        sides: the runs, with one numbering of the datasets' rows and the same answer readers.

    Raises:
        RowsError: two of them differ in anything but the seed, or do not differ in the seed; the message says in what.
    """
    first, *others = sides
    if not others:
        return first.runs
    for other in others:
        if difference := next(_differences(first, other), None):
            raise RowsError(
                f"{first.place} and {other.place} are not two draws of one run: {difference}; expected runs that "
                "differ in the seed alone"
            )
    for one, other in combinations(sides, 2):
        _require_other_seeds(one, other)
    by_task = [{run.task: _without_seed(run) for run in side.runs.counting} for side in sides]
    labels = labels_of({run.model for run in by_task[0].values()})
    together = [_together([of_side[task] for of_side in by_task]) for task in by_task[0]]
    issues = [issue for side in sides for issue in side.runs.issues]
    issues += [*_greedy(together), *_alike(sides)]
    not_counting = (run for run in first.runs.found if run.role is not Role.COUNTS)
    return replace(first.runs, found=(*together, *not_counting), labels=labels, issues=tuple(dict.fromkeys(issues)))


def _seeds(run: TaskRun) -> dict[str, str]:
    """Return the seeds that a run's draws depend on, those that are recorded, by name."""
    found = {
        "of the model": dict(run.model.arguments).get(SEED),
        "of the generation": (run.config.get("generation_kwargs") or {}).get(SEED),
        **{name.partition("_")[0]: run.file.config.get(name) for name in OF_RUN},
    }
    return {name: str(seed) for name, seed in found.items() if seed is not None}


def _without_seed(run: TaskRun) -> TaskRun:
    """Return a run without its seeds among the arguments of the model and of the generation."""
    model = replace(
        run.model,
        arguments=tuple((name, value) for name, value in run.model.arguments if name != SEED),
        setting=without_arguments(run, run.model.setting, (SEED,)),
    )
    given = run.config.get("generation_kwargs")
    config = dict(run.config)
    if isinstance(given, dict):
        config["generation_kwargs"] = {name: value for name, value in given.items() if name != SEED}
    return replace(run, model=model, setting=without_arguments(run, run.setting, (SEED,)), config=config)


def _differences(one: OfOneSeed, other: OfOneSeed) -> Iterator[str]:
    """Yield in what two runs differ, besides the seed."""
    tasks, others = ({run.task: _without_seed(run) for run in side.runs.counting} for side in (one, other))
    for missing, where in ((tasks.keys() - others.keys(), other), (others.keys() - tasks.keys(), one)):
        if missing:
            yield f"{where.place} lacks {min(missing)}"
    names = one.place, other.place
    for task, run in tasks.items():
        pair = PairOfRuns(run, others[task], names)
        yield from (f"{task}: {each}" for each in _unlike_models(run.model, pair.after.model))
        if obstacle := pair.obstacle:
            yield f"{task}: {obstacle}"
        for difference in differences(pair.before, pair.after, asking_facts(run)):
            yield f"{task}: {difference.fact} {difference.first} and {difference.second}"
        yield from (f"{task}: {each}" for each in _unlike_rows(pair))


def _unlike_models(one: EvaluatedModel, other: EvaluatedModel) -> Iterator[str]:
    if one.kind != other.kind:
        yield f"model {one.kind} and {other.kind}"
    for what, first, second in (
        ("model argument", one.arguments, other.arguments),
        ("setting", one.setting, other.setting),
    ):
        ours, theirs = dict(first), dict(second)
        for name in sorted(ours.keys() | theirs.keys()):
            if ours.get(name) != theirs.get(name):
                yield f"{what} {name} {ours.get(name, 'none')} and {theirs.get(name, 'none')}"


def _unlike_rows(pair: PairOfRuns) -> Iterator[str]:
    first, second = pair.before.rows, pair.after.rows
    if (first is None) != (second is None):
        yield f"{pair.names[0 if first is None else 1]} has no samples"
    elif pair.before.count != pair.after.count:
        yield f"{pair.before.count} and {pair.after.count} rows"
    elif first is not None and second is not None:
        if not np.array_equal(np.sort(first.ids), np.sort(second.ids)):
            yield "other rows"
        elif pair.differ("prompts"):
            yield "other prompts for the same rows"


def _require_other_seeds(one: OfOneSeed, other: OfOneSeed) -> None:
    mine = {run.task: _seeds(run) for run in one.runs.counting}
    for run in other.runs.counting:
        if _seeds(run) == mine[run.task]:
            said = ", ".join(f"{name} {value}" for name, value in _seeds(run).items()) or "none recorded"
            raise RowsError(
                f"{one.place} and {other.place} have the same seeds ({said}) in {run.task}, so they are one draw, not "
                "two; expected another seed for each run: --seed 1, --seed 2, …"
            )


def _together(runs: Sequence[TaskRun]) -> TaskRun:
    """Return several draws of a task as one run; what is not a score is that of the first."""
    first = runs[0]
    issues = tuple(dict.fromkeys(issue for run in runs for issue in run.issues))
    rows = [run.rows for run in runs if run.rows is not None]
    if not rows:
        return replace(first, issues=issues, figures=_mean_figures(runs))
    return replace(first, issues=issues, figures=_mean_figures(runs), rows=_draws_of(rows))


def _mean_figures(runs: Sequence[TaskRun]) -> Mapping[str, Any]:
    """Return the means of the figures, each run weighted by its draws; a figure without a number stays as it is."""
    weights = [run.rows.drawn if run.rows else 1 for run in runs]
    found: dict[str, Any] = {}
    for field, value in runs[0].figures.items():
        values = [run.figures.get(field) for run in runs]
        numbers = [each for each in values if isinstance(each, int | float)]
        found[field] = float(np.average(numbers, weights=weights)) if len(numbers) == len(runs) else value
    return found


def _draws_of(rows: Sequence[Rows]) -> Rows:
    """Return rows with the draws of several runs of them."""
    first = rows[0]
    draws: dict[str, NDArray[np.float64]] = {}
    places = [_places(first, other) for other in rows]
    for metric in set(first.values).intersection(*(other.values for other in rows)):
        draws[metric] = np.concatenate(
            [other.draws_of(metric)[place] for other, place in zip(rows, places, strict=True)], axis=1
        )
    aggregates = {
        metric: over_draws(
            [
                replace(other.aggregates[metric], terms=other.aggregates[metric].terms[place])
                for other, place in zip(rows, places, strict=True)
            ]
        )
        for metric in set(first.aggregates).intersection(*(other.aggregates for other in rows))
    }
    means = {metric: of_metric.mean(axis=1) for metric, of_metric in draws.items()}
    return replace(first, values=means, draws=draws, aggregates=aggregates)


def _places(first: Rows, other: Rows) -> NDArray[np.int64]:
    """Return where a run has the rows of the first, in their order."""
    order = np.argsort(other.ids)
    return order[np.searchsorted(other.ids, first.ids, sorter=order)]


def _greedy(runs: Sequence[TaskRun]) -> list[Issue]:
    greedy = [run.task for run in runs if run.decoding.temperature == 0]
    said = (
        "decoded greedily, so a seed should change nothing; to sample, pass --gen_kwargs do_sample=true,temperature=…"
    )
    return [note(f"{named(greedy)}: {said}")] if greedy else []


def _alike(sides: Sequence[OfOneSeed]) -> list[Issue]:
    """Return which sampled runs have the same scores in every row, as if the seed that differs had no effect."""
    issues = []
    for one, other in combinations(sides, 2):
        of_one = {run.task: run for run in one.runs.counting if run.decoding.temperature > 0}
        same = [run.task for run in other.runs.counting if run.task in of_one and _same_scores(of_one[run.task], run)]
        if same:
            issues.append(
                warning(
                    f"{one.place} and {other.place} have the same scores in every row of {named(same)}: if their "
                    "answers are the same, they are one draw, and the seed that differs has no effect"
                )
            )
    return issues


def _same_scores(one: TaskRun, other: TaskRun) -> bool:
    if one.rows is None or other.rows is None:
        return False
    place, theirs = _places(one.rows, other.rows), other.rows.values
    mine = one.rows.values
    # Where all rows have the same scores, equal ones are no surprise.
    varied = [metric for metric, values in mine.items() if np.ptp(values) > 0]
    return bool(varied) and all(np.array_equal(mine[metric], theirs[metric][place]) for metric in varied)
