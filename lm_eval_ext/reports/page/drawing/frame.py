"""What every drawing has: a heading when it stands alone, a legend, and the plot area."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.page.drawing.lettering import shortened, told_apart, widest, wrapped
from lm_eval_ext.reports.page.drawing.palette import LIGHT, SERIES

WIDTH = 340
"""The width of a drawing in pixels; it fits on a phone."""
TEXT, SMALL = 11.0, 10.5
"""Text sizes in pixels."""
_HEADING, _HEADING_LINE = 12.0, 16.0
_LEGEND_LINE = 15.5
_HANDLE, _HANDLE_GAP, _COLUMN_GAP = 18.0, 5.0, 14.0


@dataclass(frozen=True)
class Entry:
    """An entry of a legend.

    Attributes:
        handle: its symbol.
        name: what it stands for.
    """

    handle: Artist
    name: str


@dataclass(frozen=True)
class Margins:
    """The margins around the plot area, in pixels."""

    left: float
    right: float
    bottom: float
    top: float = 4.0


def color(series: int) -> str:
    """Return the color of a series by its position."""
    return LIGHT[f"series{series % SERIES}"]


def framed(heading: Sequence[str], legend: Sequence[Entry], margins: Margins, height: float) -> tuple[Figure, Axes]:
    """Return an empty drawing.

    Args:
        heading: paragraphs above it; the first is bold.
        legend: the entries of the legend.
        margins: the margins around the plot area.
        height: the height of the plot area in pixels.
    """
    heading_lines = [
        # Bold characters are wider.
        (line, number == 0)
        for number, text in enumerate(heading)
        for line in wrapped(text, _HEADING, WIDTH / (1.15 if number == 0 else 1), 3)
    ]
    columns, legend_height = _legend_layout(legend)
    above = len(heading_lines) * _HEADING_LINE + (6.0 if heading_lines else 0.0)
    total = ceil(above + legend_height + margins.top + height + margins.bottom)
    figure = Figure(figsize=(WIDTH / 72, total / 72), dpi=72, facecolor=LIGHT["paper"])
    for number, (line, bold) in enumerate(heading_lines):
        figure.text(
            0,
            1 - (12 + _HEADING_LINE * number) / total,
            line,
            size=_HEADING,
            weight="bold" if bold else "normal",
        )
    if legend:
        room = (WIDTH - (columns - 1) * _COLUMN_GAP) / columns - _HANDLE - _HANDLE_GAP
        figure.legend(
            [entry.handle for entry in legend],
            [
                name
                for (name,) in told_apart([entry.name for entry in legend], lambda name: [shortened(name, TEXT, room)])
            ],
            ncols=columns,
            loc="upper left",
            bbox_to_anchor=(0, 1 - above / total),
        )
    axes = figure.add_axes(
        (
            margins.left / WIDTH,
            margins.bottom / total,
            (WIDTH - margins.left - margins.right) / WIDTH,
            height / total,
        )
    )
    return figure, axes


def _legend_layout(legend: Sequence[Entry]) -> tuple[int, float]:
    """Return how many columns a legend has, and its height."""
    if not legend:
        return 1, 0.0
    each = widest((entry.name for entry in legend), TEXT) + _HANDLE + _HANDLE_GAP
    # Twenty long names are shortened rather than stacked.
    fewest = 2 if len(legend) > 8 else 1
    columns = min(len(legend), max(fewest, int((WIDTH + _COLUMN_GAP) // (each + _COLUMN_GAP))))
    return columns, ceil(len(legend) / columns) * _LEGEND_LINE + 8


def legend_style() -> dict[str, object]:
    """Return the matplotlib settings that the legend's layout relies on; lengths are in units of the font size."""
    return {
        "legend.borderaxespad": 0.0,
        "legend.borderpad": 0.0,
        "legend.columnspacing": _COLUMN_GAP / TEXT,
        "legend.fontsize": TEXT,
        "legend.frameon": False,
        "legend.handleheight": 0.8,
        "legend.handlelength": _HANDLE / TEXT,
        "legend.handletextpad": _HANDLE_GAP / TEXT,
        "legend.labelspacing": _LEGEND_LINE / TEXT - 1.05,
    }


def reference_line(x: Sequence[float], y: Sequence[float]) -> Line2D:
    """Return a line that values are compared with; without points, its symbol in the legend."""
    return Line2D(x, y, color=LIGHT["ink"], linewidth=1.2, linestyle=(0, (3, 3)), zorder=3.5, clip_on=False)


def whiskers(axes: Axes, places: Sequence[float], estimates: Sequence[Estimate], ink: str, *, across: bool) -> None:
    """Draw intervals with an outline in the background color.

    Args:
        axes: the plot area.
        places: the positions of the estimates along the other axis.
        estimates: the estimates; those without an interval are skipped.
        ink: the color.
        across: whether values run from left to right.
    """
    known = [(place, e) for place, e in zip(places, estimates, strict=True) if e.exists and e.has_interval]
    if not known:
        return
    along = [value for _, e in known for value in (e.low, e.high, float("nan"))]
    beside = [place for place, _ in known for _ in range(3)]
    for line_color, thickness in ((LIGHT["paper"], 3.4), (ink, 1.4)):
        axes.add_line(
            Line2D(
                along if across else beside,
                beside if across else along,
                color=line_color,
                linewidth=thickness,
                solid_capstyle="butt",
                clip_on=False,
                zorder=4,
            )
        )
