"""What the results of a family's tasks contain: its metrics, its headline, and the facts that each task records.

The tasks, the reader of results and the report all use it, so none of them keeps a separate list.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from math import inf, log
from statistics import fmean
from typing import Any, Literal, TypeGuard

from lm_eval_ext import endings

RowForm = Literal["number", "ratio", "letters", "choice"]
"""The value of a metric in the samples of a row: a number; ``[followed, asked]``, whose sums are divided; two letters;
or a question with the chosen contents."""
FactForm = Literal[
    "text", "text or null", "text or a number", "true or false", "a whole number", "a text for each label", "an object"
]
"""The type of a fact that a task records."""

PLACEMENT = "placement"
"""The metadata that say where a task states its instructions."""
SHARE = (0.0, 1.0)
COUNT = (0.0, 1e9)
"""The range of counts; no run comes near the upper end."""
ENTROPY = (0.0, log(COUNT[1]))
"""The range of entropies, in nats, up to that of ``COUNT[1]`` equally likely outcomes."""
ROUNDING = 1e-9
NONE = "N/A"
"""The harness's own placeholder for an undefined figure."""

# How figures are computed from the values of a task's rows.

Aggregation = Callable[[Any], float | int | str] | Literal["mean"]
"""Computes a figure; ``"mean"`` is the harness's own mean, the only aggregation whose standard error it knows."""
Occurrences = tuple[int, int]
"""For one row and one kind of instruction: the number of followed instructions and the number of instructions."""
Outcome = tuple[Hashable, float | None]
"""For one variant of a row: what identifies the row, and whether the answer is right; ``None`` if the run does not ask
the row in every variant."""


def share_followed(rows: Iterable[Occurrences]) -> float | str:
    """Return the share of all occurrences of a kind that are followed; ``NONE`` if there are none."""
    followed, occurrences = map(sum, zip(*rows, strict=True))
    return followed / occurrences if occurrences else NONE


def reliable(variants: Iterable[Outcome]) -> float | str:
    """Return the share of rows of which every variant is right (reliable@k of IFEval++); ``NONE`` without rows."""
    by_row = outcomes_by_row(variants)
    return fmean(map(min, by_row.values())) if by_row else NONE


def outcomes_by_row(variants: Iterable[Outcome]) -> Mapping[Hashable, Sequence[float]]:
    """Return what is right of each row that is asked in every variant."""
    by_row: dict[Hashable, list[float]] = {}
    for row, right in variants:
        if right is not None:
            by_row.setdefault(row, []).append(right)
    return by_row


def mean_length(rows: Iterable[Sequence[Any]]) -> float:
    """Return how many entries a row has on average: instructions, or answers."""
    return fmean(map(len, rows))


@dataclass(frozen=True)
class Metric:
    """One metric, declared here and nowhere else: tasks, groups, results and reports read it.

    Attributes:
        name: the metric's name in the harness. ``*`` matches any text, for metrics whose number depends on a run.
        higher_is_better: ``None`` if neither direction is better.
        aggregation: computes the figure from the rows' values.
        needs: what a task must have so that it reports the metric; empty if every task of the family does. Without
            ``REFINED`` answers, for example, there are no rounds.
        in_groups: whether the groups of the family's tasks have a figure of it, which can only be a mean over rows.
        explains: the metric that it explains, as a part, a variant or a counterpart of it; empty if it stands for
            itself. What explains another metric is a detail: the samples always have it, but the results only on
            request (``metadata.DETAILS``).
        per_row: the value that the samples record for each row; ``None`` if no figure is computed from it.
        drawn: whether the report shows it.
        range: the minimum and maximum, both for a figure and, where a row has a number, for a row. A value outside the
            range was not written by one of our tasks.
        holds_for_all: whether its direction holds for every task of the family.
    """

    name: str
    higher_is_better: bool | None
    aggregation: Aggregation = "mean"
    needs: tuple[str, ...] = ()
    in_groups: bool = False
    explains: str = ""
    per_row: RowForm | None = "number"
    drawn: bool = True
    range: tuple[float, float] = SHARE
    holds_for_all: bool = True

    @property
    def direction_in_tables(self) -> bool | None:
        """Whether the harness's tables say that higher is better; ``None`` if they say neither.

        A group has one direction of a metric there, and the harness warns if its tasks have several.
        """
        return self.higher_is_better if self.holds_for_all else None

    def covers(self, name: str) -> bool:
        """Return whether a metric's name matches this metric or pattern."""
        # The name of a metric that is not ours may hold characters of a pattern.
        return name == self.name or fnmatchcase(name, self.name)


