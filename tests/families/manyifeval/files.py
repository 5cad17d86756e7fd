"""Rows of this family as files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lm_eval_ext.families.manyifeval.published import as_published
from lm_eval_ext.families.manyifeval.rows import all_rows


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> str:
    """Write rows as JSON lines and return the path, as a source."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def published_rows(split: str = "test") -> list[dict[str, Any]]:
    """Return the embedded rows in the published schema."""
    return list(as_published(all_rows("embedded", split)))
