"""Rows as files of JSON lines or Parquet, the forms in which a user may give them; and what may be wrong with them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import datasets

from tests.tables import tables

WRONG_ROWS: Mapping[str, Mapping[str, Sequence[Any]]] = tables(__file__, "wrong_rows")
"""By format: by what is wrong, what is changed in a row, and what the error says of it, as a regular expression."""


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> str:
    """Write rows as JSON lines and return the path, as a source."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> str:
    """Write rows in the format that the path's suffix says, and return the path, as a source."""
    if path.suffix == ".jsonl":
        return write_jsonl(path, rows)
    datasets.Dataset.from_list(list(rows)).to_parquet(str(path))
    return str(path)


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines, which may be compressed."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [json.loads(line) for line in content.splitlines()]
