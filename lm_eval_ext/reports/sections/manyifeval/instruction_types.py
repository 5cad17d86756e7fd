"""Which instruction types are followed, by the number of instructions."""

from __future__ import annotations

from lm_eval_ext.reports.figure import Figure, HeatMap, Panel, Table
from lm_eval_ext.reports.sections.manyifeval.conditions import (
    BY_TYPE,
    INTERVALS,
    ManyIFEvalRuns,
    type_metrics,
    type_name,
)
from lm_eval_ext.reports.statistics import estimate

COLUMNS = 5
"""The most models side by side in a heat map whose rows have long names."""
EACH = 6
"""Up to this many models get a heat map each."""


def by_type(found: ManyIFEvalRuns) -> Figure:
    """Return the share of instructions followed for each type, by the number of instructions."""
    numbers, models = found.numbers(repeat=False), found.asked
    given = {metric for model in models for run in model.runs.values() for metric in type_metrics(run)}
    metrics = tuple(sorted(given, key=type_name))
    pooled = {
        (model, metric): estimate(found.followed(model, metric, numbers)) for model in models for metric in metrics
    }
    by_number = {
        (model, metric, number): estimate(found.followed(model, metric, (number,)))
        for model in models
        for metric in metrics
        for number in numbers
    }
    names = tuple(map(type_name, metrics))
    panels = []
    if len(models) > 1:
        for start in range(0, len(models), COLUMNS):
            group = models[start : start + COLUMNS]
            values = tuple(tuple(pooled[model, metric] for model in group) for metric in metrics)
            title = "overall" + (f" ({start + 1} to {start + len(group)})" if len(models) > COLUMNS else "")
            panels.append(Panel(title, HeatMap(names, tuple(model.label for model in group), values, "followed")))
    if len(models) <= EACH:
        for model in models:
            values = tuple(tuple(by_number[model, metric, number] for number in numbers) for metric in metrics)
            title = model.label if len(models) > 1 else ""
            panels.append(Panel(title, HeatMap(names, tuple(map(str, numbers)), values, "followed")))
    return Figure(
        "manyifeval_types",
        "Which types of instructions does it follow?",
        "Share of the instructions of each type that are followed (strict), by the number of instructions given at "
        "once. A row that is low from the start is a type that the model cannot follow; a row that falls is a type "
        f"that it neglects when there are more instructions. {INTERVALS}",
        tuple(panels),
        Table(
            ("model", "type", *(f"n = {number}" for number in numbers), "all"),
            tuple(
                (
                    model.label,
                    type_name(metric),
                    *(by_number[model, metric, number] for number in numbers),
                    pooled[model, metric],
                )
                for model in models
                for metric in metrics
            ),
        ),
        found.incomplete(),
        (f"{BY_TYPE}*",),
    )
