"""Which of its figures counts for a task that is not ours, and which of its rows belong together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lm_eval_ext.results.files import metric_and_filter
from lm_eval_ext.results.issue import Issue, named, note
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.sources import RowsError

MANY = 20
"""The most metrics that an error names."""


@dataclass(frozen=True)
class Choice:
    """What a user chooses about the tasks that are not ours.

    Attributes:
        figure: the metric that counts in the tasks that have it, or the filter whose answers count, or both:
            ``METRIC``, ``METRIC,FILTER`` or ``,FILTER``. What is not chosen is the first one in the harness's order.
        cluster: a column of the documents: rows with the same value are one observation. Empty: rows with the same
            document are.
    """

    figure: str = ""
    cluster: str = ""

    def parts(self, metrics: Collection[str]) -> tuple[str, str]:
        """Return the metric and the filter, each empty if it is not chosen.

        Args:
            metrics: the metrics that there are; their names may contain commas.
        """
        metric, comma, reader = self.figure.rpartition(",")
        return (self.figure, "") if not comma or self.figure in metrics else (metric, reader)


def require_choice(choice: Choice, runs: Sequence[TaskRun]) -> None:
    """Raise if no task has what was chosen.

    Args:
        choice: the choice.
        runs: the runs of all tasks.

    Raises:
        RowsError: no task that is not ours has the metric, or the filter.
    """
    others = [run for run in runs if not run.is_ours]
    metrics = {metric for run in others for metric in run.metrics}
    metric, reader = choice.parts(metrics)
    for chosen, what, found in (
        (metric, "metric", metrics),
        (reader, "filter", {reader for run in others for reader in run.readers}),
    ):
        if chosen and chosen not in found:
            raise RowsError(f"no task has the {what} {chosen!r}; expected one of {named(sorted(found), MANY)}")


def measured_alike(runs: Sequence[TaskRun], choice: Choice) -> tuple[list[TaskRun], list[Issue]]:
    """Return runs in which every task that is not ours counts by one metric and filter, whichever model ran it.

    Two files can list a task's metrics and filters in different orders. Without a choice, those of the first run count
    that all runs have.

    Args:
        runs: the runs of all models, as ``find_runs`` returns them.
        choice: what a user chooses.

    Returns:
        The runs in the same order, and notes on the tasks whose files have other metrics first.
    """
    places: dict[str, list[int]] = {}
    for place, run in enumerate(runs):
        if not run.is_ours:
            places.setdefault(run.task, []).append(place)
    found = list(runs)
    mixed: dict[str, list[str]] = {}
    for task, of_task in places.items():
        alike = [runs[place] for place in of_task]
        chosen, chosen_filter = choice.parts({metric.name for run in alike for metric in run.schema.headlines})
        metric = _metric(alike, chosen)
        if metric not in ("", chosen) and len({run.headline.name for run in alike}) > 1:
            mixed.setdefault(metric, []).append(task)
        order: tuple[str, ...] = ()
        for place in of_task:
            found[place] = _measured_by(runs[place], metric, (chosen_filter, *order))
            order = order or found[place].readers
    return found, [
        note(f"the files list the metrics of {named(tasks)} in different orders: {metric} counts for all models")
        for metric, tasks in mixed.items()
    ]


def _metric(runs: Sequence[TaskRun], chosen: str) -> str:
    """Return the metric by which one task's runs count; empty if they have none in common."""
    first, *others = [[metric.name for metric in run.schema.headlines] for run in runs]
    if any(chosen in names for names in (first, *others)):
        return chosen
    return next((name for name in first if all(name in names for names in others)), "")


def _measured_by(run: TaskRun, metric: str, filters: Sequence[str]) -> TaskRun:
    """Return a run that counts by a metric if it has it, read by the first of some filters that it has."""
    metrics = tuple(sorted(run.schema.headlines, key=lambda described: described.name != metric))
    readers = tuple(sorted(readers_of(run.figures, metrics[0].name), key=lambda reader: _place(reader, filters)))
    schema = replace(run.schema, metrics=metrics, headlines=metrics)
    return replace(run, family=replace(run.family, schema=schema), readers=readers, offered=readers[0])


def _place(reader: str, filters: Sequence[str]) -> int:
    return filters.index(reader) if reader in filters else len(filters)


def readers_of(figures: Mapping[str, Any], metric: str) -> list[str]:
    """Return the filters under which a task has a figure of a metric, in the file's order."""
    fields = filter(
        None, (metric_and_filter(field) for field, value in figures.items() if isinstance(value, int | float))
    )
    return [reader for name, reader in fields if name == metric]
