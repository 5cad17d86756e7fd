"""What the results of a family's tasks hold: its metrics, its headline, and the facts that each task records.

The tasks, the reader of results and the report all go by it, so that none of them has a list of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from math import inf, log
from typing import Any, Literal, TypeGuard

RowForm = Literal["number", "ratio", "letters", "choice"]
"""What the samples hold of a row: a number; ``[followed, asked]``, whose sums are divided; two letters; or a question
with the contents chosen."""
FactForm = Literal[
    "text", "text or null", "text or a number", "true or false", "a whole number", "a text for each label", "an object"
]
"""What a fact that a task records can be."""

SHARE = (0.0, 1.0)
COUNT = (0.0, 1e9)
"""Of what is counted in a run; none comes near its end."""
ENTROPY = (0.0, log(COUNT[1]))
"""In nats; that of so many outcomes, each as likely."""
ROUNDING = 1e-9


@dataclass(frozen=True)
class Metric:
    """One metric, or several that share a pattern.

    Attributes:
        name: as the harness has it; ``*`` stands for any text, as in ``strict_acc_*``.
        higher_is_better: ``None``: neither way is better.
        per_row: what the samples hold of each row; ``None``: nothing that a figure is computed from.
        drawn: whether the report shows it.
        range: the least and the greatest value that it can have, both of a figure and, where a row has a number, of a
            row. Anything else in a file was not written by one of our tasks.
    """

    name: str
    higher_is_better: bool | None
    per_row: RowForm | None = "number"
    drawn: bool = True
    range: tuple[float, float] = SHARE

    def covers(self, name: str) -> bool:
        """Return whether a metric is this one, or one of these."""
        return fnmatchcase(name, self.name)


@dataclass(frozen=True)
class Schema:
    """What the results of a family's tasks hold.

    Attributes:
        metrics: all that a task can give.
        headlines: the first that a task has is its own; as a headline, a metric always has a better way.
        facts: the metadata that every task of the family records, besides those of every family (``FACTS``), and what
            they can be.
        values: of some facts the values that the paper's tasks have, in the order in which they are shown.
        row_key: the field of a document that tells the row of the dataset, whichever task asks it; ``None``: the rows'
            numbers do.
        rows_fact: the metadata that two runs of a task share if they were asked about the same rows.
        prompt_facts: metadata that change the prompts of the same rows. Where there are any, two models' prompts of a
            row may differ, and so may the documents that hold them.
        readers: the filters that a task's answers can be read by, the one that reads best first; a filter of a user's
            own comes after them. Empty: there is one filter, whatever its name.
        tasks_weigh_alike: whether a group's figure is the mean of its tasks', not of all rows.
        former_names: of metrics that older versions of lm-eval-ext called otherwise: the former name to today's.
    """

    metrics: tuple[Metric, ...]
    headlines: tuple[Metric, ...]
    facts: Mapping[str, FactForm]
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    row_key: str | None = None
    rows_fact: str = "rows_hash"
    prompt_facts: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    tasks_weigh_alike: bool = False
    former_names: Mapping[str, str] = field(default_factory=dict)

    def metric(self, name: str) -> Metric:
        """Return what is known of a metric.

        Raises:
            KeyError: the family has no such metric.
        """
        found = next((metric for metric in self.metrics if metric.covers(name)), None)
        if found is None:
            raise KeyError(name)
        return found

    def row_form(self, name: str) -> RowForm | None:
        """Return what the samples hold of a metric in each row; ``None`` also of a metric of a user's own."""
        return next((metric.per_row for metric in self.metrics if metric.covers(name)), None)

    def range(self, name: str) -> tuple[float, float]:
        """Return the least and the greatest value of a metric; nothing is known of one of a user's own.

        They are wider by what sums of floating-point numbers can go beyond them.
        """
        least, most = next((metric.range for metric in self.metrics if metric.covers(name)), (-inf, inf))
        return least - ROUNDING, most + ROUNDING

    def expected(self, name: str) -> str:
        """Return in words what a metric can be.

        Raises:
            KeyError: the family has no such metric.
        """
        least, most = self.metric(name).range
        return f"a number, at least {least:g}" if most == COUNT[1] else f"a number from {least:g} to {most:g}"

    def headline(self, metrics: Collection[str]) -> Metric:
        """Return the headline of a task that gives these metrics.

        Raises:
            KeyError: none of them can be one.
        """
        found = next((headline for headline in self.headlines if headline.name in metrics), None)
        if found is None:
            raise KeyError(", ".join(headline.name for headline in self.headlines))
        return found

    def in_order(self, fact: str, found: Collection[str]) -> tuple[str, ...]:
        """Return some values of a fact in the order in which they are shown; those of a user's own come last."""
        known = [value for value in self.values.get(fact, ()) if value in found]
        return (*known, *sorted(set(found) - set(known)))

    def best_first(self, readers: Collection[str]) -> tuple[str, ...]:
        """Return filters that answers were read by, the one that reads best first."""
        known = [reader for reader in self.readers if reader in readers]
        return (*known, *sorted(set(readers) - set(known)))

    def missing_facts(self, metadata: Mapping[str, Any]) -> tuple[str, ...]:
        """Return which facts a task's metadata lack."""
        return tuple(fact for fact in (*FACTS, *self.facts) if fact not in metadata)

    def wrong_facts(self, metadata: Mapping[str, Any]) -> dict[str, FactForm]:
        """Return which facts in a task's metadata are not what they can be, and what that is.

        Args:
            metadata: without a fact missing.
        """
        forms = {**FACTS, **self.facts}
        return {fact: form for fact, form in forms.items() if not _HAS_FORM[form](metadata[fact])}


FACTS: Mapping[str, FactForm] = {
    "family": "text",
    "dataset": "text",
    "source": "text",
    "version": "text or a number",
    "rows_hash": "text",
}
"""The metadata that every task of every family records, and what they can be."""


def is_count(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number that something in a run can be counted by."""
    return isinstance(value, int) and not isinstance(value, bool) and COUNT[0] <= value <= COUNT[1]


_HAS_FORM: Mapping[FactForm, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "text or null": lambda value: isinstance(value, str | None),
    "text or a number": lambda value: isinstance(value, str | int | float) and not isinstance(value, bool),
    "true or false": lambda value: isinstance(value, bool),
    "a whole number": is_count,
    "a text for each label": lambda value: (
        isinstance(value, dict) and all(isinstance(word, str) for word in value.values())
    ),
    "an object": lambda value: isinstance(value, dict),
}
