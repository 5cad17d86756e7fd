"""Reads which instructions a row has out of what data sets of other libraries, data frames and Parquet files have."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

COLUMNS = ("instruction_id_list", "kwargs")
"""IFEval's columns that say which instructions a row has, and with which arguments."""
GROUND_TRUTH = "ground_truth"
"""The column that says both in IF-RLVR's data sets."""
ROW_FIELDS = ("response", *COLUMNS)
_SHOWN = 120
"""How many characters of a wrong ``ground_truth`` an error shows."""


def unpacked(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a row with IFEval's columns, taken out of ``ground_truth`` where it has that column instead.

    Args:
        row: of a published data set of IF-RLVR, whose ``ground_truth`` is
            ``[{"instruction_id": [...], "kwargs": [...]}]``, as JSON, as a Python literal or as a list; or any other
            row, which is returned as it is.

    Raises:
        ValueError: ``ground_truth`` is something else.
    """
    if GROUND_TRUTH not in row or any(column in row for column in COLUMNS):
        return row
    packed = _literal(row[GROUND_TRUTH])
    [entry] = packed if isinstance(packed, (list, tuple)) and len(packed) == 1 else [None]
    entry = _literal(entry)
    if not isinstance(entry, Mapping) or not {"instruction_id", "kwargs"} <= entry.keys():
        value = repr(row[GROUND_TRUTH])
        raise ValueError(
            'expected [{"instruction_id": [...], "kwargs": [...]}] with one object, as JSON or as a Python literal, '
            f"found {value if len(value) <= _SHOWN else f'{value[:_SHOWN]}…'}"
        )
    return {**row, "instruction_id_list": entry["instruction_id"], "kwargs": entry["kwargs"]}


def _literal(value: object) -> object:
    """Return what a text says in JSON or in Python; any other value, and a text that says nothing, as it is."""
    if not isinstance(value, str):
        return value
    for parse in (json.loads, ast.literal_eval):
        try:
            return cast(object, parse(value))
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return value


def cell(value: object) -> Any:
    """Return a cell of a row as IFEval's rows have it, out of what data frames and Parquet files have.

    Arrays become lists, and NaN becomes null. A cell that is JSON is read, and so is an entry of a list, but no
    argument: a keyword may look like JSON.
    """
    value = _read(_plain(value))
    return [_read(entry) for entry in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):  # an array or a number of numpy
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _read(value: Any) -> Any:
    """Return the list, the object or the null that a text is in JSON; any other value, and any other text, as it is."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{", "null")):
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value
