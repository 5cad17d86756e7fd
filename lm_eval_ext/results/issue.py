"""What a reader of results must be told besides the figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
"""``error``: there is no figure, or no comparison; ``warning``: it may mislead; ``note``: good to know."""
FEW = 5
"""So many names of a list are said; the rest are counted."""


@dataclass(frozen=True)
class Issue:
    """One thing that a reader must be told.

    Attributes:
        severity: how much it weighs.
        text: a sentence that names the thing and, where something can be done, what.
    """

    severity: Severity
    text: str

    def __str__(self) -> str:
        return self.text


def error(text: str) -> Issue:
    """Return an issue for which there is no figure, or no comparison."""
    return Issue("error", text)


def warning(text: str) -> Issue:
    """Return an issue for which a figure may not mean what it seems."""
    return Issue("warning", text)


def note(text: str) -> Issue:
    """Return an issue that is good to know."""
    return Issue("note", text)


def named(names: Sequence[str], few: int = FEW) -> str:
    """Return a list in words, cut short."""
    shown = ", ".join(names[:few])
    return f"{shown} and {len(names) - few} more" if len(names) > few else shown or "nothing"
