"""Draws grouped horizontal bars, each with its value at the right edge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isnan

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from lm_eval_ext.reports.figure import Bars
from lm_eval_ext.reports.page.drawing import scale as scales
from lm_eval_ext.reports.page.drawing.frame import (
    SMALL,
    TEXT,
    WIDTH,
    Entry,
    Margins,
    color,
    framed,
    reference_line,
    whiskers,
)
from lm_eval_ext.reports.page.drawing.lettering import told_apart, widest, wrapped
from lm_eval_ext.reports.page.drawing.palette import LIGHT, SERIES
from lm_eval_ext.reports.page.drawing.scale import Scale
from lm_eval_ext.reports.page.drawing.svg import HATCHES
from lm_eval_ext.reports.wording import figure as shown

_PITCH, _THICKNESS, _GAP = 14.0, 11.0, 8.0
_LABEL_ROOM = 118.0
_LABEL_LINE = 12.5
_LIGHTER = 0.4
_PATTERNS = (None, *HATCHES)


def draw(mark: Bars, scale: Scale, heading: Sequence[str]) -> Figure:
    """Return the drawing of bars."""
    thick = len(mark.series) * _PITCH
    lines = max(2, min(3, int((thick + _GAP) // _LABEL_LINE)))
    labels = told_apart(mark.categories, lambda category: wrapped(category, TEXT, _LABEL_ROOM, lines))
    group = max(thick, max(map(len, labels), default=1) * _LABEL_LINE) + _GAP
    height = group * max(1, len(labels))
    numbers = [[shown(estimate.value, mark.unit) for estimate in series.values] for series in mark.series]
    margins = Margins(
        left=widest((line for label in labels for line in label), TEXT) + 8,
        # The values have their own column, which no bar reaches.
        right=widest((number for column in numbers for number in column), SMALL) + 14,
        bottom=34,
    )
    figure, axes = framed(heading, _legend(mark, scale), margins, height)
    inside = WIDTH - margins.left - margins.right
    axes.set(xlim=(scale.low, scale.high), ylim=(height, 0), xlabel=scales.named(mark.axis, mark.unit, SMALL, inside))
    axes.set_xticks(list(scale.ticks), [scale.label(tick) for tick in scale.ticks])
    axes.set_yticks([])
    axes.grid(axis="x")
    beside = axes.get_yaxis_transform()
    for number, label in enumerate(labels):
        place = group * (number + 0.5)
        axes.text(-7 / inside, place, "\n".join(label), transform=beside, ha="right", va="center", linespacing=1.0)
    for number, series in enumerate(mark.series):
        first = (group - thick) / 2 + (number + 0.5) * _PITCH
        places = [first + group * category for category in range(len(labels))]
        _draw_series(axes, mark, number, places)
        whiskers(axes, places, series.values, LIGHT["ink"], across=True)
        for place, text in zip(places, numbers[number], strict=True):
            axes.text(
                1 + (margins.right - 1) / inside, place, text, transform=beside, ha="right", va="center", size=SMALL
            )
    axes.add_line(Line2D([0, 0], [0, height], color=LIGHT["muted"], linewidth=1, zorder=3, clip_on=False))
    if mark.reference is not None:
        axes.add_line(reference_line([mark.reference] * 2, [0, height]))
    return figure


def _draw_series(axes: Axes, mark: Bars, number: int, places: Sequence[float]) -> None:
    values = [estimate.value if estimate.exists else 0.0 for estimate in mark.series[number].values]
    parts = mark.series[number].parts or (0.0,) * len(values)
    # An unknown part counts as 0.
    starts = [value - (0.0 if isnan(part) else part) for value, part in zip(values, parts, strict=True)]
    for lighter, spans in (
        (False, zip([0.0] * len(values), starts, strict=True)),
        (True, zip(starts, values, strict=True)),
    ):
        if path := _rectangles(spans, places):
            axes.add_patch(_look(PathPatch(path, clip_on=False, zorder=2), number, lighter=lighter))


def _rectangles(spans: Iterable[tuple[float, float]], places: Sequence[float]) -> Path | None:
    """Return all bars of a series as one path."""
    corners: list[tuple[float, float]] = []
    for (start, end), place in zip(spans, places, strict=True):
        if start != end:
            top, bottom = place - _THICKNESS / 2, place + _THICKNESS / 2
            corners += [(start, top), (end, top), (end, bottom), (start, bottom), (start, top)]
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(corners, codes * (len(corners) // 5)) if corners else None


def _look(patch: Patch, number: int, *, lighter: bool) -> Patch:
    """Return a bar in the color and the pattern of its series."""
    # When the colors repeat, the patterns move on by one.
    pattern = None if lighter else _PATTERNS[(number + number // SERIES) % len(_PATTERNS)]
    patch.set(facecolor=color(number), linewidth=0, alpha=_LIGHTER if lighter else None)
    if pattern:
        # The pattern takes the color of the edge, which is not drawn itself.
        patch.set(hatch=pattern, edgecolor=LIGHT["paper"])
    return patch


def _legend(mark: Bars, scale: Scale) -> list[Entry]:
    """Return the legend; a single series without a name needs none."""
    entries = [
        Entry(_look(Patch(), number, lighter=False), series.name)
        for number, series in enumerate(mark.series)
        if series.name and (len(mark.series) > 1 or series.parts or series.name != mark.axis)
    ]
    if mark.part and any(series.parts for series in mark.series):
        swatch = _look(Patch(), 0, lighter=True)
        if len(mark.series) > 1:
            swatch.set_facecolor(LIGHT["muted"])
        entries.append(Entry(swatch, mark.part))
    if mark.reference is not None:
        entries.append(Entry(reference_line([], []), f"{mark.reference_name} ({scale.label(mark.reference)})"))
    return entries
