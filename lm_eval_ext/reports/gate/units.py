"""The units in which two runs are compared, tasks and groups of tasks, and how their scores differ.

Most scores are means over rows, and ``paired`` has their difference. Those of tasks that are not ours can be functions
of sums over rows, such as a perplexity or a corpus BLEU; and where there are no samples, only the results tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite, nan, sqrt

import numpy as np

from lm_eval_ext.families.schema import SHARE, Metric
from lm_eval_ext.reports.evidence import Evidence, Floor
from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.paired import (
    ROUNDING,
    AnswersOfTask,
    Difference,
    MeanChange,
    RowSums,
    difference_of,
)
from lm_eval_ext.reports.statistics import Floats, estimate
from lm_eval_ext.results.aggregation import OF_ITEMS
from lm_eval_ext.results.comparability import PairOfRuns, of_an_older_run
from lm_eval_ext.results.issue import Issue, Severity, error, grouped, named, note, warning
from lm_eval_ext.results.rows import common_rows
from lm_eval_ext.results.runs import Runs, TaskRun, lacks_score, lowest_groups, possible_weights, rows_of

TASKS_NAMED = 3
"""The most tasks that a reason names; the rest are counted."""
ISSUES_LISTED = 5
"""The most issues about its tasks, of each severity, that a group lists; the rest are counted."""


@dataclass(frozen=True)
class AboveFloor:
    """How far the scores of both sides are above what the best answer without content scores (``evidence.Floor``).

    Both are measured on the compared rows: the rows that both sides have, with a number on each.

    Attributes:
        floor: the floor.
        sides: how far each side is above it.
    """

    floor: Floor
    sides: tuple[Estimate, Estimate]


@dataclass(frozen=True)
class Compared:
    """A task, or a group of tasks that share a headline.

    Attributes:
        name: the name of the task or group.
        is_group: whether it is a group.
        family: the family of its tasks.
        headline: the figure that is compared.
        pairs: the two runs of each task.
        tasks_weigh_alike: whether its score is the mean over its tasks, not over all answers.
        evidence: the resamples of the datasets' rows.
    """

    name: str
    is_group: bool
    family: str
    headline: Metric
    pairs: tuple[PairOfRuns, ...]
    tasks_weigh_alike: bool
    evidence: Evidence

    @property
    def runs(self) -> tuple[tuple[TaskRun, TaskRun], ...]:
        """The runs of each task by the two sides."""
        return tuple((pair.before, pair.after) for pair in self.pairs)

    @property
    def is_share(self) -> bool:
        """Whether its score is a share, from 0 to 1, on both sides."""
        return all(run.headline.range == SHARE for pair in self.runs for run in pair)

    @property
    def sign(self) -> int:
        """The sign of an improvement; 0 if the results do not say which direction is better."""
        better = self.headline.higher_is_better
        return 0 if better is None else 1 if better else -1

    @property
    def is_mean_of_rows(self) -> bool:
        """Whether the score is the mean of a number of each row; a row without one (NaN) does not count."""
        metric = self.headline.name
        return all(metric in run.rows.values for pair in self.runs for run in pair if run.rows is not None)

    @cached_property
    def difference(self) -> Difference:
        """How the second side's score differs; NaN if no answers and no figures can be paired."""
        metric = self.headline.name
        for side, of_side in zip(self.pairs[0].names, zip(*self.runs, strict=True), strict=True):
            if lacking := [run.task for run in of_side if run.rows is None]:
                tasks = f": {named(lacking, TASKS_NAMED)}" if self.is_group else ""
                return _of_figures(self, warning(f"no samples in {side}{tasks}"))
        unknown = [
            pair[0].task
            for pair in self.runs
            if not pair[0].is_ours and any(run.rows is not None and metric not in run.rows.aggregates for run in pair)
        ]
        if unknown:
            tasks = f" ({named(unknown, TASKS_NAMED)})" if self.is_group else ""
            reason = warning(f"{metric} is neither the mean of its rows nor another known aggregation{tasks}")
            return _of_figures(self, reason, may_have_error=False)
        if self.is_mean_of_rows:
            return difference_of(self.runs, metric, tasks_weigh_alike=self.tasks_weigh_alike, is_share=self.is_share)
        return _of_sums(self)

    @property
    def mean_drop(self) -> MeanChange:
        """The change for the worse, whatever the direction of the metric; without a direction, the decrease."""
        return self.difference.mean if self.sign < 0 else -self.difference.mean

    @property
    def scale(self) -> float:
        """What a share of its score is a share of: 1, or the first side's score if that is no share."""
        return 1.0 if self.is_share else abs(self.difference.before)

    @property
    def worst_drop(self) -> float:
        """The largest drop that the first side's score leaves room for."""
        before = self.difference.before
        return inf if not self.is_share else 1 - before if self.sign < 0 else before

    @property
    def gap(self) -> Issue:
        """Why there is no change, or no pairs of answers."""
        no_change = "a score is not a finite number" if self.difference.answers else "no rows in common"
        return self.difference.unpaired or error(no_change)

    @cached_property
    def above(self) -> AboveFloor | None:
        """How far the scores of both sides are above the floor; ``None`` if there is none (``no_floor``)."""
        metric = self.headline.name
        paired = [pair for pair in (on_paired_rows(pair, metric) for pair in self.runs) if pair[0].count]
        floors = [(of_side, self.evidence.floor(of_side, metric)) for of_side in zip(*paired, strict=True)]
        above_floors = [
            (floor, floor.above(self.evidence.mean(of_side, metric))) for of_side, floor in floors if floor is not None
        ]
        if not above_floors or len(above_floors) < len(floors):
            return None
        (_, before), (floor, after) = above_floors
        return AboveFloor(floor, (estimate(before), estimate(after)))

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Warnings that equal scores may not mean equal models, and notes on harmless differences.

        Each names the tasks that it concerns.
        """
        before, after = self.pairs[0].names
        issues: list[Issue] = []
        # A task that was not run again for the candidate may be the one that got worse.
        severities: tuple[tuple[Severity, str, Sequence[TaskRun]], ...] = (
            ("warning", after, [pair.after for pair in self.pairs]),
            ("note", before, [pair.before for pair in self.pairs]),
        )
        for severity, side, runs in severities:
            if severity == "note" and (limits := limits_in_words([self])):
                issues.append(note(f"not all rows were evaluated: {limits}"))
            # Both sides may have one, and what names its task says so once more in a list of all tasks.
            of_severity = dict.fromkeys(
                (issue.text.removeprefix(f"{pair.before.task}: "), pair.before.task)
                for pair in self.pairs
                for issue in pair.issues
                if issue.severity == severity
            )
            of_tasks = [
                text if len(tasks) == len(self.pairs) else f"{text} ({named(tasks, TASKS_NAMED)})"
                for text, tasks in grouped(of_severity).items()
            ]
            if (more := len(of_tasks) - ISSUES_LISTED) > 0:
                of_tasks[ISSUES_LISTED:] = [f"and {more} more {severity}s about its tasks"]
            if older := of_an_older_run(runs):
                of_tasks.append(f"{side}: {older}")
            issues += (Issue(severity, text) for text in of_tasks)
        return tuple(issues)

    @property
    def no_floor(self) -> Sequence[Issue]:
        """Why there is no floor, where there could be one."""
        runs = [run for pair in self.runs for run in pair]
        return () if self.above else self.evidence.no_floor(runs, self.headline.name)


@dataclass(frozen=True)
class Noise:
    """How many answers change by themselves: between the baseline and a second run of it.

    Attributes:
        again: the share of the answers whose score differs between the baseline and its second run.
        candidate: the share between the baseline and the candidate, on the same rows.
        excess: how many more change, as a share.
    """

    again: float
    candidate: float
    excess: MeanChange


def noise(unit: Compared, again: Compared | Issue) -> Noise | Issue:
    """Return how many more answers the candidate changes than running the baseline again does.

    Args:
        unit: the baseline and the candidate.
        again: the baseline and its second run.

    Returns:
        What is measured, or why nothing is.
    """
    if isinstance(again, Issue):
        return again
    metric = unit.headline.name
    seconds = {after.task: after for _, after in again.runs}
    pairs = []
    for before, after in unit.runs:
        second = seconds.get(before.task)
        if second is None or any(run.rows is None or metric not in run.rows.values for run in (before, after, second)):
            return error(f"{before.task}: no samples with {metric} of all three runs")
        pairs.append((changed_from(before, second, metric), changed_from(before, after, metric)))
    changes = difference_of(pairs, metric, tasks_weigh_alike=unit.tasks_weigh_alike)
    if not changes.answers:
        return error("the three runs have no rows in common")
    return Noise(changes.before, changes.after, changes.mean)


def changed_from(before: TaskRun, after: TaskRun, metric: str) -> TaskRun:
    """Return a run with, as its metric, whether the score of a row differs from that of another run (1) or not (0)."""
    first, second = common_rows(rows_of(before), rows_of(after))
    change = second.numbers(metric) - first.numbers(metric)
    differs = np.where(np.isnan(change), nan, np.abs(change) > ROUNDING)
    return replace(after, rows=replace(second, values={metric: differs}))


def limits_in_words(units: Iterable[Compared]) -> str:
    """Return why not all rows were evaluated, such as ``--limit 20 in A and B``; empty if all were."""
    pairs = [pair for unit in units for pair in unit.pairs]
    sides: dict[str, list[str]] = {}
    for place, name in enumerate(pairs[0].names if pairs else ()):
        options = sorted({(pair.before, pair.after)[place].left_out_by for pair in pairs} - {""})
        if options:
            sides.setdefault(", ".join(options), []).append(name)
    return ", ".join(f"{option} in {' and '.join(names)}" for option, names in sides.items())


def on_paired_rows(pair: tuple[TaskRun, TaskRun], metric: str) -> tuple[TaskRun, TaskRun]:
    """Return two runs of a task with the rows on which they are compared; without samples, as they are."""
    first, second = pair[0].rows, pair[1].rows
    if first is None or second is None:
        return pair
    common = common_rows(first, second)
    known = ~np.isnan(common[0].numbers(metric) + common[1].numbers(metric))
    if (count := int(np.count_nonzero(known))) == len(first) == len(second):
        return pair
    before, after = (replace(run, rows=rows.select(known), count=count) for run, rows in zip(pair, common, strict=True))
    return before, after


def _of_figures(unit: Compared, unpaired: Issue, *, may_have_error: bool = True) -> Difference:
    """Return the difference of the scores in the results, with an interval from their standard errors if there are any.

    The rows of the two sides are then taken to be independent.
    """
    metric, tasks_weigh_alike = unit.headline.name, unit.tasks_weigh_alike
    before, after = (
        float(
            np.average(
                # NaN where a figure is missing.
                np.array([run.figure(metric) for run in of_side], np.float64),
                weights=[1 if tasks_weigh_alike else run.count for run in of_side],
            )
        )
        for of_side in zip(*unit.runs, strict=True)
    )
    error = nan
    # The standard errors take all answers for independent, and those of our tasks are not.
    if may_have_error and not any(first.is_ours for first, _ in unit.runs):
        weights = [1.0 if tasks_weigh_alike else float(first.count) for first, _ in unit.runs]
        errors = np.array([[run.standard_error(metric) for run in pair] for pair in unit.runs], np.float64)
        error = sqrt(sum(np.square(weights) * np.square(errors).sum(axis=1))) / sum(weights)
    if error > 0:
        unpaired = warning(f"{unpaired}; interval and p are from the standard errors in the results, unpaired")
    # Each standard error is of many rows, as far as the results tell.
    rows = unit.runs[0][0].count
    freedom = max(1, 2 * rows - 2)
    mean = MeanChange.of_error(after - before, error if error > 0 else inf, rows, freedom, is_share=unit.is_share)
    return Difference(before, after, mean, unpaired=unpaired)


def _of_sums(unit: Compared) -> Difference:
    """Return how a score differs that is a function of sums over rows, such as a perplexity or a corpus BLEU.

    What each row contributes is its jackknife pseudo-value (Tukey 1958): the number of rows times the change, minus
    that number less one times the change without the row. A group's change is the weighted mean of its tasks'.

    A row that adds to no sum is no observation: it would make the change of the others look certain. For F1, that is
    one that is negative and was called so on both sides; for a mean over items, one without items, and if it has some
    on one side alone, the other side lacks it.
    """
    metric = unit.headline.name
    total, before, after = 0.0, 0.0, 0.0
    contributed: list[AnswersOfTask] = []
    answers = lost = added = uncounted = 0
    for pair in unit.runs:
        runs = [rows_of(run) for run in pair]
        common = common_rows(*runs)
        adds = [rows.aggregates[metric].adds for rows in common]
        lost, added = lost + len(runs[0]) - len(common[0]), added + len(runs[1]) - len(common[1])
        weight = 1.0 if unit.tasks_weigh_alike else float(len(common[0]))
        counts = adds[0] | adds[1]
        if common[0].aggregates[metric].name == OF_ITEMS:
            counts = adds[0] & adds[1]
            lost, added = (
                n + int(np.count_nonzero(side & ~counts)) for n, side in zip((lost, added), adds, strict=True)
            )
        if not counts.any():
            # They are all alike, so one stands for all.
            counts[:1] = True
        common, count = [rows.select(counts) for rows in common], int(np.count_nonzero(counts))
        if not count:
            continue
        answers, uncounted = answers + count, uncounted + len(counts) - count
        dataset_rows, places = np.unique(common[0].clusters, return_inverse=True)
        sides = [rows.aggregates[metric].summed(places) for rows in common]
        old, new = (side.figure if isfinite(side.figure) else nan for side in sides)
        without = [side.without_each() for side in sides]
        total, before, after = total + weight, before + weight * old, after + weight * new
        of_rows = pseudo_values(new - old, without[1] - without[0])
        share = weight / len(dataset_rows)
        contributed.append((pair[0].dataset, dataset_rows, share * of_rows, share))
    if not answers:
        return Difference.none(lost, added)
    by_row = RowSums.of_answers(contributed)
    mean = MeanChange.of_rows(by_row, answers, is_share=unit.is_share)
    return Difference(before / total, after / total, mean, by_row, answers, lost, added, uncounted=uncounted)


def pseudo_values(change: float, without: Floats) -> Floats:
    """Return what each row contributes to a change, with the change as their mean; without NaNs.

    Args:
        change: the change over all rows.
        without: the change without each row, shape (rows,).
    """
    rows = len(without)
    # Without its only positive, for example, a task has no F1.
    values = rows * change - (rows - 1) * np.where(np.isfinite(without), without, change)
    return np.asarray(values - values.mean() + change)


@dataclass(frozen=True)
class Sides:
    """The runs of two models, or of one model at two points in time.

    Attributes:
        before, after: the runs, each of one model; both number the datasets' rows in the same way.
        names: the names of the sides.
        shared: resamples of the same datasets' rows, if there are any already.
    """

    before: Runs
    after: Runs
    names: tuple[str, str]
    shared: Evidence | None = None

    @cached_property
    def evidence(self) -> Evidence:
        """The resamples of both."""
        return self.shared or Evidence(self.before)

    @cached_property
    def tasks(self) -> tuple[Mapping[str, TaskRun], Mapping[str, TaskRun]]:
        """The runs of each side, by task."""
        return {run.task: run for run in self.before.counting}, {run.task: run for run in self.after.counting}

    @cached_property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The tasks of each group with any of our tasks, including those that one side lacks."""
        before, after = self.tasks
        pairs = (
            (name, part)
            for groups in (self.before.groups, self.after.groups)
            for name, parts in groups.items()
            for part in parts
        )
        groups = {name: tuple(dict.fromkeys(parts)) for name, parts in grouped(pairs).items()}
        return {name: parts for name, parts in groups.items() if any(part in before or part in after for part in parts)}

    @property
    def known(self) -> tuple[str, ...]:
        """The names of all groups and tasks that a side has, groups first."""
        before, after = self.tasks
        empty = self.before.empty | self.after.empty
        return (*self.groups, *sorted({*before, *after, *empty} - {*self.groups}))

    def family(self, name: str) -> str:
        """Return the family of a group or task; empty if neither side has any of its tasks."""
        parts = self.groups.get(name, (name,))
        return next((side[part].family.name for part in parts for side in self.tasks if part in side), "")

    def take(self, name: str) -> Compared | Issue:
        """Return the unit of this name, or why it cannot be compared.

        Args:
            name: the name of a group or task.
        """
        before, after = self.tasks
        parts, is_group = self.groups.get(name, (name,)), name in self.groups
        gaps = [
            (f"no rows were evaluated in {side}", runs.empty.intersection(parts), len(parts) == 1)
            for runs, side in zip((self.before, self.after), self.names, strict=True)
        ]
        for tasks, side in zip(self.tasks, self.names, strict=True):
            missing = frozenset(parts).difference(tasks)
            gaps.append((f"missing from {side}", missing, missing == {*parts}))
        for gap, lacking, is_all in gaps:
            if lacking:
                return error(gap if is_all else f"{gap}: {named(sorted(lacking), TASKS_NAMED)}")
        pairs = tuple(PairOfRuns(before[part], after[part], self.names) for part in parts)
        obstacles = {pair.before.task: pair.obstacle for pair in pairs}
        if obstacle := next(filter(None, obstacles.values()), None):
            concerned = [task for task, of_task in obstacles.items() if of_task == obstacle]
            return error(f"{obstacle} ({named(concerned, TASKS_NAMED)})") if len(pairs) > 1 else obstacle
        first, of_before = pairs[0].before, [pair.before for pair in pairs]
        if obstacle := unlike(of_before):
            return obstacle
        tasks_weigh_alike: bool | Issue = first.schema.tasks_weigh_alike
        if is_group and not all(run.is_ours for run in of_before):
            tasks_weigh_alike = weights([(name, of_before), (name, [pair.after for pair in pairs])])
        elif is_group and lacks_score(name, of_before):
            tasks_weigh_alike = error(f"the results hold no {first.headline.name} of this group, only of its tasks")
        if isinstance(tasks_weigh_alike, Issue):
            return tasks_weigh_alike
        return Compared(name, is_group, first.family.name, first.headline, pairs, tasks_weigh_alike, self.evidence)


