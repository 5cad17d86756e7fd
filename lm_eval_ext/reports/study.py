"""The runs of a family by the facts of their tasks, and means over groups of them.

Every figure of a section is made in three steps: entries are runs with facts; cells are means over groups of entries;
panels and a table are laid out from cells (``layout``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain, product
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.schema import SHARE
from lm_eval_ext.reports.cells import UNKNOWN, Cells, Key, exists
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.paired import difference_of
from lm_eval_ext.reports.statistics import Ratio, Replicates, computed, estimate
from lm_eval_ext.results.issue import Issue, error, grouped, note, warning
from lm_eval_ext.results.runs import TaskRun

Mask = NDArray[np.bool_] | None
"""Whether each row of a run counts, shape (rows,); ``None``: all do, or it has no samples."""


@dataclass(frozen=True)
class Entry:
    """A run in a study.

    Attributes:
        run: the run.
        facts: what entries are grouped by: ``model`` and ``task``, the facts of the task, and what a figure adds.
        question: a key of what the task asks; groups that are compared must have the same questions.
        metric: what is measured, if it is not the same for all entries of a figure.
        mask: the rows that count.
        reason: why the run cannot be compared, as text; empty if it can.
    """

    run: TaskRun
    facts: Mapping[str, Any]
    question: Hashable
    metric: str = ""
    mask: Mask = None
    reason: str = ""

    def __getitem__(self, fact: str) -> Any:
        """Return a fact."""
        return self.facts[fact]

    @property
    def run_on_rows(self) -> TaskRun:
        """The run, on the rows that count alone."""
        if self.mask is None or self.run.rows is None:
            return self.run
        return replace(self.run, rows=self.run.rows.select(self.mask))

    def with_facts(self, **facts: Any) -> Entry:
        """Return the entry with more facts, or with other values of some."""
        return replace(self, facts={**self.facts, **facts})


OWN = ""
"""In place of a metric: that of each entry."""
FLOOR, FLOOR_BY, ABOVE_FLOOR = "floor", "floor by", "above floor"
"""The columns of ``Study.with_floors``: a floor, the answer that it is the score of, and how far a mean is above it."""
Measure = str | Callable[[Entry], Ratio]
"""A metric, or what returns the ratio of an entry over the rows that it keeps."""


@dataclass(frozen=True)
class Study:
    """The runs of one family.

    Attributes:
        evidence: all runs.
        entries: an entry for each model and combination of facts.
        other_entries: the runs without facts, or with those of a task that more models were run on.
        orders: the order of a fact's values; what is not among them comes last.
    """

    evidence: Evidence
    entries: tuple[Entry, ...]
    other_entries: tuple[Entry, ...]
    orders: Mapping[str, Sequence[Any]]
    _headlines: dict[int, Ratio] = field(default_factory=dict)

    @classmethod
    def of_family(
        cls,
        evidence: Evidence,
        family: str,
        facts: Callable[[TaskRun], Mapping[str, Any]],
        orders: Mapping[str, Sequence[Any]],
    ) -> Study:
        """Return the runs of a family.

        If several tasks have the same facts, the one that most models were run on counts, so that models are compared
        on the same task; in a tie, the task of this package, so that a variant of it that was run beside it does not
        change its figures; else, the first by name.

        Args:
            evidence: all runs.
            family: the family's name.
            facts: returns what a task asks, always in the same order; nothing if its metadata do not say.
            orders: the order of a fact's values.
        """
        labels = evidence.runs.labels
        runs = [run for model in evidence.runs.models for run in evidence.runs.of_family(family, model)]
        models = Counter(run.task for run in runs)
        of_package = {path.stem for path in Path(tasks_dir(), family, "leaves").glob("*.yaml")}
        first: dict[Key, TaskRun] = {}
        for run in sorted(runs, key=lambda run: (-models[run.task], run.task not in of_package, run.task)):
            if of_task := facts(run):
                first.setdefault((run.model, *of_task.values()), run)
        chosen = {id(run) for run in first.values()}
        entries, other_entries = list[Entry](), list[Entry]()
        for run in runs:
            of_task = facts(run)
            about = {"model": labels[run.model], "task": run.task, **of_task}
            if id(run) in chosen:
                entries.append(Entry(run, about, (*of_task.values(),)))
            else:
                other_entries.append(Entry(run, about, run.task))
        return cls(evidence, tuple(entries), tuple(other_entries), {**orders, "model": tuple(labels.values())})

    def ordered(self, **orders: Iterable[Any]) -> Study:
        """Return the study with an order of the values of more facts."""
        return replace(self, orders={**self.orders, **{fact: tuple(values) for fact, values in orders.items()}})

    def in_order(self, fact: str, values: Iterable[Any]) -> tuple[Any, ...]:
        """Return the values of a fact in order, each once."""
        present = set(values)
        known = [value for value in dict.fromkeys(self.orders.get(fact, ())) if value in present]
        return (*known, *sorted(present - set(known), key=lambda value: (value is None, value)))

    def means(  # noqa: PLR0913 # what figures differ in
        self,
        entries: Iterable[Entry],
        by: Sequence[str | tuple[str, ...]],
        measures: Mapping[str, Measure],
        *,
        within: int = 0,
        compared: Collection[str] = ("model",),
        lines: Iterable[Key] | None = None,
    ) -> Cells:
        """Return means over the rows of groups of runs.

        There is a line for each combination of values, even if no run has it, so that models stand side by side. A mean
        is unknown if its group lacks a question of a group that it is compared with, or if a run in it
        cannot be compared.

        Args:
            entries: the runs.
            by: the facts that distinguish the groups. Those in a tuple belong together: only combinations that some
                run has; all others are combined with each other.
            measures: what is averaged, by the name of its column.
            within: the values of so many of the first facts are each combined only with what is found beside them.
            compared: the facts by which groups are compared: groups with equal values of all other facts must have
                the same questions.
            lines: the values of the facts that there are lines for; ``None``: every combination.
        """
        blocks = [(block,) if isinstance(block, str) else block for block in by]
        facts = tuple(chain.from_iterable(blocks))
        equal_facts = [fact for fact in facts if fact not in compared]
        every = list(entries)
        groups = entries_by(every, facts)
        asked = entries_by(every, equal_facts)
        questions = {key: {entry.question for entry in of_key} for key, of_key in asked.items()}
        lines_of_means = {}
        for key in self._crossed(every, blocks, within) if lines is None else lines:
            group, about = groups.get(key, []), dict(zip(facts, key, strict=True))
            is_whole = {entry.question for entry in group} == questions.get(tuple(about[fact] for fact in equal_facts))
            lines_of_means[key] = {
                column: self._mean(group, measure) if is_whole else UNKNOWN for column, measure in measures.items()
            }
        own = {entry.metric for group in groups.values() for entry in group}
        names = {
            column: [measure] if measure else own for column, measure in measures.items() if isinstance(measure, str)
        }
        return Cells(facts, lines_of_means, names, self.evidence.baseline)

    def with_floors(self, cells: Cells, entries: Iterable[Entry], column: str, metric: str = OWN) -> Cells:
        """Return means with what the best answer without content scores on the same rows, and how far they are above.

        Args:
            cells: means over groups of runs.
            entries: the runs.
            column: the column of the means.
            metric: what was averaged.

        Returns:
            The cells with ``FLOOR``, ``FLOOR_BY``, which is text, and ``ABOVE_FLOOR``; unknown where there is no floor,
            and where only some rows count.
        """
        groups = entries_by(entries, cells.by)

        def floors(group: Sequence[Entry], mean: Replicates) -> Mapping[str, Replicates | str]:
            is_complete = bool(group) and exists(mean) and all(entry.mask is None for entry in group)
            runs = [entry.run for entry in group]
            floor = self.evidence.floor(runs, metric or group[0].metric) if is_complete else None
            if floor is None:
                return {FLOOR: UNKNOWN, FLOOR_BY: "", ABOVE_FLOOR: UNKNOWN}
            return {FLOOR: floor.value, FLOOR_BY: floor.in_words, ABOVE_FLOOR: floor.above(mean)}

        lines = {key: {**line, **floors(groups.get(key, []), line[column])} for key, line in cells.lines.items()}
        known = any(exists(line[FLOOR]) for line in lines.values())
        return replace(cells, lines=lines) if known else cells

    def no_floors(self, entries: Iterable[Entry], metric: str) -> tuple[Issue, ...]:
        """Return why runs with samples lack the floor of a metric, if some do."""
        runs = [entry.run for entry in entries]
        return tuple(self.evidence.no_floor(runs, metric)) if runs else ()

    def gains(  # noqa: PLR0913 # what figures differ in
        self,
        entries: Iterable[Entry],
        by: Sequence[str | tuple[str, ...]],
        fact: str,
        sides: tuple[Any, Any],
        metric: str,
        *,
        compared: Collection[str] = ("model",),
        lines: Iterable[Key] | None = None,
    ) -> Cells:
        """Return means at two values of a fact, and the gain from the first to the second over the rows of both.

        Args:
            entries: the runs; ``on_same_rows`` or the like has kept the rows that both sides have.
            by: the facts that distinguish the lines; see ``means``, also for ``compared``.
            fact: the fact that the sides differ in.
            sides: its two values.
            metric: what is averaged.
            compared: the facts by which groups are compared.
            lines: the values of ``by`` that there are lines for; ``None``: every combination.

        Returns:
            Cells with a column for each side, and ``gain``, as ``compare`` computes it.
        """
        every = list(entries)
        ends = None if lines is None else [(*key, side) for key in lines for side in sides]
        means = self.means(every, (*by, fact), {"mean": metric}, compared=compared, lines=ends)
        wide = means.wide(fact, heading=f"{{{fact}}}")
        groups = entries_by(sorted(every, key=lambda entry: entry.run.dataset), means.by)

        def gain(line: Mapping[str, Any]) -> Estimate:
            before, after = (line[str(side)] for side in sides)
            if not (exists(before) and exists(after)):
                return Estimate(np.nan)
            keys = [(*(line[of_family] for of_family in wide.by), side) for side in sides]
            first, second = ([entry.run_on_rows for entry in groups[key]] for key in keys)
            return change(list(zip(first, second, strict=True)), metric, computed(np.subtract, after, before))

        return replace(wide.with_columns({"gain": gain}), metrics={**wide.metrics, "gain": [metric]})

    def _crossed(self, entries: Iterable[Entry], blocks: Sequence[tuple[str, ...]], within: int) -> Iterator[Key]:
        """Yield every combination of the values of blocks of facts, in order; see ``means``."""
        if within:
            by_first = entries_by(entries, blocks[0])
            for first in self._block_in_order(blocks[0], by_first):
                yield from ((*first, *key) for key in self._crossed(by_first[first], blocks[1:], within - 1))
            return
        values = (self._block_in_order(block, entries_by(entries, block)) for block in blocks)
        yield from (tuple(chain.from_iterable(combination)) for combination in product(*values))

    def _block_in_order(self, block: tuple[str, ...], values: Collection[Key]) -> list[Key]:
        """Return the values of facts that belong together, in the order of the first fact, then of the next."""
        orders = [self.in_order(fact, [key[place] for key in values]) for place, fact in enumerate(block)]
        return sorted(values, key=lambda key: [order.index(value) for order, value in zip(orders, key, strict=True)])

    def _mean(self, group: Sequence[Entry], measure: Measure) -> Replicates:
        # Without samples it is unknown how much each of several runs contributes to such a mean.
        unweighted = any(entry.run.rows is None and (callable(measure) or _is_share(entry, measure)) for entry in group)
        if any(entry.reason for entry in group) or (unweighted and len(group) > 1):
            return UNKNOWN
        added = (measure(entry) if callable(measure) else self.ratio(entry, measure) for entry in group)
        return Ratio.over_tasks(added, tasks_weigh_alike=group[0].run.schema.tasks_weigh_alike).value

    def ratio(self, entry: Entry, metric: str = OWN) -> Ratio:
        """Return a metric of one run: a mean over its rows, or over what they ask; unknown if the run lacks it."""
        run, name = entry.run, metric or entry.metric
        if name not in run.metrics:
            return Ratio.without_rows(np.nan, 1)
        if _is_share(entry, metric):
            return self.evidence.share(run, name, entry.mask)
        if entry.mask is not None or name != run.headline.name:
            return self.evidence.ratio(run, name, entry.mask)
        # Those of headlines are kept, because most figures use them.
        if id(run) not in self._headlines:
            self._headlines[id(run)] = self.evidence.ratio(run, name)
        return self._headlines[id(run)]

    def on_same_rows(
        self, entries: Iterable[Entry], by: Sequence[str], texts: SameRows
    ) -> tuple[list[Entry], list[Issue]]:
        """Return entries with the rows ``mask`` that all in a group share, and what was left out.

        Args:
            entries: the runs.
            by: the facts that distinguish the groups; the first one is what the issues are about.
            texts: what the issues say.
        """
        kept_entries, issues = list[Entry](), list[Issue]()
        left_out: dict[str, list[str]] = {}
        for group in entries_by(entries, by).values():
            shared = shared_rows([entry.run for entry in group], same_hash=texts.same_hash)
            about = group[0][by[0]]
            if shared.reason:
                issues.append(error(f"{about}: {texts.not_compared.format(**group[0].facts)}: {shared.reason}"))
            elif shared.left_out:
                count = texts.count.format(**group[0].facts, count=shared.left_out)
                left_out.setdefault(about, []).append(count)
            kept_entries += [
                replace(entry, mask=mask if shared.left_out else None, reason=shared.reason)
                for entry, mask in zip(group, shared.masks, strict=True)
            ]
        issues += [note(f"{about}: {texts.left_out}: {', '.join(counts)}") for about, counts in left_out.items()]
        return kept_entries, issues

    def incomplete(self, entries: Sequence[Entry], adjective: str = "") -> tuple[Issue, ...]:
        """Return which models were not run on all tasks that others were run on.

        Args:
            entries: the runs.
            adjective: what tasks these are, with a space at the end.
        """
        questions = {entry.question for entry in entries}
        missing = {
            model: len(questions - {entry.question for entry in of_model})
            for (model,), of_model in entries_by(entries, ["model"]).items()
        }
        return tuple(
            warning(
                f"{model}: not run on {count} of the {adjective}tasks that other models were run on; figures that need "
                "these tasks are left out for it"
            )
            for model, count in missing.items()
            if count
        )


@dataclass(frozen=True)
class SameRows:
    """The issues of runs that are compared on the rows that they share; formats with the facts of an entry.

    Attributes:
        not_compared: that they are not compared.
        left_out: that some rows are left out.
        count: how many of which, with ``count``.
        same_hash: see ``shared_rows``.
    """

    not_compared: str
    left_out: str
    count: str
    same_hash: bool = True


def _is_share(entry: Entry, metric: str) -> bool:
    """Return whether a metric is a share of what the rows ask, of which a row can ask several."""
    rows, name = entry.run.rows, metric or entry.metric
    # Rows have a column of it. To look it up in the schema each time would take as long as to resample the rows.
    return entry.run.schema.row_form(name) == "ratio" if rows is None else name in rows.denominators


def entries_by(entries: Iterable[Entry], facts: Collection[str]) -> dict[Key, list[Entry]]:
    """Return entries by the values of some facts, in the order of the first of each group."""
    return grouped((tuple(entry[fact] for fact in facts), entry) for entry in entries)


def change(pairs: Sequence[tuple[TaskRun, TaskRun]], metric: str, measured: Replicates) -> Estimate:
    """Return the change of a mean from the first run of each pair to the second, as ``compare`` computes it.

    Args:
        pairs: the runs, at least one pair.
        metric: what is averaged.
        measured: the change of the mean, which is shown without an interval if a run has no samples.
    """
    if any(run.rows is None for pair in pairs for run in pair):
        return estimate(measured)
    schema = pairs[0][0].schema
    is_share = schema.metric(metric).range == SHARE
    return difference_of(pairs, metric, tasks_weigh_alike=schema.tasks_weigh_alike, is_share=is_share).change


@dataclass(frozen=True)
class SharedRows:
    """The rows that several runs share.

    Attributes:
        masks: the mask of each run; see ``Mask``.
        left_out: how many rows some run lacks.
        reason: why no rows are shared, as text; empty if some are.
    """

    masks: tuple[Mask, ...]
    left_out: int = 0
    reason: str = ""


def shared_rows(
    runs: Sequence[TaskRun], column: Literal["clusters", "ids"] = "clusters", *, same_hash: bool = True
) -> SharedRows:
    """Return the dataset rows that several runs share, or the rows of a task.

    Without samples, the evaluated rows are unknown: equal numbers of rows of one dataset are assumed to be the same.

    Args:
        runs: the runs to compare, at least one.
        column: what tells rows apart; ``ids`` if the runs are of one task.
        same_hash: whether their rows must have the same hash, as the verbalizer tasks of a dataset do. ManyIFEval's
            rows have a different hash for every number of instructions, but share their task prompts.
    """
    every = tuple[Mask, ...](None for _ in runs)
    conditions: Mapping[str, Callable[[TaskRun], object]] = {
        # One task may be compared with itself at another placement, which its version has a mark of.
        "their versions differ": lambda run: run.version if column == "ids" else run.identity[0],
        "their rows are from different datasets": lambda run: run.dataset,
        "their rows differ": lambda run: run.identity[1] if same_hash else None,
    }
    for reason, fact in conditions.items():
        if len(set(map(fact, runs))) > 1:
            return SharedRows(every, reason=reason)
    keys = [getattr(run.rows, column) for run in runs if run.rows is not None]
    if len(keys) < len(runs):
        if len({run.count if run.rows is None else len(run.rows) for run in runs}) > 1:
            return SharedRows(
                every, reason="their numbers of rows differ, and without samples it is unknown which rows they share"
            )
        return SharedRows(every)
    # The cluster of several rows counts once, also of a single run, which is not intersected with anything.
    shared = np.unique(reduce(np.intersect1d, keys))
    if not len(shared):
        return SharedRows(every, reason="they have no rows in common")
    everything = np.unique(np.concatenate(keys))
    return SharedRows(tuple(np.isin(of_run, shared) for of_run in keys), len(everything) - len(shared))
