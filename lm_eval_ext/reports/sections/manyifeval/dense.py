"""Tens to hundreds of instructions at once: how many are followed, which, and where the curve breaks (IFScale)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lm_eval_ext.families.manyifeval.schema import OF_REPORTS, OF_SECTIONS, SECTION_TYPE
from lm_eval_ext.reports.figure import Curves, Figure, HeatMap, Panel, Series, Table, TableCell
from lm_eval_ext.reports.sections.manyifeval.conditions import ManyIFEvalRuns, Model, nothing, type_metrics
from lm_eval_ext.reports.sections.manyifeval.decay import decay
from lm_eval_ext.reports.sections.manyifeval.instruction_types import EACH
from lm_eval_ext.reports.statistics import Replicates, estimate
from lm_eval_ext.results.issue import Issue, note
from lm_eval_ext.results.rows import ASKED
from lm_eval_ext.results.runs import TaskRun

_SHARES = ("followed", "first third", "middle third", "last third", "primacy")
_WORDS = dict(
    zip(
        (metric.name for metric in OF_REPORTS),
        (*_SHARES, "modified", "omitted"),
        strict=True,
    )
)
_INSTRUCTIONS = dict(
    zip(
        (metric.name for metric in OF_SECTIONS),
        (*_SHARES, "broken", "omitted"),
        strict=True,
    )
)
"""The metrics of each form and their names in a table; the first is drawn with the three thirds after it."""
_THIRDS = "over the whole list and over each third of it. Primacy is the first third's share minus the last third's"
_INTERVALS = (
    "Intervals are 95 % confidence intervals from a bootstrap over the ten subjects; a subject is resampled together "
    "with every length of its list."
)


def dense(found: ManyIFEvalRuns) -> Figure:
    """Return the share of the words of a list that reports contain, against the length of the list.

    Args:
        found: the models and their runs, at least one with such reports.
    """
    return Figure(
        "manyifeval_dense",
        "How many instructions can it hold at once?",
        f"The share of the words of a list that a report contains, against the length of the list; {_THIRDS}: above 0, "
        "what comes first is kept. A word that is missed is either there in another form (modified) or not at all "
        f"(omitted). {_INTERVALS}",
        *_against_length(found, found.dense, _WORDS, "words", "share contained"),
        metrics=tuple(_WORDS),
    )


def mixed(found: ManyIFEvalRuns) -> Figure:
    """Return the share of the instructions about its sections that reports follow, against their number.

    Args:
        found: the models and their runs, at least one with such reports.
    """
    return Figure(
        "manyifeval_mixed",
        "How many instructions about its sections can it hold at once?",
        "The share of the instructions of a list that the sections of a report follow, against the length of the list; "
        f"{_THIRDS}. The list is shuffled, so that a place in it says nothing about the section's place in the report. "
        "An instruction that is missed belongs to a section that is there (broken) or that the report lacks (omitted). "
        f"{_INTERVALS}",
        *_against_length(found, found.mixed, _INSTRUCTIONS, "instructions", "share followed"),
        metrics=tuple(_INSTRUCTIONS),
    )


def mixed_types(found: ManyIFEvalRuns) -> Figure:
    """Return the share followed of each type of instructions about sections, by the number of instructions.

    Args:
        found: the models and their runs, at least one with such reports.
    """
    panels, rows = [], list[tuple[TableCell, ...]]()
    numbers = _numbers(found.mixed)
    for model, runs in found.mixed.items():
        metrics = sorted({metric for run in runs.values() for metric in type_metrics(run)}, key=_name)
        cells = {
            metric: tuple(
                estimate(_of_type(found, runs[number], metric) if number in runs else nothing()) for number in numbers
            )
            for metric in metrics
        }
        names = tuple(map(_name, metrics))
        title = model.label if len(found.mixed) > 1 else ""
        if len(found.mixed) <= EACH:
            panels.append(Panel(title, HeatMap(names, tuple(map(str, numbers)), tuple(cells.values()), "followed")))
        rows += [(model.label, _name(metric), *values) for metric, values in cells.items()]
    return Figure(
        "manyifeval_mixed_types",
        "Which instructions about its sections does it follow?",
        "The share of the instructions of each type that sections follow, by the number of instructions in the list. "
        f"{_INTERVALS}",
        tuple(panels),
        Table(("model", "type", *(f"n = {number}" for number in numbers)), tuple(rows)),
        metrics=(SECTION_TYPE.name,),
    )


def _name(metric: str) -> str:
    return metric.removeprefix(SECTION_TYPE.name.rstrip("*")).removeprefix("section_").replace("_", " ")


def _of_type(found: ManyIFEvalRuns, run: TaskRun, metric: str) -> Replicates:
    return found.evidence.share(run, metric, ASKED + metric).value


def _numbers(of_models: Mapping[Model, Mapping[int, TaskRun]]) -> tuple[int, ...]:
    return tuple(sorted({number for runs in of_models.values() for number in runs}))


def _against_length(
    found: ManyIFEvalRuns,
    of_models: Mapping[Model, Mapping[int, TaskRun]],
    columns: Mapping[str, str],
    unit: str,
    axis: str,
) -> tuple[tuple[Panel, ...], Table, tuple[Issue, ...]]:
    """Return the curves of each model, the table, and where the curves break.

    Args:
        found: the models and their runs.
        of_models: the runs to show, by the length of the list.
        columns: the metrics and their names.
        unit: what the lists consist of.
        axis: the name of the vertical axis.
    """
    numbers = _numbers(of_models)
    panels: list[Panel] = []
    rows: list[tuple[TableCell, ...]] = []
    issues: list[Issue] = []
    headline = next(iter(columns))
    for model, runs in of_models.items():
        measured = {
            metric: [
                found.evidence.ratio(runs[number], metric).value if number in runs else nothing() for number in numbers
            ]
            for metric in columns
        }
        cells = {metric: tuple(map(estimate, values)) for metric, values in measured.items()}
        shown = tuple(Series(name, cells[metric]) for metric, name in list(columns.items())[:4])
        title = model.label if len(of_models) > 1 else ""
        panels.append(Panel(title, Curves(numbers, shown, unit, axis, logarithmic=True)))
        rows += [
            (model.label, number, *(cells[metric][place] for metric in columns)) for place, number in enumerate(numbers)
        ]
        if text := _in_words(numbers, measured[headline], unit):
            issues.append(note(f"{model.label}: {text}"))
    return tuple(panels), Table(("model", unit, *columns.values()), tuple(rows)), tuple(issues)


def _in_words(numbers: tuple[int, ...], followed: list[Replicates], unit: str) -> str:
    found = decay(numbers, np.array(followed).T)
    return (
        ""
        if found is None
        else f"{_TEXTS[found.shape].format(found, unit)}, the best fit in {found.support:.0%} of resamples"
    )


_TEXTS = {
    "threshold": "level up to {0.parameter:.0f} {1} (95 % interval {0.low:.0f} to {0.high:.0f}), then falling",
    "early": "falls early, by two thirds of its fall within {0.parameter:.0f} {1} (95 % interval {0.low:.0f} to "
    "{0.high:.0f})",
    "steady": "falls steadily, by {0.parameter:.1%} per 100 {1} (95 % interval {0.low:.1%} to {0.high:.1%})",
}
"""What a report says of each shape; the arguments are a ``decay.Decay`` and what lists consist of."""
