"""Writes a matplotlib figure as SVG for the page: text stays text, colors are referred to by role.

Matplotlib's own SVG cannot use the page's colors, and is ten times as large.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from io import StringIO
from math import cos, radians, sin
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.backend_bases import GraphicsContextBase, RendererBase
from matplotlib.colors import to_hex, to_rgba
from matplotlib.figure import Figure
from matplotlib.path import Path
from matplotlib.transforms import Transform

from lm_eval_ext.reports.page.drawing.frame import TEXT, width
from lm_eval_ext.reports.page.drawing.palette import ROLE_OF
from lm_eval_ext.reports.wording import readable

if TYPE_CHECKING:
    from matplotlib.font_manager import FontProperties
    from matplotlib.text import Text
    from matplotlib.typing import ColorType

HATCHES = {
    "////": "M-1 1L1-1M0 6L6 0M5 7L7 5",
    "....": "M1 1h1.6v1.6h-1.6zM4 4h1.6v1.6h-1.6z",
    "\\\\\\\\": "M-1 5L1 7M0 0L6 6M5-1L7 1",
    "||||": "M1.5 0V6M4.5 0V6",
    "xxxx": "M0 6L6 0M0 0L6 6",
    "----": "M0 1.5H6M0 4.5H6",
}
"""Matplotlib's hatch names, and the paths of their lines in a tile of 6 by 6 pixels."""
_UNPAINTED = ' fill="none"'


def svg(figure: Figure, name: str, label: str, *, tells: bool = True) -> str:
    """Return a drawing as SVG text.

    Args:
        figure: a figure at 72 dots per inch, so that a point is a pixel, in the palette's colors; a text whose color
            several roles have names its role in its ``label``. What a text tells where it is pointed at is its ``gid``;
            that of a curve has a line for each of its markers.
        name: the prefix of every id, so that several drawings can share a page.
        label: the text for screen readers.
        tells: whether anything is told.
    """
    size, height = (round(inches * 72) for inches in figure.get_size_inches())
    renderer = _Renderer(size, height, name, tells)
    # The card that it is on has the background.
    figure.patch.set_visible(False)
    figure.draw(renderer)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size} {height}" width="{size}" height="{height}" '
        f'role="graphics-document document" aria-label="{escape(readable(label))}" '
        f'font-size="{_number(TEXT)}" fill="var(--ink)">'
        f"{renderer.text()}</svg>"
    )


