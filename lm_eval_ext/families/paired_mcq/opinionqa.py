"""OpinionQA's rows, which are not on the hub: from the user's file or folder, or the embedded ones."""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from lm_eval_ext import sources
from lm_eval_ext.sources import RowsError, Table

NAME, SPLIT = "opinionqa", "test"
TAB_SEPARATED = (".tsv", ".csv", ".txt")
"""Suffixes that the original tab-separated file may have; it contains lists in Python syntax."""
_LISTS = ("options", "option_ordinal")


def table_of(source: str) -> Table:
    """Return OpinionQA's rows: ``question``, ``options`` and, if the source has it, ``option_ordinal``.

    Args:
        source: ``"embedded"``, a file, or a folder with ``opinionqa_test.jsonl`` (``.parquet``, ``.tsv``, ``.csv``).

    Raises:
        RowsError: the source does not exist or is the hub, or the file is not well-formed.
    """
    if source == sources.HUB:
        raise RowsError(
            "the rows of 'opinionqa' are not on the Hugging Face Hub. Use one of these sources:\n"
            '  --metadata \'{"source": "/path/to/file"}\'  your own copy, or a folder that contains it as '
            f"{NAME}_{SPLIT}.jsonl (or .tsv): JSON lines with question and options (a list), or the original "
            "tab-separated file\n"
            f'  --metadata \'{{"source": "{sources.EMBEDDED}"}}\'  {sources.EMBEDDED_NOTE}'
        )
    path = sources.EMBEDDED_FOLDER if source == sources.EMBEDDED else Path(source).expanduser().resolve()
    if path.is_dir():
        path = _file_in(path)
    if not path.is_file():
        raise RowsError(
            f'source {source!r} is neither a file nor a folder; expected "{sources.EMBEDDED}", the path of a file of '
            f"OpinionQA's rows, or the path of a folder with {NAME}_{SPLIT}.jsonl"
        )
    return _tab_separated(path) if path.suffix in TAB_SEPARATED else sources.from_file(path)


def _file_in(folder: Path) -> Path:
    suffixes = (*sources.SUFFIXES, *TAB_SEPARATED)
    candidates = [folder / f"{NAME}_{SPLIT}{suffix}" for suffix in suffixes]
    found = next((path for path in candidates if path.is_file()), None)
    if found is None:
        others = sorted(entry.name for entry in folder.iterdir() if entry.suffix in suffixes)
        raise RowsError(
            f"no rows of {NAME!r} in {folder}: expected {NAME}_{SPLIT} with one of {', '.join(suffixes)}; "
            f"found {', '.join(others) or 'no such files'}"
        )
    return found


@cache
def _tab_separated(path: Path) -> Table:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines, delimiter="\t", restkey="")
            columns = tuple(reader.fieldnames or ())
            rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise RowsError(f"{path}: not a tab-separated file in UTF-8 ({error})") from error
    for column in ("question", "options"):
        if column not in columns:
            raise RowsError(
                f"{path} has no column {column!r}; expected a tab-separated file with question and options; "
                f"found {', '.join(columns) or 'nothing'}"
            )
    if not rows:
        raise RowsError(f"{path}: no rows")
    kept = tuple(column for column in columns if column in ("question", *_LISTS))
    return Table(
        str(path),
        [_row(f"{path}, row {number}", row, kept) for number, row in enumerate(rows, start=1)],
        kept,
        {},
    )


def _row(where: str, row: Mapping[str, str | None], columns: tuple[str, ...]) -> dict[str, Any]:
    return {column: _list(where, column, row[column]) if column in _LISTS else row[column] for column in columns}


def _list(where: str, column: str, text: str | None) -> Any:
    spelled = (text or "").strip()
    if column == "option_ordinal":
        if not spelled:
            return None
        spelled = re.sub(r"\bnan\b", "None", spelled)  # a table's notation for missing numbers
    try:
        return ast.literal_eval(spelled)
    # TypeError: in Python, {{}} is a set of an unhashable value.
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise RowsError(
            f"{where}, field {column!r}: expected a list in Python syntax, as in ['Yes', 'No']; found {text!r}"
        ) from error
