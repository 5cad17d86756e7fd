"""How the estimates of tasks are laid out in panels and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from lm_eval_ext.reports.figure import Bars, Estimate, Panel, Series, Table, Unit
from lm_eval_ext.reports.sections.paired_mcq.task_result import (
    MISSING,
    TaskResult,
    by_dataset,
    by_dataset_and_level,
    having,
    levels_of,
    models_of,
)

MOST_PANELS = 12
"""With more panels than this, a figure shows only the most telling ones."""
FIRST_TOKEN, TEXT = "first token", "text"
Item = TypeVar("Item")


def panels_by_level(
    results: Sequence[TaskResult], metric: str, axis: str, name: str = "", part: tuple[str, str] = ("", "")
) -> list[Panel]:
    """Return a panel for each dataset, with a group for each model and in it a bar for each level.

    All panels have the same levels, so that a level looks the same everywhere.

    Args:
        results: the results.
        metric: the metric to draw.
        axis: the axis label.
        name: what distinguishes the panels from others in the figure.
        part: the metric of the lighter portion of a bar, and its description; empty: there is none.
    """
    part_metric, what = part
    levels = levels_of(results)
    panels = []
    for title, of_dataset in by_dataset(results):
        with_metric = having(of_dataset, metric)
        if not with_metric:
            continue
        models = models_of(with_metric)
        found = {(result.model, result.level): result for result in with_metric}
        series = []
        for level in levels:
            of_level = [found.get((model, level)) for model in models]
            values = (result[metric] if result else MISSING for result in of_level)
            parts = [one[part_metric].value if one and one[part_metric].exists else 0.0 for one in of_level]
            series.append(Series(level, tuple(values), tuple(parts) if part_metric else ()))
        full_title = ": ".join(words for words in (title, name) if words)
        panels.append(Panel(full_title, Bars(models, tuple(series), axis, what)))
    return panels


def panels_by_reading(
    results: Sequence[TaskResult], metrics: tuple[str, str], axis: str, unit: Unit
) -> tuple[Panel, ...]:
    """Return bars of the first token and of the text side by side; no panel if there is neither.

    With one model, there is a group for each level; with several, a panel for each level with a group for each model.
    """
    measured = having(results, *metrics)
    shown = _readings(measured, metrics)

    def bars(categories: tuple[str, ...], of_panel: Sequence[TaskResult]) -> Bars:
        series = (Series(reading, tuple(result[metric] for result in of_panel)) for metric, reading in shown.items())
        return Bars(categories, tuple(series), axis, unit=unit)

    if len(models_of(measured)) > 1:
        groups = by_dataset_and_level(measured).items()
        return tuple(Panel(", ".join(both), bars(models_of(found), found)) for both, found in groups)
    panels = []
    for title, of_dataset in by_dataset(measured):
        in_order = [result for found in by_dataset_and_level(of_dataset).values() for result in found]
        panels.append(Panel(title, bars(tuple(result.level for result in in_order), in_order)))
    return tuple(panels)


def table_of_readings(results: Sequence[TaskResult], metrics: tuple[str, str], unit: Unit) -> Table:
    """Return the numbers of ``panels_by_reading``."""
    measured = having(results, *metrics)
    shown = _readings(measured, metrics)
    return table(measured, tuple(shown.values()), lambda result: [result[metric] for metric in shown], unit)


def table(
    results: Sequence[TaskResult],
    columns: Sequence[str],
    values: Callable[[TaskResult], Sequence[Estimate]],
    unit: Unit = "share",
) -> Table:
    """Return a row for each result: datasets and their levels in order, with the models of each together."""
    rows: list[tuple[str | Estimate, ...]] = [
        (result.model, result.dataset, result.level, *values(result))
        for found in by_dataset_and_level(results).values()
        for result in found
    ]
    return Table(("model", "dataset", "level", *columns), tuple(rows), unit)


def _readings(measured: Sequence[TaskResult], metrics: tuple[str, str]) -> Mapping[str, str]:
    """Return the metrics that any result has, and what each reads; the same in every panel, for a uniform look."""
    readings = zip(metrics, (FIRST_TOKEN, TEXT), strict=True)
    return {metric: reading for metric, reading in readings if having(measured, metric)}


def most_telling(items: Sequence[Item], group: Callable[[Item], object], weight: Callable[[Item], float]) -> list[Item]:
    """Return the items that get a panel: all if there are few enough, else the heaviest of each group."""
    if len(items) <= MOST_PANELS:
        return list(items)
    best: dict[object, Item] = {}
    for item in items:
        held = best.setdefault(group(item), item)
        if weight(item) > weight(held):
            best[group(item)] = item
    return list(best.values())
