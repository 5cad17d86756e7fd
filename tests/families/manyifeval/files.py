"""Rows of this family as a user's file has them."""

from __future__ import annotations

from typing import Any

from lm_eval_ext.families.manyifeval.command import as_published
from lm_eval_ext.families.manyifeval.rows import all_rows


def published_rows(split: str = "test") -> list[dict[str, Any]]:
    """Return the embedded rows in the published schema."""
    return list(as_published(all_rows("embedded", split)))
