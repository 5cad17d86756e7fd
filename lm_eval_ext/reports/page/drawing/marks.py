"""Draws what a panel shows: bars, curves, values with intervals, or colored cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil, isnan, log10

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch
from matplotlib.path import Path

from lm_eval_ext.reports.figure import Bars, Curves, Estimate, Forest, HeatMap, Mark, Series, Unit, estimates
from lm_eval_ext.reports.page.drawing.frame import (
    ELLIPSIS,
    SMALL,
    TEXT,
    Legend,
    Scale,
    Sheet,
    boxes,
    color,
    framed,
    named,
    reference_line,
    shortened,
    told_apart,
    whiskers,
    widest,
    width,
    wrapped,
)
from lm_eval_ext.reports.page.drawing.palette import INK, LIGHT, SERIES, SHADES
from lm_eval_ext.reports.page.drawing.svg import HATCHES
from lm_eval_ext.reports.wording import figure as shown
from lm_eval_ext.reports.wording import magnitude

_LINE = 12.5
"""The height of a line of a label."""


def draw(mark: Mark, sheet: Sheet) -> Drawing:
    """Return the drawing of a panel."""
    if isinstance(mark, Bars):
        return _bars(mark, sheet)
    if isinstance(mark, Curves):
        return _curves(mark, sheet)
    if isinstance(mark, Forest):
        return _forest(mark, sheet)
    return _heat_map(mark, sheet)


# Values from left to right, each with its label on the left and its number at the right edge.


@dataclass(frozen=True)
class _Across:
    """A plot area whose values run from left to right.

    Attributes:
        axes: the plot area; from top to bottom, a unit is a pixel.
        unit: the unit of the values.
        inside, right: the widths of the plot area, and of the numbers' own column, which no value reaches.
    """

    axes: Axes
    unit: Unit
    inside: float
    right: float

    def label(self, place: float, lines: Sequence[str]) -> None:
        """Write a label on the left."""
        text = "\n".join(lines)
        beside = self.axes.get_yaxis_transform()
        self.axes.text(-7 / self.inside, place, text, transform=beside, ha="right", va="center", linespacing=1.0)

    def numbers(self, places: Sequence[float], values: Sequence[Estimate]) -> None:
        """Write numbers at the right edge."""
        edge, beside = 1 + (self.right - 1) / self.inside, self.axes.get_yaxis_transform()
        for place, value in zip(places, values, strict=True):
            number = shown(value.value, self.unit)
            self.axes.text(edge, place, number, transform=beside, ha="right", va="center", size=SMALL)

    def zero(self, height: float) -> None:
        """Draw the line from which values are counted."""
        self.axes.add_artist(Line2D([0, 0], [0, height], color=LIGHT["muted"], linewidth=1, zorder=3, clip_on=False))


def _across(
    mark: Bars | Forest, sheet: Sheet, legend: Legend, labels: Sequence[Sequence[str]], height: float
) -> tuple[Drawing, _Across]:
    scale = sheet.scale
    left = widest((line for label in labels for line in label), TEXT) + 8
    right = widest((shown(estimate.value, mark.unit) for estimate in estimates(mark)), SMALL) + 14
    drawing, axes = framed(sheet, legend, height, left=left, right=right, bottom=34)
    inside = sheet.width - left - right
    axes.set(xlim=(scale.low, scale.high), ylim=(height, 0), xlabel=named(mark.axis, mark.unit, inside))
    axes.set_xticks(list(scale.ticks), [scale.label(tick) for tick in scale.ticks])
    axes.set_yticks([])
    axes.grid(axis="x")
    return drawing, _Across(axes, mark.unit, inside, right)


_BAR_PITCH, _THICKNESS, _GAP = 14.0, 11.0, 8.0
_LABEL_ROOM = 0.36
"""The most of its width that a drawing has for the labels on its left."""
_LIGHTER = 0.4
_PATTERNS = (None, *HATCHES)


def _bars(mark: Bars, sheet: Sheet) -> Drawing:
    thick = len(mark.series) * _BAR_PITCH
    lines = max(2, min(3, int((thick + _GAP) // _LINE)))
    labels = told_apart(mark.categories, lambda category: wrapped(category, TEXT, sheet.width * _LABEL_ROOM, lines))
    group = max(thick, max(map(len, labels), default=1) * _LINE) + _GAP
    height = group * max(1, len(labels))
    looks = sheet.looks_of(mark.series)
    drawing, area = _across(mark, sheet, _bar_legend(mark, sheet.scale, looks), labels, height)
    for number, label in enumerate(labels):
        area.label(group * (number + 0.5), label)
    for number, series in enumerate(mark.series):
        first = (group - thick) / 2 + (number + 0.5) * _BAR_PITCH
        places = [first + group * category for category in range(len(labels))]
        _draw_bars(area.axes, series, looks[number], places)
        whiskers(area.axes, places, series.values, LIGHT["ink"], across=True)
        area.numbers(places, series.values)
    area.zero(height)
    if mark.reference is not None:
        area.axes.add_artist(reference_line([mark.reference] * 2, [0, height]))
    return drawing


def _draw_bars(axes: Axes, series: Series, number: int, places: Sequence[float]) -> None:
    values = [estimate.value if estimate.exists else 0.0 for estimate in series.values]
    parts = series.parts or (0.0,) * len(values)
    # An unknown part counts as 0.
    starts = [value - (0.0 if isnan(part) else part) for value, part in zip(values, parts, strict=True)]
    for lighter, spans in (
        (False, zip([0.0] * len(values), starts, strict=True)),
        (True, zip(starts, values, strict=True)),
    ):
        bars = [
            (start, place - _THICKNESS / 2, end, place + _THICKNESS / 2)
            for (start, end), place in zip(spans, places, strict=True)
            if start != end
        ]
        if bars:
            axes.add_artist(_look(PathPatch(boxes(bars), clip_on=False, zorder=2), number, lighter=lighter))


def _look(patch: Patch, number: int, *, lighter: bool) -> Patch:
    """Return a bar in the color and the pattern of its series."""
    # When the colors repeat, the patterns move on by one.
    pattern = None if lighter else _PATTERNS[(number + number // SERIES) % len(_PATTERNS)]
    patch.set(facecolor=color(number), linewidth=0, alpha=_LIGHTER if lighter else None)
    if pattern:
        # The pattern takes the color of the edge, which is not drawn itself.
        patch.set(hatch=pattern, edgecolor=LIGHT["paper"])
    return patch


def _bar_legend(mark: Bars, scale: Scale, looks: Sequence[int]) -> Legend:
    """Return the legend; a single series without a name needs none."""
    entries = [
        (_look(Patch(), number, lighter=False), series.name)
        for number, series in zip(looks, mark.series, strict=True)
        if series.name and (len(mark.series) > 1 or series.parts or series.name != mark.axis)
    ]
    if mark.part and any(series.parts for series in mark.series):
        swatch = _look(Patch(), looks[0], lighter=True)
        if len(mark.series) > 1:
            swatch.set_facecolor(LIGHT["muted"])
        entries.append((swatch, mark.part))
    return [*entries, *_reference_entry(mark, scale)]


def _reference_entry(mark: Bars | Curves, scale: Scale) -> Legend:
    if mark.reference is None:
        return []
    return [(reference_line([], []), f"{mark.reference_name} ({scale.label(mark.reference)})")]


_FOREST_PITCH = 20.0
_SIDE = 7.0


def _forest(mark: Forest, sheet: Sheet) -> Drawing:
    labels = told_apart(mark.categories, lambda category: wrapped(category, TEXT, sheet.width * _LABEL_ROOM, 2))
    pitch = max(_FOREST_PITCH, max(map(len, labels), default=1) * _LINE + 4)
    height = pitch * max(1, len(labels))
    drawing, area = _across(mark, sheet, [], labels, height)
    places = [pitch * (number + 0.5) for number in range(len(labels))]
    area.zero(height)
    whiskers(area.axes, places, mark.values, LIGHT["ink"], across=True)
    for label, place in zip(labels, places, strict=True):
        area.label(place, label)
    area.numbers(places, mark.values)
    down = _SIDE / 2
    # A pixel in units of the values.
    across = down * (sheet.scale.high - sheet.scale.low) / area.inside
    squares = [
        (estimate.value - across, place - down, estimate.value + across, place + down)
        for estimate, place in zip(mark.values, places, strict=True)
        if estimate.exists
    ]
    if squares:
        area.axes.add_artist(PathPatch(boxes(squares), facecolor=color(0), linewidth=0, clip_on=False, zorder=5))
    return drawing


_LOWEST, _FLATTEST = 190.0, 0.3
"""The least height of a plot area of curves, in pixels and as a share of its width."""
_AXIS_NAME = 20.0
_MARKERS = "os^DvPX<>ph*d"
_DASHES = ((4.5, 2.5), (1.5, 2.0), (7.0, 2.0, 1.5, 2.0))
_DODGE = 4.0
"""Pixels between the intervals of neighboring curves, so that none hides another."""
_MOST_DODGED = 14.0
"""Pixels between the intervals of the first and the last curve."""


def _curves(mark: Curves, sheet: Sheet) -> Drawing:
    scale, looks = sheet.scale, sheet.looks_of(mark.series)
    height = max(_LOWEST, sheet.width * _FLATTEST)
    labels = [scale.label(tick) for tick in scale.ticks]
    left, right = widest(labels, SMALL) + 8, 10.0
    lines = [_line(series, number) for number, series in zip(looks, mark.series, strict=True)]
    legend = [*zip(lines, (series.name for series in mark.series), strict=True), *_reference_entry(mark, scale)]
    drawing, axes = framed(sheet, legend, height, left=left, right=right, bottom=37, top=_AXIS_NAME)
    places = [log10(number) for number in mark.x] if mark.logarithmic else [float(number) for number in mark.x]
    names = [magnitude(round(number)) if mark.logarithmic else f"{number:g}" for number in mark.x]
    first, last = min(places, default=0), max(places, default=1)
    room = sheet.width - left - right
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
        -left / room,
        1 + 8 / height,
        named(mark.axis, mark.unit, sheet.width),
        transform=axes.transAxes,
        color=LIGHT["muted"],
        size=SMALL,
    )
    if scale.low < 0:
        axes.axhline(0, color=LIGHT["muted"], linewidth=1, zorder=1.5)
    if mark.reference is not None:
        axes.add_artist(reference_line([first - edge, last + edge], [mark.reference] * 2))
    per_pixel = (last - first + 2 * edge) / room
    measured = [series for series in mark.series if any(e.has_interval for e in series.values)]
    for number, series, line in zip(looks, mark.series, lines, strict=True):
        shift = 0.0
        if series in measured:
            from_middle = measured.index(series) - (len(measured) - 1) / 2
            shift = from_middle * min(_DODGE, _MOST_DODGED / len(measured)) * per_pixel
            whiskers(axes, [x + shift for x in places], series.values, color(number), across=False)
        points = [(x + shift, e.value) for x, e in zip(places, series.values, strict=True)]
        titles = [
            sheet.said(estimate, series.name, f"{mark.x_axis} {name}")
            for name, estimate in zip(names, series.values, strict=True)
            if estimate.exists
        ]
        line.set_gid("\n".join(titles))
        if mark.logarithmic:
            points = [point for point, e in zip(points, series.values, strict=True) if e.exists]
        line.set_data([x for x, _ in points], [y for _, y in points])
        axes.add_artist(line)
    return drawing


def _line(series: Series, number: int) -> Line2D:
    """Return a styled curve without values."""
    line = Line2D([], [], color=color(number), linewidth=1.8, zorder=5, clip_on=False)
    if series.dashed:
        line.set(linestyle=(0, _DASHES[number % len(_DASHES)]), dash_capstyle="butt", zorder=4.5)
    else:
        line.set(marker=_MARKERS[number % len(_MARKERS)], markersize=5.5, markeredgewidth=0)
    return line


def _spread(places: Sequence[float], names: Sequence[str], room: float) -> list[tuple[float, str]]:
    """Return the places whose names are written on the axis: those that fit."""
    chosen: list[tuple[float, str]] = []
    span = (max(places, default=1) - min(places, default=0)) or 1
    for place, name in sorted(zip(places, names, strict=True)):
        if not chosen or (place - chosen[-1][0]) / span * room >= widest([name, chosen[-1][1]], SMALL) + 8:
            chosen.append((place, name))
    return chosen


_LABEL_ROOMS = ((0.38, 2), (0.26, 3))
"""The limits for row names: shares of the width, and lines."""
_CELL = 23.0
_NARROWEST_CELL = 20.0
_AROUND = 2.0
"""The least horizontal padding of a cell around its number, in pixels."""
_UPRIGHT_ROOM = 116.0
_WIDEST_CELL = 0.22
"""As a share of the width of the drawing."""
_KEY, _KEY_LINE = 24.0, 13.0
_Cell = tuple[float, float, str, str]
"""Its place, its number, and what this tells."""


def _heat_map(mark: HeatMap, sheet: Sheet) -> Drawing:
    """Return the drawing of cells; columns that do not fit are stacked in blocks."""
    texts = [shown(estimate.value, mark.unit, 0) for row in mark.values for estimate in row]
    narrowest = max(widest(texts, SMALL) + _AROUND, _NARROWEST_CELL)
    layouts = []
    for share, lines in _LABEL_ROOMS:
        labels = told_apart(mark.rows, partial(wrapped, size=TEXT, room=sheet.width * share, lines=lines))
        left = widest((line for label in labels for line in label), TEXT) + 8
        layouts.append((max(1, ceil(len(mark.columns) * narrowest / (sheet.width - left))), lines, labels, left))
    # Row names are narrowed only if that saves a block.
    blocks, _, labels, left = min(layouts, key=lambda layout: layout[:2])
    tall = max(_CELL, max(map(len, labels), default=1) * _LINE + 3)
    columns = max(1, ceil(len(mark.columns) / blocks))
    wide = min(sheet.width * _WIDEST_CELL, (sheet.width - left) / columns)
    names, upright, above = _column_names(mark.columns, wide)
    block = above + len(labels) * tall
    height = blocks * block + (blocks - 1) * 12
    # One unit is one pixel, from the top left.
    key = _KEY if mark.higher_is_better is None else _KEY + _KEY_LINE
    drawing, axes = framed(sheet, [], key + height, left=0, right=0, bottom=2)
    axes.set(xlim=(0, sheet.width), ylim=(key + height, 0))
    axes.set_axis_off()
    _draw_key(axes, mark, sheet)
    cells: dict[str, list[_Cell]] = {}
    for number, name in enumerate(names):
        x = left + wide * (number % columns + 0.5)
        y = key + (number // columns) * (block + 12) + above
        axes.text(
            x,
            y - 5,
            "\n".join(name),
            rotation=90 if upright else 0,
            ha="center",
            va="bottom",
            size=SMALL,
            linespacing=1.08,
        )
        for row, values in enumerate(mark.values):
            title = sheet.said(values[number], mark.rows[row], mark.columns[number])
            cell = (x - wide / 2, y + row * tall, shown(values[number].value, mark.unit, 0), title)
            cells.setdefault(_role(values[number], mark, sheet.scale), []).append(cell)
    for role, alike in sorted(cells.items()):
        _draw_cells(axes, alike, role, (wide, tall))
    for start in range(blocks):
        for row, label in enumerate(labels):
            y = key + start * (block + 12) + above + (row + 0.5) * tall
            axes.text(left - 7, y, "\n".join(label), ha="right", va="center", linespacing=1.0)
    return drawing


def _column_names(columns: Sequence[str], wide: float) -> tuple[list[list[str]], bool, float]:
    """Return the lines of the column names, whether they are vertical, and their height."""
    lying = [wrapped(column, SMALL, wide - 4, 3) for column in columns]
    if not any(ELLIPSIS in line for lines in lying for line in lines):
        return lying, False, max(map(len, lying), default=1) * _LINE + 7
    most = max(1, int(wide // _LINE))
    upright = told_apart(columns, lambda column: wrapped(column, SMALL, _UPRIGHT_ROOM, most))
    return upright, True, widest((line for lines in upright for line in lines), SMALL) + 10


_LEAST_CHANGE = 0.1
"""The least change that has the darkest color."""


def _role(estimate: Estimate, mark: HeatMap, scale: Scale) -> str:
    """Return the color of a value."""
    if not estimate.exists:
        return "missing"
    low, high = _ends(mark, scale)
    return _roles(mark)[max(0, min(SHADES - 1, int((estimate.value - low) / (high - low) * SHADES)))]


def _ends(mark: HeatMap, scale: Scale) -> tuple[float, float]:
    """Return the ends of the color scale: of changes symmetric around 0, so that the middle color means no change."""
    # A change of a point or two is not as dark as if it were large.
    furthest = max(abs(scale.low), abs(scale.high), _LEAST_CHANGE)
    return (-furthest, furthest) if mark.unit == "change" else (scale.low, scale.high)


def _roles(mark: HeatMap) -> list[str]:
    """Return the colors of the levels, from the lowest values to the highest."""
    if mark.unit == "change":
        # From better to worse.
        levels = range(SHADES) if mark.higher_is_better is False else reversed(range(SHADES))
        return [f"change{level}" for level in levels]
    name = {True: "good", False: "bad", None: "plain"}[mark.higher_is_better]
    return [f"{name}{level}" for level in range(SHADES)]


def _draw_cells(axes: Axes, cells: Sequence[_Cell], role: str, size: tuple[float, float]) -> None:
    """Draw the cells of one color, then all of their numbers; the SVG is smaller that way."""
    wide, tall = size
    path = _cells(((x, y) for x, y, *_ in cells), wide, tall)
    axes.add_artist(PathPatch(path, facecolor=LIGHT[role], linewidth=0, zorder=0.5))
    ink = "muted" if role == "missing" else f"{role}{INK}"
    write = partial(axes.text, ha="center", va="center", size=SMALL, color=LIGHT[ink], label=ink)
    for x, y, number, title in cells:
        write(x + wide / 2, y + tall / 2, number, gid=title)


def _cells(corners: Iterable[tuple[float, float]], wide: float, tall: float) -> Path:
    """Return cells as one path, with the background showing between them."""
    gap = 1.0
    return boxes([(x, y, x + wide - gap, y + tall - gap) for x, y in corners])


def _draw_key(axes: Axes, mark: HeatMap, sheet: Sheet) -> None:
    """Draw the color scale, and say what it is of and which end is good."""
    ends = [sheet.scale.label(end) for end in _ends(mark, sheet.scale)]
    swatch = 12.0
    taken = SHADES * swatch + sum(width(end, SMALL) for end in ends) + 26
    write = partial(axes.text, va="center", size=SMALL, color=LIGHT["muted"])
    better = "" if mark.higher_is_better is None else f"{'higher' if mark.higher_is_better else 'lower'} is better"
    room, below = sheet.width - taken, sheet.width - width(better, SMALL) - 10
    whole = named(mark.axis, mark.unit, below)
    if better and named(mark.axis, mark.unit, room) != whole:
        # A name that is too long to stand beside the scale has more room below it.
        write(0, 9 + _KEY_LINE, whole)
    else:
        write(0, 9, named(mark.axis, mark.unit, room))
    right = sheet.width - width(ends[1], SMALL) - 1
    start = right - 5 - SHADES * swatch
    write(start - 5, 9, ends[0], ha="right")
    write(sheet.width - 1, 9, ends[1], ha="right")
    if better:
        write(sheet.width - 1, 9 + _KEY_LINE, better, ha="right")
    for level, role in enumerate(_roles(mark)):
        corner = [(start + level * swatch, 4.0)]
        axes.add_artist(PathPatch(_cells(corner, swatch + 1, 11), facecolor=LIGHT[role], linewidth=0))
