"""Draws a colored cell with its number for each row and column."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import ceil

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from lm_eval_ext.reports.figure import Estimate, HeatMap
from lm_eval_ext.reports.page.drawing import scale as scales
from lm_eval_ext.reports.page.drawing.frame import SMALL, TEXT, WIDTH, Margins, framed
from lm_eval_ext.reports.page.drawing.lettering import ELLIPSIS, told_apart, widest, width, wrapped
from lm_eval_ext.reports.page.drawing.palette import LEVELS, LIGHT
from lm_eval_ext.reports.page.drawing.scale import Scale
from lm_eval_ext.reports.wording import figure as shown

_LABEL_ROOMS = ((128.0, 2), (90.0, 3))
"""The limits for row names: pixels, and lines."""
_LINE = 12.5
_CELL = 23.0
_NARROWEST_CELL = 20.0
_AROUND = 4.0
"""The least horizontal padding of a cell around its number, in pixels."""
_UPRIGHT_ROOM = 116.0
_WIDEST_CELL = 76.0
_KEY = 30.0
_Cell = tuple[float, float, str]
"""Its top left corner, and its number."""


def draw(mark: HeatMap, scale: Scale, heading: Sequence[str]) -> Figure:
    """Return the drawing of cells; columns that do not fit are stacked in blocks."""
    texts = [shown(estimate.value, mark.unit, 0) for row in mark.values for estimate in row]
    narrowest = max(widest(texts, SMALL) + _AROUND, _NARROWEST_CELL)
    # Row names are narrowed only if that saves a block.
    blocks, _, labels, left = min(
        (
            (max(1, ceil(len(mark.columns) * narrowest / (WIDTH - left))), lines, labels, left)
            for room, lines in _LABEL_ROOMS
            for labels in [told_apart(mark.rows, partial(wrapped, size=TEXT, room=room, lines=lines))]
            for left in [widest((line for label in labels for line in label), TEXT) + 8]
        ),
        key=lambda candidate: candidate[:2],
    )
    tall = max(_CELL, max(map(len, labels), default=1) * _LINE + 3)
    columns = max(1, ceil(len(mark.columns) / blocks))
    wide = min(_WIDEST_CELL, (WIDTH - left) / columns)
    names, upright, above = _column_names(mark.columns, wide)
    block = above + len(labels) * tall
    height = blocks * block + (blocks - 1) * 12
    # One unit is one pixel, from the top left.
    figure, axes = framed(heading, [], Margins(left=0, right=0, bottom=2), _KEY + height)
    axes.set(xlim=(0, WIDTH), ylim=(_KEY + height, 0))
    axes.set_axis_off()
    _draw_key(axes, mark, scale)
    cells: dict[str, list[_Cell]] = {}
    for number, name in enumerate(names):
        x = left + wide * (number % columns + 0.5)
        y = _KEY + (number // columns) * (block + 12) + above
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
            cell = (x - wide / 2, y + row * tall, shown(values[number].value, mark.unit, 0))
            cells.setdefault(_role(values[number], mark, scale), []).append(cell)
    for role, alike in sorted(cells.items()):
        _draw_cells(axes, alike, role, (wide, tall))
    for start in range(blocks):
        for row, label in enumerate(labels):
            y = _KEY + start * (block + 12) + above + (row + 0.5) * tall
            axes.text(left - 7, y, "\n".join(label), ha="right", va="center", linespacing=1.0)
    return figure


def _column_names(columns: Sequence[str], wide: float) -> tuple[list[list[str]], bool, float]:
    """Return the lines of the column names, whether they are vertical, and their height."""
    lying = [wrapped(column, SMALL, wide - 4, 3) for column in columns]
    if not any(ELLIPSIS in line for lines in lying for line in lines):
        return lying, False, max(map(len, lying), default=1) * _LINE + 7
    most = max(1, int(wide // _LINE))
    upright = told_apart(columns, lambda column: wrapped(column, SMALL, _UPRIGHT_ROOM, most))
    return upright, True, widest((line for lines in upright for line in lines), SMALL) + 10


def _role(estimate: Estimate, mark: HeatMap, scale: Scale) -> str:
    """Return the color of a value."""
    if not estimate.exists:
        return "missing"
    if mark.unit == "change":
        # Symmetric around 0, so that the middle color means no change.
        furthest = max(abs(scale.low), abs(scale.high))
        return f"change{_level(estimate.value / furthest / 2 + 0.5)}"
    return f"heat{_level((estimate.value - scale.low) / (scale.high - scale.low))}"


def _level(share: float) -> int:
    return max(0, min(LEVELS - 1, int(share * LEVELS)))


def _draw_cells(axes: Axes, cells: Sequence[_Cell], role: str, size: tuple[float, float]) -> None:
    """Draw the cells of one color, then all of their numbers; the SVG is smaller that way."""
    wide, tall = size
    path = _rectangles([(x, y) for x, y, _ in cells], wide, tall)
    axes.add_patch(PathPatch(path, facecolor=LIGHT[role], linewidth=0, zorder=0.5))
    ink = LIGHT["muted" if role == "missing" else f"{role}-ink"]
    for x, y, number in cells:
        axes.text(x + wide / 2, y + tall / 2, number, ha="center", va="center", size=SMALL, color=ink)


def _rectangles(corners: Sequence[tuple[float, float]], wide: float, tall: float) -> Path:
    """Return rectangles as one path, with the background showing between them."""
    gap = 1.0
    points = [
        point
        for x, y in corners
        for point in ((x, y), (x + wide - gap, y), (x + wide - gap, y + tall - gap), (x, y + tall - gap), (x, y))
    ]
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(points, codes * len(corners))


def _draw_key(axes: Axes, mark: HeatMap, scale: Scale) -> None:
    """Draw the color scale."""
    furthest = max(abs(scale.low), abs(scale.high))
    low, high = (-furthest, furthest) if mark.unit == "change" else (scale.low, scale.high)
    name = "change" if mark.unit == "change" else "heat"
    ends = scale.label(low), scale.label(high)
    swatch = 12.0
    taken = LEVELS * swatch + sum(width(end, SMALL) for end in ends) + 26
    axes.text(
        0, 9, scales.named(mark.axis, mark.unit, SMALL, WIDTH - taken), va="center", size=SMALL, color=LIGHT["muted"]
    )
    right = WIDTH - width(ends[1], SMALL) - 1
    start = right - 5 - LEVELS * swatch
    axes.text(start - 5, 9, ends[0], ha="right", va="center", size=SMALL, color=LIGHT["muted"])
    axes.text(WIDTH - 1, 9, ends[1], ha="right", va="center", size=SMALL, color=LIGHT["muted"])
    for level in range(LEVELS):
        corner = [(start + level * swatch, 4.0)]
        axes.add_patch(PathPatch(_rectangles(corner, swatch + 1, 11), facecolor=LIGHT[f"{name}{level}"], linewidth=0))
