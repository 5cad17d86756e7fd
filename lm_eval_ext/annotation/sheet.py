"""Sheets for labeling by hand: rows with an empty column, as CSV that a spreadsheet opens safely.

A spreadsheet runs a cell of a CSV file that starts with ``=``, ``+``, ``-`` or ``@`` as a formula, and model output may
start with anything. Such text gets an apostrophe in front, which reading a sheet removes again; so does text that
itself starts with an apostrophe. A program whose locale separates cells by semicolons or tabs starts new cells and
lines in the middle of quoted text, so the same holds after every semicolon, tab and line break.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path

from lm_eval_ext.sources import RowsError

CSV = ".csv"
SEPARATORS = (",", ";", "\t")
"""What spreadsheets write between cells, depending on the locale."""

# The second four are the full-width forms, which some spreadsheets accept as well.
_START = "'=+\\-@\uff1d\uff0b\uff0d\uff20\t\r"
# In the middle of a cell, a quotation mark could begin a quoted one.
_FORMULA = re.compile(f'(^(?=[{_START}])|[;\t\r\n](?=[{_START}"]))')
_GUARD = re.compile("(^|[;\t\r\n])'")

Cell = str | int | float


def require_new_sheet(path: Path) -> None:
    """Raise unless a path can be that of a new sheet; labels in an existing file must not be lost.

    Raises:
        RowsError: the name does not end in ``.csv``, the file exists, or its folder does not.
    """
    _require_suffix(path)
    if path.exists():
        raise RowsError(f"{path}: exists, and may have labels; choose another name, or move it away")
    if not path.absolute().parent.is_dir():
        raise RowsError(f"{path}: its folder does not exist; create it first")


def write_sheet(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, Cell]]) -> None:
    """Write a new sheet, in UTF-8 with a byte order mark, by which spreadsheets recognize it.

    Args:
        path: the sheet's name, which ends in ``.csv``.
        columns: the names of the columns, in order.
        rows: a value for each column.

    Raises:
        OSError: the file cannot be written.
        RowsError: as ``require_new_sheet``.
    """
    require_new_sheet(path)
    text = io.StringIO()
    # A number is no formula, and text is quoted, so that a spreadsheet does not take it for a number or a date.
    writer = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC)
    for cells in (columns, *([row[column] for column in columns] for row in rows)):
        writer.writerow([_FORMULA.sub(r"\1'", cell) if isinstance(cell, str) else cell for cell in cells])
    with path.open("xb") as file:
        # Half of a surrogate pair, which JSON can express, has no form in UTF-8.
        file.write(text.getvalue().encode("utf-8-sig", errors="backslashreplace"))


def read_sheet(path: Path, columns: Collection[str]) -> list[dict[str, str]]:
    """Return the rows of a sheet that was labeled, with all values as text.

    Args:
        path: a sheet. A spreadsheet may have rearranged columns and rows, added some, and replaced the commas by
            semicolons or tabs.
        columns: the columns that must be there; other columns are returned, too.

    Raises:
        OSError: the file cannot be read.
        RowsError: the file is no such sheet, or has no rows; the message names file, row and column.
    """
    _require_suffix(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RowsError(f"{path}: not in UTF-8; save it as “CSV UTF-8”, or as CSV with the encoding UTF-8") from error
    header = text.split("\n", 1)[0]
    # The separator that finds the most columns: the names of columns contain none.
    separator = max(SEPARATORS, key=header.count)
    # Strict, because otherwise the rest of a file is taken for a cell whose quotation mark is missing.
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    # A response may go on and on.
    most = csv.field_size_limit(len(text))
    begun, sheet_rows = 1, []
    try:
        for cells in lines:
            sheet_rows.append([_GUARD.sub(r"\1", cell) for cell in cells])
            begun = lines.line_num + 1
    except csv.Error as error:
        remedy = "correct the quotation marks of the row that begins there, or get the whole file"
        raise RowsError(f"{path}, line {begun}: not CSV: {error}; {remedy}") from error
    finally:
        csv.field_size_limit(most)
    names, *lines_below = sheet_rows or [[]]
    for column in columns:
        if column not in names:
            expected = f"expected {', '.join(columns)}; found {', '.join(names)}"
            raise RowsError(f"{path}: no column {column!r}; {expected}")
    if repeated := [column for column in columns if names.count(column) > 1]:
        raise RowsError(f"{path}: two columns {repeated[0]!r}; expected one")
    rows = []
    for number, cells in enumerate(lines_below, start=1):
        if len(cells) > len(names):
            raise RowsError(f"{path}, row {number}: {len(cells)} cells under {len(names)} columns")
        if any(cells):
            # Spreadsheets may leave out empty cells at the end of a line.
            rows.append(dict(zip_longest(names, cells, fillvalue="")))
    if not rows:
        raise RowsError(f"{path}: no rows")
    return rows


def _require_suffix(path: Path) -> None:
    if path.suffix != CSV:
        raise RowsError(f"{path}: expected a file that ends in {CSV}")