def share_metric(name: str, needs: tuple[str, ...] = (), explains: str = "") -> Metric:
    """Return a metric whose rows hold ``[followed, asked]``: the share of all rows' occurrences that are followed."""
    return Metric(name, True, share_followed, needs, explains=explains, per_row="ratio")


EMPTY_RATE = Metric("empty_rate", higher_is_better=False, in_groups=True, drawn=False)
"""A metric of every family: the share of rows whose response has no answer (``verifiers.verify.is_empty``). A report
warns where it is high, and draws it where it is a part of something."""


ENDINGS = "answers whose endings are known"
"""What a metric needs."""
TRUNCATED_RATE = Metric(endings.TRUNCATED_RATE, higher_is_better=False, needs=(ENDINGS,), drawn=False)
"""A metric of every family: the share of answers that ended at the limit of new tokens. It explains the headline, so it
is a detail, but the results have it where it is not 0. Groups do not, because some of their tasks may lack it."""
PROMPT_TRUNCATED_RATE = Metric(
    endings.PROMPT_TRUNCATED_RATE, higher_is_better=False, needs=("prompts that lost their beginnings",), drawn=False
)
"""A metric of every family: the share of answers to prompts of which the model was not shown the beginning. A run has
it, in samples and results, if there are any."""


@dataclass(frozen=True)
class Schema:
    """What the results of a family's tasks contain.

    Attributes:
        metrics: all metrics that a task can report.
        headlines: candidates for a task's headline, of which the first that it reports is used; as a headline, a metric
            always has a better direction.
        levels: the facts that say what tasks are there to tell apart, such as how natural the label words are. A
            headline is of one level: a mean over several would hide what they show. Some tasks may lack such a fact.
        facts: the metadata that every task of the family records, besides those of every family (``FACTS``), and their
            types.
        values: for some facts, the values in the paper's tasks, in display order.
        row_key: the field of a document that identifies the dataset's row, in whichever task; ``None`` if the rows'
            numbers do.
        row_keys_of_variants: for metadata that only tasks record that ask every row in several variants: the field that
            identifies the row there.
        rows_fact: the metadata that two runs of a task share if they were asked about the same rows.
        prompt_facts: metadata that change the prompts of the same rows. Where there are any, two models' prompts for a
            row may differ, and so may the documents that contain them.
        readers: the filters that can read a task's answers, the most accurate first; user-defined filters come after
            them. Empty if there is a single filter, whatever its name.
        tasks_weigh_alike: whether a group's figure is the mean over its tasks, not over all rows.
        over_temperatures: whether the report compares a task's runs at several temperatures.
        placements: where a run may state a task's instructions (``PLACEMENT``), the published place first; empty if
            there is only one place.
        sizes: by a pattern for the names of published tasks and groups, how many dataset rows they are over, and how
            many answers to each row they ask for.
        choices: the fact with an entry for each answer among which a random guess chooses; empty if there is none.
    """

    metrics: tuple[Metric, ...]
    headlines: tuple[Metric, ...]
    facts: Mapping[str, FactForm]
    levels: tuple[str, ...] = ()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    row_key: str | None = None
    row_keys_of_variants: Mapping[str, str] = field(default_factory=dict)
    rows_fact: str = "rows_hash"
    prompt_facts: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    tasks_weigh_alike: bool = False
    over_temperatures: bool = False
    placements: tuple[str, ...] = ()
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    choices: str = ""

    def metric(self, name: str) -> Metric:
        """Return the description of a metric.

        Raises:
            KeyError: the family has no such metric.
        """
        metric = self.known_metric(name)
        if metric is None:
            raise KeyError(name)
        return metric

    def known_metric(self, name: str) -> Metric | None:
        """Return the description of a metric; ``None`` if it is user-defined."""
        if name not in self._known:
            self._known[name] = next((metric for metric in self.metrics if metric.covers(name)), None)
        return self._known[name]

    @cached_property
    def _known(self) -> dict[str, Metric | None]:
        # The same few names are asked for again in every run of every model.
        return {}

    def reported(self, has: Collection[str] = ()) -> tuple[Metric, ...]:
        """Return the metrics that a task reports.

        Args:
            has: what the task has of what metrics need.
        """
        return tuple(metric for metric in self.metrics if set(metric.needs) <= set(has))

    def row_form(self, name: str) -> RowForm | None:
        """Return the form of a metric's value per row; ``None`` also for a user-defined metric."""
        metric = self.known_metric(name)
        return None if metric is None else metric.per_row

    def range(self, name: str) -> tuple[float, float]:
        """Return the minimum and maximum of a metric; infinite for a user-defined metric.

        The range is widened by the possible rounding error of floating-point sums.
        """
        metric = self.known_metric(name)
        least, most = (-inf, inf) if metric is None else metric.range
        return least - ROUNDING, most + ROUNDING

    def expected(self, name: str) -> str:
        """Return a description of a metric's valid values.

        Raises:
            KeyError: the family has no such metric.
        """
        least, most = self.metric(name).range
        return f"a number, at least {least:g}" if most == COUNT[1] else f"a number from {least:g} to {most:g}"

    def headline(self, metrics: Collection[str]) -> Metric:
        """Return the headline of a task that reports these metrics.

        Raises:
            KeyError: none of them is a headline.
        """
        for headline in self.headlines:
            if headline.name in metrics:
                return headline
        raise KeyError(", ".join(headline.name for headline in self.headlines))

    def in_order(self, fact: str, values: Collection[str]) -> tuple[str, ...]:
        """Return some values of a fact in display order; user-defined ones come last."""
        known = [value for value in self.values.get(fact, ()) if value in values]
        return (*known, *sorted(set(values) - set(known)))

    def by_level(self, tasks: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
        """Return tasks by their level, in display order.

        Args:
            tasks: the metadata of each task, by its name.

        Returns:
            The names of the tasks of each level, by the level's name: the facts in which the levels of these tasks
            differ, as in ``natural`` or ``2 instructions``. It is empty if there is one level.
        """
        facts = tasks.values()
        varying = [
            fact for fact in self.levels if len({_in_words(fact, task_facts.get(fact)) for task_facts in facts}) > 1
        ]
        by_place: dict[tuple[tuple[int, float, str], ...], list[str]] = {}
        for task, metadata in tasks.items():
            by_place.setdefault(tuple(self._place(fact, metadata.get(fact)) for fact in varying), []).append(task)
        by_name: dict[str, tuple[str, ...]] = {}
        for level in sorted(by_place):
            name = ", ".join(words for _, _, words in level if words) or ("others" if varying else "")
            by_name[name] = (*by_name.get(name, ()), *by_place[level])
        return by_name

    def _place(self, fact: str, value: object) -> tuple[int, float, str]:
        """Return a sort key of a level: known values first, in display order; then by number; last, its name."""
        known = self.values.get(fact, ())
        order = known.index(value) if isinstance(value, str) and value in known else len(known)
        return order, value if is_count(value) else -1, _in_words(fact, value)

    def of_task(self, metadata: Mapping[str, Any]) -> Schema:
        """Return the schema with the ``row_key`` of a task with these metadata."""
        variant_keys = (key for fact, key in self.row_keys_of_variants.items() if metadata.get(fact) is not None)
        key = next(variant_keys, self.row_key)
        return self if key == self.row_key else replace(self, row_key=key)

    def variants(self, metadata: Mapping[str, Any]) -> int:
        """Return in how many variants a task with these metadata asks every row; 1 if in one alone."""
        counts = (metadata.get(fact) for fact in self.row_keys_of_variants)
        return next((count for count in counts if is_count(count)), 1)

    def guess(self, metadata: Mapping[str, Any]) -> float | None:
        """Return the share of right answers among random guesses at a task; ``None`` if nothing tells."""
        choices = metadata.get(self.choices)
        return 1 / len(choices) if choices else None

    def placement(self, metadata: Mapping[str, Any]) -> str:
        """Return where a run states its instructions; empty for the published place."""
        chosen = metadata.get(PLACEMENT)
        return chosen if chosen in self.placements[1:] else ""

    def wrong_facts(self, metadata: Mapping[str, Any]) -> dict[str, FactForm]:
        """Return the facts that a task's metadata lack or have in the wrong type, with the expected type."""
        forms = {**FACTS, **self.facts}
        return {
            fact: form for fact, form in forms.items() if fact not in metadata or not _HAS_FORM[form](metadata[fact])
        }


FACTS: Mapping[str, FactForm] = {
    "family": "text",
    "dataset": "text",
    "source": "text",
    "version": "text or a number",
    "rows_hash": "text",
}
"""The metadata that every task of every family records, and their types."""


def is_count(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number in the range of counts."""
    return isinstance(value, int) and not isinstance(value, bool) and COUNT[0] <= value <= COUNT[1]


def _in_words(fact: str, value: object) -> str:
    """Return a value of a fact as it is named; empty if the fact is not recorded or false."""
    if value is None or isinstance(value, bool):
        return fact if value else ""
    return (
        f"{value} {fact.removesuffix('s') if value == 1 else fact}" if is_count(value) else str(value).replace("_", " ")
    )


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
