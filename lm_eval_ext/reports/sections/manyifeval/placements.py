"""The same instructions at different places of the conversation: where a model stops listening."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import nan

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.manyifeval.schema import COUSINS, DENSE, MIXED, OF_REPORTS, OF_SECTIONS, SCHEMA, SINGLE, WIDE
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Curves, Estimate, Figure, Panel, Series, Table, TableCell
from lm_eval_ext.reports.gate.comparison import ONE_SIDE
from lm_eval_ext.reports.gate.drop import drop_of_changes
from lm_eval_ext.reports.sections.manyifeval.conditions import FAMILY, INST_LEVEL, PROMPT_LEVEL, condition
from lm_eval_ext.reports.sections.manyifeval.curse import INST, PROMPT
from lm_eval_ext.reports.statistics import Floats, estimate, holm, sign_flip_p
from lm_eval_ext.reports.wording import figure as shown
from lm_eval_ext.results.issue import Issue, error, named, note
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import Role, TaskRun

PUBLISHED, *OTHERS = SCHEMA.placements
REPEATED = "repeat"
WORDS: Mapping[str, str] = {
    "after": "after the task",
    "before": "before the task",
    "system": "in the system message",
    "earlier_turn": "in an earlier turn",
}
KINDS: Mapping[str, str] = {
    "": "different instructions",
    REPEATED: "one instruction, repeated",
    SINGLE: "single instructions",
    COUSINS: "in several variants",
    WIDE: "larger pool",
    DENSE: "words of a report",
    MIXED: "sections of a report",
}
"""What the titles of panels say of a kind of tasks, in the order of the panels."""
OF_ROWS: Mapping[str, str] = {PROMPT_LEVEL: PROMPT, INST_LEVEL: INST}
OF_REPORT: Mapping[str, Mapping[str, str]] = {
    DENSE: {OF_REPORTS[0].name: "share contained"},
    MIXED: {OF_SECTIONS[0].name: "share followed"},
}
"""The metrics that are drawn, with the titles of their axes; those of reports by kind."""
LEVEL = 0.05


@dataclass(frozen=True)
class Placed:
    """One task of one model, at every placement that it was run with.

    Attributes:
        evidence: all runs.
        runs: by placement, the published one included if it was run.
        kept: for each run, which of its rows all of them have, shape (rows,); ``None``: all of them.
        left_out: how many rows some run lacks.
        reason: why they are not compared, as text; empty if they are.
    """

    evidence: Evidence
    runs: Mapping[str, TaskRun]
    kept: Mapping[str, NDArray[np.bool_] | None]
    left_out: int = 0
    reason: str = ""

    @classmethod
    def of(cls, evidence: Evidence, runs: Mapping[str, TaskRun]) -> Placed:
        """Return a task with the rows that all its runs share, which they number alike."""
        everything = dict.fromkeys(runs)
        if len({run.version for run in runs.values()}) > 1:
            return cls(evidence, runs, everything, reason="their versions differ")
        if len({run.identity[1] for run in runs.values()}) > 1:
            return cls(evidence, runs, everything, reason="their rows differ")
        ids = [run.rows.ids for run in runs.values() if run.rows is not None]
        if len(ids) < len(runs):
            alike = len({run.count for run in runs.values()}) == 1
            reason = "" if alike else "their numbers of rows differ, and without samples their rows are unknown"
            return cls(evidence, runs, everything, reason=reason)
        shared, every = reduce(np.intersect1d, ids), reduce(np.union1d, ids)
        if not len(shared):
            return cls(evidence, runs, everything, reason="they have no rows in common")
        kept = {place: np.isin(of_run, shared) for place, of_run in zip(runs, ids, strict=True)}
        return cls(evidence, runs, kept, len(every) - len(shared))

    @property
    def first(self) -> TaskRun:
        """Its first run, for what they share."""
        return next(iter(self.runs.values()))

    @property
    def kind(self) -> str:
        """What its rows ask, as a key of ``KINDS``."""
        where = condition(self.first)
        return REPEATED if where.repeat else where.kind

    @property
    def number(self) -> int:
        """The number of its instructions."""
        return condition(self.first).instructions

    @property
    def order(self) -> tuple[int, int, str]:
        """The sort key of its place in a table."""
        return list(KINDS).index(self.kind), self.number, self.first.task

    @property
    def accuracy(self) -> str:
        """Its headline metric."""
        return self.first.headline.name

    @property
    def share(self) -> str:
        """The metric of the share of instructions that are followed, which tells more where no row is right."""
        return INST_LEVEL if INST_LEVEL in self.first.metrics else self.accuracy

    def figure(self, placement: str, metric: str) -> Estimate:
        """Return a figure over the shared rows; NaN if the task was not run with a placement, or has no such metric."""
        run = self.runs.get(placement)
        if run is None or metric not in run.metrics:
            return Estimate(nan)
        return estimate(self.evidence.ratio(run, metric, self.kept[placement]).value)

    def change(self, placement: str, metric: str) -> Estimate:
        """Return a figure at a placement minus that at the published one, as ``compare`` does.

        NaN if they are not compared; without an interval if there are no samples.
        """
        if PUBLISHED not in self.runs or placement == PUBLISHED or self.reason:
            return Estimate(nan)
        answers = self._changes(placement, metric)
        if answers is None:
            return Estimate(self.figure(placement, metric).value - self.figure(PUBLISHED, metric).value)
        changes, counts = (self._by_row(each) for each in (answers, np.ones(len(answers))))
        asked = counts > 0
        drop = drop_of_changes(changes[asked], counts[asked], (int(asked.sum()),), len(answers))
        low, high = drop.limits(ONE_SIDE, ONE_SIDE)
        return Estimate(drop.value, low, high, int(asked.sum()), len(answers))

    def p(self, placement: str) -> float | None:
        """Return the p-value of no change of ``share``, by the paired randomization test; ``None`` without samples."""
        compared = PUBLISHED in self.runs and placement in self.runs and not self.reason
        answers = self._changes(placement, self.share) if compared else None
        return None if answers is None else sign_flip_p(self._by_row(answers))

    def _changes(self, placement: str, metric: str) -> Floats | None:
        """Return the change of each shared answer, in the order of their numbers; ``None`` without samples."""
        before, after = (self._in_order(place, metric) for place in (PUBLISHED, placement))
        return None if before is None or after is None else after - before

    def _in_order(self, placement: str, metric: str) -> Floats | None:
        rows, kept = self.runs[placement].rows, self.kept[placement]
        if rows is None or kept is None or metric not in rows.values:
            return None
        values: Floats = rows.values[metric][kept][np.argsort(rows.ids[kept])]
        return values

    def _by_row(self, answers: Floats) -> Floats:
        """Return the sum over the answers to each row of the dataset, shape (rows,)."""
        rows, kept = self.runs[PUBLISHED].rows, self.kept[PUBLISHED]
        assert rows is not None  # there are answers
        clusters = rows.clusters[kept][np.argsort(rows.ids[kept])]
        return self.evidence.population.by_cluster(self.first.dataset, clusters, answers)


def placements(evidence: Evidence) -> Iterator[Figure]:
    """Yield the figure of accuracy by placement, if a model was run with another than the published one."""
    found = {model: tasks for model in evidence.runs.models if (tasks := _of_model(evidence, model))}
    if not found:
        return
    labels = evidence.runs.labels
    panels = [
        panel for model, tasks in found.items() for panel in _panels(tasks, labels[model] if len(found) > 1 else "")
    ]
    rows = [row for model, tasks in found.items() for row in _rows(labels[model], tasks)]
    issues = [issue for model, tasks in found.items() for issue in _issues(labels[model], tasks)]
    yield Figure(
        "manyifeval_placements",
        "Where does it stop listening?",
        "The same task prompts with the same instructions, stated at different places: after the task, as published, "
        "before it, in the system message, or in an earlier turn of the user. A curve below that of the published "
        "place means that the model listens less there. Accuracy is the headline of each task: the share of rows of "
        "which all instructions are followed; of dense tasks, the share of the words or instructions. All figures of a "
        "task are over the rows that all its placements have. Intervals of curves are 95 % confidence intervals from a "
        "cluster bootstrap over task prompts; differences are paired by row, with the limits (95 %) that check uses.",
        tuple(panels),
        Table(
            (
                "model",
                "task",
                "placement",
                "accuracy",
                f"accuracy minus {PUBLISHED}",
                "instruction level",
                f"instruction level minus {PUBLISHED}",
            ),
            tuple(rows),
        ),
        tuple(issues),
        (PROMPT_LEVEL, INST_LEVEL, OF_REPORTS[0].name, OF_SECTIONS[0].name),
    )


def _of_model(evidence: Evidence, model: EvaluatedModel) -> list[Placed]:
    """Return the tasks that a model was run on with another placement than the published one."""
    elsewhere = evidence.runs.with_role(Role.PLACED)
    placed = [run for run in elsewhere if run.model == model and run.family.name == FAMILY]
    by_task: dict[str, dict[str, TaskRun]] = {run.task: {} for run in placed}
    for run in (*evidence.runs.of(FAMILY, model), *placed):
        if run.task in by_task:
            by_task[run.task][run.placement or PUBLISHED] = run
    in_order = ({place: runs[place] for place in SCHEMA.placements if place in runs} for runs in by_task.values())
    return sorted((Placed.of(evidence, runs) for runs in in_order), key=lambda task: task.order)


def _panels(tasks: Sequence[Placed], label: str) -> Iterator[Panel]:
    """Yield panels for each kind of tasks, with a curve for each placement."""
    kinds = dict.fromkeys(task.kind for task in tasks)
    for kind in kinds:
        # Of several tasks with one number of instructions, a curve has the first.
        by_number: dict[int, Placed] = {}
        for task in tasks:
            if task.kind == kind:
                by_number.setdefault(task.number, task)
        report = kind in OF_REPORT
        for metric, level in OF_REPORT.get(kind, OF_ROWS).items():
            series = tuple(
                Series(WORDS[place], tuple(task.figure(place, metric) for task in by_number.values()))
                for place in SCHEMA.placements
                if any(place in task.runs for task in by_number.values())
            )
            x_axis = "words" if kind == DENSE else "instructions"
            parts = (label, KINDS[kind] if len(kinds) > 1 else "", level.partition(":")[0])
            yield Panel(
                ", ".join(filter(None, parts)), Curves(tuple(by_number), series, x_axis, level, logarithmic=report)
            )


def _rows(label: str, tasks: Sequence[Placed]) -> Iterator[tuple[TableCell, ...]]:
    for task in tasks:
        for place in task.runs:
            cells = (
                each
                for metric in (task.accuracy, INST_LEVEL)
                for each in (task.figure(place, metric), task.change(place, metric))
            )
            yield label, task.first.task, place, *cells


def _issues(label: str, tasks: Sequence[Placed]) -> Iterator[Issue]:
    """Yield where a model listens less than at the published place, and what was not compared."""
    yield note(f"{label}: {_in_words(tasks)}")
    for task in tasks:
        if task.reason:
            yield error(f"{label}: the placements of {task.first.task} are not compared: {task.reason}")
        elif task.left_out:
            text = f"rows of {task.first.task} left out because not every placement has them: {task.left_out}"
            yield note(f"{label}: {text}")


def _in_words(tasks: Sequence[Placed]) -> str:
    p_values = {(task.first.task, place): p for task in tasks for place in OTHERS if (p := task.p(place)) is not None}
    if not p_values:
        return f"no task has samples both {WORDS[PUBLISHED]} and at another place, so the places are not compared"
    adjusted = holm({" ".join(name): p for name, p in p_values.items()})
    less: list[str] = []
    more: list[str] = []
    alike: list[str] = []
    for place in OTHERS:
        compared = [task for task in tasks if (task.first.task, place) in p_values]
        clear = [task for task in compared if adjusted[f"{task.first.task} {place}"] < LEVEL]
        for found, sign in ((less, -1), (more, 1)):
            if of_sign := [task for task in clear if sign * task.change(place, task.share).value > 0]:
                found.append(f"{WORDS[place]} ({_changes_in_words(of_sign, place)})")
        if compared and not clear:
            alike.append(WORDS[place])
    parts = [
        f"it listens less {' and '.join(less)}" if less else "it is not shown to listen less anywhere",
        f"more {' and '.join(more)}" if more else "",
        f"no difference is shown {' or '.join(alike)}" if alike and (less or more) else "",
    ]
    return (
        f"{'; '.join(filter(None, parts))}. By the share of the instructions that are followed, compared with the same "
        f"instructions {WORDS[PUBLISHED]}: p < {LEVEL:g} in paired sign-flip tests, with Holm's correction for "
        f"{len(p_values)} comparisons"
    )


def _changes_in_words(tasks: Sequence[Placed], place: str) -> str:
    """Return the changes in some tasks as text, the first in full and the others by name."""
    first, *others = tasks
    points = f"{shown(first.change(place, first.share).value, 'change')} points in {first.first.task}"
    return f"{points}; also in {named([task.first.task for task in others])}" if others else points
