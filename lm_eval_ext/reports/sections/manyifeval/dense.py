"""Tens to hundreds of instructions at once: how many are followed, which, and where the curve breaks (IFScale)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.manyifeval.schema import DENSE, MIXED, OF_REPORTS, OF_SECTION_TYPES, OF_SECTIONS
from lm_eval_ext.reports.figure import Curves, Figure, HeatMap
from lm_eval_ext.reports.layout import panels, table
from lm_eval_ext.reports.sections.manyifeval.runs import MAP_EACH, by_type, of_kind
from lm_eval_ext.reports.statistics import Floats
from lm_eval_ext.reports.study import OWN, Cells, Study
from lm_eval_ext.results.issue import Issue, note

_SHARES = ("followed", "first third", "middle third", "last third", "primacy")
_WORDS = dict(zip((*_SHARES, "modified", "omitted"), (metric.name for metric in OF_REPORTS), strict=True))
_INSTRUCTIONS = dict(zip((*_SHARES, "broken", "omitted"), (metric.name for metric in OF_SECTIONS), strict=True))
"""The columns of a table and their metrics; the first is drawn with the three thirds after it."""
_THIRDS = "over the whole list and over each third of it. Primacy is the first third's share minus the last third's"
_INTERVALS = (
    "Intervals are 95 % confidence intervals from a bootstrap over the ten subjects; a subject is resampled together "
    "with every length of its list."
)
_TEXTS = {
    "threshold": "level up to {0.parameter:.0f} {1} (95 % interval {0.low:.0f} to {0.high:.0f}), then falling",
    "early": "falls early, by two thirds of its fall within {0.parameter:.0f} {1} (95 % interval {0.low:.0f} to "
    "{0.high:.0f})",
    "steady": "falls steadily, by {0.parameter:.1%} per 100 {1} (95 % interval {0.low:.1%} to {0.high:.1%})",
}
"""What a report says of each shape; the arguments are a ``Decay`` and what lists consist of."""


def dense(study: Study) -> Figure:
    """Return the share of the words of a list that reports contain, against the length of the list."""
    return _against_length(
        study,
        DENSE,
        _WORDS,
        ("words", "share contained"),
        "How many instructions can it hold at once?",
        f"The share of the words of a list that a report contains, against the length of the list; {_THIRDS}: above 0, "
        "what comes first is kept. A word that is missed is either there in another form (modified) or not at all "
        f"(omitted). {_INTERVALS}",
    )


def mixed(study: Study) -> Iterator[Figure]:
    """Yield the share of the instructions about its sections that reports follow, against their number and by type."""
    yield _against_length(
        study,
        MIXED,
        _INSTRUCTIONS,
        ("instructions", "share followed"),
        "How many instructions about its sections can it hold at once?",
        "The share of the instructions of a list that the sections of a report follow, against the length of the list; "
        f"{_THIRDS}. The list is shuffled, so that a place in it says nothing about the section's place in the report. "
        "An instruction that is missed belongs to a section that is there (broken) or that the report lacks (omitted). "
        f"{_INTERVALS}",
    )
    entries = [
        entry.with_facts(type=entry["type"].removeprefix("section acc ").removeprefix("section "))
        for entry in by_type(of_kind(study, MIXED))
    ]
    cells = study.means(entries, ("model", "type", "instructions"), {"followed": OWN})
    yield Figure(
        "manyifeval_mixed_types",
        "Which instructions about its sections does it follow?",
        "The share of the instructions of each type that sections follow, by the number of instructions in the list. "
        f"{_INTERVALS}",
        panels(cells, HeatMap, "type", "instructions", ("model",), axis="followed")
        if len(cells.values("model")) <= MAP_EACH
        else (),
        table(cells.wide("instructions", heading="n = {instructions}"), ("model", "type")),
        metrics=tuple(OF_SECTION_TYPES.values()),
    )


def _against_length(  # noqa: PLR0913, PLR0917 # what the two figures differ in
    study: Study, kind: str, columns: Mapping[str, str], names: tuple[str, str], title: str, reading: str
) -> Figure:
    unit, axis = names
    cells = study.means(of_kind(study, kind), ("model", "instructions"), columns)
    options: dict[str, Any] = {"x_axis": unit, "axis": axis, "logarithmic": True}
    return Figure(
        f"manyifeval_{kind}",
        title,
        reading,
        panels(cells.only(list(columns)[:4]), Curves, "instructions", by=("model",), **options),
        table(cells, {"model": "", "instructions": unit}),
        tuple(_issues(cells, unit)),
        tuple(columns.values()),
    )


def _issues(cells: Cells, unit: str) -> Iterator[Issue]:
    """Yield where the curve of each model breaks."""
    for (model,), part in cells.split("model"):
        found = decay(part.values("instructions"), np.array([line["followed"] for line in part.lines.values()]).T)
        if found is not None:
            text = f"{_TEXTS[found.shape].format(found, unit)}, the best fit in {found.support:.0%} of resamples"
            yield note(f"{model}: {text}")


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
SHAPES = tuple(_SHAPES)


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
    shape = SHAPES[int(best[0])]
    parameters = fits[shape][1]
    low, high = np.percentile(parameters[1:], [2.5, 97.5]) if len(parameters) > 1 else (np.nan, np.nan)
    support = float(np.mean(best[1:] == best[0])) if len(best) > 1 else np.nan
    return Decay(shape, float(parameters[0]), float(low), float(high), support)


def _fit(x: Floats, shares: Floats, basis: Basis, searched: bool) -> tuple[Floats, Floats]:
    """Return the criterion and the parameter of the best curve for each row of shares."""
    tried = np.linspace(x[0], x[-1], GRID, endpoint=False) if searched else np.ones(1)
    errors, slopes = zip(*(_line(basis(x, parameter), shares) for parameter in tried), strict=True)
    chosen: NDArray[np.intp] = np.argmin(errors, axis=0)
    rows = np.arange(len(shares))
    least = np.maximum(np.array(errors)[chosen, rows], 1e-12)
    count, free = len(x), 3 + searched  # level, slope and noise; the threshold or rate
    criterion = count * np.log(least / count) + 2 * free + 2 * free * (free + 1) / max(1, count - free - 1)
    parameter = tried[chosen] if searched else -100 * np.array(slopes)[chosen, rows]
    return criterion, parameter


def _line(basis: Floats, shares: Floats) -> tuple[Floats, Floats]:
    """Return the squared error of the best straight line over a basis, and its slope, for each row of shares."""
    centered = basis - basis.mean()
    spread = float(centered @ centered)
    deviations = shares - shares.mean(axis=1, keepdims=True)
    slope = deviations @ centered / spread if spread else np.zeros(len(shares))
    return ((deviations - slope[:, None] * centered) ** 2).sum(axis=1), slope
