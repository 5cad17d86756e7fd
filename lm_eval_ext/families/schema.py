"""What the results of a family's tasks hold: its metrics, its headline, and the facts that each task records.

The tasks, the reader of results and the report all go by it, so that none of them has a list of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal

RowForm = Literal["number", "ratio", "letters", "choice"]
"""What the samples hold of a row: a number; ``[followed, asked]``, whose sums are divided; two letters; or a question
with the contents chosen."""


@dataclass(frozen=True)
class Metric:
    """One metric, or several that share a pattern.

    Attributes:
        name: as the harness has it; ``*`` stands for any text, as in ``strict_acc_*``.
        higher_is_better: ``None``: neither way is better.
        per_row: what the samples hold of each row; ``None``: nothing that a figure is computed from.
        drawn: whether the report shows it.
    """

    name: str
    higher_is_better: bool | None
    per_row: RowForm | None = "number"
    drawn: bool = True

    def covers(self, name: str) -> bool:
        """Return whether a metric is this one, or one of these."""
        return fnmatchcase(name, self.name)


@dataclass(frozen=True)
class Schema:
    """What the results of a family's tasks hold.

    Attributes:
        metrics: all that a task can give.
        headlines: the first that a task has is its own; as a headline, a metric always has a better way.
        facts: the metadata that every task of the family records, besides those of every family (``FACTS``).
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
    facts: tuple[str, ...]
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


FACTS = ("family", "dataset", "source", "version", "rows_hash")
"""The metadata that every task of every family records."""
