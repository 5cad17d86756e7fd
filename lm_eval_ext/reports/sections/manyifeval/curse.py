"""The curse of instructions: accuracy by the number of instructions (Figures 1, 4 and 10)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil

from lm_eval_ext.reports.figure import Curves, Estimate, Figure, Panel, Series, Table, TableCell
from lm_eval_ext.reports.sections.manyifeval.conditions import (
    INST_LEVEL,
    INTERVALS,
    PROMPT_LEVEL,
    Condition,
    ManyIFEvalRuns,
    Model,
)
from lm_eval_ext.reports.statistics import estimate

PROMPT, INST = "prompt level: all followed", "instruction level: share followed"
JOINT = 6
"""The most curves in one panel: each needs its own color, and its intervals must be distinguishable."""


def curse(found: ManyIFEvalRuns) -> Figure:
    """Return Figures 1, 4 and 10: accuracy against the number of instructions, measured and predicted."""
    numbers, models = found.numbers(repeat=False), found.asked
    curves: dict[Model, tuple[tuple[Estimate, ...], ...]] = {}
    rows: list[tuple[TableCell, ...]] = []
    for model in models:
        cells = []
        for number in numbers:
            where = Condition(False, number)
            prompt, inst = (found.mean(model, where, metric) for metric in (PROMPT_LEVEL, INST_LEVEL))
            predicted = inst**number
            cells.append(tuple(map(estimate, (prompt, inst, predicted, prompt - predicted))))
        curves[model] = tuple(zip(*cells, strict=True))
        rows += [(model.label, number, *of_number) for number, of_number in zip(numbers, cells, strict=True)]
    panels = []
    for group, title in _groups(models) if len(models) > 1 else []:
        together = tuple(Series(model.label, curves[model][0]) for model in group)
        panels.append(Panel(title, Curves(numbers, together, "instructions", "prompt level")))
    for model in models:
        prompt_level, inst_level, predicted_level, _ = curves[model]
        series = (
            Series(PROMPT, prompt_level),
            Series("predicted: instruction level to the power of n", predicted_level, dashed=True),
            Series(INST, inst_level),
        )
        title = model.label if len(models) > 1 else ""
        panels.append(Panel(title, Curves(numbers, series, "instructions", "accuracy")))
    return Figure(
        "manyifeval_curse",
        "How many instructions can it follow at once?",
        "The share of answers that follow all n instructions falls roughly like the share of single instructions "
        "followed, raised to the power of n (dashed): even a model that follows almost every instruction rarely "
        "follows ten at once. The residual is measured minus predicted accuracy: above 0, failures are concentrated in "
        "the same answers; below 0, they are spread over different answers. See Figures 1, 4 and 10 of the paper. "
        f"{INTERVALS}",
        tuple(panels),
        Table(("model", "instructions", "prompt level", "instruction level", "predicted", "residual"), tuple(rows)),
        metrics=(PROMPT_LEVEL, INST_LEVEL, "curse_residual"),
    )


def _groups(models: Sequence[Model]) -> Iterator[tuple[Sequence[Model], str]]:
    """Yield the models of each panel and its title; models are spread evenly over the panels."""
    panels = ceil(len(models) / JOINT)
    starts = [len(models) * panel // panels for panel in range(panels + 1)]
    for start, end in pairwise(starts):
        group = models[start:end]
        last = start + len(group)
        title = f"models {start + 1} to {last}" if len(group) > 1 else f"model {last}"
        yield group, title if len(models) > JOINT else "all models"
