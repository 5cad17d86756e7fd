"""How many instructions at once: the runs by what they ask, the paper's curves, and lists of hundreds (IFScale)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.manyifeval.schema import (
    COUSINS,
    DENSE,
    FORM,
    MIXED,
    OF_REPORTS,
    OF_SECTIONS,
    SINGLE,
    WIDE,
)
from lm_eval_ext.reports.cells import UNKNOWN, Cells, exists
from lm_eval_ext.reports.figure import Curves, Figure, HeatMap, Panel
from lm_eval_ext.reports.layout import drawn, evenly, floors_in_words, heat_maps, panels, table
from lm_eval_ext.reports.sections.figures import by_metric, captioned
from lm_eval_ext.reports.statistics import Floats, Replicates, computed
from lm_eval_ext.reports.study import FLOOR, OWN, Entry, Study
from lm_eval_ext.results.issue import note
from lm_eval_ext.results.runs import TaskRun

FAMILY = "manyifeval"
PROMPT_LEVEL, INST_LEVEL = "prompt_level_strict_acc", "inst_level_strict_acc"
ACCURACIES = {"prompt level": PROMPT_LEVEL, "instruction level": INST_LEVEL}
PROMPT, INST = "prompt level: all followed", "instruction level: share followed"
BY_TYPE = "strict_acc_"
"""The prefix of an instruction type's name in the name of its metric."""
MAP_EACH = 6
"""Up to this many models get a heat map each."""
NUMBERED: Mapping[str, Any] = {"x_axis": "instructions", "axis": "prompt level"}
PANEL_EACH = 4
"""Up to this many models get a panel each, besides those of all models."""
MOST_CURVES = 6
"""The most curves in one panel: each needs its own color, and its intervals must be distinguishable."""
OVERALL = "all types"
FLOOR_CURVE = "floor: the best answer without content"
PREDICTED = "predicted: instruction level to the power of n"


def facts(run: TaskRun) -> Mapping[str, Any]:
    """Return what a task tests.

    ``kind`` is the fact that only such tasks record: ``SINGLE``, each of a task prompt's instructions is a row of its
    own (Table 4); ``COUSINS``, every row is asked in several variants; ``DENSE``, the instructions are words that a
    report must contain, or ``MIXED``, they are about its sections; ``WIDE``, they are of the larger pool. It is empty
    for the paper's curves.
    """
    kind = next((fact for fact in (SINGLE, COUSINS, DENSE, WIDE) if run.metadata.get(fact)), "")
    if kind == DENSE and run.metadata.get(FORM) == MIXED:
        kind = MIXED
    return {"repeat": bool(run.metadata["repeat"]), "instructions": int(run.metadata["instructions"]), "kind": kind}


def entries_of(study: Study, kind: str = "", *, repeat: bool = False) -> tuple[Entry, ...]:
    """Return the runs of a kind; by default those of the paper's curves."""
    return tuple(entry for entry in study.entries if (entry["kind"], entry["repeat"]) == (kind, repeat))


def by_type(entries: Iterable[Entry]) -> list[Entry]:
    """Return each entry for every type of instructions, with its metric."""
    return by_metric(entries, "type", lambda entry: {type_name(metric): metric for metric in type_metrics(entry.run)})


def type_metrics(run: TaskRun) -> tuple[str, ...]:
    """Return a task's metrics for instruction types."""
    return tuple(metric for metric in run.metrics if run.schema.row_form(metric) == "ratio")


def type_name(metric: str) -> str:
    """Return an instruction type as text: ``keywords existence`` for ``strict_acc_keywords_existence``."""
    return metric.removeprefix(BY_TYPE).replace("_", " ")


def curse(study: Study) -> Figure:
    """Return Figures 1, 4 and 10: accuracy against the number of instructions, measured and predicted."""
    cells = study.means(entries_of(study), ("model", "instructions"), ACCURACIES).with_columns(
        {
            "predicted": lambda line: computed(lambda share: share ** line["instructions"], line["instruction level"]),
            "residual": lambda line: computed(np.subtract, line["prompt level"], line["predicted"]),
        }
    )
    cells = study.with_floors(cells, entries_of(study), "prompt level", PROMPT_LEVEL)
    drawings = list[Panel]()
    for level in ACCURACIES if len(cells.values("model")) > 1 else ():
        for title, part in evenly(cells.only([level]), MOST_CURVES):
            curves = _with_floor(part, cells) if level == "prompt level" else part
            options: dict[str, Any] = {"dashed": [FLOOR_CURVE], "x_axis": "instructions", "axis": level}
            drawings.append(Panel(f"{title}: {level}", drawn(curves, Curves, "instructions", "model", **options)))
    columns = {"prompt level": PROMPT, "predicted": PREDICTED, "instruction level": INST}
    if any(FLOOR in line for line in cells.lines.values()):
        columns[FLOOR] = FLOOR_CURVE
    options = {"most": PANEL_EACH, "dashed": [PREDICTED, FLOOR_CURVE], "x_axis": "instructions", "axis": "accuracy"}
    drawings += panels(cells.only(columns), Curves, "instructions", by=("model",), **options)
    numbers = table(cells, ("model", "instructions"), metrics=["curse_residual"])
    issues = study.no_floors(entries_of(study), PROMPT_LEVEL)
    return captioned("manyifeval_curse", drawings, numbers, issues, floors=floors_in_words(cells))


