"""Which of its figures counts for a task that is not ours, and which of its rows belong together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lm_eval_ext.results.issue import named
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
