"""What of two runs can be held against each other: tasks, and groups of tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lm_eval_ext.reports.kinds import Headline
from lm_eval_ext.reports.likeness import Pair, of_an_older_run
from lm_eval_ext.reports.runs import Runs, TaskRun

FEW = 3
"""So many tasks are named in a reason; the rest are counted."""
MANY = 5
"""So many remarks on its tasks a group has; the rest are counted."""


@dataclass(frozen=True)
class Unit:
    """A task, or a group of tasks that share a headline.

    Attributes:
        name: of the task or the group.
        is_group: which of them.
        family: of its tasks.
        headline: the figure that is compared.
        pairs: one for each task.
    """

    name: str
    is_group: bool
    family: str
    headline: Headline
    pairs: tuple[Pair, ...]

    @property
    def doubts(self) -> tuple[str, ...]:
        """What makes equal scores no proof of equal models, in words, each with the tasks that it is about."""
        older = of_an_older_run([pair.after for pair in self.pairs])
        return (
            *self._of_tasks({pair.before.task: pair.doubts for pair in self.pairs}),
            *([f"{self.pairs[0].names[1]}: {older}"] if older else []),
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What differs and may."""
        older = of_an_older_run([pair.before for pair in self.pairs])
        return (
            *self._of_tasks({pair.before.task: pair.remarks for pair in self.pairs}),
            *([f"{self.pairs[0].names[0]}: {older}"] if older else []),
        )

    def _of_tasks(self, said: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        of_remark: dict[str, list[str]] = {}
        for task, remarks in said.items():
            for remark in remarks:
                of_remark.setdefault(remark, []).append(task)
        found = [
            remark if len(tasks) == len(said) else f"{remark} ({named(tasks)})" for remark, tasks in of_remark.items()
        ]
        more = len(found) - MANY
        return tuple(found) if more <= 0 else (*found[:MANY], f"and {more} more remarks on its tasks")

    @property
    def tasks_weigh_alike(self) -> bool:
        """Whether its score is the mean of its tasks', not of all answers."""
        return self.pairs[0].before.kind.tasks_weigh_alike


@dataclass(frozen=True)
class Unpaired:
    """What cannot be compared.

    Attributes:
        name: of the task or the group.
        family: of its tasks; empty if neither side has any.
        reason: why not.
    """

    name: str
    family: str
    reason: str


@dataclass(frozen=True)
class Sides:
    """One model's run and another's, or the same model's at another time.

    Attributes:
        before, after: the runs; each of one subject, both with the same population.
        names: what they are called.
    """

    before: Runs
    after: Runs
    names: tuple[str, str]

    @cached_property
    def tasks(self) -> tuple[Mapping[str, TaskRun], Mapping[str, TaskRun]]:
        """The runs of each side, by task."""
        return tasks_of(self.before), tasks_of(self.after)

    @cached_property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The tasks of each group that has any of ours; of a group in both, those that one side lacks, too."""
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

    def take(self, name: str) -> Unit | Unpaired:
        """Return what both sides have under a name.

        Args:
            name: of a group or a task.
        """
        before, after = self.tasks
        parts = self.groups.get(name, (name,))
        family = next((side[part].kind.name for part in parts for side in self.tasks if part in side), "")
        if reason := self._gap(parts):
            return Unpaired(name, family, reason)
        pairs = tuple(Pair(before[part], after[part], self.names) for part in parts)
        if reason := self._difference(pairs) or unlike([pair.before for pair in pairs]):
            return Unpaired(name, family, reason)
        return Unit(name, name in self.groups, family, pairs[0].before.headline, pairs)

    def _gap(self, parts: Sequence[str]) -> str:
        """Return which tasks are not there, in words."""
        for runs, side in zip((self.before, self.after), self.names, strict=True):
            if empty := sorted(runs.empty.intersection(parts)):
                return f"no row was evaluated in {side}" + ("" if len(parts) == 1 else f": {named(empty)}")
        missing = [{part for part in parts if part not in side} for side in self.tasks]
        for absent, side in zip(missing, self.names, strict=True):
            if absent:
                return f"missing in {side}" + ("" if absent == {*parts} else f": {named(sorted(absent))}")
        return ""

    def _difference(self, pairs: Sequence[Pair]) -> str:
        """Return why the scores of the sides are not of one thing, in words."""
        found: dict[str, list[str]] = {}
        for pair in pairs:
            if reason := pair.difference:
                found.setdefault(reason, []).append(pair.before.task)
        if not found:
            return ""
        reason, tasks = next(iter(found.items()))
        return f"{reason} ({named(tasks)})" if len(pairs) > 1 else reason


def tasks_of(runs: Runs) -> Mapping[str, TaskRun]:
    """Return the runs of a side that is of one subject, by task."""
    return {run.task: run for run in runs.runs}


def unlike(runs: Sequence[TaskRun]) -> str:
    """Return why tasks have no figure in common, in words; empty if they have one."""
    metrics = sorted({run.headline.metric for run in runs})
    if len(metrics) > 1:
        return f"its tasks have no figure in common: {', '.join(metrics)}"
    readers = sorted({run.reader for run in runs})
    if len(readers) > 1:
        return f"the answers to its tasks were read by {', '.join(readers)}"
    return ""


def lowest(runs: Runs) -> tuple[str, ...]:
    """Return the names of the groups without groups in them, and of the tasks that are in none.

    An average over natural and unnatural words would hide what unnatural ones show. Groups without a figure in common,
    or with tasks that are not there, are taken apart.
    """
    tasks = tasks_of(runs)
    whole = {
        name: frozenset(parts)
        for name, parts in runs.groups.items()
        if tasks.keys() >= set(parts) and not unlike([tasks[part] for part in parts])
    }
    order = list(whole)
    # Of two groups of the same tasks, the harness has the upper one first.
    found = [
        name
        for name in order
        if not any(
            whole[other] < whole[name] or (whole[name] == whole[other] and order.index(other) > order.index(name))
            for other in order
        )
    ]
    covered = {part for name in found for part in whole[name]}
    return (*found, *(task for task in (*tasks, *sorted(runs.empty)) if task not in covered))


def named(names: Sequence[str]) -> str:
    """Return a list in words, cut short."""
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return ", ".join(names[:FEW]) + more