def _with_floor(curves: Cells, cells: Cells) -> Cells:
    """Return the curves of models with that of the floor, if it is the same for all models."""
    floors: dict[int, Replicates] = {}
    for about, line in cells.about():
        floor = line.get(FLOOR, UNKNOWN)
        # Models with the same rows share it.
        if exists(floor) and floors.setdefault(about["instructions"], floor) is not floor:
            return curves
    floor_lines = {(FLOOR_CURVE, number): {"prompt level": floor} for number, floor in floors.items()}
    return replace(curves, lines={**curves.lines, **floor_lines})


def types(study: Study) -> Figure:
    """Return the share of instructions followed for each type, by the number of instructions."""
    entries = by_type(entries_of(study))
    by_number = study.means(entries, ("model", "type", "instructions"), {"followed": OWN})
    pooled = study.means(entries, ("model", "type"), {"all": OWN}, compared=("model", "type"))
    maps = list[Panel]()
    for panel in heat_maps(pooled, "type", axis="followed") if len(pooled.values("model")) > 1 else ():
        title = f"overall ({panel.title.removeprefix('models ')})" if panel.title else "overall"
        maps.append(replace(panel, title=title))
    maps += panels(by_number, HeatMap, "type", "instructions", ("model",), most=MAP_EACH, axis="followed")
    numbers = table(by_number.wide("instructions", heading="n = {instructions}").joined(pooled), ("model", "type"))
    return captioned("manyifeval_types", maps, numbers, study.incomplete(entries_of(study)))


def single(study: Study) -> Figure:
    """Return Table 4: how often an instruction of each type is followed if it is the only one."""
    single_entries = entries_of(study, SINGLE)
    entries = by_type(single_entries)
    study = study.ordered(type=(*sorted({entry["type"] for entry in entries}), OVERALL))
    entries += [replace(entry.with_facts(type=OVERALL), metric=PROMPT_LEVEL) for entry in single_entries]
    cells = study.means(entries, ("type", "model"), {"followed": OWN})
    numbers = table(cells.wide("model", heading="{model}"), ("type",))
    return captioned("manyifeval_single", heat_maps(cells, "type", axis="followed"), numbers)


_SHARES = ("followed", "first third", "middle third", "last third", "primacy")
_WORDS = dict(zip((*_SHARES, "modified", "omitted"), (metric.name for metric in OF_REPORTS), strict=True))
_INSTRUCTIONS = dict(zip((*_SHARES, "broken", "omitted"), (metric.name for metric in OF_SECTIONS), strict=True))
"""The columns of a table and their metrics; the first is drawn with the three thirds after it."""
_TEXTS = {
    "threshold": "level up to {0.parameter:.0f} {1} (95 % interval {0.low:.0f} to {0.high:.0f}), then falling",
    "early": "falls early, by two thirds of its fall within {0.parameter:.0f} {1} (95 % interval {0.low:.0f} to "
    "{0.high:.0f})",
    "steady": "falls steadily, by {0.parameter:.1%} per 100 {1} (95 % interval {0.low:.1%} to {0.high:.1%})",
}
"""What a report says of each shape; the arguments are a ``Decay`` and what lists consist of."""


_LISTS = ((DENSE, _WORDS, "words", "share contained"), (MIXED, _INSTRUCTIONS, "instructions", "share followed"))
"""The kinds of lists, with their columns, what they consist of, and the axis."""


