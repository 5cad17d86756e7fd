"""The report's figures on the curse of instructions."""

from __future__ import annotations

from collections.abc import Iterator

from lm_eval_ext.reports.figure import Bars, Figure, Panel, Series, Table
from lm_eval_ext.reports.sections.manyifeval.conditions import INST_LEVEL, INTERVALS, PROMPT_LEVEL, ManyIFEvalRuns
from lm_eval_ext.reports.sections.manyifeval.curse import INST, PROMPT, curse
from lm_eval_ext.reports.sections.manyifeval.dense import dense, mixed, mixed_types
from lm_eval_ext.reports.sections.manyifeval.instruction_types import by_type
from lm_eval_ext.reports.sections.manyifeval.reliability import reliability
from lm_eval_ext.reports.sections.manyifeval.repetition import compared, repetition
from lm_eval_ext.reports.sections.manyifeval.single import alone
from lm_eval_ext.reports.sections.manyifeval.wide import wide
from lm_eval_ext.reports.sections.manyifeval.wordings import wordings
from lm_eval_ext.reports.statistics import estimate

ACCURACY = "accuracy"
EDITIONS = ("strict", "loose", "repaired")
LEVELS = {"prompt": "prompt level", "inst": "instruction level"}


def figures(found: ManyIFEvalRuns) -> Iterator[Figure]:
    """Yield the figures that there are results for."""
    if found.asked:
        yield curse(found)
        yield by_type(found)
        yield verdicts(found)
    if found.single:
        yield alone(found)
    if found.cousins:
        yield reliability(found)
        yield from wordings(found)
    if found.wide:
        yield wide(found)
    if found.dense:
        yield dense(found)
    if found.mixed:
        yield mixed(found)
        yield mixed_types(found)
    if compared(found):
        yield repetition(found)
    if any(model.others for model in found.models):
        yield other_tasks(found)


def verdicts(found: ManyIFEvalRuns) -> Figure:
    """Return strict, loose and repaired accuracy side by side."""
    models = found.asked
    cells = {
        (model, level, edition): estimate(found.together(model, _metric(level, edition)))
        for model in models
        for level in LEVELS
        for edition in EDITIONS
    }
    panels = []
    for level, title in LEVELS.items():
        series = (Series(edition, tuple(cells[model, level, edition] for model in models)) for edition in EDITIONS)
        panels.append(Panel(title, Bars(tuple(model.label for model in models), tuple(series), ACCURACY)))
    return Figure(
        "manyifeval_verdicts",
        "How much depends on the strictness of the checks?",
        "Strict: IFEval's verdict on the answer. Loose: its best verdict on eight variants of the answer, without the "
        "first or last line or asterisks; if loose is higher than strict, an opening or closing line is in the way. "
        "Repaired: the verdict a human reader would give, without IFEval's known faults. Over all numbers of "
        "instructions. " + INTERVALS,
        tuple(panels),
        Table(
            ("model", "level", *EDITIONS),
            tuple(
                (model.label, title, *(cells[model, level, edition] for edition in EDITIONS))
                for model in models
                for level, title in LEVELS.items()
            ),
        ),
        found.incomplete(),
        tuple(_metric(level, edition) for level in LEVELS for edition in EDITIONS),
    )


def _metric(level: str, edition: str) -> str:
    return f"{level}_level_{edition}_acc"


def other_tasks(found: ManyIFEvalRuns) -> Figure:
    """Return the figures of tasks that test the same as another task."""
    models = [model for model in found.models if model.others]
    levels = {PROMPT: PROMPT_LEVEL, INST: INST_LEVEL}
    cells = {
        (model, task): tuple(estimate(found.evidence.ratio(run, metric).value) for metric in levels.values())
        for model in models
        for task, run in model.others.items()
    }
    panels = []
    for model in models:
        series = tuple(
            Series(title, tuple(cells[model, task][number] for task in model.others))
            for number, title in enumerate(levels)
        )
        panels.append(Panel(model.label if len(models) > 1 else "", Bars(tuple(model.others), series, ACCURACY)))
    return Figure(
        "manyifeval_others",
        "Other tasks",
        f"Tasks with as many instructions as a task in the figures above. {INTERVALS}",
        tuple(panels),
        Table(
            ("model", "task", "prompt level", "instruction level"),
            tuple((model.label, task, *values) for (model, task), values in cells.items()),
        ),
        metrics=tuple(levels.values()),
    )
