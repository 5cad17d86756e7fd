"""Writes a report as one self-contained page: no scripts, no web fonts, no network access."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from lm_eval_ext import __version__
from lm_eval_ext.reports.figure import Estimate, Figure, Report, Table, TableCell, Unit
from lm_eval_ext.reports.page import drawing
from lm_eval_ext.reports.page.drawing.palette import declarations
from lm_eval_ext.reports.wording import MISSING, beginning, figure, interval, readable
from lm_eval_ext.results.issue import Issue, Severity

_SHORT_TABLE = 12
"""The most rows of a table that is open initially."""
_MANY, _FEW = 6, 5
"""A table with more estimate columns than ``_MANY`` and at most ``_FEW`` rows is transposed, or it would be cut off."""
_SIDE_BY_SIDE = 4
"""The most estimate columns with intervals beside the values; with more, the intervals go below."""
_WIDE, _NARROW = 20, 12
"""The characters of a name that a table does not break: in the columns that identify a row, and in the others."""


@dataclass(frozen=True)
class Drawn:
    """A figure as the page shows it.

    Attributes:
        figure: the figure.
        panels: titles and SVG.
        table: its numbers, transposed if it has many columns.
        stacked: whether the table's intervals are below the values.
        head: how many of the table's first columns identify the row.
        widths: the minimum widths of the table's columns, in characters, before names are broken.
        is_open: whether its table is open initially.
    """

    figure: Figure
    panels: Sequence[tuple[str, Markup]]
    table: Table
    stacked: bool
    head: int
    widths: Sequence[int]
    is_open: bool


def page(report: Report) -> str:
    """Return a report as HTML.

    Raises:
        ReportError: matplotlib is not installed.
    """
    return _template().render(
        report=report,
        summary=_drawn(report.summary),
        sections=[(section, [_drawn(figure) for figure in section.figures]) for section in report.sections],
        version=__version__,
    )


@cache
def _template() -> Template:
    environment = Environment(
        loader=PackageLoader("lm_eval_ext.reports.page", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # All text, above all model answers, is first made safe to put in a page.
        finalize=lambda value: readable(value) if type(value) is str else value,
    )
    light, dark = (Markup(declarations(dark=dark)) for dark in (False, True))  # noqa: S704 # our own colors
    environment.globals |= {"light": light, "dark": dark, "unit_words": _UNIT_WORDS}
    environment.filters |= {
        "beginning": beginning,
        "breakable": _breakable,
        "by_severity": _by_severity,
        "cell": _cell,
    }
    return environment.get_template("page.html.jinja")


_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


def _by_severity(issues: Sequence[Issue]) -> list[Issue]:
    """Return the issues, the most severe first."""
    return sorted(issues, key=lambda issue: _SEVERITIES.index(issue.severity))


_UNIT_WORDS = {"share": "in percent", "change": "in percentage points", "number": ""}


def _drawn(figure: Figure) -> Drawn:
    drawings = [Markup(svg) for svg in drawing.svgs(figure)]  # noqa: S704 # its texts are escaped where it is drawn
    titles = [panel.title for panel in figure.panels]
    table = turned(figure.table.counted)
    head = head_columns(table)
    columns = [(column, *cells) for column, *cells in zip(table.columns, *table.rows, strict=True)]
    return Drawn(
        figure,
        list(zip(titles, drawings, strict=True)),
        table,
        len(table.columns) - head > _SIDE_BY_SIDE,
        head,
        [
            min(_WIDE if place < head else _NARROW, max(len(cell) for cell in column if isinstance(cell, str)))
            for place, column in enumerate(columns)
        ],
        # A single drawing leaves room for a longer table beside it.
        len(figure.table.rows) <= _SHORT_TABLE * (2 if len(drawings) == 1 else 1),
    )


def turned(table: Table) -> Table:
    """Return a table, transposed if it has many estimate columns and few rows.

    What identified a row is then the heading of a column, like the models in a summary of two.
    """
    head = head_columns(table)
    if len(table.columns) - head <= _MANY or not 0 < len(table.rows) <= _FEW:
        return table
    headings = (", ".join(str(cell) for cell in row[:head] if cell is not None) for row in table.rows)
    cells = zip(*(row[head:] for row in table.rows), strict=True)
    rows = tuple((column, *of_column) for column, of_column in zip(table.columns[head:], cells, strict=True))
    return Table(("", *headings), rows, table.unit)


def head_columns(table: Table) -> int:
    """Return how many columns identify the row: those before the first with estimates."""
    estimates = (
        place for place in range(len(table.columns)) if any(isinstance(row[place], Estimate) for row in table.rows)
    )
    return next(estimates, min(1, len(table.columns)))


def _cell(cell: TableCell, unit: Unit, column: str) -> Markup:
    """Return a table cell as HTML, with its tag.

    Args:
        cell: the value.
        unit: the unit of the estimates.
        column: its heading, repeated where rows become lists: on a phone, and for wide tables on paper.
    """
    data = {"data-column": readable(column)}
    if isinstance(cell, str):
        return Markup("<td{}>{}</td>").format(_attributes(data), readable(cell))
    data["class"] = "n"
    if isinstance(cell, int):
        return Markup("<td{}>{}</td>").format(_attributes({**data, "data-value": str(cell)}), f"{cell:,}")
    if cell is None or not cell.exists:
        return Markup("<td{}>{}</td>").format(_attributes(data), MISSING)
    data["data-value"] = f"{cell.value:.9g}"
    small = Markup("")
    if cell.has_interval:
        data |= {"data-low": f"{cell.low:.9g}", "data-high": f"{cell.high:.9g}"}
        small = Markup(" <small>{}</small>").format(interval(cell, unit))
    return Markup("<td{}>{}{}</td>").format(_attributes(data), figure(cell.value, unit), small)


def _breakable(name: object) -> Markup:
    """Return a name that can be broken between its parts, as in ``verbalizer_<wbr>natural``."""
    return Markup("_<wbr>").join(readable(str(name)).split("_"))


def _attributes(values: Mapping[str, str]) -> Markup:
    return Markup("").join(Markup(' {}="{}"').format(name, value) for name, value in values.items())