def lists(study: Study) -> Iterator[Figure]:
    """Yield the share of a list that reports contain or follow, against its length and where it breaks; and by type."""
    for kind, columns, unit, axis in _LISTS:
        if not (entries := entries_of(study, kind)):
            continue
        cells = study.means(entries, ("model", "instructions"), columns)
        options: dict[str, Any] = {"x_axis": unit, "axis": axis, "logarithmic": True}
        issues = []
        for (model,), part in cells.split("model"):
            fit = decay(
                part.values("instructions"), np.array([line["followed"].values for line in part.lines.values()]).T
            )
            if fit is not None:
                text = f"{_TEXTS[fit.shape].format(fit, unit)}, the best fit in {fit.support:.0%} of resamples"
                issues.append(note(f"{model}: {text}"))
        curves = panels(cells.only(list(columns)[:4]), Curves, "instructions", by=("model",), **options)
        yield captioned(f"manyifeval_{kind}", curves, table(cells, {"model": "", "instructions": unit}), issues)
    entries = tuple(
        entry.with_facts(type=entry["type"].removeprefix("section acc ").removeprefix("section "))
        for entry in by_type(entries_of(study, MIXED))
    )
    if entries:
        cells = study.means(entries, ("model", "type", "instructions"), {"followed": OWN})
        maps = panels(cells, HeatMap, "type", "instructions", ("model",), most=MAP_EACH, axis="followed")
        numbers = table(cells.wide("instructions", heading="n = {instructions}"), ("model", "type"))
        yield captioned("manyifeval_mixed_types", maps, numbers)


FEWEST = 5
"""The fewest numbers of instructions to which three shapes are fitted."""
GRID = 200
"""How many thresholds, or rates, are tried."""
FLAT = 0.05
"""A share that falls by less than this, from the fewest instructions to the most, is called steady at its level."""

Basis = Callable[[Floats, float], Floats]

# Each is 1 at the beginning and falls from there; the last argument is the threshold or the rate.
_SHAPES: Mapping[str, tuple[Basis, bool]] = {
    "steady": (lambda numbers, _: numbers, False),
    "early": (lambda numbers, rate: 1 - np.exp(-numbers / rate), True),
    "threshold": (lambda numbers, threshold: np.maximum(numbers - threshold, 0.0), True),
}


@dataclass(frozen=True)
class Decay:
    """How a share falls.

    Attributes:
        shape: ``steady`` (a straight line), ``early`` (exponential, towards a floor) or ``threshold`` (level up to some
            number, then a straight line).
        parameter: the number of instructions beyond which it falls (``threshold``), or within which it loses 63 % of
            what it loses in the end (``early``); for ``steady``, the share lost per 100 instructions.
        low, high: the ends of the parameter's 95 % interval, over the resamples.
        support: the share of the resamples for which this shape fits best.
    """

    shape: str
    parameter: float
    low: float
    high: float
    support: float


def decay(numbers: Sequence[int], shares: Floats) -> Decay | None:
    """Return the shape that fits best, by least squares and the corrected Akaike criterion.

    Args:
        numbers: the numbers of instructions, in ascending order.
        shares: the share followed at each, with its resamples, shape (1 + resamples, numbers).

    Returns:
        The fit; ``None`` if there are fewer than ``FEWEST`` numbers, a share is missing, or nothing falls.
    """
    known = shares[~np.isnan(shares).any(axis=1)]
    if len(numbers) < FEWEST or np.isnan(shares[0]).any() or shares[0, 0] - shares[0, -1] < FLAT:
        return None
    x = np.asarray(numbers, dtype=np.float64)
    fits = {name: _fit(x, known, basis, searched) for name, (basis, searched) in _SHAPES.items()}
    criteria = np.array([criterion for criterion, _ in fits.values()])
    best = criteria.argmin(axis=0)
    shape = [*_SHAPES][int(best[0])]
    parameters = fits[shape][1]
    low, high = np.percentile(parameters[1:], [2.5, 97.5]) if len(parameters) > 1 else (np.nan, np.nan)
    support = float(np.mean(best[1:] == best[0])) if len(best) > 1 else np.nan
    return Decay(shape, float(parameters[0]), float(low), float(high), support)


def _fit(x: Floats, shares: Floats, basis: Basis, searched: bool) -> tuple[Floats, Floats]:
    """Return the criterion and the parameter of the best curve for each row of shares."""
    tried = np.linspace(x[0], x[-1], GRID, endpoint=False) if searched else np.ones(1)
    deviations = shares - shares.mean(axis=1, keepdims=True)
    errors, slopes = np.empty((2, len(tried), len(shares)))
    for index, parameter in enumerate(tried):
        # The best straight line over the basis.
        centered = basis(x, parameter) - basis(x, parameter).mean()
        spread = float(centered @ centered)
        slopes[index] = deviations @ centered / spread if spread else 0.0
        errors[index] = ((deviations - slopes[index][:, None] * centered) ** 2).sum(axis=1)
    chosen: NDArray[np.intp] = np.argmin(errors, axis=0)
    rows = np.arange(len(shares))
    least = np.maximum(errors[chosen, rows], 1e-12)
    count, free = len(x), 3 + searched  # level, slope and noise; the threshold or rate
    criterion = count * np.log(least / count) + 2 * free + 2 * free * (free + 1) / max(1, count - free - 1)
    return criterion, tried[chosen] if searched else -100 * slopes[chosen, rows]
