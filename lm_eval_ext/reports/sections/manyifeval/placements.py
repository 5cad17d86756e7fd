"""The same instructions at different places of the conversation: where a model stops listening."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import nan

import numpy as np

from lm_eval_ext.families.manyifeval.schema import COUSINS, DENSE, MIXED, OF_REPORTS, OF_SECTIONS, SCHEMA, SINGLE, WIDE
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Curves, Estimate, Figure, Panel
from lm_eval_ext.reports.layout import drawn, table
from lm_eval_ext.reports.paired import Difference, difference_of
from lm_eval_ext.reports.sections.manyifeval.runs import FAMILY, INST, INST_LEVEL, PROMPT, PROMPT_LEVEL, facts
from lm_eval_ext.reports.statistics import estimate, holm
from lm_eval_ext.reports.study import Cells
from lm_eval_ext.reports.wording import figure as shown
from lm_eval_ext.results.issue import Issue, error, named, note
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
OF_ROWS = {PROMPT_LEVEL: PROMPT, INST_LEVEL: INST}
OF_REPORT = {DENSE: {OF_REPORTS[0].name: "share contained"}, MIXED: {OF_SECTIONS[0].name: "share followed"}}
"""The metrics that are drawn, with the titles of their axes; those of reports by kind."""
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Placed:
    """One task of one model, at every placement that it was run with.

    Attributes:
        model, task: their names.
        kind: what its rows ask, as a key of ``KINDS``.
        number: the number of its instructions.
        runs: by placement, the published one included if it was run, with the rows that all of them have.
        left_out: how many rows some run lacks.
        reason: why they are not compared, as text; empty if they are.
    """

    model: str
    task: str
    kind: str
    number: int
    runs: Mapping[str, TaskRun]
    left_out: int
    reason: str

    @property
    def accuracy(self) -> str:
        """Its headline metric."""
        return next(iter(self.runs.values())).headline.name

    @property
    def share(self) -> str:
        """The metric of the share of instructions that are followed, which tells more where no row is right."""
        return INST_LEVEL if INST_LEVEL in next(iter(self.runs.values())).metrics else self.accuracy

    def figure(self, evidence: Evidence, place: str, metric: str) -> Estimate:
        """Return a figure over the shared rows; NaN if the task was not run there, or has no such metric."""
        run = self.runs.get(place)
        return (
            Estimate(nan) if run is None or metric not in run.metrics else estimate(evidence.ratio(run, metric).value)
        )

    def difference(self, place: str, metric: str) -> Difference | None:
        """Return how a figure differs from that at the published placement, as in ``compare``; ``None`` if unknown."""
        before, after = self.runs.get(PUBLISHED), self.runs.get(place)
        if not before or not after or before is after or self.reason or not before.rows or not after.rows:
            return None
        if metric not in before.rows.values or metric not in after.rows.values:
            return None
        return difference_of([(before, after)], metric)

    def change(self, evidence: Evidence, place: str, metric: str) -> Estimate:
        """Return that difference; without an interval if there are no samples."""
        if PUBLISHED not in self.runs or place == PUBLISHED or self.reason:
            return Estimate(nan)
        found = self.difference(place, metric)
        if found is None:
            there, published = (self.figure(evidence, each, metric).value for each in (place, PUBLISHED))
            return Estimate(there - published)
        return found.change


def placements(evidence: Evidence) -> Iterator[Figure]:
    """Yield the figure of accuracy by placement, if a model was run with another than the published one."""
    tasks = list(_tasks(evidence))
    if not tasks:
        return
    by_model: dict[str, list[Placed]] = {}
    for task in tasks:
        by_model.setdefault(task.model, []).append(task)
    lines = {
        (task.model, task.task, place): {
            "accuracy": task.figure(evidence, place, task.accuracy),
            f"accuracy minus {PUBLISHED}": task.change(evidence, place, task.accuracy),
            "instruction level": task.figure(evidence, place, INST_LEVEL),
            f"instruction level minus {PUBLISHED}": task.change(evidence, place, INST_LEVEL),
        }
        for task in tasks
        for place in task.runs
    }
    yield Figure(
        "manyifeval_placements",
        "Where does it stop listening?",
        "The same task prompts with the same instructions, stated at different places: after the task, as published, "
        "before it, in the system message, or in an earlier turn of the user. A curve below that of the published "
        "place means that the model listens less there. Accuracy is the headline of each task: the share of rows of "
        "which all instructions are followed; of dense tasks, the share of the words or instructions. All figures of a "
        "task are over the rows that all its placements have. Intervals of curves are 95 % confidence intervals from a "
        "cluster bootstrap over task prompts; differences are paired by row, with the limits (95 %) that check uses.",
        tuple(
            panel
            for model, of_model in by_model.items()
            for panel in _panels(evidence, of_model, model if len(by_model) > 1 else "")
        ),
        table(Cells(("model", "task", "placement"), lines), ("model", "task", "placement")),
        tuple(issue for model, of_model in by_model.items() for issue in _issues(model, of_model)),
        (PROMPT_LEVEL, INST_LEVEL, OF_REPORTS[0].name, OF_SECTIONS[0].name),
    )


def _tasks(evidence: Evidence) -> Iterator[Placed]:
    """Yield the tasks that models were run on with another placement than the published one."""
    placed = [run for run in evidence.runs.with_role(Role.PLACED) if run.family.name == FAMILY]
    known = {(run.model, run.task) for run in placed}
    by_task: dict[tuple[str, str], dict[str, TaskRun]] = {}
    for run in (*evidence.runs.of(FAMILY), *placed):
        if (run.model, run.task) in known:
            of_task = by_task.setdefault((evidence.runs.labels[run.model], run.task), {})
            of_task[run.placement or PUBLISHED] = run
    found = []
    for (model, task), at in by_task.items():
        runs, left_out, reason = _on_shared_rows({place: at[place] for place in SCHEMA.placements if place in at})
        asked = facts(next(iter(runs.values())))
        kind = REPEATED if asked["repeat"] else asked["kind"]
        found.append(Placed(model, task, kind, asked["instructions"], runs, left_out, reason))
    models = [*evidence.runs.labels.values()]
    yield from sorted(found, key=lambda one: (models.index(one.model), [*KINDS].index(one.kind), one.number, one.task))


def _on_shared_rows(runs: dict[str, TaskRun]) -> tuple[dict[str, TaskRun], int, str]:
    """Return runs of a task with the rows that all have, how many rows some run lacks, and why they have none."""
    if len({run.version for run in runs.values()}) > 1:
        return runs, 0, "their versions differ"
    if len({run.identity[1] for run in runs.values()}) > 1:
        return runs, 0, "their rows differ"
    rows = {place: run.rows for place, run in runs.items() if run.rows is not None}
    if len(rows) < len(runs):
        alike = len({run.count for run in runs.values()}) == 1
        return runs, 0, "" if alike else "their numbers of rows differ, and without samples their rows are unknown"
    ids = [each.ids for each in rows.values()]
    shared, every = reduce(np.intersect1d, ids), reduce(np.union1d, ids)
    if not len(shared):
        return runs, 0, "they have no rows in common"
    kept = {place: replace(runs[place], rows=each.kept(np.isin(each.ids, shared))) for place, each in rows.items()}
    return kept, len(every) - len(shared), ""


def _panels(evidence: Evidence, tasks: Sequence[Placed], label: str) -> Iterator[Panel]:
    """Yield panels for each kind of tasks, with a curve for each placement."""
    kinds = dict.fromkeys(task.kind for task in tasks)
    for kind in kinds:
        # Of several tasks with one number of instructions, a curve has the first.
        by_number = {task.number: task for task in reversed(tasks) if task.kind == kind}
        for metric, level in OF_REPORT.get(kind, OF_ROWS).items():
            lines = {
                (number, WORDS[place]): {"": task.figure(evidence, place, metric)}
                for place in SCHEMA.placements
                for number, task in sorted(by_number.items())
                if any(place in each.runs for each in by_number.values())
            }
            options = {"x_axis": "words" if kind == DENSE else "instructions", "axis": level}
            mark = drawn(Cells(("n", "place"), lines), Curves, "n", "place", logarithmic=kind in OF_REPORT, **options)
            parts = (label, KINDS[kind] if len(kinds) > 1 else "", level.partition(":")[0])
            yield Panel(", ".join(filter(None, parts)), mark)


def _issues(model: str, tasks: Sequence[Placed]) -> Iterator[Issue]:
    """Yield where a model listens less than at the published place, and what was not compared."""
    yield note(f"{model}: {_in_words(tasks)}")
    for task in tasks:
        if task.reason:
            yield error(f"{model}: the placements of {task.task} are not compared: {task.reason}")
        elif task.left_out:
            text = f"rows of {task.task} left out because not every placement has them: {task.left_out}"
            yield note(f"{model}: {text}")


def _in_words(tasks: Sequence[Placed]) -> str:
    found = {
        f"{task.task} {place}": (task, place, change)
        for task in tasks
        for place in OTHERS
        if (change := task.difference(place, task.share))
    }
    if not found:
        return f"no task has samples both {WORDS[PUBLISHED]} and at another place, so the places are not compared"
    adjusted = holm({name: change.p for name, (_, _, change) in found.items()})
    said: dict[str, list[str]] = {"less": [], "more": [], "alike": []}
    for place in OTHERS:
        compared = {name: (task, change) for name, (task, of, change) in found.items() if of == place}
        clear = [
            (task, change.change.value) for name, (task, change) in compared.items() if adjusted[name] < SIGNIFICANT
        ]
        for which, sign in (("less", -1), ("more", 1)):
            if of_sign := [(task, value) for task, value in clear if sign * value > 0]:
                said[which].append(f"{WORDS[place]} ({_changes_in_words(of_sign)})")
        if compared and not clear:
            said["alike"].append(WORDS[place])
    less, more, alike = said.values()
    parts = [
        f"it listens less {' and '.join(less)}" if less else "it is not shown to listen less anywhere",
        f"more {' and '.join(more)}" if more else "",
        f"no difference is shown {' or '.join(alike)}" if alike and (less or more) else "",
    ]
    return (
        f"{'; '.join(filter(None, parts))}. By the share of the instructions that are followed, compared with the same "
        f"instructions {WORDS[PUBLISHED]}: p < {SIGNIFICANT:g} in paired sign-flip tests, with Holm's correction for "
        f"{len(found)} comparisons"
    )


def _changes_in_words(changes: Sequence[tuple[Placed, float]]) -> str:
    """Return the changes in some tasks as text, the first in full and the others by name."""
    (first, value), *others = changes
    points = f"{shown(value, 'change')} points in {first.task}"
    return f"{points}; also in {named([task.task for task, _ in others])}" if others else points
