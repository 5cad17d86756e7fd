"""The figures of a table by what they are about: selected, computed with, and turned into columns.

``Study.means`` makes them, and ``layout`` makes panels and a table of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.statistics import RESAMPLES, Replicates

Key = tuple[Any, ...]
"""Values of several facts."""
UNKNOWN = Replicates(np.full(1 + RESAMPLES, np.nan))
"""A figure that does not exist."""


def exists(value: object) -> bool:
    """Return whether the value of a column is a figure that exists."""
    if isinstance(value, Estimate):
        return value.exists
    return isinstance(value, Replicates) and not np.isnan(value.figure)


@dataclass(frozen=True)
class Cells:
    """Figures by what they are about.

    Attributes:
        by: the names of the facts that distinguish the lines.
        lines: by the values of these, the columns of each line: replicates, or what is shown as it is.
        metrics: by column, those of the family's schema that it shows, unless it is computed from other columns.
        baseline: the model with which the only other one is compared; empty if none is.
    """

    by: tuple[str, ...]
    lines: Mapping[Key, Mapping[str, Any]]
    metrics: Mapping[str, Collection[str]] = field(default_factory=dict)
    baseline: str = ""

    def about(self) -> Iterator[tuple[dict[str, Any], Mapping[str, Any]]]:
        """Yield what each line is about, and its columns."""
        return ((dict(zip(self.by, key, strict=True)), columns) for key, columns in self.lines.items())

    def values(self, fact: str) -> tuple[Any, ...]:
        """Return the values of a fact in the order of the lines, each once."""
        return tuple(dict.fromkeys(about[fact] for about, _ in self.about()))

    def where(self, wanted: Callable[[dict[str, Any]], object]) -> Cells:
        """Return the lines about something."""
        keys = [key for key, (about, _) in zip(self.lines, self.about(), strict=True) if wanted(about)]
        return replace(self, lines={key: self.lines[key] for key in keys})

    def known(self, *facts: str) -> Cells:
        """Return the lines about values of some facts of which any line has a figure that exists."""
        existing = {
            key
            for key, part in self.split(*facts)
            if any(exists(value) for line in part.lines.values() for value in line.values())
        }
        return self.where(lambda about: tuple(about[fact] for fact in facts) in existing)

    def split(self, *facts: str) -> Iterator[tuple[Key, Cells]]:
        """Yield the lines for each combination of the values of some facts."""
        places = [self.by.index(fact) for fact in facts]
        parts: dict[Key, dict[Key, Mapping[str, Any]]] = {}
        for key, columns in self.lines.items():
            parts.setdefault(tuple(key[place] for place in places), {})[key] = columns
        return ((values, replace(self, lines=lines)) for values, lines in parts.items())

    def with_columns(self, columns: Mapping[str, Callable[[dict[str, Any]], Any]]) -> Cells:
        """Return the cells with more columns, each computed from what a line is about and its columns so far."""
        lines = {}
        for key, (about, before) in zip(self.lines, self.about(), strict=True):
            line = dict(before)
            for name, value_of in columns.items():
                line[name] = value_of({**about, **line})
            lines[key] = line
        return replace(self, lines=lines)

    def changes(self) -> Cells:
        """Return by how much the other model's figures differ from the baseline's, without text.

        Their intervals are not those of the gate, so there are none.
        """
        place = self.by.index("model")
        lines: dict[Key, Mapping[str, Any]] = {}
        for key, line in self.lines.items():
            if key[place] != self.baseline:
                before = self.lines.get((*key[:place], self.baseline, *key[place + 1 :]), {})
                changed_key = (*key[:place], f"{key[place]} minus {self.baseline}", *key[place + 1 :])
                lines[changed_key] = {
                    column: Estimate(value.figure - before.get(column, UNKNOWN).figure)
                    for column, value in line.items()
                    if isinstance(value, Replicates)
                }
        return replace(self, lines=lines, baseline="")

    def with_fact(self, fact: str, value: str | Callable[[dict[str, Any]], Any]) -> Cells:
        """Return the cells with one more fact, whose value is a format of the others, or computed from them."""
        lines = {
            (*key, value.format(**about) if isinstance(value, str) else value(about)): columns
            for key, (about, columns) in zip(self.lines, self.about(), strict=True)
        }
        return replace(self, by=(*self.by, fact), lines=lines)

    def only(self, columns: Mapping[str, str] | Collection[str]) -> Cells:
        """Return the cells with some of their columns, under other names if a mapping gives these."""
        names = columns if isinstance(columns, Mapping) else dict(zip(columns, columns, strict=True))
        lines = {key: {new: line[name] for name, new in names.items()} for key, line in self.lines.items()}
        return replace(self, lines=lines, metrics={new: self.metrics.get(name, ()) for name, new in names.items()})

    def joined(self, further: Cells) -> Cells:
        """Return the cells with the columns of others that are about the same, and their lines about anything else."""
        names = dict.fromkeys(name for cells in (self, further) for line in cells.lines.values() for name in line)
        lines = {
            key: {**dict.fromkeys(names, UNKNOWN), **self.lines.get(key, {}), **further.lines.get(key, {})}
            for key in (*self.lines, *further.lines)
        }
        return replace(self, lines=lines, metrics={**self.metrics, **further.metrics})

    def wide(self, *facts: str, heading: str) -> Cells:
        """Return cells with a column for each combination of the values of some facts and each column.

        Args:
            facts: the facts whose values become columns.
            heading: a format of the columns' headings, with these facts and ``column``.
        """
        headings = {
            heading.format(**about, column=column): self.metrics.get(column, ())
            for about, line in self.about()
            for column in line
        }
        remaining = tuple(fact for fact in self.by if fact not in facts)
        lines: dict[Key, dict[str, Any]] = {}
        for about, line in self.about():
            wide_line = lines.setdefault(tuple(about[fact] for fact in remaining), dict.fromkeys(headings, UNKNOWN))
            wide_line.update({heading.format(**about, column=column): value for column, value in line.items()})
        return replace(self, by=remaining, lines=lines, metrics=headings)
