"""The report's section on the set to run before a release: its headlines, and which drops they can show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from lm_eval_ext.families.release_check import NAME, SETS
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Estimate, Figure, Panel, Section, Series, Table, TableCell
from lm_eval_ext.reports.gate.plan import CHANGED, of_size
from lm_eval_ext.reports.gate.power import ALPHA, POWER, simulate, smallest_regression
from lm_eval_ext.reports.gate.text import ARROWS
from lm_eval_ext.reports.sections.figures import captioned, captions
from lm_eval_ext.reports.statistics import estimate
from lm_eval_ext.reports.wording import amount
from lm_eval_ext.results.runs import Runs, TaskRun

BOUND = 0.02
"""The allowed drop that the figure speaks of."""
PAIRS = 200
"""The number of simulated pairs of runs that tell how far rows vary."""


@dataclass(frozen=True)
class HeadlineRuns:
    """The runs of a headline of the set.

    Attributes:
        name: of the task or group.
        runs: of the headline's tasks, by the label of each model that was run on the whole set.
    """

    name: str
    runs: dict[str, list[TaskRun]]

    @property
    def first(self) -> list[TaskRun]:
        """The runs of the first model."""
        return next(iter(self.runs.values()))

    @property
    def metric(self) -> str:
        """Its metric, with an arrow in the better direction."""
        metric = self.first[0].headline
        return f"{metric.name} {ARROWS[metric.higher_is_better]}"

    @property
    def size(self) -> tuple[int, int]:
        """How many dataset rows the first model was asked about, and how many answers it gave."""
        rows = {
            (run.dataset, row) for run in self.first if run.rows is not None for row in np.unique(run.rows.clusters)
        }
        return len(rows), sum(run.count for run in self.first)

    def scores(self, evidence: Evidence) -> tuple[Estimate, ...]:
        """Return the score of each model."""
        return tuple(estimate(evidence.mean(runs, runs[0].headline.name)) for runs in self.runs.values())


def section(evidence: Evidence) -> Section | None:
    """Return the section; ``None`` if no model was run on a whole set."""
    figures = [_figure(evidence, headlines) for headlines in _sets(evidence.runs)]
    return Section(NAME, *captions()[NAME], figures) if figures else None


def _sets(runs: Runs) -> Iterator[list[HeadlineRuns]]:
    """Yield the headlines of each set that any model was run on."""
    by_model: dict[str, dict[str, TaskRun]] = {}
    for run in runs.counting:
        by_model.setdefault(runs.labels[run.model], {})[run.task] = run
    for name, headlines in SETS.items():
        if name not in runs.groups:
            continue
        tasks = {headline: runs.groups.get(headline, (headline,)) for headline in headlines}
        complete = {label: ran for label, ran in by_model.items() if ran.keys() >= {*runs.groups[name]}}
        if complete:
            set_runs = []
            for headline, headline_tasks in tasks.items():
                by_label = {label: [ran[task] for task in headline_tasks] for label, ran in complete.items()}
                set_runs.append(HeadlineRuns(headline, by_label))
            yield set_runs


def _figure(evidence: Evidence, headlines: Sequence[HeadlineRuns]) -> Figure:
    models = [*headlines[0].runs]
    scores = [headline.scores(evidence) for headline in headlines]
    rows: tuple[tuple[TableCell, ...], ...] = tuple(
        (headline.name, headline.metric, *headline.size, _smallest(headline.size, len(headlines)), *model_scores)
        for headline, model_scores in zip(headlines, scores, strict=True)
    )
    headings = tuple(f"{headline.name} ({headline.metric})" for headline in headlines)
    series = tuple(Series(model, values) for model, values in zip(models, zip(*scores, strict=True), strict=True))
    return captioned(
        f"{NAME}_headlines",
        (Panel("", Bars(headings, series, "score")),),
        Table(("headline", "metric", "rows", "answers", "a regression shows from", *models), rows),
        bound=f"{BOUND:g}",
        power=f"{100 * POWER:g}",
        changed=f"{100 * CHANGED:g}",
        tests=len(headlines),
    )


@cache
def _smallest(size: tuple[int, int], tests: int) -> str:
    """Return the smallest drop that is called a regression with a power of ``POWER``; empty if rows are unknown.

    Args:
        size: the number of rows, and of all answers.
        tests: the number of drops that are tested.
    """
    rows, answers = size
    if not rows:
        return ""
    planned, alpha = of_size(NAME, (rows, max(1, round(answers / rows))), BOUND).asked, ALPHA / tests
    return amount(smallest_regression(simulate(planned, 0.0, BOUND, PAIRS, alpha).typical, BOUND, alpha), is_share=True)