class _Renderer(RendererBase):
    """A matplotlib renderer; it implements the base-class methods that our drawings use.

    Args:
        width, height: in pixels.
        name: the prefix of every id.
        tells: whether anything is told.
    """

    def __init__(self, width: int, height: int, name: str, tells: bool) -> None:
        super().__init__()
        self._size = (width, height)
        self._name = name
        self._definitions: dict[str, str] = {}
        self._written = StringIO()
        self._group = ""
        self._tells = tells
        self._told: Iterator[str] = iter(())

    def text(self) -> str:
        """Return the SVG of what was drawn."""
        self._write("", "")
        definitions = "".join(element.replace(" ", f' id="{key}" ', 1) for element, key in self._definitions.items())
        return (f"<defs>{definitions}</defs>" if definitions else "") + self._written.getvalue()

    def get_canvas_width_height(self) -> tuple[float, float]:
        return self._size

    def open_group(self, s: str, gid: str | None = None) -> None:
        self._told = iter((gid or "").splitlines())

    def flipy(self) -> bool:
        return True

    def points_to_pixels(self, points: Any) -> Any:
        return points

    def get_text_width_height_descent(self, s: str, prop: FontProperties, ismath: Any) -> tuple[float, float, float]:
        size = prop.get_size_in_points()
        return width(s, size), 0.93 * size, 0.2 * size

    def draw_path(
        self,
        gc: GraphicsContextBase,
        path: Path,
        transform: Transform,
        rgbFace: ColorType | None = None,  # noqa: N803 # the base class's name
    ) -> None:
        lines = _lines(path, transform, self._size[1])
        if not lines:
            return
        painted = _paint(gc, rgbFace)
        if painted != _UNPAINTED:
            self._write(f'<path d="{lines}"{painted}/>')
        if hatch := gc.get_hatch():
            self._write(f'<path d="{lines}" fill="url(#{self._hatch(hatch, gc)})"/>')

    def draw_markers(  # noqa: PLR0913, PLR0917 # as the base class has it
        self,
        gc: GraphicsContextBase,
        marker_path: Path,
        marker_trans: Transform,
        path: Path,
        trans: Transform,
        rgbFace: ColorType | None = None,  # noqa: N803 # the base class's name
    ) -> None:
        marker = self._defined(f'<path d="{_lines(marker_path, marker_trans, 0)}"{_paint(gc, rgbFace)}/>')
        for vertices, _ in path.iter_segments(trans, simplify=False):
            x, y = vertices[-2:]
            place = f'href="#{marker}" x="{_number(x)}" y="{_number(self._size[1] - y)}"'
            title = self._title()
            self._write(f"<use {place}>{title}</use>" if title else f"<use {place}/>")

    def draw_text(  # noqa: PLR0913, PLR0917 # as the base class has it
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: Any = False,
        mtext: Text | None = None,
    ) -> None:
        size = prop.get_size_in_points()
        side = mtext.get_horizontalalignment() if mtext and not angle else "left"
        # Matplotlib gives the left end, but the reader's font has other widths: text is anchored where it is aligned.
        along = {"left": 0.0, "center": 0.5, "right": 1.0}[side] * width(s, size)
        x, y = x + along * cos(radians(angle)), y - along * sin(radians(angle))
        attributes = "" if side == "left" else f' text-anchor="{"middle" if side == "center" else "end"}"'
        attributes += "" if size == TEXT else f' font-size="{_number(size)}"'
        attributes += ' font-weight="600"' if prop.get_weight() == "bold" else ""
        role = (mtext and mtext.get_label()) or ROLE_OF[to_hex(gc.get_rgb())]
        attributes += "" if role == "ink" else f' fill="var(--{role})"'
        # Whole pixels are exact enough for a text.
        turned = f' transform="rotate({_number(-angle)} {x:.0f} {y:.0f})"' if angle else ""
        self._write(f'<text x="{x:.0f}" y="{y:.0f}"{turned}>{escape(s, quote=False)}{self._title()}</text>', attributes)

    def _title(self) -> str:
        """Return what is told of what is being drawn next."""
        title = next(self._told, "") if self._tells else ""
        return f"<title>{escape(readable(title), quote=False)}</title>" if title else ""

    def _write(self, element: str, attributes: str = "") -> None:
        """Write an element; consecutive elements with the same attributes share them."""
        if attributes != self._group:
            self._written.write("</g>" if self._group else "")
            self._written.write(f"<g{attributes}>" if attributes else "")
            self._group = attributes
        self._written.write(element)

    def _hatch(self, hatch: str, gc: GraphicsContextBase) -> str:
        paint = f'stroke="var(--{ROLE_OF[to_hex(gc.get_hatch_color())]})" stroke-width="1.1"'
        return self._defined(
            '<pattern width="6" height="6" patternUnits="userSpaceOnUse">'
            f'<path d="{HATCHES[hatch]}" {paint} fill="none"/></pattern>'
        )

    def _defined(self, element: str) -> str:
        """Return the id of an element that is drawn many times; it is defined on first use."""
        return self._definitions.setdefault(element, f"{self._name}-{len(self._definitions)}")


def _lines(path: Path, transform: Transform, height: int) -> str:
    """Return a path in SVG syntax."""
    written: list[str] = []
    last: tuple[str, str] | None = None
    for vertices, code in path.iter_segments(transform, remove_nans=True, simplify=False, curves=True):
        if code == Path.CLOSEPOLY:
            written.append("Z")
            continue
        points = [(_number(x), _number(height - y)) for x, y in zip(vertices[::2], vertices[1::2], strict=True)]
        if code == Path.LINETO and last is not None and points[0][1] == last[1]:
            written.append(f"H{points[0][0]}")
        elif code == Path.LINETO and last is not None and points[0][0] == last[0]:
            written.append(f"V{points[0][1]}")
        else:
            letter = {Path.MOVETO: "M", Path.LINETO: "L", Path.CURVE3: "Q", Path.CURVE4: "C"}[code]
            written.append(letter + " ".join(f"{x} {y}" for x, y in points))
        last = points[-1]
    return "".join(written)


def _paint(gc: GraphicsContextBase, face: ColorType | None) -> str:
    """Return the fill and stroke attributes of a path."""
    painted = _UNPAINTED
    if face is not None:
        painted = f' fill="var(--{ROLE_OF[to_hex(face)]})"'
        opacity = gc.get_alpha() if gc.get_forced_alpha() else to_rgba(face)[3]
        painted += "" if opacity == 1 else f' fill-opacity="{opacity:.2g}"'
    if gc.get_linewidth() and gc.get_rgb()[3]:
        painted += f' stroke="var(--{ROLE_OF[to_hex(gc.get_rgb())]})"'
        painted += "" if gc.get_linewidth() == 1 else f' stroke-width="{_number(gc.get_linewidth())}"'
        _, dashes = gc.get_dashes()
        if dashes is not None:
            painted += f' stroke-dasharray="{" ".join(_number(length) for length in np.asarray(dashes, float))}"'
    return painted


def _number(value: float) -> str:
    """Return a number with at most one decimal, which is a tenth of a pixel."""
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")
