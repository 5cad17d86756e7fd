"""The ManyIFEval tasks each model was run on, by the facts that the tasks record, and their means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lm_eval_ext.families.manyifeval.schema import COUSINS, DENSE, FORM, MIXED, SINGLE, WIDE
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.sections.conditions import ModelRuns, by_condition
from lm_eval_ext.reports.statistics import DRAWS, Ratio, Replicates
from lm_eval_ext.results.issue import Issue, warning
from lm_eval_ext.results.rows import ASKED
from lm_eval_ext.results.runs import TaskRun

FAMILY = "manyifeval"
PROMPT_LEVEL, INST_LEVEL = "prompt_level_strict_acc", "inst_level_strict_acc"
BY_TYPE = "strict_acc_"
"""The prefix of an instruction type's name in the name of its metric."""
INTERVALS = (
    "Intervals are 95 % confidence intervals from a cluster bootstrap over task prompts; a prompt is resampled "
    "together with every number of instructions."
)


@dataclass(frozen=True, order=True)
class Condition:
    """What a task tests.

    Attributes:
        repeat: whether one instruction is repeated (appendix C).
        instructions: the number of instructions in each row.
        kind: the fact that only such tasks record: ``SINGLE``, each of a task prompt's instructions is a row of its own
            (Table 4); ``COUSINS``, every row is asked in several variants; ``DENSE``, the instructions are words that a
            report must contain, or ``MIXED``, they are about its sections; ``WIDE``, they are of the larger pool. Empty
            for the paper's curves.
    """

    repeat: bool
    instructions: int
    kind: str = ""


Model = ModelRuns[Condition]


def condition(run: TaskRun) -> Condition:
    """Return what a task tests."""
    kind = next((fact for fact in (SINGLE, COUSINS, DENSE, WIDE) if run.metadata.get(fact)), "")
    if kind == DENSE and run.metadata.get(FORM) == MIXED:
        kind = MIXED
    return Condition(bool(run.metadata["repeat"]), int(run.metadata["instructions"]), kind)


def type_metrics(run: TaskRun) -> tuple[str, ...]:
    """Return a task's metrics for instruction types."""
    return tuple(metric for metric in run.metrics if run.schema.row_form(metric) == "ratio")


def type_name(metric: str) -> str:
    """Return an instruction type as text: ``keywords existence`` for ``strict_acc_keywords_existence``."""
    return metric.removeprefix(BY_TYPE).replace("_", " ")


@dataclass(frozen=True)
class ManyIFEvalRuns:
    """All models that were run on the family.

    Attributes:
        evidence: all runs.
        models: in the order of the files; the conditions of each in order, as far as they are of the paper's curves.
        of_kind: the runs of each other kind by model and number of instructions; only models that have any.
    """

    evidence: Evidence
    models: tuple[Model, ...]
    of_kind: Mapping[str, Mapping[Model, Mapping[int, TaskRun]]]

    @classmethod
    def of(cls, evidence: Evidence) -> ManyIFEvalRuns:
        """Return the models and the runs of each."""
        models: list[Model] = []
        of_kind: dict[str, dict[Model, dict[int, TaskRun]]] = defaultdict(lambda: defaultdict(dict))
        for one in by_condition(evidence.runs, FAMILY, condition):
            in_order = sorted(one.runs.items())
            model = ModelRuns(
                one.model, one.label, {where: run for where, run in in_order if not where.kind}, one.others
            )
            models.append(model)
            for where, run in in_order:
                if where.kind:
                    of_kind[where.kind][model][where.instructions] = run
        return cls(evidence, tuple(models), of_kind)

    @property
    def single(self) -> Mapping[Model, TaskRun]:
        """The run with single instructions of each model that has one."""
        return {model: run for model, runs in self.of_kind.get(SINGLE, {}).items() for run in runs.values()}

    @property
    def cousins(self) -> Mapping[Model, Mapping[int, TaskRun]]:
        """The runs with several variants of every row, by number of instructions."""
        return self.of_kind.get(COUSINS, {})

    @property
    def dense(self) -> Mapping[Model, Mapping[int, TaskRun]]:
        """The runs with reports that must contain words, by their number."""
        return self.of_kind.get(DENSE, {})

    @property
    def mixed(self) -> Mapping[Model, Mapping[int, TaskRun]]:
        """The runs with reports whose sections have instructions, by their number."""
        return self.of_kind.get(MIXED, {})

    @property
    def wide(self) -> Mapping[Model, Mapping[int, TaskRun]]:
        """The runs with instructions of the larger pool, by their number."""
        return self.of_kind.get(WIDE, {})

    @cached_property
    def conditions(self) -> frozenset[Condition]:
        """The conditions that any model was run under."""
        return frozenset(where for model in self.models for where in model.runs)

    def numbers(self, *, repeat: bool) -> tuple[int, ...]:
        """Return the numbers of instructions that any model was asked to follow."""
        return tuple(sorted(where.instructions for where in self.conditions if where.repeat == repeat))

    @property
    def asked(self) -> tuple[Model, ...]:
        """The models that were asked to follow different instructions, not one repeated."""
        return tuple(model for model in self.models if any(not where.repeat for where in model.runs))

    def mean(self, model: Model, where: Condition, metric: str = PROMPT_LEVEL) -> Replicates:
        """Return a mean over the rows of one task; NaN if the model was not run on it, or has no such figure."""
        run = model.runs.get(where)
        return nothing() if run is None or metric not in run.metrics else self.evidence.ratio(run, metric).value

    def together(self, model: Model, metric: str) -> Replicates:
        """Return a mean over the rows of all tasks except those with a repeated instruction.

        NaN if the model lacks a task that another model was run on, because the means would not be comparable.
        """
        found = [run for where, run in model.runs.items() if not where.repeat]
        if not found or self.missing(model) or any(metric not in run.metrics for run in found):
            return nothing()
        return Ratio.sum(self.evidence.ratio(run, metric) for run in found).value

    def followed(self, model: Model, metric: str, numbers: Collection[int]) -> Replicates:
        """Return the share of the instructions of a type that are followed, in tasks with some numbers of them.

        NaN if the model was not run on all of these, or if there are several and one has no samples.
        """
        found = [run for where, run in model.runs.items() if not where.repeat and where.instructions in numbers]
        several = len(numbers) > 1
        if len(found) < len(numbers) or any(metric not in run.metrics for run in found):
            return nothing()
        if several and any(run.rows is None for run in found):
            return nothing()
        return Ratio.sum(self.evidence.share(run, metric, ASKED + metric) for run in found).value

    def missing(self, model: Model) -> int:
        """Return how many tasks only other models were run on, except those with a repeated instruction."""
        return sum(not where.repeat and where not in model.runs for where in self.conditions)

    def incomplete(self) -> tuple[Issue, ...]:
        """Return which models were not run on all tasks that others were run on."""
        return tuple(
            warning(
                f"{model.label}: not run on {missing} of the tasks that other models were run on; figures that need "
                "these tasks are left out for it"
            )
            for model in self.asked
            if (missing := self.missing(model))
        )


def nothing() -> Replicates:
    """Return the replicates of a missing figure."""
    return np.full(1 + DRAWS, np.nan)
