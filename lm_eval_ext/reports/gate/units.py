"""The units in which two runs are compared: tasks, and groups of tasks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lm_eval_ext.families.schema import SHARE, Metric
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.results.comparability import PairOfRuns, of_an_older_run
from lm_eval_ext.results.issue import Issue, Severity, error, named, note
from lm_eval_ext.results.runs import Runs, TaskRun, lowest_groups, possible_weights

TASKS_NAMED = 3
"""The most tasks that a reason names; the rest are counted."""
ISSUES_LISTED = 5
"""The most issues about its tasks, of each severity, that a group lists; the rest are counted."""


@dataclass(frozen=True)
class Compared:
    """A task, or a group of tasks that share a headline.

    Attributes:
        name: the name of the task or group.
        is_group: whether it is a group.
        family: the family of its tasks.
        headline: the figure that is compared.
        pairs: one for each task.
        tasks_weigh_alike: whether its score is the mean over its tasks, not over all answers.
    """

    name: str
    is_group: bool
    family: str
    headline: Metric
    pairs: tuple[PairOfRuns, ...]
    tasks_weigh_alike: bool

    @property
    def issues(self) -> tuple[Issue, ...]:
        """Warnings that equal scores may not mean equal models, and notes on harmless differences.

        Each names the tasks that it concerns.
        """
        before, after = self.pairs[0].names
        # A task that was not run again for the candidate may be the one that got worse.
        older = {"warning": (after, [pair.after for pair in self.pairs])}
        older |= {"note": (before, [pair.before for pair in self.pairs])}
        found: list[Issue] = []
        severities: tuple[Severity, ...] = ("warning", "note")
        for severity in severities:
            if severity == "note" and (limits := limits_in_words([self])):
                found.append(note(f"not all rows were evaluated: {limits}"))
            found += self._of_tasks(severity)
            side, runs = older[severity]
            if said := of_an_older_run(runs):
                found.append(Issue(severity, f"{side}: {said}"))
        return tuple(found)

    def _of_tasks(self, severity: Severity) -> list[Issue]:
        of_issue: dict[str, dict[str, None]] = {}
        for pair in self.pairs:
            task = pair.before.task
            for issue in pair.issues:
                if issue.severity == severity:
                    # Both sides may have it, and what names its task says so once more in a list of all tasks.
                    of_issue.setdefault(issue.text.removeprefix(f"{task}: "), {})[task] = None
        found = [
            Issue(severity, text if len(tasks) == len(self.pairs) else f"{text} ({named([*tasks], TASKS_NAMED)})")
            for text, tasks in of_issue.items()
        ]
        more = len(found) - ISSUES_LISTED
        if more <= 0:
            return found
        return [*found[:ISSUES_LISTED], Issue(severity, f"and {more} more {severity}s about its tasks")]

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


@dataclass(frozen=True)
class Unpaired:
    """What cannot be compared.

    Attributes:
        name: the name of the task or group.
        family: the family of its tasks; empty if neither side has any.
        issue: why not.
    """

    name: str
    family: str
    issue: Issue


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
        return tasks_of(self.before), tasks_of(self.after)

    @cached_property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The tasks of each group with any of our tasks, including those that one side lacks."""
        found: dict[str, tuple[str, ...]] = {}
        for groups in (self.before.groups, self.after.groups):
            for name, parts in groups.items():
                found[name] = tuple(dict.fromkeys((*found.get(name, ()), *parts)))
        before, after = self.tasks
        return {name: parts for name, parts in found.items() if any(part in before or part in after for part in parts)}

    @property
    def known(self) -> tuple[str, ...]:
        """The names of all groups and tasks that a side has, groups first."""
        before, after = self.tasks
        empty = self.before.empty | self.after.empty
        return (*self.groups, *sorted({*before, *after, *empty} - {*self.groups}))

    def take(self, name: str) -> Compared | Unpaired:
        """Return the unit of this name, or why it cannot be compared.

        Args:
            name: the name of a group or task.
        """
        before, after = self.tasks
        parts = self.groups.get(name, (name,))
        family = next((side[part].family.name for part in parts for side in self.tasks if part in side), "")
        if gap := self._gap(parts):
            return Unpaired(name, family, gap)
        pairs = tuple(PairOfRuns(before[part], after[part], self.names) for part in parts)
        if obstacle := _obstacle(pairs) or unlike([pair.before for pair in pairs]):
            return Unpaired(name, family, obstacle)
        is_group, alike = name in self.groups, pairs[0].before.schema.tasks_weigh_alike
        if is_group and not all(pair.before.is_ours for pair in pairs):
            possible = weights([(name, [pair.before for pair in pairs]), (name, [pair.after for pair in pairs])])
            if isinstance(possible, Issue):
                return Unpaired(name, family, possible)
            alike = possible
        return Compared(name, is_group, family, pairs[0].before.headline, pairs, alike)

    def _gap(self, parts: Sequence[str]) -> Issue | None:
        """Return which tasks are missing; ``None`` if none are."""
        for runs, side in zip((self.before, self.after), self.names, strict=True):
            if empty := sorted(runs.empty.intersection(parts)):
                return error(
                    f"no rows were evaluated in {side}" + ("" if len(parts) == 1 else f": {named(empty, TASKS_NAMED)}")
                )
        missing = [{part for part in parts if part not in side} for side in self.tasks]
        for absent, side in zip(missing, self.names, strict=True):
            if absent:
                return error(
                    f"missing from {side}" + ("" if absent == {*parts} else f": {named(sorted(absent), TASKS_NAMED)}")
                )
        return None


