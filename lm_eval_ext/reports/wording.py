"""How figures and texts are formatted for a reader."""

from __future__ import annotations

import csv
import re
from io import StringIO

from lm_eval_ext.reports.figure import Estimate, Table, TableCell, Unit

LONGEST_TEXT = 1000
"""The most characters of a prompt or an answer that are shown."""
MISSING = "–"  # noqa: RUF001 # as in a printed table
UNITS: dict[Unit, str] = {"share": "%", "change": "points", "number": ""}
"""What is written after a figure."""

# What HTML does not allow, what cannot be encoded, and what changes the direction of the following text.
_UNSHOWABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")


def readable(text: str) -> str:
    """Return a text with unprintable characters replaced by their code points, as in ``<U+0007>``."""
    return _UNSHOWABLE.sub(lambda match: f"<U+{ord(match[0]):04X}>", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """Return an untrusted text as one line that is safe to print to a terminal."""
    return " ".join(readable(text).splitlines())


def beginning(text: str) -> tuple[str, int]:
    """Return the beginning of a text that may be long, and how many characters are not shown."""
    return text[:LONGEST_TEXT], max(0, len(text) - LONGEST_TEXT)


def figure(value: float, unit: Unit, decimals: int = 1) -> str:
    """Return a figure in its unit, without the unit's name; numbers are rounded to three significant digits.

    Args:
        value: NaN if there is none.
        unit: shares become percent, changes become points with a sign.
        decimals: the number of decimals of percent and points.
    """
    if value != value:  # noqa: PLR0124 # NaN
        return MISSING
    if unit == "number":
        # Three digits of what rounds up to 1000 would have an exponent.
        text = f"{value:.0f}" if abs(value) >= 999.5 else f"{value:.3g}"
    else:
        text = f"{100 * value:{'+' if unit == 'change' else ''}.{decimals}f}"
        # What rounds to zero has no sign.
        text = text if any(digit in text for digit in "123456789") else text.lstrip("+-")
    return text.replace("-", "−")  # noqa: RUF001 # as wide as the plus


def amount(value: float, *, is_share: bool) -> str:
    """Return the size of a change in its unit, to three digits: ``2 points`` of a share, else a number."""
    return f"{100 * value:.3g} points" if is_share else figure(value, "number")


def magnitude(count: int) -> str:
    """Return a large number to two or three digits: ``70M``, ``1.4B``."""
    for unit, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K")):
        # What rounds up to the next unit is written in it.
        if count >= 0.9995 * unit:
            value = count / unit
            return f"{value:.0f}{letter}" if value >= 99.5 else f"{value:.2g}{letter}"
    return str(count)


def interval(estimate: Estimate, unit: Unit, decimals: int = 1) -> str:
    """Return the ends of an interval, or nothing if there is none; as many decimals as its value has (``figure``)."""
    if not (estimate.exists and estimate.has_interval):
        return ""
    return f"[{figure(estimate.low, unit, decimals)}, {figure(estimate.high, unit, decimals)}]"


def with_unit(estimate: Estimate, unit: Unit) -> str:
    """Return a figure with its unit and its interval."""
    name = f" {UNITS[unit]}" if unit == "change" else UNITS[unit]
    return f"{figure(estimate.value, unit)}{name if estimate.exists else ''} {interval(estimate, unit)}".rstrip()


def table_as_csv(table: Table) -> str:
    """Return a table as CSV: shares from 0 to 1, each estimate followed by the ends of its interval."""
    estimates = [any(isinstance(row[place], Estimate) for row in table.rows) for place in range(len(table.columns))]
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    headings = zip(map(spreadsheet_text, table.columns), estimates, strict=True)
    writer.writerow(
        heading
        for column, has_interval in headings
        for heading in ([column, f"{column} low", f"{column} high"] if has_interval else [column])
    )
    for row in table.rows:
        writer.writerow(
            value for cell, has_interval in zip(row, estimates, strict=True) for value in _values(cell, has_interval)
        )
    return text.getvalue()


def _values(cell: TableCell, has_interval: bool) -> list[str | int | float]:
    """Return a cell's values; missing ones are empty."""
    if isinstance(cell, Estimate):
        return ["" if value != value else value for value in (cell.value, cell.low, cell.high)]  # noqa: PLR0124 # NaN
    value = "" if cell is None else spreadsheet_text(cell) if isinstance(cell, str) else cell
    return [value, "", ""] if has_interval else [value]


def spreadsheet_text(cell: str) -> str:
    """Return a text that a spreadsheet does not interpret as a formula; model names are untrusted."""
    text = readable(cell)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text
