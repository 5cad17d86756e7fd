"""What every drawing has: texts that fit, an axis, a heading when it stands alone, a legend, the plot area, a style.

Texts are measured, and are written once. Matplotlib's own layout neither shortens nor breaks names, and puts legends
over headings.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from math import ceil, isfinite
from typing import Any

from matplotlib import rc_params_from_file, rcParamsDefault
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing
from matplotlib.font_manager import findfont, get_font
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator

from lm_eval_ext.reports.figure import Bars, Curves, Estimate, HeatMap, Mark, Series, Unit, estimates, rows_in_words
from lm_eval_ext.reports.page.drawing.palette import LIGHT, SERIES
from lm_eval_ext.reports.wording import UNITS, figure, readable, with_unit

TEXT, SMALL = 11.0, 10.5
"""Text sizes in pixels."""
_HEADING, _HEADING_LINE = 12.0, 16.0
_LEGEND_LINE = 15.5
_HANDLE, _HANDLE_GAP, _COLUMN_GAP = 18.0, 5.0, 14.0
ELLIPSIS = "…"
_PIECE = re.compile(r"[^\s\-_/,:=]*[\s\-_/,:=]*")
"""The parts of a name, each up to and including its separator."""
_LAST_PARTS = 0.75
"""The share of a shortened name's width that its last parts may take."""
_QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The ticks of an axis of shares, which ends at 1: a bar of 10 % fills a tenth of it."""


@lru_cache(maxsize=4096)
def _advance(letter: str) -> float:
    """Return the width of a character at font size 1."""
    font = get_font(findfont("DejaVu Sans"))
    font.set_size(100, 72)
    # The font has no East Asian characters; those are square.
    return float(font.load_char(ord(letter)).linearHoriAdvance / 6553600) if font.get_char_index(ord(letter)) else 1.0


def width(text: str, size: float) -> float:
    """Return the width of a line of text in pixels.

    The reader's font is unknown; the one shipped with matplotlib is wider than most.
    """
    return size * sum(map(_advance, text))


def widest(texts: Iterable[str], size: float) -> float:
    """Return the width of the widest line; 0 if there is none."""
    return max((width(text, size) for text in texts), default=0.0)


def shortened(text: str, size: float, room: float) -> str:
    """Return a text as one line that fits, with its middle elided if necessary: names differ at their ends.

    The last parts of a name are kept whole where possible, because half a number is another number.
    """
    text = _on_one_line(text)
    if width(text, size) <= room:
        return text
    end = _end(text, size, room * _LAST_PARTS) or _letters(text, size, room / 2, from_end=True)
    beginning = _letters(text, size, room - width(ELLIPSIS + end, size))
    return f"{beginning.rstrip()}{ELLIPSIS}{end}"


def wrapped(text: str, size: float, room: float, lines: int) -> list[str]:
    """Return a text broken between its parts into a limited number of lines, which are shortened if necessary."""
    done: list[str] = []
    for piece in _PIECE.findall(_on_one_line(text)):
        if done and width((done[-1] + piece).rstrip(), size) <= room:
            done[-1] += piece
        elif piece:
            done.append(piece)
    rest = "".join(done[lines - 1 :])
    return [shortened(line, size, room) for line in (*done[: lines - 1], rest) if line]


def told_apart(texts: Sequence[str], fit: Callable[[str], list[str]]) -> list[list[str]]:
    """Return the lines of several texts; a number is appended to those that become identical.

    Args:
        texts: texts to be written under or beside each other.
        fit: breaks a text into lines.
    """
    fitted = [fit(text) for text in texts]
    seen: dict[str, list[str]] = {}
    for text, lines in zip(texts, fitted, strict=True):
        equal_texts = seen.setdefault("\n".join(lines), [])
        if text not in equal_texts:
            equal_texts.append(text)
        if place := equal_texts.index(text):
            lines[-1] = f"{lines[-1][: -len(str(place)) - 3]}{ELLIPSIS}({place + 1})"
    return fitted


def _end(text: str, size: float, room: float) -> str:
    """Return as many of a name's last parts as fit; none if the last one does not."""
    end = ""
    for piece in reversed(_PIECE.findall(text)):
        if width(piece + end, size) > room:
            break
        end = piece + end
    return end