def _obstacle(pairs: Sequence[PairOfRuns]) -> Issue | None:
    """Return why the scores of the two sides are not comparable; ``None`` if they are."""
    found: dict[Issue, list[str]] = {}
    for pair in pairs:
        if obstacle := pair.obstacle:
            found.setdefault(obstacle, []).append(pair.before.task)
    if not found:
        return None
    obstacle, tasks = next(iter(found.items()))
    return error(f"{obstacle} ({named(tasks, TASKS_NAMED)})") if len(pairs) > 1 else obstacle


def tasks_of(runs: Runs) -> Mapping[str, TaskRun]:
    """Return the runs of a side, which has one model, by task."""
    return {run.task: run for run in runs.counting}


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
    tasks = tasks_of(runs)
    whole = {
        name: parts
        for name, parts in runs.groups.items()
        if tasks.keys() >= set(parts)
        and not unlike([tasks[part] for part in parts])
        and (
            all(tasks[part].is_ours for part in parts)
            or not isinstance(weights([(name, [tasks[part] for part in parts])]), Issue)
        )
    }
    found = lowest_groups(whole)
    covered = {part for parts in found.values() for part in parts}
    return (*found, *(task for task in (*tasks, *sorted(runs.empty)) if task not in covered))


def limits_in_words(units: Iterable[Compared]) -> str:
    """Return on how many rows both sides were evaluated, such as ``--limit 20 in A and B``; empty if on all."""
    pairs = [pair for unit in units for pair in unit.pairs]
    if not pairs:
        return ""
    sides = [_limits(pair.before for pair in pairs), _limits(pair.after for pair in pairs)]
    first, second = pairs[0].names
    if sides[0] == sides[1]:
        return f"{sides[0]} in {first} and {second}" if sides[0] else ""
    return ", ".join(f"{limits} in {name}" for limits, name in zip(sides, (first, second), strict=True) if limits)


def _limits(runs: Iterable[TaskRun]) -> str:
    found = {run.file.config.get("limit") for run in runs}
    # Up to 1 it is a share of the rows; the harness records both kinds as numbers.
    texts = sorted(f"{limit:g}" if isinstance(limit, float) else str(limit) for limit in found if limit)
    return f"--limit {', '.join(texts)}" if texts else ""
