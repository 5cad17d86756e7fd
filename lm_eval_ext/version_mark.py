"""Marks in a task's version: scores under different marks are no versions of one figure, and are not compared."""

from __future__ import annotations

from typing import Any


def mark_version(metadata: dict[str, Any], mark: object) -> None:
    """Add a mark to the ``version`` in a task's metadata: ``1.1`` becomes ``1.1+embedded``."""
    metadata["version"] = f"{metadata.get('version')}+{mark}"


def without_mark(version: object, mark: str) -> str:
    """Return a version without its last mark, if that is the given one: ``1.1+system`` becomes ``1.1``."""
    return str(version).removesuffix(f"+{mark}")
