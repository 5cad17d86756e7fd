"""The report's section on the set to run before a release: its headlines, and which drops they can show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

import numpy as np

from lm_eval_ext.families.release_check import NAME, SETS
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Bars, Figure, Panel, Section, Series, Table, TableCell
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


HeadlineRuns = dict[str, list[TaskRun]]
"""The runs of a headline's tasks, by the label of each model that was run on the whole set."""


def section(evidence: Evidence) -> Section | None:
    """Return the section; ``None`` if no model was run on a whole set."""
    figures = [_figure(evidence, headlines) for headlines in _sets(evidence.runs)]
    return Section(NAME, *captions()[NAME], figures) if figures else None


def _sets(runs: Runs) -> Iterator[dict[str, HeadlineRuns]]:
    """Yield the headlines, tasks or groups, of each set that any model was run on."""
    by_model: dict[str, dict[str, TaskRun]] = {}
    for run in runs.counting:
        by_model.setdefault(runs.labels[run.model], {})[run.task] = run
    for name, headlines in SETS.items():
        if name not in runs.groups:
            continue
        complete = {label: ran for label, ran in by_model.items() if ran.keys() >= {*runs.groups[name]}}
        tasks = {headline: runs.groups.get(headline, (headline,)) for headline in headlines}
        if complete:
            yield {
                headline: {label: [ran[task] for task in tasks[headline]] for label, ran in complete.items()}
                for headline in headlines
            }


def _figure(evidence: Evidence, headlines: Mapping[str, HeadlineRuns]) -> Figure:
    """Return the score of each model on each headline, the rows of the first model, and which drops can show."""
    rows: list[tuple[TableCell, ...]] = []
    headings, scores = [], []
    for headline, by_model in headlines.items():
        first = next(iter(by_model.values()))
        metric = f"{first[0].headline.name} {ARROWS[first[0].headline.higher_is_better]}"
        first_rows = {
            (run.dataset, row) for run in first if run.rows is not None for row in np.unique(run.rows.clusters)
        }
        size = len(first_rows), sum(run.count for run in first)
        values = [estimate(evidence.mean(runs, runs[0].headline.name)) for runs in by_model.values()]
        rows.append((headline, metric, *size, _smallest(size, len(headlines)), *values))
        headings.append(f"{headline} ({metric})")
        scores.append(values)
    models = [*next(iter(headlines.values()))]
    series = tuple(Series(model, values) for model, values in zip(models, zip(*scores, strict=True), strict=True))
    bars = Panel("", Bars(tuple(headings), series, "score"))
    numbers = Table(("headline", "metric", "rows", "answers", "a regression shows from", *models), tuple(rows))
    return captioned(
        f"{NAME}_headlines",
        [bars],
        numbers,
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
    planned, alpha = of_size(NAME, (rows, max(1, round(answers / rows))), BOUND).design, ALPHA / tests
    return amount(smallest_regression(simulate(planned, 0.0, BOUND, PAIRS, alpha).typical, BOUND, alpha), is_share=True)
