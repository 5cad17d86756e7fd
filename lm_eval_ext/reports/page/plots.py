"""The drawings of a figure: as SVG in the page's colors for the page, as PNG for use elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING
from warnings import catch_warnings, filterwarnings

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.figure import Figure, Panel

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

ENLARGED = 2
"""PNG pixels per pixel of the page."""
_AROUND = 12
"""The margin around a PNG's drawing, in pixels of the page."""


def svgs(figure: Figure) -> list[str]:
    """Return a figure's panels as SVG text, colored by the CSS custom properties that ``drawing.palette`` declares.

    Raises:
        ReportError: matplotlib is not installed.
    """
    with _style():
        from lm_eval_ext.reports.page.drawing.svg import svg  # noqa: PLC0415 # of the extra

        return [
            svg(_draw(panel, figure, ()), f"{figure.name}-{number}", ". ".join(_heading(figure, panel)))
            for number, panel in enumerate(figure.panels)
        ]


def pngs(figure: Figure) -> list[bytes]:
    """Return a figure's panels as PNG files in the light colors, each with the figure's title.

    Raises:
        ReportError: matplotlib is not installed.
    """
    with _style(), catch_warnings():
        # A character that the font lacks is drawn as a box.
        filterwarnings("ignore", r"Glyph .* missing from font", UserWarning)
        return [_png(_draw(panel, figure, _heading(figure, panel))) for panel in figure.panels]


def _heading(figure: Figure, panel: Panel) -> tuple[str, ...]:
    return (figure.title, panel.title) if panel.title else (figure.title,)


def _draw(panel: Panel, figure: Figure, heading: tuple[str, ...]) -> Drawing:
    from lm_eval_ext.reports.page.drawing import frame, marks  # noqa: PLC0415 # of the extra

    scales = frame.scales(other.mark for other in figure.panels)
    return marks.draw(panel.mark, scales[panel.mark.unit], heading)


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
    """Draw in the report's style, regardless of the user's own matplotlib settings.

    Raises:
        ReportError: matplotlib is not installed.
    """
    try:
        from matplotlib import rc_context  # noqa: PLC0415 # of the extra
    except ImportError as error:
        raise ReportError("drawing needs matplotlib: pip install 'lm-eval-ext[report]'") from error
    from lm_eval_ext.reports.page.drawing.frame import style  # noqa: PLC0415 # of the extra

    with rc_context(style()):
        yield
