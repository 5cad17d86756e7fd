"""How answers change with the decoding temperature (appendix A.1, Figure 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from lm_eval_ext.reports.evidence import Evidence, name_of
from lm_eval_ext.reports.figure import Curves, Figure, Panel, Unit
from lm_eval_ext.reports.layout import drawn, table
from lm_eval_ext.reports.sections.paired_mcq.measures import (
    FAMILY,
    INTERVALS,
    entropies,
    facts,
    in_order,
    levels_of,
    most_entropy,
)
from lm_eval_ext.reports.statistics import Ratio, Replicates
from lm_eval_ext.reports.study import UNKNOWN, Cells, Key, shared_rows
from lm_eval_ext.results.issue import Issue, note, warning
from lm_eval_ext.results.runs import TaskRun

RATES = {"mismatch": "mismatch", "refusal": "refusal"}
ENTROPY = {"entropy_text": "entropy of the text", "entropy_first_token": "entropy of the first token"}
BY = ("model", "task", "dataset", "level", "temperature", "draws")
"""What a point of a curve is about; the temperature is 0 for greedy decoding."""
HEADS = {"model": "", "dataset": "", "level": "", "at": "temperature", "draws": ""}


def temperature_figures(evidence: Evidence) -> tuple[Figure, ...]:
    """Return Figure 4 (a) and (b); none if no task was run at several temperatures."""
    issues: list[Issue] = []
    points = Cells(BY, dict(_points(evidence, issues)))
    swept = {asked for asked, part in points.split("model", "dataset", "level") if len(part.values("temperature")) > 1}
    points = points.where(lambda about: (about["model"], about["dataset"], about["level"]) in swept)
    if not points.lines:
        return ()
    if any(draws > 1 for draws in points.values("draws")):
        issues.append(note("Several draws at one temperature: the mean over them is shown, and the table counts them."))
    return tuple(
        Figure(
            name,
            title,
            f"{reading} {INTERVALS} They cover the choice of the questions, not of the draws. See Figure 4 {part} of "
            "the paper.",
            tuple(_panels(points.only(shown), unit)),
            table(points.only(shown).with_fact("at", "{temperature:g}"), HEADS, unit),
            tuple(issues),
            tuple(metrics),
        )
        for name, title, reading, part, metrics, unit in _FIGURES
        if (shown := {metric: name for metric, name in metrics.items() if points.only([metric]).known().lines})
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


def _points(evidence: Evidence, issues: list[Issue]) -> Iterator[tuple[Key, Mapping[str, Replicates]]]:
    of_family = [run for run in evidence.runs.swept if run.family.name == FAMILY]
    for (model, task), found in groupby(of_family, key=lambda run: (run.model, run.task)):
        runs, label = list(found), evidence.runs.labels[model]
        kept = [run for run in runs if _is_alike(runs[0], run)]
        if left_out := len(runs) - len(kept):
            issues.append(
                warning(
                    f"{label}, {task}: {left_out} of {len(runs)} draws are left out, because "
                    f"their rows or version differ from those at temperature {runs[0].decoding.temperature:g}"
                )
            )
        for temperature, of_temperature in groupby(kept, key=lambda run: run.decoding.temperature):
            draws = list(of_temperature)
            yield (
                (label, task, *facts(runs[0]).values(), temperature, len(draws)),
                {
                    metric: Ratio.mean(_ratio(evidence, run, metric) for run in draws).value
                    if all(metric in run.metrics for run in draws)
                    else UNKNOWN
                    for metric in (*ENTROPY, *RATES)
                },
            )


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


def _panels(points: Cells, unit: Unit) -> Iterator[Panel]:
    """Yield a panel for each metric, dataset and level, with a curve for each model; one model's levels share one."""
    is_one = len(points.values("model")) == 1
    curve, by = ("level", ("dataset",)) if is_one else ("model", ("dataset", "level"))
    curves = levels_of(points) if is_one else points.values("model")
    told = [place for place, fact in enumerate(by) if len(points.values(fact)) > 1]
    for metric in next(iter(points.lines.values())):
        for key, part in in_order(points).only([metric]).known(*BY).split(*by):
            columns = [one for one in curves if one in part.values(curve)]
            options = {"x_axis": "temperature", "axis": metric if unit == "share" else "nats", "unit": unit}
            mark = drawn(part, Curves, "temperature", curve, columns=columns, **options)
            yield Panel(", ".join((*(key[place] for place in told), metric)), mark)
