"""What a report's reader must know besides the figures: errors, warnings and notes."""

from __future__ import annotations

import re
from collections import Counter
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
_NUMBER = re.compile(r"(?<![\w.-])[-+\u2212]?\d[\d,.]*(?:e[-+]?\d+)?(?!\w)")


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
    """Return issues; an issue about several models is there once, with all their names.

    Two issues say the same if only their numbers differ; then those of the first model are kept, as an example. Digits
    in names are no numbers, and two issues of one model are never merged.

    Args:
        issues: those about a model begin with its name and a colon.
        models: the names.
    """
    about: dict[Hashable, list[tuple[str, Issue]]] = {}
    of_model: Counter[Hashable] = Counter()
    for issue in dict.fromkeys(issues):
        model, colon, text = issue.text.partition(": ")
        if not colon or model not in models:
            about[issue] = [(model, issue)]
            continue
        says = issue.severity, _NUMBER.sub("#", text)
        about.setdefault((*says, of_model[model, says]), []).append((model, replace(issue, text=text)))
        of_model[model, says] += 1
    merged = []
    for key, pairs in about.items():
        names, first = [model for model, _ in pairs], pairs[0][1]
        if first == key:
            merged.append(first)
            continue
        example = f" (the numbers are those of {names[0]})" if any(issue != first for _, issue in pairs) else ""
        merged.append(replace(first, text=f"{named([*dict.fromkeys(names)])}: {first.text}{example}"))
    return tuple(merged)


def named(names: Sequence[str], few: int = MOST_NAMED) -> str:
    """Return a list of names as text, shortened if it is long."""
    text = ", ".join(names[:few])
    return f"{text} and {len(names) - few} more" if len(names) > few else text or "nothing"
