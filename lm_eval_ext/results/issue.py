"""What a report's reader must know besides the figures: errors, warnings and notes."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

Severity = Literal["error", "warning", "note"]
"""``error``: no figure or no comparison; ``warning``: a figure may mislead; ``note``: for information."""
MOST_NAMED = 5
"""The most names that a list spells out; the rest are counted."""


@dataclass(frozen=True)
class Issue:
    """A fact that the reader must know.

    Attributes:
        severity: how serious it is.
        text: a sentence that names the problem and, where possible, how to fix it.
    """

    severity: Severity
    text: str

    def __str__(self) -> str:
        return self.text


error = partial(Issue, "error")
warning = partial(Issue, "warning")
note = partial(Issue, "note")
"""Each makes an issue of its severity out of a text."""


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Return values by their key, in order of appearance, such as the names of all tasks with the same problem."""
    values: dict[Key, list[Value]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return values


def of_models(issues: Iterable[Issue], models: Collection[str]) -> tuple[Issue, ...]:
    """Return issues; what is said of several models in the same words is there once, with all their names.

    Args:
        issues: those about a model begin with its name and a colon.
        models: the names.
    """
    said: dict[tuple[Issue, bool], list[str]] = {}
    for issue in dict.fromkeys(issues):
        model, colon, text = issue.text.partition(": ")
        is_of_model = bool(colon) and model in models
        said.setdefault((replace(issue, text=text) if is_of_model else issue, is_of_model), []).append(model)
    return tuple(
        replace(issue, text=f"{named(names)}: {issue.text}") if is_of_model else issue
        for (issue, is_of_model), names in said.items()
    )


def named(names: Sequence[str], few: int = MOST_NAMED) -> str:
    """Return a list of names as text, shortened if it is long."""
    text = ", ".join(names[:few])
    return f"{text} and {len(names) - few} more" if len(names) > few else text or "nothing"
