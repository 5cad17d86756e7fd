"""Writes a report as one self-contained page, complete without scripts: no web fonts, no network access."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from hashlib import sha256
from importlib.resources import files
from math import isnan, nan
from typing import get_args

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from lm_eval_ext import __version__
from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.floors import ALL_IN_WORDS
from lm_eval_ext.reports.figure import (
    Bars,
    Estimate,
    Figure,
    Mark,
    Panel,
    Report,
    Table,
    TableCell,
    Unit,
    estimates,
)
from lm_eval_ext.reports.gate.decision import decision, lost_most
from lm_eval_ext.reports.page import drawing
from lm_eval_ext.reports.page.candidates import SideBySide
from lm_eval_ext.reports.page.drawing.palette import declarations
from lm_eval_ext.reports.wording import MISSING, beginning, figure, interval, readable, with_unit
from lm_eval_ext.results.issue import Severity, grouped

MOST_TOLD = 8
"""The most models on a page whose marks tell their values where they are pointed at; of more, their tables do."""


@dataclass(frozen=True)
class Drawn:
    """A figure as the page shows it.

    Attributes:
        figure: the figure.
        panels: titles, each with its drawings as SVG, from the narrowest to the widest.
        constant: what is not drawn because it is the same everywhere, in words.
        table: its numbers.
        head: how many of the table's first columns identify the row.
    """

    figure: Figure
    panels: Sequence[tuple[str, Sequence[Markup]]]
    constant: Sequence[str]
    table: Table
    head: int


def page(report: Report) -> str:
    """Return a report as HTML."""
    looks, tells = drawing.looks(report.figures), len(report.runs) <= MOST_TOLD
    is_sortable = not report.verdicts and any(not board.is_turned for board in report.leaderboard)
    # A verdict or a leaderboard takes the place of the summary.
    shown = report.figures[1:] if report.verdicts or report.leaderboard else report.figures
    drawn = _drawn(shown, looks, tells)
    by_name = {drawn_figure.figure.name: drawn_figure for drawn_figure in drawn}
    is_told = any("<title>" in svg for drawn_figure in drawn for _, drawings in drawn_figure.panels for svg in drawings)
    scripts = [name for name, is_needed in {"leaderboard.js": is_sortable, "marks.js": is_told}.items() if is_needed]
    return _template().render(
        report=report,
        together=SideBySide(tuple(report.verdicts)) if len(report.verdicts) > 1 else None,
        is_sortable=is_sortable,
        scripts=[Markup((files(__package__) / name).read_text(encoding="utf-8")) for name in scripts],  # noqa: S704 # our own
        summary=by_name.get(report.summary.name),
        sections=[(section, [by_name[figure.name] for figure in section.figures]) for section in report.sections],
        papers={name: family.paper for name, family in FAMILIES.items()},
        drawn=drawn,
        anchors=[
            *(f"section-{section.name}" for section in report.sections),
            *(figure.name for figure in report.figures),
            *(f"answers-{section.name}" for section in report.sections if section.answers),
            "reading",
            "runs",
        ],
        tells=tells,
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
    environment.globals |= {"light": light, "dark": dark, "unit_words": _UNIT_WORDS, "floors": ALL_IN_WORDS}
    environment.globals |= {"decision": decision, "lost_most": lost_most}
    environment.filters |= {
        "beginning": beginning,
        # A name can be broken between its parts: verbalizer_<wbr>natural.
        "breakable": lambda name: Markup("_<wbr>").join(readable(str(name)).split("_")),
        "by_severity": partial(sorted, key=lambda issue: get_args(Severity).index(issue.severity)),
        "cell": _cell,
        # Without it, the browser would not run a script.
        "digest": lambda script: b64encode(sha256(script.encode()).digest()).decode(),
        "figure": figure,
        "interval": interval,
        "quoted": _quoted,
    }
    return environment.get_template("page.html.jinja")


_UNIT_WORDS = {"share": "in percent", "change": "in percentage points", "number": ""}


def _drawn(figures: Sequence[Figure], looks: Mapping[str, int], tells: bool) -> list[Drawn]:
    divided = [split_constant(figure.panels) for figure in figures]
    worth_drawing = [
        replace(figure, panels=tuple(panels)) for figure, (panels, _) in zip(figures, divided, strict=True)
    ]
    every_drawing = drawing.in_turn(partial(drawing.svgs, tells=tells), worth_drawing, looks)
    drawn = []
    for plotted, (panels, constant), drawings in zip(figures, divided, every_drawing, strict=True):
        table = plotted.table.counted
        # Texts are escaped where they are drawn.
        of_panels = [[Markup(svg) for svg in of_panel] for of_panel in drawings]  # noqa: S704
        titles = [panel.title for panel in panels]
        drawn.append(Drawn(plotted, [*zip(titles, of_panels, strict=True)], constant, table, head_columns(table)))
    return drawn


def split_constant(panels: Sequence[Panel]) -> tuple[list[Panel], list[str]]:
    """Return what is worth drawing, and in words the panels whose values are all the same."""
    drawn = [panel for panel in panels if not _is_constant(panel.mark)]
    constant = [panel for panel in panels if _is_constant(panel.mark)]
    by_value = grouped(((panel.mark.axis, panel.mark.unit, _known(panel.mark)[0].value), panel) for panel in constant)
    words = []
    for (axis, unit, _), alike in by_value.items():
        known = [estimate for panel in alike for estimate in _known(panel.mark)]
        ends = [end for estimate in known for end in (estimate.low, estimate.high) if not isnan(end)]
        # With the ends of all intervals.
        value = with_unit(replace(known[0], low=min(ends, default=nan), high=max(ends, default=nan)), unit)
        # What has the name of the axis says nothing more, and where nothing else is drawn, no name does.
        tells = drawn or len(by_value) > 1
        names = "; ".join(panel.title for panel in alike if tells and panel.title not in ("", axis))
        words.append(f"{names}: {axis} {value} everywhere".removeprefix(": "))
    return drawn, words


def _known(mark: Mark) -> list[Estimate]:
    return [estimate for estimate in estimates(mark) if estimate.exists]


def _is_constant(mark: Mark) -> bool:
    """Return whether all values are zero, or several are the same, unless they are bars whose parts can differ."""
    values = [estimate.value for estimate in _known(mark)]
    if not any(values):
        return bool(values)
    return len(values) > 1 == len({*values}) and not (isinstance(mark, Bars) and mark.part)


def head_columns(table: Table) -> int:
    """Return how many columns identify the row: those before the first with estimates."""
    estimates = (
        place for place in range(len(table.columns)) if any(isinstance(row[place], Estimate) for row in table.rows)
    )
    return next(estimates, min(1, len(table.columns)))


def _cell(cell: TableCell, unit: Unit) -> Markup:
    """Return a table cell as HTML; a class says that it is a text, or that there is no such figure.

    It has no end tag, which HTML does not need, and its interval is in the shortest element: a page has 20,000 cells.
    """
    if isinstance(cell, str):
        return Markup('<td class="t">{}').format(readable(cell))
    if isinstance(cell, int):
        return Markup("<td>{}").format(f"{cell:,}")
    if cell is None or not cell.exists:
        return Markup('<td class="no">{}').format(MISSING)
    small = Markup(" <i>{}</i>").format(interval(cell, unit)) if cell.has_interval else ""
    return Markup("<td>{}{}").format(figure(cell.value, unit), small)


def _quoted(text: str) -> Markup:
    """Return a text as a string in CSS; all characters that could end it are escaped."""
    return Markup('"{}"').format(
        re.sub(r"[^A-Za-z0-9 _.,:/()-]", lambda match: f"\\{ord(match[0]):x} ", readable(text))
    )
