"""How far each encoding is from models trained on the subtasks themselves (the first row of Table 3)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from lm_eval_ext.reports.gains.gains import OWN, SubtaskScore
from lm_eval_ext.reports.gains.results import FAMILY, METRIC
from lm_eval_ext.results.comparability import differences
from lm_eval_ext.results.issue import Issue
from lm_eval_ext.results.load import find_runs
from lm_eval_ext.results.runs import TaskRun, newest
from lm_eval_ext.sources import RowsError

SAME_ANSWERS = ("source", "instances_hash", "number of rows", "version", "generation_kwargs")
"""The facts that an upper bound must share with the runs beside it: not the prompts, which show other parts."""


@dataclass(frozen=True)
class Gap:
    """An encoding compared with the upper bound, over the subtasks that have both; every subtask has the same weight.

    Attributes:
        rouge_l: the mean of the encoding.
        upper_bound: the mean of the task-specific models on the same subtasks.
        gap: upper_bound - rouge_l.
        gap_percent: the gap in percent of the upper bound; ``None`` if that is 0.
        subtasks: the number of subtasks.
    """

    rouge_l: float
    upper_bound: float
    gap: float
    gap_percent: float | None
    subtasks: int


@dataclass(frozen=True)
class UpperBound:
    """Every encoding compared with the upper bound. All mappings are in alphabetical order.

    Attributes:
        models: the model and the encoding of each subtask's upper bound.
        rouge_l: the mean of the upper bound over its subtasks.
        subtasks: how many these are.
        categories: by category and encoding, the gap over the category's subtasks.
        average: by encoding, the gap over all subtasks.
        without_upper_bound: subtasks with a run of an encoding, but without an upper bound.
    """

    models: Mapping[str, str]
    rouge_l: float
    subtasks: int
    categories: Mapping[str, Mapping[str, Gap]]
    average: Mapping[str, Gap]
    without_upper_bound: tuple[str, ...]


def task_specific(runs: Iterable[TaskRun]) -> tuple[dict[str, TaskRun], list[Issue]]:
    """Return the newest run of each subtask among runs of task-specific models, and which runs are not used.

    Args:
        runs: runs of any number of models: usually one for each subtask.

    Raises:
        RowsError: a subtask was run by several models or under several encodings.
    """
    found, issues = newest(runs, lambda run: (run.model, run.task))
    of_subtasks: dict[str, TaskRun] = {}
    for run in found.values():
        subtask = str(run.metadata["subtask"])
        other = of_subtasks.setdefault(subtask, run)
        if other is not run:
            raise RowsError(
                f"{subtask}: two runs as an upper bound, {_named(other)} ({other.file.path}) and {_named(run)} "
                f"({run.file.path}); expected one: that of the model trained on this subtask"
            )
    return dict(sorted(of_subtasks.items())), issues


def _named(run: TaskRun) -> str:
    return f"{run.model.full_name}, {run.metadata['encoding']}"


def read_upper_bound(paths: Sequence[Path], beside: Sequence[Path]) -> tuple[dict[str, TaskRun], list[Issue]]:
    """Return the run of each subtask's task-specific model, and what the reader should know about the files.

    Args:
        paths: the results files of these models, or folders with them.
        beside: the results files, or folders, of the model that is compared with them.

    Raises:
        OSError: a file cannot be read.
        RowsError: a file is not a results file, there are no results of our tasks, a subtask has several upper bounds,
            or it was run on other rows or with other settings than beside it.
    """
    found = find_runs(paths, [FAMILY])
    bounds, issues = task_specific(found.counting)
    for run in find_runs(beside, [FAMILY]).counting:
        bound = bounds.get(str(run.metadata["subtask"]), run)
        for difference in differences(bound, run, SAME_ANSWERS):
            raise RowsError(
                f"{run.metadata['subtask']}: the upper bound was run differently, so a gap would be meaningless: "
                f"{difference.fact} is {difference.first!r} for the upper bound ({bound.file.path}) and "
                f"{difference.second!r} for {run.metadata['encoding']!r} ({run.file.path}). Run one of them again"
            )
    return bounds, [*found.issues, *issues]


def upper_bound(scores: Collection[SubtaskScore], bounds: Mapping[str, TaskRun]) -> UpperBound:
    """Return how far every encoding is from the upper bound, per category and on average.

    Args:
        scores: at most one for each subtask and encoding.
        bounds: the run of each subtask's task-specific model.

    Raises:
        RowsError: an upper bound has no ROUGE-L, or none is of a subtask with a score.
    """
    of_subtasks = {subtask: _rouge_l(run) for subtask, run in bounds.items()}
    pairs: dict[str, list[tuple[SubtaskScore, float]]] = {}
    for score in sorted(scores, key=lambda score: (score.encoding, score.subtask)):
        if score.subtask in of_subtasks:
            pairs.setdefault(score.encoding, []).append((score, of_subtasks[score.subtask]))
    if not pairs:
        raise RowsError(
            f"the upper bound is of other subtasks ({', '.join(of_subtasks)}) than the scores "
            f"({', '.join(sorted({score.subtask for score in scores}))}); expected the same ones"
        )
    categories = sorted({score.category or OWN for of in pairs.values() for score, _ in of})
    return UpperBound(
        models={subtask: _named(run) for subtask, run in bounds.items()},
        rouge_l=fmean(of_subtasks.values()),
        subtasks=len(of_subtasks),
        categories={category: _gaps(pairs, category) for category in categories},
        average=_gaps(pairs, None),
        without_upper_bound=tuple(sorted({score.subtask for score in scores} - of_subtasks.keys())),
    )


def _rouge_l(run: TaskRun) -> float:
    rouge_l = run.figure(METRIC)
    if rouge_l is None:
        raise RowsError(f"{run.file.path}, task {run.task!r}: no {METRIC}; expected a number, as our tasks write it")
    return rouge_l


def _gaps(pairs: Mapping[str, Sequence[tuple[SubtaskScore, float]]], category: str | None) -> dict[str, Gap]:
    """Return the gaps of the encodings with a subtask in a category, or in all if it is ``None``."""
    found = {
        encoding: [pair for pair in of if category in (None, pair[0].category or OWN)] for encoding, of in pairs.items()
    }
    return {encoding: _gap(of) for encoding, of in found.items() if of}


def _gap(pairs: Sequence[tuple[SubtaskScore, float]]) -> Gap:
    found, bound = fmean(score.rouge_l for score, _ in pairs), fmean(bound for _, bound in pairs)
    gap = bound - found
    return Gap(found, bound, gap, 100 * gap / bound if bound else None, len(pairs))
