"""Samples files: what the harness logs for every row of one task (``--log_samples``).

Of a task of ours, they have all metrics; of any other task, one metric is read, and which rows belong together.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isclose
from pathlib import Path
from statistics import fmean
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.registry import Family
from lm_eval_ext.families.schema import Schema, is_count
from lm_eval_ext.results import sample_line
from lm_eval_ext.results.aggregation import MEAN, aggregate
from lm_eval_ext.results.files import shown
from lm_eval_ext.results.issue import Issue, warning
from lm_eval_ext.results.rows import ASKED, Coded, DatasetRows, Rows, Value
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.results.sample_line import scored_in_draws, scores_of_draws

MOST_LINES_NAMED = 3
"""The most bad lines of a file that are named; the rest are counted."""
_FILTER = b'"filter": '
COLUMN, ROW = "column", "row"
"""What the keys of rows without a usable hash begin with."""
_ROLLING = "loglikelihood_rolling"
"""The output type whose requests are the documents themselves."""


@dataclass
class LeftOut:
    """The lines of a samples file that were skipped; the first few reasons are kept, because there can be millions.

    Attributes:
        count: the number of lines.
        reasons: why the first few were skipped.
    """

    count: int = 0
    reasons: list[str] = field(default_factory=list)

    def add(self, number: int, error: Exception) -> None:
        """Count a line, and keep the reason if it is among the first."""
        self.count += 1
        if len(self.reasons) < MOST_LINES_NAMED:
            self.reasons.append(f"line {number}: {_reason(error)}")

    def __str__(self) -> str:
        more = f" and {self.count - MOST_LINES_NAMED} more" if self.count > MOST_LINES_NAMED else ""
        return f"{self.count} line{'s' if self.count > 1 else ''} skipped ({'; '.join(self.reasons)}{more})"


@dataclass
class _Coding(Generic[Value]):
    codes: array[int] = field(default_factory=lambda: array("i"))
    numbers: dict[Value, int] = field(default_factory=dict)

    def append(self, value: Value) -> None:
        self.codes.append(self.numbers.setdefault(value, len(self.numbers)))

    def column(self) -> Coded[Value]:
        return Coded(tuple(self.numbers), np.array(self.codes, np.int32))


@dataclass
class _Columns:
    """What has been read so far, stored compactly because there can be millions of rows."""

    ids: array[int] = field(default_factory=lambda: array("q"))
    clusters: array[int] = field(default_factory=lambda: array("i"))
    offsets: array[int] = field(default_factory=lambda: array("q"))
    names: tuple[str, ...] = ()
    values: array[float] = field(default_factory=lambda: array("d"))
    letters: dict[str, _Coding[tuple[str, str]]] = field(default_factory=dict)
    outcomes: dict[str, _Coding[tuple[str, ...]]] = field(default_factory=dict)
    docs: list[bytes] = field(default_factory=list)
    prompts: list[bytes] = field(default_factory=list)
    targets: list[bytes] = field(default_factory=list)
    # Of metrics that are numbers; empty if there is one draw of each row.
    draws: array[float] = field(default_factory=lambda: array("d"))
    numbers: tuple[str, ...] = ()
    drawn: int = 1

    def rows(self, path: Path) -> Rows:
        values = np.array(self.values, np.float64).reshape(len(self.ids), len(self.names))
        return Rows(
            np.array(self.ids, np.int64),
            np.array(self.clusters, np.int32),
            {name: values[:, place].copy() for place, name in enumerate(self.names)},
            {name: coding.column() for name, coding in self.letters.items()},
            {name: coding.column() for name, coding in self.outcomes.items()},
            np.array(self.docs, _HASH),
            np.array(self.prompts, _HASH),
            np.array(self.targets, _HASH),
            np.array(self.offsets, np.int64),
            path,
            draws=self._of_draws() if self.drawn > 1 else {},
        )

    def _of_draws(self) -> dict[str, NDArray[np.float64]]:
        draws = np.array(self.draws, np.float64).reshape(len(self.ids), self.drawn, len(self.numbers))
        return {name: draws[:, :, place].copy() for place, name in enumerate(self.numbers)}


_HASH = np.dtype("S16")


def with_rows(run: TaskRun, dataset_rows: DatasetRows, column: str) -> TaskRun:
    """Return a run with its rows, if its samples file exists, and with what is wrong with them.

    A line that is truncated or malformed is skipped; the first few of these are named.

    Args:
        run: the run.
        dataset_rows: the dataset rows that have been seen; new ones are added.
        column: the column that groups the rows of a task that is not ours.

    Raises:
        OSError: the file cannot be read.
    """
    if not run.has_samples:
        return run
    numbers, left_out = dataset_rows.of(run.dataset), LeftOut()
    if run.is_ours:
        rows, family = _rows(run, numbers, left_out), run.family
    else:
        rows, family = _rows_of_other(run, column, numbers, left_out)
    issues = [warning(f"{run.samples_path}: {left_out}")] if left_out.count else []
    if not len(rows):
        issues.append(
            warning(
                f"{run.samples_path}: no rows of the filter {run.reader!r}: its figures have no confidence intervals, "
                "and no answers are shown"
            )
        )
        return replace(run, issues=(*issues, *run.issues))
    if len(rows) != run.count:
        issues.append(
            warning(
                f"{run.samples_path}: {len(rows)} rows here but {run.count} in the results; figures are computed from "
                "the rows here"
            )
        )
    else:
        issues += _disagreement(run, rows) if run.is_ours else _disagreement_of_other(run, rows)
    if run.is_ours and (variants := run.schema.variants(run.metadata)) > 1:
        whole = rows.in_every_variant(variants)
        if lost := len(rows) - len(whole):
            issues.append(
                warning(
                    f"{run.samples_path}: {lost} of {len(rows)} answers left out, to rows that were not asked in all "
                    f"{variants} variants; with --limit, use a multiple of {variants}"
                )
            )
        rows = whole
    return replace(run, rows=rows if len(rows) else None, family=family, issues=(*issues, *run.issues))


def _disagreement(run: TaskRun, rows: Rows) -> list[Issue]:
    """Return whether results and samples appear to be from different runs."""
    numbers = (name for name in rows.values if run.schema.row_form(name) == "number")
    for metric in (run.headline.name, *numbers):
        said, found = run.figure(metric), float(rows.values[metric].mean())
        if said is None or not isclose(said, found, rel_tol=1e-6, abs_tol=1e-9):
            told = "no number" if said is None else said
            return [_from_two_runs(rows, metric, found, told)]
    return []


def _disagreement_of_other(run: TaskRun, rows: Rows) -> list[Issue]:
    """Return whether the rows of a task that is not ours give the figure of the results; it may be unknown how."""
    metric = run.headline.name
    if rows.drawn > 1:
        # The figure in the results is of what the harness reduced the draws to.
        return []
    found, figure = rows.aggregates.get(metric), run.figure(metric)
    if found is None:
        return [
            warning(
                f"{run.task}: {metric} in the results is no mean of its rows, nor another known aggregation; it "
                "is shown without an interval and not tested"
            )
        ]
    if figure is None or not np.isclose(found.figure, figure, rtol=1e-6, atol=1e-9):
        return [_from_two_runs(rows, metric, found.figure, "no number" if figure is None else f"{figure:.6g}")]
    return []


def _from_two_runs(rows: Rows, metric: str, found: float, told: object) -> Issue:
    return warning(
        f"{rows.path}: {metric} is {found:.6g} over its rows but {told} in the results; expected both to be from one "
        "run. Figures are computed from the rows"
    )


def _rows(run: TaskRun, numbers: dict[Hashable, int], left_out: LeftOut) -> Rows:
    """Return the rows of a task of ours, with all metrics in its results.

    Args:
        run: the run.
        numbers: the numbers of the dataset's rows, by key; new rows get the next numbers.
        left_out: counts the lines that are skipped.
    """
    columns = _Columns()
    put = _recorder(run.schema.of_task(run.metadata), run.metrics, numbers, columns)
    read_lines(run.samples_path, run.readers, put, left_out)
    return columns.rows(run.samples_path)


def read_lines(
    path: Path, readers: Sequence[str], put: Callable[[Mapping[str, Any], int], None], wrong: LeftOut
) -> None:
    """Pass on the lines of a samples file, with their offsets, and count those that are skipped.

    Args:
        path: the file.
        readers: the filters whose lines the file has; only the lines of the first are read.
        put: takes a line, or raises ``ValueError``, ``KeyError`` or ``TypeError`` if it is malformed.
        wrong: counts the lines that are skipped.

    Raises:
        OSError: the file cannot be read.
    """
    reader = readers[0]
    ids: set[int] = set()
    # Most lines can belong to other readers and need no parsing: quotation marks inside a JSON string are escaped, so
    # this byte sequence cannot occur in a text.
    others = tuple(_FILTER + json.dumps(other).encode() for other in readers[1:])
    offset = 0
    with path.open("rb") as file:
        for number, text in enumerate(file, start=1):
            start, offset = offset, offset + len(text)
            if others and text.startswith(others, text.rfind(_FILTER)):
                continue
            try:
                line = sample_line.parsed(text)
                if not isinstance(line, dict):
                    raise TypeError(f"{shown(line)} is not a row")
                if line["filter"] != reader:
                    continue
                row_id = line["doc_id"]
                if not is_count(row_id):
                    raise TypeError(f"doc_id is {shown(row_id)}; expected the number of a row")
                if row_id in ids:
                    raise ValueError(f"doc_id {row_id} is also in an earlier line")
                put(line, start)
                ids.add(row_id)
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                # Python also rejects numbers that are too long and nesting that is too deep.
                wrong.add(number, error)


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return "truncated or not JSON"
    return f"no {error}" if isinstance(error, KeyError) else str(error)


def _recorder(
    schema: Schema, metrics: Sequence[str], rows: dict[Hashable, int], columns: _Columns
) -> Callable[[Mapping[str, Any], int], None]:
    """Return a function that appends a line to the columns, or raises and appends nothing."""
    forms = {name: schema.row_form(name) for name in metrics}
    numbers, ratios, letters, choices = (
        [name for name in metrics if forms[name] == form] for form in ("number", "ratio", "letters", "choice")
    )
    columns.numbers = tuple(numbers)
    columns.names = (*numbers, *(column for name in ratios for column in (name, ASKED + name)))
    limits = {name: sample_line.Limits.of(schema, name) for name in numbers}
    letters_into = [columns.letters.setdefault(name, _Coding()) for name in letters]
    outcomes_into = [columns.outcomes.setdefault(name, _Coding()) for name in choices]

    def put(line: Mapping[str, Any], offset: int) -> None:
        row_id, key = line["doc_id"], sample_line.row_key(line, schema.row_key)
        draws = scores_of_draws(line)
        scored: Sequence[Mapping[str, Any]] = draws if draws else [line]
        drawn = len(scored)
        if columns.ids and drawn != columns.drawn:
            raise ValueError(f"{drawn} draws; expected {columns.drawn}, as in the lines before")
        of_draws = [sample_line.numbers(draw, limits) for draw in draws]
        found = array("d", map(fmean, zip(*of_draws, strict=True))) if draws else sample_line.numbers(line, limits)
        for name in ratios:
            found.extend(map(sum, zip(*(sample_line.two_numbers(draw, name) for draw in scored), strict=True)))
        two = [sample_line.two_letters(line, name) for name in letters]
        chosen = [sample_line.outcome(line, name) for name in choices]
        columns.ids.append(row_id)
        columns.clusters.append(rows.setdefault(key, len(rows)))
        columns.docs.append(sample_line.beginning(line.get("doc_hash")))
        columns.prompts.append(sample_line.beginning(line.get("prompt_hash")))
        columns.targets.append(sample_line.beginning(line.get("target_hash")))
        columns.offsets.append(offset)
        columns.values.extend(found)
        columns.drawn = drawn
        for of_draw in of_draws:
            columns.draws.extend(of_draw)
        for pair_column, pair in zip(letters_into, two, strict=True):
            pair_column.append(pair)
        for outcome_column, outcome in zip(outcomes_into, chosen, strict=True):
            outcome_column.append(outcome)

    return put


def _rows_of_other(run: TaskRun, column: str, numbers: dict[Hashable, int], left_out: LeftOut) -> tuple[Rows, Family]:
    """Return the rows of a task that is not ours, and its family with the range of its main metric, as rows tell it.

    If that metric is a mean over rows, ``values`` has its numbers, and ``draws`` those of several draws. If its
    aggregation is known, ``aggregates`` has it.

    Args:
        run: the run, without its rows.
        column: the documents' column whose values group rows; if it is empty, or a document has no such column or
            null in it, rows with the same document are grouped.
        numbers: the numbers of the dataset's rows, by key; new rows get the next numbers.
        left_out: counts the lines that are skipped.
    """
    metric = run.headline.name
    scored = scored_in_draws(metric)
    ids, clusters, offsets = array("q"), array("i"), array("q")
    docs: list[bytes] = []
    prompts: list[bytes] = []
    targets: list[bytes] = []
    items: list[Any] = []
    draws: list[list[Any]] = []
    # In 0.5, the prompt of such a request is empty, and its target, which is the document in 0.4, a number.
    is_rolling = run.config.get("output_type") == _ROLLING

    def put(line: Mapping[str, Any], offset: int) -> None:
        item, doc = line[metric], sample_line.beginning(line.get("doc_hash"))
        key = _key(line, run.task, column)
        # The harness reduces the draws of a row to one value, by default that of the first.
        draws.append([of_draw[scored] for of_draw in scores_of_draws(line) if scored in of_draw])
        items.append(item)
        ids.append(line["doc_id"])
        clusters.append(numbers.setdefault(key, len(numbers)))
        offsets.append(offset)
        docs.append(doc)
        prompts.append(doc if is_rolling else sample_line.beginning(line.get("prompt_hash")))
        targets.append(doc if is_rolling else sample_line.beginning(line.get("target_hash")))

    read_lines(run.samples_path, run.readers, put, left_out)
    found = aggregate(metric, stated(run.config, metric), items, run.figure(metric)) if items else None
    drawn = _drawn(draws) if found is not None and found.name == MEAN else None
    if drawn is not None:
        found = aggregate(metric, MEAN, drawn.mean(axis=1).tolist(), None)
    hashes = np.dtype("S16")
    rows = Rows(
        np.array(ids, np.int64),
        np.array(clusters, np.int32),
        # NaN where a row does not count.
        {metric: np.where(found.terms[:, 1] > 0, found.terms[:, 0], np.nan)} if found and found.name == MEAN else {},
        {},
        {},
        np.array(docs, hashes),
        np.array(prompts, hashes),
        np.array(targets, hashes),
        np.array(offsets, np.int64),
        run.samples_path,
        draws={} if drawn is None else {metric: drawn},
        aggregates={} if found is None else {metric: found},
    )
    headline = run.headline if found is None else replace(run.headline, range=found.range)
    schema = replace(run.schema, headlines=(headline,), metrics=(headline, *run.schema.metrics))
    return rows, replace(run.family, schema=schema)


def _drawn(draws: Sequence[Sequence[Any]]) -> NDArray[np.float64] | None:
    """Return the numbers of several draws, shape (rows, draws); ``None`` if not every row has as many numbers."""
    counts = {len(of_row) for of_row in draws}
    numbers = all(isinstance(value, int | float) for of_row in draws for value in of_row)
    return np.array(draws, np.float64) if len(counts) == 1 and counts != {0} and numbers else None


def _key(line: Mapping[str, Any], task: str, column: str) -> Hashable:
    """Return the key of a row: those with the same one are not independent."""
    doc = line.get("doc")
    if column and isinstance(doc, dict) and (value := doc.get(column)) is not None:
        if not isinstance(value, str | int | float):
            raise TypeError(f"doc.{column} is {shown(value)}; expected text or a number")
        return COLUMN, column, value
    digest = line.get("doc_hash")
    # The same document can be a row of several tasks.
    return digest if isinstance(digest, str) else (ROW, task, line["doc_id"])


def stated(config: Mapping[str, Any], metric: str) -> object:
    """Return a metric's aggregation according to a task's config; ``None`` if it states none."""
    listed = config.get("metric_list")
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and each.get("metric") == metric:
            return each.get("aggregation")
    return None
