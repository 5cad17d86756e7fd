"""The drawings of a report, by matplotlib: as SVG in the page's colors, as PNG for use elsewhere, and as files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from itertools import chain
from typing import TYPE_CHECKING, TypeVar
from warnings import catch_warnings, filterwarnings

from lm_eval_ext.processes import in_processes
from lm_eval_ext.reports.figure import Bars, Curves, Figure, Panel, Report, estimates, rows_in_words
from lm_eval_ext.reports.wording import table_as_csv

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

NARROW = 310
"""The width in pixels of one of several small drawings, and of every drawing on a phone."""
ROOMY_WIDTHS = {1: 930, 2: 455, 4: 455}
"""The width where there is room, by the number of a figure's panels; others are small multiples."""
PICTURE = 340
"""The width of a PNG's drawing, in pixels of the page."""
ENLARGED = 2
"""PNG pixels per pixel of the page."""
LARGE = 20
"""More panels than these are worth several processes."""
Drawings = TypeVar("Drawings")
_AROUND = 12
"""The margin around a PNG's drawing, in pixels of the page."""
_LONGEST_SLUG = 60
"""The most characters of a panel's title in the name of its file."""


def looks(figures: Iterable[Figure]) -> dict[str, int]:
    """Return the number of the look of each series, by name: the same in all drawings, another if drawn together."""
    marks = [panel.mark for figure in figures for panel in figure.panels]
    series_by_panel = [[series.name for series in mark.series] for mark in marks if isinstance(mark, Bars | Curves)]
    groups: list[dict[str, None]] = []
    # Those of most series first: they have all levels, in order.
    for names in sorted(series_by_panel, key=len, reverse=True):
        met = [group for group in groups if not group.keys().isdisjoint(names)]
        groups = [group for group in groups if group not in met] + [dict.fromkeys(chain(*met, names))]
    return {name: number for group in groups for number, name in enumerate(group)}


def svgs(figure: Figure, looks: Mapping[str, int], *, tells: bool = True) -> list[list[str]]:
    """Return a figure's panels as SVG text, colored by the CSS custom properties that ``drawing.palette`` declares.

    Args:
        figure: the figure.
        looks: the number of the look of each series, by name.
        tells: whether marks tell their values where they are pointed at.

    Returns:
        For each panel, its drawing for a narrow screen and, if it is drawn wider where there is room, that.
    """
    with _style():
        from lm_eval_ext.reports.page.drawing.svg import svg  # noqa: PLC0415 # of the extra

        widths = [NARROW, *filter(None, [ROOMY_WIDTHS.get(len(figure.panels))])]
        return [
            [
                svg(
                    _draw(panel, figure, looks, width),
                    f"{figure.name}-{number}-{width}",
                    ". ".join(_heading(figure, panel)),
                    # The widest is what there is room for where there is a pointer.
                    tells=tells and width == widths[-1],
                )
                for width in widths
            ]
            for number, panel in enumerate(figure.panels)
        ]


def pngs(figure: Figure, looks: Mapping[str, int]) -> list[bytes]:
    """Return a figure's panels as PNG files in the light colors, each with the figure's title.

    Args:
        figure: the figure.
        looks: the number of the look of each series, by name.
    """
    with _style(), catch_warnings():
        # A character that the font lacks is drawn as a box.
        filterwarnings("ignore", r"Glyph .* missing from font", UserWarning)
        return [_png(_draw(panel, figure, looks, PICTURE, _heading(figure, panel))) for panel in figure.panels]


def in_turn(
    draw: Callable[[Figure, Mapping[str, int]], Drawings], figures: Sequence[Figure], looks: Mapping[str, int]
) -> Iterator[Drawings]:
    """Yield the drawings of each figure; several processes draw many of them.

    Args:
        draw: ``svgs`` or ``pngs``.
        figures: the figures.
        looks: the number of the look of each series, by name.
    """
    with _style():
        # Imported here, and not by each process.
        from lm_eval_ext.reports.page.drawing import marks as _marks  # noqa: F401, PLC0415 # of the extra
    jobs = [partial(draw, figure, looks) for figure in figures]
    yield from in_processes(jobs, large=sum(len(figure.panels) for figure in figures) > LARGE)


def _heading(figure: Figure, panel: Panel) -> tuple[str, ...]:
    return (figure.title, panel.title) if panel.title else (figure.title,)


def _draw(panel: Panel, figure: Figure, looks: Mapping[str, int], width: int, heading: tuple[str, ...] = ()) -> Drawing:
    from lm_eval_ext.reports.page.drawing import frame, marks  # noqa: PLC0415 # of the extra

    scales = frame.scales(other.mark for other in figure.panels)
    # What is the same for all marks is said below the drawing only.
    counts = len({rows_in_words(estimate) for estimate in estimates(panel.mark) if estimate.exists}) > 1
    return marks.draw(panel.mark, frame.Sheet(width, scales[panel.mark.unit], looks, heading, counts))


def _png(drawing: Drawing) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 # of the extra

    file = BytesIO()
    FigureCanvasAgg(drawing)
    drawing.savefig(
        file,
        format="png",
        dpi=72 * ENLARGED,
        # On the page, the drawing's card provides the margin.
        bbox_inches=drawing.bbox_inches.padded(_AROUND / 72),
        # Without the matplotlib version, the same figures give identical files.
        metadata={"Software": None},
    )
    return file.getvalue()


@contextmanager
def _style() -> Iterator[None]:
    """Draw in the report's style, regardless of the user's own matplotlib settings."""
    from matplotlib import rc_context  # noqa: PLC0415 # of the extra

    from lm_eval_ext.reports.page.drawing.frame import style  # noqa: PLC0415 # of the extra

    with rc_context(style()):
        yield


def contents(report: Report) -> dict[str, bytes]:
    """Return the files ``NAME.csv`` and, for each panel, ``NAME.png`` or ``NAME_PANEL.png`` of every figure.

    Args:
        report: the report.

    Returns:
        The contents by file name, in the order of the report.
    """
    files: dict[str, bytes] = {}
    alike = looks(report.figures)
    for figure, drawn in zip(report.figures, in_turn(pngs, report.figures, alike), strict=True):
        files[f"{figure.name}.csv"] = table_as_csv(figure.table.counted).encode()
        files |= {f"{name}.png": png for name, png in zip(_names(figure), drawn, strict=True)}
    return files


def _names(figure: Figure) -> Iterator[str]:
    """Yield a unique name for each panel's file."""
    used: set[str] = set()
    for panel in figure.panels:
        slug = re.sub(r"[^a-z0-9]+", "-", panel.title.lower()).strip("-")[:_LONGEST_SLUG].rstrip("-")
        name = base = f"{figure.name}_{slug}" if slug else figure.name
        number = 1
        while name in used:
            number += 1
            name = f"{base}-{number}"
        used.add(name)
        yield name