def _letters(text: str, size: float, room: float, *, from_end: bool = False) -> str:
    """Return as many characters as fit, from the beginning or the end."""
    count = 0
    for letter in reversed(text) if from_end else text:
        room -= width(letter, size)
        if room < 0:
            break
        count += 1
    return text[len(text) - count :] if from_end else text[:count]


def _on_one_line(text: str) -> str:
    return " ".join(readable(text).split())


@dataclass(frozen=True)
class Scale:
    """A range of values.

    Attributes:
        low, high: its ends.
        unit: the unit of the values.
    """

    low: float
    high: float
    unit: Unit

    @property
    def ticks(self) -> Sequence[float]:
        """The values of the axis ticks."""
        if self.unit == "share" and (self.low, self.high) == (0.0, 1.0):
            return _QUARTERS
        ticks = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(self.low, self.high)
        return [float(tick) for tick in ticks if self.low - 1e-9 <= tick <= self.high + 1e-9]

    def label(self, value: float) -> str:
        """Return a tick's label."""
        is_whole = self.unit != "number" and abs(100 * value - round(100 * value)) < 1e-6
        return figure(value, self.unit, 0 if is_whole else 1) + ("%" if self.unit == "share" else "")


def scales(marks: Iterable[Mark]) -> dict[Unit, Scale]:
    """Return the range of each unit over all drawings."""
    by_unit: dict[Unit, list[float]] = {}
    for mark in marks:
        values = [estimate.value for estimate in estimates(mark)]
        if not isinstance(mark, HeatMap):
            values += [end for estimate in estimates(mark) for end in (estimate.low, estimate.high)]
        if isinstance(mark, Bars | Curves) and mark.reference is not None:
            values.append(mark.reference)
        by_unit.setdefault(mark.unit, []).extend(filter(isfinite, values))
    return {unit: _around(values, unit) for unit, values in by_unit.items()}


def named(axis: str, unit: Unit, room: float) -> str:
    """Return an axis's name with its unit, in one line."""
    return shortened(f"{axis} ({UNITS[unit]})" if unit == "change" else axis, SMALL, room)


def _around(values: list[float], unit: Unit) -> Scale:
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    if unit == "share" and low == 0 and high <= 1:
        return Scale(0.0, 1.0, unit)
    if low == high:
        return Scale(-0.1, 0.1, unit) if unit == "change" else Scale(0.0, 1.0, unit)
    ticks = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    step = ticks[1] - ticks[0]
    start = max(tick for tick in ticks if tick <= low + 1e-9 * step)
    return Scale(float(start), float(min(tick for tick in ticks if tick >= high - 1e-9 * step)), unit)


@dataclass(frozen=True)
class Sheet:
    """What a panel is drawn on.

    Attributes:
        width: its width in pixels.
        scale: the range of the values.
        looks: the numbers of the looks of series, their colors and patterns or markers, by name.
        heading: paragraphs above the drawing; the first is bold.
        counts: whether marks tell how many rows they are over; their table does so, too.
    """

    width: float
    scale: Scale
    looks: Mapping[str, int]
    heading: Sequence[str] = ()
    counts: bool = False

    def looks_of(self, series: Sequence[Series]) -> list[int]:
        """Return the numbers of the looks of a panel's series: their places if none are known."""
        return [self.looks.get(one.name, place) for place, one in enumerate(series)]

    def said(self, estimate: Estimate, *names: str) -> str:
        """Return what a mark tells where it is pointed at, and to screen readers: its names, its value, its interval.

        It is the ``gid`` of the number of a cell; that of a curve has a line for each of its markers. Bars and forests
        need no such words: their numbers are written beside them, and their intervals are drawn.
        """
        rows = rows_in_words(estimate) if self.counts else ""
        text = _on_one_line(f"{', '.join(filter(None, names))}: {with_unit(estimate, self.scale.unit)}")
        return f"{text}, rows: {rows}" if rows else text


def color(series: int) -> str:
    """Return the color of a series by its position."""
    return LIGHT[f"series{series % SERIES}"]


Legend = Sequence[tuple[Artist, str]]
"""The entries of a legend: symbols and names."""


