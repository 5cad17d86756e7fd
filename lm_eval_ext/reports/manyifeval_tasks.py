"""Which ManyIFEval tasks were run, with how many instructions, and what they give together."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lm_eval_ext.reports.runs import Runs, TaskRun
from lm_eval_ext.reports.samples import ASKED, Rows
from lm_eval_ext.reports.statistics import DRAWS, Floats, Ratio, Replicates
from lm_eval_ext.reports.subjects import Subject

PROMPT_LEVEL, INST_LEVEL = "prompt_level_strict_acc", "inst_level_strict_acc"
TYPE = "strict_acc_"
"""Before the name of an instruction type, in the name of its metric."""
GROUPS = (
    "keywords",
    "language",
    "length_constraints",
    "detectable_content",
    "detectable_format",
    "combination",
    "change_case",
    "startend",
    "punctuation",
)
"""Of instruction types, as IFEval has them."""
_PUBLISHED = re.compile(r"manyifeval_(repeat_)?n(\d+)")


@dataclass(frozen=True, order=True)
class Place:
    """What a task asks.

    Attributes:
        repeated: whether it is one instruction all the time (appendix C).
        instructions: how many each of its rows has.
    """

    repeated: bool
    instructions: int


def place(run: TaskRun) -> Place | None:
    """Return what a task asks, by its rows, or if they do not tell by its name.

    ``None`` if neither tells, or if the rows have not all as many instructions.
    """
    if run.rows is None:
        return _published(run.task)
    asked = _asked(run.rows, types(run))
    counts = _counts(run.rows, asked)
    if not counts:
        return _published(run.task)
    if len(counts) > 1:
        return None
    (number,) = counts
    return Place(number > 1 and bool(np.all(asked.max(axis=0) == number)), number)


def _published(task: str) -> Place | None:
    """Return what a task asks by its name; ``None`` if that is not a published one."""
    match = _PUBLISHED.fullmatch(task)
    return Place(match[1] is not None, int(match[2])) if match else None


def _asked(rows: Rows, metrics: Sequence[str]) -> Floats:
    """Return how often each row asks for each type, shape (1 + types, rows), the first of them none at all."""
    return np.array([np.zeros(len(rows)), *(rows.values[ASKED + metric] for metric in metrics)])


def _counts(rows: Rows, asked: Floats) -> set[int]:
    """Return how many instructions the rows of a task have; empty if a row does not tell.

    It stands in the lines of the file, of which a few are read: types without a metric are not in the columns, but a
    row that asks for more or fewer of the others may have another number.
    """
    of_metrics = asked.sum(axis=0)
    rows_read = {0, len(rows) // 2, len(rows) - 1, int(of_metrics.argmin()), int(of_metrics.argmax())}
    found = [_count(rows.line(row)) for row in rows_read]
    return set() if 0 in found else set(found)


def _count(line: Mapping[str, Any]) -> int:
    """Return how many instructions a row has; 0 if its line does not tell."""
    match line.get("doc"):
        case {"instruction_id_list": [_, *_] as names}:
            return len(names)
    return 0


def types(run: TaskRun) -> tuple[str, ...]:
    """Return the metrics of instruction types that a task has."""
    return tuple(metric for metric in run.metrics if metric.startswith(TYPE))


def readable(metric: str) -> str:
    """Return an instruction type's name: ``keywords: existence`` for ``strict_acc_keywords_existence``."""
    name = metric.removeprefix(TYPE)
    for group in GROUPS:
        if name.startswith(f"{group}_"):
            return f"{group}: {name.removeprefix(f'{group}_')}".replace("_", " ")
    return name.replace("_", " ")


@dataclass(frozen=True, eq=False)
class Model:
    """What one model, or one method of one, was asked.

    Attributes:
        who: it is.
        label: its name.
        placed: its runs, by what they ask.
        others: its runs of which that is not known, or that ask what another one does, by the name of the task.
    """

    who: Subject
    label: str
    placed: Mapping[Place, TaskRun]
    others: Mapping[str, TaskRun]


@dataclass(frozen=True)
class Study:
    """All models that were asked anything of the family.

    Attributes:
        runs: everything that was run.
        models: in the order of the files.
    """

    runs: Runs
    models: tuple[Model, ...]

    @classmethod
    def of(cls, runs: Runs) -> Study:
        """Return the models and what each was asked."""
        models = []
        for who in runs.subjects:
            placed: dict[Place, TaskRun] = {}
            others: dict[str, TaskRun] = {}
            # Of two tasks that ask the same, the published one counts, for it is what other models were asked.
            for run in sorted(runs.of("manyifeval", who), key=lambda run: not _PUBLISHED.fullmatch(run.task)):
                where = place(run)
                if where is None or where in placed:
                    others[run.task] = run
                else:
                    placed[where] = run
            if placed or others:
                models.append(Model(who, runs.labels[who], dict(sorted(placed.items())), others))
        return cls(runs, tuple(models))

    @cached_property
    def places(self) -> frozenset[Place]:
        """What any model was asked."""
        return frozenset(where for model in self.models for where in model.placed)

    def numbers(self, *, repeated: bool) -> tuple[int, ...]:
        """Return how many instructions any model was asked to follow."""
        return tuple(sorted(where.instructions for where in self.places if where.repeated == repeated))

    @property
    def asked(self) -> tuple[Model, ...]:
        """The models that were asked to follow instructions that are not one repeated."""
        return tuple(model for model in self.models if any(not where.repeated for where in model.placed))

    def mean(self, model: Model, where: Place, metric: str = PROMPT_LEVEL) -> Replicates:
        """Return a mean over the rows of one task; NaN if the model was not asked it, or has no such figure."""
        run = model.placed.get(where)
        return nothing() if run is None or metric not in run.metrics else self.runs.ratio(run, metric).value

    def together(self, model: Model, metric: str) -> Replicates:
        """Return a mean over the rows of all tasks, repeated instructions apart.

        NaN if the model was not asked all that any model was: it would be of something else than the others'.
        """
        found = self._all(model)
        if found is None or any(metric not in run.metrics for run in found):
            return nothing()
        return Ratio.sum(self.runs.ratio(run, metric) for run in found).value

    def followed(self, model: Model, metric: str, numbers: Collection[int]) -> Replicates:
        """Return the share of the instructions of a type that are followed, in tasks with some numbers of them.

        NaN if the model was not asked all of these, or if there are several and of one the samples are missing.
        """
        found = [run for where, run in model.placed.items() if not where.repeated and where.instructions in numbers]
        several = len(numbers) > 1
        if len(found) < len(numbers) or any(metric not in run.metrics for run in found):
            return nothing()
        if several and any(run.rows is None for run in found):
            return nothing()
        return Ratio.sum(self.runs.share(run, metric, ASKED + metric) for run in found).value

    def missing(self, model: Model) -> int:
        """Return how many tasks the model was not asked, but another one was, repeated instructions apart."""
        return sum(not where.repeated and where not in model.placed for where in self.places)

    def _all(self, model: Model) -> list[TaskRun] | None:
        found = [run for where, run in model.placed.items() if not where.repeated]
        return found if found and not self.missing(model) else None


def nothing() -> Replicates:
    """Return the replicates of a figure that there is none of."""
    return np.full(1 + DRAWS, np.nan)