def unlike(runs: Sequence[TaskRun]) -> Issue | None:
    """Return why tasks have no metric in common; ``None`` if they have one."""
    metrics = sorted({run.headline.name for run in runs})
    if len(metrics) > 1:
        return error(f"its tasks have no metric in common: {', '.join(metrics)}")
    readers = sorted({run.reader for run in runs})
    if len(readers) > 1:
        return error(f"the answers to its tasks were read by different readers: {', '.join(readers)}")
    return None


def weights(groups: Sequence[tuple[str, Sequence[TaskRun]]]) -> bool | Issue:
    """Return whether a group's score is the mean over its tasks, not over their rows, or why that is unknown.

    Args:
        groups: the name of the group and the runs of its tasks, by one model or by several.
    """
    possible = {True, False}
    for name, runs in groups:
        of_model = possible_weights(name, runs)
        if isinstance(of_model, Issue):
            return of_model
        possible &= of_model
    if not possible:
        return error("its tasks are weighted by their rows for one model, and equally for the other")
    # The harness's default, where the scores do not tell.
    return False not in possible


def lowest_levels(runs: Runs) -> tuple[str, ...]:
    """Return the names of the lowest-level groups and of the tasks in no group.

    An average over natural and unnatural words would hide what unnatural ones show. Groups whose tasks have no metric
    in common, that lack tasks, or that the harness gives no score are replaced by their parts.
    """
    tasks = {run.task: run for run in runs.counting}
    complete = {
        name: parts
        for name, parts in runs.groups.items()
        if tasks.keys() >= set(parts)
        and not unlike([tasks[part] for part in parts])
        and (
            not lacks_score(name, [tasks[part] for part in parts])
            if all(tasks[part].is_ours for part in parts)
            else not isinstance(weights([(name, [tasks[part] for part in parts])]), Issue)
        )
    }
    lowest = lowest_groups(complete)
    covered = {part for parts in lowest.values() for part in parts}
    return (*lowest, *(task for task in (*tasks, *sorted(runs.empty)) if task not in covered))