def framed(  # noqa: PLR0913 # all around a plot area
    sheet: Sheet, legend: Legend, height: float, *, left: float, right: float, bottom: float, top: float = 4.0
) -> tuple[Drawing, Axes]:
    """Return an empty drawing.

    Args:
        sheet: what is drawn on.
        legend: the legend above it.
        height: the height of the plot area in pixels.
        left: the margin on its left in pixels.
        right: that on its right.
        bottom: that below it, with the axis.
        top: that above it.
    """
    heading_lines = [
        # Bold characters are wider.
        (line, number == 0)
        for number, text in enumerate(sheet.heading)
        for line in wrapped(text, _HEADING, sheet.width / (1.15 if number == 0 else 1), 3)
    ]
    columns, legend_height = 1, 0.0
    if legend:
        entry_width = widest((name for _, name in legend), TEXT) + _HANDLE + _HANDLE_GAP
        # Twenty long names are shortened rather than stacked.
        fewest = 2 if len(legend) > 8 else 1
        columns = min(len(legend), max(fewest, int((sheet.width + _COLUMN_GAP) // (entry_width + _COLUMN_GAP))))
        legend_height = ceil(len(legend) / columns) * _LEGEND_LINE + 8
    above = len(heading_lines) * _HEADING_LINE + (6.0 if heading_lines else 0.0)
    total = ceil(above + legend_height + top + height + bottom)
    drawing = Drawing(figsize=(sheet.width / 72, total / 72), dpi=72, facecolor=LIGHT["paper"])
    for number, (line, bold) in enumerate(heading_lines):
        drawing.text(
            0,
            1 - (12 + _HEADING_LINE * number) / total,
            line,
            size=_HEADING,
            weight="bold" if bold else "normal",
        )
    if legend:
        room = (sheet.width - (columns - 1) * _COLUMN_GAP) / columns - _HANDLE - _HANDLE_GAP
        drawing.legend(
            [handle for handle, _ in legend],
            [name for (name,) in told_apart([name for _, name in legend], lambda name: [shortened(name, TEXT, room)])],
            ncols=columns,
            loc="upper left",
            bbox_to_anchor=(0, 1 - above / total),
        )
    axes = drawing.add_axes(
        (
            left / sheet.width,
            bottom / total,
            (sheet.width - left - right) / sheet.width,
            height / total,
        )
    )
    return drawing, axes


def reference_line(x: Sequence[float], y: Sequence[float]) -> Line2D:
    """Return a line that values are compared with; without points, its symbol in the legend."""
    return Line2D(x, y, color=LIGHT["ink"], linewidth=1.2, linestyle=(0, (3, 3)), zorder=3.5, clip_on=False)


def boxes(corners: Sequence[tuple[float, float, float, float]]) -> Path:
    """Return rectangles, at least one, as one path; each has its left, top, right and bottom."""
    points = [
        point
        for left, top, right, bottom in corners
        for point in ((left, top), (right, top), (right, bottom), (left, bottom), (left, top))
    ]
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(points, codes * len(corners))


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
        axes.add_artist(
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


@cache
def style() -> Any:
    """Return every setting, so that none of the user's remains, in the type that the installed version expects.

    Colors and lengths that the layout here relies on are not in ``report.mplstyle``, which has the rest of the style.
    """
    defaults = {name: value for name, value in rcParamsDefault.items() if not name.startswith("backend")}
    own = rc_params_from_file(str(files(__package__) / "report.mplstyle"), use_default_template=False)
    return {
        **defaults,
        **own,
        "axes.edgecolor": LIGHT["muted"],
        "axes.labelcolor": LIGHT["muted"],
        "axes.labelsize": SMALL,
        "font.size": TEXT,
        "grid.color": LIGHT["grid"],
        "text.color": LIGHT["ink"],
        "xtick.color": LIGHT["muted"],
        "xtick.labelsize": SMALL,
        "ytick.color": LIGHT["muted"],
        "ytick.labelsize": SMALL,
        # Lengths are in units of the font size.
        "legend.columnspacing": _COLUMN_GAP / TEXT,
        "legend.fontsize": TEXT,
        "legend.handlelength": _HANDLE / TEXT,
        "legend.handletextpad": _HANDLE_GAP / TEXT,
        "legend.labelspacing": _LEGEND_LINE / TEXT - 1.05,
    }
