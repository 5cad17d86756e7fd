"""Draws curves over a few numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lm_eval_ext.reports.figure import Curves, Series
from lm_eval_ext.reports.page.drawing import scale as scales
from lm_eval_ext.reports.page.drawing.frame import SMALL, WIDTH, Entry, Margins, color, framed, reference_line, whiskers
from lm_eval_ext.reports.page.drawing.lettering import shortened, widest
from lm_eval_ext.reports.page.drawing.palette import LIGHT
from lm_eval_ext.reports.page.drawing.scale import Scale
from lm_eval_ext.reports.wording import magnitude

_HEIGHT = 190.0
_AXIS_NAME = 20.0
_MARKERS = "os^DvPX<>ph*d"
_DASHES = ((4.5, 2.5), (1.5, 2.0), (7.0, 2.0, 1.5, 2.0))
_MOST_BANDS = 3
_DODGE = 4.0
"""Pixels between the intervals of neighboring curves, so that none hides another."""
_MOST_DODGED = 14.0
"""Pixels between the intervals of the first and the last curve."""


def draw(mark: Curves, scale: Scale, heading: Sequence[str]) -> Figure:
    """Return the drawing of curves."""
    labels = [scale.label(tick) for tick in scale.ticks]
    margins = Margins(left=widest(labels, SMALL) + 8, right=10, bottom=37, top=_AXIS_NAME)
    lines = [_line(series, number) for number, series in enumerate(mark.series)]
    legend = [Entry(line, series.name) for line, series in zip(lines, mark.series, strict=True)]
    if mark.reference is not None:
        legend.append(Entry(reference_line([], []), f"{mark.reference_name} ({scale.label(mark.reference)})"))
    figure, axes = framed(heading, legend, margins, _HEIGHT)
    places = [log10(number) for number in mark.x] if mark.logarithmic else [float(number) for number in mark.x]
    names = [magnitude(round(number)) if mark.logarithmic else f"{number:g}" for number in mark.x]
    first, last = min(places, default=0), max(places, default=1)
    room = WIDTH - margins.left - margins.right
    # Half a marker on each side.
    edge = max((last - first) * 12 / room, 1e-6 if last > first else 0.5)
    axes.set(xlim=(first - edge, last + edge), ylim=(scale.low, scale.high), xlabel=shortened(mark.x_axis, SMALL, room))
    axes.set_yticks(list(scale.ticks), labels)
    ticks = _spread(places, names, room)
    axes.set_xticks([place for place, _ in ticks], [name for _, name in ticks])
    # A marker at 0 reaches below the axis.
    axes.tick_params(axis="x", pad=7)
    axes.grid(axis="y")
    axes.text(
        -margins.left / room,
        1 + 8 / _HEIGHT,
        scales.named(mark.axis, mark.unit, SMALL, WIDTH),
        transform=axes.transAxes,
        color=LIGHT["muted"],
        size=SMALL,
    )
    if scale.low < 0:
        axes.axhline(0, color=LIGHT["muted"], linewidth=1, zorder=1.5)
    if mark.reference is not None:
        axes.add_line(reference_line([first - edge, last + edge], [mark.reference] * 2))
    per_pixel = (last - first + 2 * edge) / room
    measured = [series for series in mark.series if any(e.has_interval for e in series.values)]
    for number, (series, line) in enumerate(zip(mark.series, lines, strict=True)):
        shift = 0.0
        if series in measured and len(measured) > _MOST_BANDS:
            shift = (
                (measured.index(series) - (len(measured) - 1) / 2)
                * min(_DODGE, _MOST_DODGED / len(measured))
                * per_pixel
            )
            whiskers(axes, [x + shift for x in places], series.values, color(number), across=False)
        elif series in measured:
            _band(axes, places, series, number)
        points = [(x + shift, e.value) for x, e in zip(places, series.values, strict=True)]
        if mark.logarithmic:
            points = [point for point, e in zip(points, series.values, strict=True) if e.exists]
        line.set_data([x for x, _ in points], [y for _, y in points])
        axes.add_line(line)
    return figure


def _line(series: Series, number: int) -> Line2D:
    """Return a styled curve without values."""
    line = Line2D([], [], color=color(number), linewidth=1.8, zorder=5, clip_on=False)
    if series.dashed:
        line.set(linestyle=(0, _DASHES[number % len(_DASHES)]), dash_capstyle="butt", zorder=4.5)
    else:
        line.set(marker=_MARKERS[number % len(_MARKERS)], markersize=5.5, markeredgewidth=0)
    return line


def _band(axes: Axes, x: Sequence[float], series: Series, number: int) -> None:
    """Shade the interval of a curve; that of a single value is drawn as a line."""
    known = [(place, e) for place, e in zip(x, series.values, strict=True) if e.exists and e.has_interval]
    if len(known) == 1:
        whiskers(axes, x, series.values, color(number), across=False)
        return
    places, estimates = zip(*known, strict=True)
    corners = [*zip(places, (e.low for e in estimates), strict=True)]
    corners += reversed([*zip(places, (e.high for e in estimates), strict=True)])
    (band,) = axes.fill(*zip(*corners, strict=True), color=color(number), alpha=0.16, linewidth=0, zorder=2)
    band.set_clip_on(False)


def _spread(places: Sequence[float], names: Sequence[str], room: float) -> list[tuple[float, str]]:
    """Return the places whose names are written on the axis: those that fit."""
    chosen: list[tuple[float, str]] = []
    span = (max(places, default=1) - min(places, default=0)) or 1
    for place, name in sorted(zip(places, names, strict=True)):
        if not chosen or (place - chosen[-1][0]) / span * room >= widest([name, chosen[-1][1]], SMALL) + 8:
            chosen.append((place, name))
    return chosen
