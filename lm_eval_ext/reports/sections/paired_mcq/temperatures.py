"""How answers change with the decoding temperature (appendix A.1, Figure 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from lm_eval_ext.families.paired_mcq.schema import SCHEMA
from lm_eval_ext.reports.evidence import Evidence, name_of
from lm_eval_ext.reports.figure import Curves, Estimate, Figure, Panel, Series, Table, Unit
from lm_eval_ext.reports.sections.paired_mcq.figures import INTERVALS
from lm_eval_ext.reports.sections.paired_mcq.measures import FAMILY, condition, entropies, most_entropy
from lm_eval_ext.reports.sections.paired_mcq.task_result import MISSING
from lm_eval_ext.reports.sections.shared_rows import shared_rows
from lm_eval_ext.reports.statistics import Ratio, estimate
from lm_eval_ext.results.issue import Issue, note, warning
from lm_eval_ext.results.runs import TaskRun

RATES = {"mismatch": "mismatch", "refusal": "refusal"}
ENTROPY = {"entropy_text": "entropy of the text", "entropy_first_token": "entropy of the first token"}


@dataclass(frozen=True)
class Point:
    """One model's figures on one task at one temperature.

    Attributes:
        model: its label.
        dataset, level: what the task asks.
        temperature: 0 for greedy decoding.
        draws: the runs that the figures are means over.
        estimates: by metric.
    """

    model: str
    dataset: str
    level: str
    temperature: float
    draws: int
    estimates: dict[str, Estimate]

    def __getitem__(self, metric: str) -> Estimate:
        """Return the estimate of a metric; one without a value if there is none."""
        return self.estimates.get(metric, MISSING)


def temperature_figures(evidence: Evidence) -> tuple[Figure, ...]:
    """Return Figure 4 (a) and (b); none if no task was run at several temperatures."""
    issues: list[Issue] = []
    points = list(_points(evidence, issues))
    swept = {
        (point.model, point.dataset, point.level) for point in points if point.temperature != _first(point, points)
    }
    points = [point for point in points if (point.model, point.dataset, point.level) in swept]
    if not points:
        return ()
    if any(point.draws > 1 for point in points):
        issues.append(note("Several draws at one temperature: the mean over them is shown, and the table counts them."))
    return tuple(
        Figure(
            name,
            title,
            f"{reading} {INTERVALS} They cover the choice of the questions, not of the draws. See Figure 4 {part} of "
            "the paper.",
            tuple(_panels(points, metrics, unit)),
            _table(points, metrics, unit),
            tuple(issues),
            tuple(metrics),
        )
        for name, title, reading, part, metrics, unit in _FIGURES
        if any(point[metric].exists for point in points for metric in metrics)
    )


_FIGURES: Sequence[tuple[str, str, str, str, dict[str, str], Unit]] = (
    (
        "paired_mcq_temperature_entropy",
        "Does a higher temperature make answers less consistent?",
        "Entropy, in nats, of the contents chosen over the orders of a question's options, by temperature. 0: the same "
        "content in every order. Lower is better. First tokens are the most likely ones at every temperature, so their "
        "entropy does not depend on it.",
        "(a)",
        ENTROPY,
        "number",
    ),
    (
        "paired_mcq_temperature_rates",
        "Do mismatch and refusal depend on the temperature?",
        "Share of rows in which the text does not choose the first token's option, and in which it refuses, by "
        "temperature.",
        "(b)",
        RATES,
        "share",
    ),
)


def _first(point: Point, points: Sequence[Point]) -> float:
    return min(
        other.temperature
        for other in points
        if (other.model, other.dataset, other.level) == (point.model, point.dataset, point.level)
    )


def _points(evidence: Evidence, issues: list[Issue]) -> Iterator[Point]:
    of_family = [run for run in evidence.runs.swept if run.family.name == FAMILY]
    for (model, task), found in groupby(of_family, key=lambda run: (run.model, run.task)):
        runs = list(found)
        kept = [run for run in runs if _is_alike(runs[0], run)]
        if left_out := len(runs) - len(kept):
            issues.append(
                warning(
                    f"{evidence.runs.labels[model]}, {task}: {left_out} of {len(runs)} draws are left out, because "
                    f"their rows or version differ from those at temperature {runs[0].decoding.temperature:g}"
                )
            )
        dataset, level = condition(runs[0])
        for temperature, drawn in groupby(kept, key=lambda run: run.decoding.temperature):
            draws = list(drawn)
            metrics = [metric for metric in (*ENTROPY, *RATES) if all(metric in run.metrics for run in draws)]
            means = {metric: Ratio.mean(_ratio(evidence, run, metric) for run in draws) for metric in metrics}
            estimates = {metric: estimate(mean.value) for metric, mean in means.items()}
            yield Point(evidence.runs.labels[model], dataset, level, temperature, len(draws), estimates)


def _is_alike(first: TaskRun, other: TaskRun) -> bool:
    """Return whether two runs of a task were asked about the same rows."""
    shared = shared_rows([first, other])
    return not shared.reason and not shared.left_out


def _ratio(evidence: Evidence, run: TaskRun, metric: str) -> Ratio:
    if metric not in ENTROPY or run.rows is None:
        return evidence.ratio(run, metric)
    population = evidence.population
    asked = population.by_cluster(run.dataset, run.rows.clusters, np.ones(len(run.rows)))
    of_question = entropies(run.rows.clusters, run.rows.outcomes[metric], len(asked))
    questions = np.arange(len(asked), dtype=np.int32)
    found = population.ratio(run.dataset, questions, of_question, (asked > 0).astype(np.float64))
    return found.measured(name_of(run, metric), most_entropy(asked))


def _panels(points: Sequence[Point], metrics: dict[str, str], unit: Unit) -> Iterator[Panel]:
    """Yield a panel for each metric, dataset and level, with a curve for each model; one model's levels share one."""
    models = tuple(dict.fromkeys(point.model for point in points))
    datasets = tuple(dict.fromkeys(point.dataset for point in points))
    levels = SCHEMA.in_order("constraint", {point.level for point in points})
    for metric, name in metrics.items():
        for dataset in datasets:
            here = [point for point in points if point.dataset == dataset and point[metric].exists]
            for level in (None,) if len(models) == 1 else levels:
                shown = [point for point in here if level in (None, point.level)]
                if not shown:
                    continue
                x = tuple(sorted({point.temperature for point in shown}))
                of_series = {
                    series: {
                        point.temperature: point[metric]
                        for point in shown
                        if series == (point.level if level is None else point.model)
                    }
                    for series in (levels if level is None else models)
                }
                series = tuple(
                    Series(line, tuple(values.get(place, MISSING) for place in x))
                    for line, values in of_series.items()
                    if values
                )
                words = (dataset if len(datasets) > 1 else "", level if len(levels) > 1 else "", name)
                title = ", ".join(word for word in words if word)
                yield Panel(title, Curves(x, series, "temperature", name if unit == "share" else "nats", unit))


def _table(points: Sequence[Point], metrics: dict[str, str], unit: Unit) -> Table:
    shown = {metric: name for metric, name in metrics.items() if any(point[metric].exists for point in points)}
    return Table(
        ("model", "dataset", "level", "temperature", "draws", *shown.values()),
        tuple(
            (
                point.model,
                point.dataset,
                point.level,
                f"{point.temperature:g}",
                point.draws,
                *(point[metric] for metric in shown),
            )
            for point in points
        ),
        unit,
    )
