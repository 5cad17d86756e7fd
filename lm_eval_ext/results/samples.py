"""Samples files: what the harness logs for every row of one task (``--log_samples``).

Of a task of ours, they have all metrics; of any other task, one metric is read, and which rows belong together. Each
value is checked against what its metric can be. Where a run answered each row several times (``repeats``), a line has
the scores of every draw.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isclose, isfinite, nan, sqrt
from pathlib import Path
from statistics import fmean
from typing import Any, Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.registry import Family
from lm_eval_ext.families.schema import COUNT, NONE, is_count
from lm_eval_ext.results.aggregation import MEAN, aggregate, stated
from lm_eval_ext.results.files import shown
from lm_eval_ext.results.issue import Issue, warning
from lm_eval_ext.results.rows import ASKED, Coded, DatasetRows, Rows, Value, parsed
from lm_eval_ext.results.runs import TaskRun

DRAWS = "draws"
"""Where our tasks log the scores of each draw, by metric."""
OF_HARNESS = "scores_per_repeat"
"""Where lm-eval 0.5 logs them for tasks that it scores by itself."""
_MEAN_OVER_DRAWS = re.compile(r"pass@1\((.+)\)")
"""What 0.5 calls the mean of a metric over draws, in its figures."""
MOST_LINES_NAMED = 3
"""The most bad lines of a file that are named; the rest are counted."""
_FILTER = b'"filter": '
COLUMN, ROW = "column", "row"
"""What the keys of rows without a usable hash begin with."""
READ_AT_ONCE = 2**18
"""Bytes read from a file at once; Python's default is about two lines, with which reading takes four times as long."""
_ROLLING = "loglikelihood_rolling"
"""The output type whose requests are the documents themselves."""
_HASH = np.dtype("S16")
Line = Mapping[str, Any]
"""A line of a samples file."""


@dataclass
class _Skipped:
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
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
                reason = "truncated or not JSON"
            self.reasons.append(f"line {number}: {reason}")

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
    """What has been read of the rows of any task, stored compactly because there can be millions of them."""

    ids: array[int] = field(default_factory=lambda: array("q"))
    clusters: array[int] = field(default_factory=lambda: array("i"))
    offsets: array[int] = field(default_factory=lambda: array("q"))
    docs: list[bytes] = field(default_factory=list)
    prompts: list[bytes] = field(default_factory=list)
    targets: list[bytes] = field(default_factory=list)

    def append(self, line: Line, cluster: int, offset: int) -> None:
        self.ids.append(line["doc_id"])
        self.clusters.append(cluster)
        self.offsets.append(offset)
        for hashes, name in ((self.docs, "doc_hash"), (self.prompts, "prompt_hash"), (self.targets, "target_hash")):
            digest = line.get(name)
            hashes.append(digest[:16].encode() if isinstance(digest, str) else b"")

    def rows(self, values: Mapping[str, NDArray[np.float64]], path: Path) -> Rows:
        return Rows(
            np.array(self.ids, np.int64),
            np.array(self.clusters, np.int32),
            values,
            np.array(self.docs, _HASH),
            np.array(self.prompts, _HASH),
            np.array(self.targets, _HASH),
            np.array(self.offsets, np.int64),
            path,
        )


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
    dataset, skipped = dataset_rows.of(run.dataset), _Skipped()
    if run.is_ours:
        rows, family = _rows(run, dataset, skipped), run.family
        run = replace(run, figures={**run.figures, **_details_in(run, rows)})
    else:
        rows, family = _rows_of_other(run, column, dataset, skipped)
    issues = [warning(f"{run.samples_path}: {skipped}")] if skipped.count else []
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


def _details_in(run: TaskRun, rows: Rows) -> dict[str, float | int | str]:
    """Return the figures of the metrics that only the samples have, as the harness would have written them.

    Args:
        run: the run; its results have all metrics, or its headline and what goes with it (``metadata.DETAILS``).
        rows: its rows. Of several draws, letters and choices are those of the first.
    """
    found: dict[str, float | int | str] = {}
    for name in (*rows.values, *rows.letters, *rows.outcomes) if len(rows) else ():
        form = run.schema.row_form(name)
        if form is None or name in run.metrics:
            continue
        aggregation, field = run.schema.metric(name).aggregation, f"{name},{run.reader}"
        if aggregation == "mean":
            values = rows.values[name]
            error = float(values.std(ddof=1)) / sqrt(len(values)) if len(values) > 1 else NONE
            found |= {field: float(values.mean()), f"{name}_stderr,{run.reader}": error}
        elif form == "ratio":
            found[field] = aggregation(zip(rows.values[name], rows.values[ASKED + name], strict=True))
        elif form == "letters":
            found[field] = aggregation(rows.letters[name])
        else:
            found[field] = aggregation(zip(rows.clusters, rows.outcomes[name], strict=True))
    return found


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
                f"{run.task}: {metric} in the results is neither the mean of its rows nor another known aggregation; "
                "it is shown without an interval and not tested"
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


def _rows(run: TaskRun, dataset: dict[Hashable, int], skipped: _Skipped) -> Rows:
    """Return the rows of a task of ours, with all metrics in its results, and its details.

    Args:
        run: the run, without its rows.
        dataset: the numbers of the dataset's rows, by key; new rows get the next numbers.
        skipped: counts the lines that are skipped.
    """
    schema = run.schema.of_task(run.metadata)
    metrics = dict.fromkeys((*run.metrics, *_details_of_first_line(run)))
    numbers, ratios, letters, outcomes = (
        [name for name in metrics if schema.row_form(name) == form] for form in ("number", "ratio", "letters", "choice")
    )
    limits = {name: Limits(*schema.range(name), schema.expected(name)) for name in numbers}
    pairs: dict[str, _Coding[tuple[str, str]]] = {name: _Coding() for name in letters}
    chosen: dict[str, _Coding[tuple[str, ...]]] = {name: _Coding() for name in outcomes}
    columns, values, every_draw, certainty = _Columns(), array("d"), array("d"), array("d")
    drawn = 1

    def put(line: Line, offset: int) -> None:
        """Append a line to the columns, or raise and append nothing."""
        nonlocal drawn
        key, draws = row_key(line, schema.row_key), scores_of_draws(line)
        scored: Sequence[Line] = draws if draws else [line]
        if columns.ids and len(scored) != drawn:
            raise ValueError(f"{len(scored)} draws; expected {drawn}, as in the lines before")
        of_draws = [numbers_in(draw, limits) for draw in draws]
        found = array("d", map(fmean, zip(*of_draws, strict=True))) if draws else numbers_in(line, limits)
        for name in ratios:
            found.extend(map(sum, zip(*(two_numbers(draw, name) for draw in scored), strict=True)))
        two = [two_letters(line, name) for name in letters]
        one = [outcome(line, name) for name in outcomes]
        columns.append(line, dataset.setdefault(key, len(dataset)), offset)
        values.extend(found)
        drawn = len(scored)
        for of_draw in of_draws:
            every_draw.extend(of_draw)
        if schema.readers:
            certainty.extend(certainties(line, drawn))
        for pair_column, pair in zip(pairs.values(), two, strict=True):
            pair_column.append(pair)
        for chosen_column, each in zip(chosen.values(), one, strict=True):
            chosen_column.append(each)

    _read_lines(run, put, skipped)
    names = (*numbers, *(column for name in ratios for column in (name, ASKED + name)))
    table = np.array(values, np.float64).reshape(len(columns.ids), len(names))
    rows = columns.rows({name: table[:, place].copy() for place, name in enumerate(names)}, run.samples_path)
    by_draw = np.array(every_draw, np.float64).reshape(len(columns.ids), drawn if every_draw else 0, len(numbers))
    return replace(
        rows,
        letters={name: coding.column() for name, coding in pairs.items()},
        outcomes={name: coding.column() for name, coding in chosen.items()},
        draws={name: by_draw[:, :, place].copy() for place, name in enumerate(numbers)} if drawn > 1 else {},
        certainty=np.array(certainty, np.float64).reshape(-1, drawn),
    )


def _details_of_first_line(run: TaskRun) -> list[str]:
    """Return the details that the samples of a task of ours have; older samples may lack some."""
    for _, _, text in _lines(run):
        try:
            line = parsed(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict) and line.get("filter") == run.reader:
            return [name for name in line if any(one.is_detail and one.covers(name) for one in run.schema.metrics)]
    return []


def _lines(run: TaskRun) -> Iterator[tuple[int, int, bytes]]:
    """Yield the lines of a run's samples file but those of its other readers, each with its number and offset.

    Raises:
        OSError: the file cannot be read.
    """
    # Most lines can belong to other readers and need no parsing: quotation marks inside a JSON string are escaped, so
    # this byte sequence cannot occur in a text.
    others = tuple(_FILTER + json.dumps(other).encode() for other in run.readers[1:])
    offset = 0
    with run.samples_path.open("rb", buffering=READ_AT_ONCE) as file:
        for number, text in enumerate(file, start=1):
            start, offset = offset, offset + len(text)
            if not (others and text.startswith(others, text.rfind(_FILTER))):
                yield number, start, text


def _read_lines(run: TaskRun, put: Callable[[Line, int], None], skipped: _Skipped) -> None:
    """Pass on the lines of a run's samples file that its reader has, with their offsets, and count those skipped.

    Args:
        run: the run.
        put: takes a line, or raises ``ValueError``, ``KeyError`` or ``TypeError`` if it is malformed.
        skipped: counts the lines that are skipped.

    Raises:
        OSError: the file cannot be read.
    """
    ids: set[int] = set()
    for number, start, text in _lines(run):
        try:
            line = parsed(text)
            if not isinstance(line, dict):
                raise TypeError(f"{shown(line)} is not a row")
            if line["filter"] != run.reader:
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
            skipped.add(number, error)


def _rows_of_other(run: TaskRun, column: str, dataset: dict[Hashable, int], skipped: _Skipped) -> tuple[Rows, Family]:
    """Return the rows of a task that is not ours, and its family with the range of its main metric, as rows tell it.

    If that metric is a mean over rows, ``values`` has its numbers, and ``draws`` those of several draws. If its
    aggregation is known, ``aggregates`` has it.

    Args:
        run: the run, without its rows.
        column: the documents' column whose values group rows; if it is empty, or a document has no such column or
            null in it, rows with the same document are grouped.
        dataset: the numbers of the dataset's rows, by key; new rows get the next numbers.
        skipped: counts the lines that are skipped.
    """
    metric = run.headline.name
    scored = scored_in_draws(metric)
    columns = _Columns()
    items: list[Any] = []
    draws: list[list[Any]] = []

    def put(line: Line, offset: int) -> None:
        item, key = line[metric], _key(line, run.task, column)
        # The harness reduces the draws of a row to one value, by default that of the first.
        draws.append([of_draw[scored] for of_draw in scores_of_draws(line) if scored in of_draw])
        items.append(item)
        columns.append(line, dataset.setdefault(key, len(dataset)), offset)

    _read_lines(run, put, skipped)
    if run.config.get("output_type") == _ROLLING:
        # In 0.5, the prompt of such a request is empty, and its target, which is the document in 0.4, a number.
        columns = replace(columns, prompts=columns.docs, targets=columns.docs)
    found = aggregate(metric, stated(run.config, metric), items, run.figure(metric)) if items else None
    drawn = _drawn(draws) if found is not None and found.name == MEAN else None
    if drawn is not None:
        found = aggregate(metric, MEAN, drawn.mean(axis=1).tolist(), None)
    if found is None:
        values, headline = {}, run.headline
    else:
        # NaN where a row does not count.
        mean = {metric: np.where(found.terms[:, 1] > 0, found.terms[:, 0], np.nan)} if found.name == MEAN else {}
        values, headline = mean, replace(run.headline, range=found.range)
    rows = replace(
        columns.rows(values, run.samples_path),
        draws={} if drawn is None else {metric: drawn},
        aggregates={} if found is None else {metric: found},
    )
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


def row_key(line: Mapping[str, Any], field: str | None) -> Hashable:
    """Return the key of the dataset's row: a field of the document, or ``doc_id`` if the family has none.

    Raises:
        KeyError, TypeError: the line has no such key.
    """
    if field is None:
        return int(line["doc_id"])
    doc = line["doc"]
    if not isinstance(doc, dict):
        raise TypeError(f"doc is {shown(doc)}; expected an object")
    found = doc[field]
    if not isinstance(found, str | int) or isinstance(found, bool):
        raise TypeError(f"doc.{field} is {shown(found)}; expected text or a whole number")
    return found


class Limits(NamedTuple):
    """The limits of a metric's values; looked up once because every row is checked."""

    least: float
    most: float
    expected: str


def numbers_in(line: Mapping[str, Any], limits: Mapping[str, Limits]) -> array[float]:
    """Return the numbers of some metrics, in the order of their limits.

    Raises:
        KeyError, TypeError: a metric is missing, not a number, or outside its limits.
    """
    try:
        found = array("d", [line[name] for name in limits])
    except (TypeError, OverflowError):
        found = array("d", [nan])
    # One check for all values: most rows have only shares. A NaN would show in the sum.
    if not found or (isfinite(sum(found)) and min(found) >= 0 and max(found) <= 1):
        return found
    for name, (least, most, expected) in limits.items():
        value = line[name]
        if not isinstance(value, float | int) or not least <= value <= most:
            raise TypeError(f"{name} is {shown(value)}; expected {expected}")
    return found


def two_numbers(line: Mapping[str, Any], name: str) -> list[float]:
    """Return the two numbers of a metric ``[followed, asked]``.

    Raises:
        KeyError, TypeError: the line does not have them.
    """
    match line[name]:
        case [float() | int() as followed, float() | int() as asked] if 0 <= followed <= asked <= COUNT[1]:
            return [float(followed), float(asked)]
    raise TypeError(f"{name} is {shown(line[name])}; expected two numbers, the first no greater than the second")


def two_letters(line: Mapping[str, Any], name: str) -> tuple[str, str]:
    """Return the two letters of a metric.

    Raises:
        KeyError, TypeError: the line does not have them.
    """
    match line[name]:
        case [str() as first, str() as second]:
            return first, second
    raise TypeError(f"{name} is {shown(line[name])}; expected two letters")


def outcome(line: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return what was chosen, of a metric that is a question with the contents chosen.

    Raises:
        KeyError, TypeError: the line does not have it.
    """
    match line[name]:
        case [str(), [*chosen]] if all(isinstance(text, str) for text in chosen):
            return tuple(chosen)
    raise TypeError(f"{name} is {shown(line[name])}; expected a question and what was chosen")


def certainties(line: Line, draws: int) -> list[float]:
    """Return how sure the reader of a row's text was, for each draw; NaN where the line does not say.

    Args:
        line: a line of a samples file, whose last response is a reading in JSON, or a list of them.
        draws: the number of draws.
    """
    match line.get("filtered_resps"):
        case [*_, list() as readings] if len(readings) == draws:
            return [_certainty(reading) for reading in readings]
        case [*_, str() as reading] if draws == 1:
            return [_certainty(reading)]
    return [nan] * draws


def _certainty(reading: object) -> float:
    try:
        found = parsed(reading.encode()) if isinstance(reading, str) else None
    except ValueError:
        return nan
    certainty = found.get("certainty") if isinstance(found, dict) else None
    return float(certainty) if isinstance(certainty, int | float) else nan


def scored_in_draws(metric: str) -> str:
    """Return the name under which the scores of each draw are logged, for a metric in the results."""
    found = _MEAN_OVER_DRAWS.fullmatch(metric)
    return found[1] if found else metric


def scores_of_draws(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the scores of each draw of a row, in the form of a line; empty if there is a single draw.

    Args:
        line: a line of a samples file.

    Raises:
        TypeError: it does not have one score of each metric for each draw.
    """
    found = line.get(DRAWS)
    if found is None:
        return _of_harness(line)
    if not isinstance(found, Mapping) or not all(isinstance(scores, list) for scores in found.values()):
        raise TypeError(f"{DRAWS} is {shown(found)}; expected the scores of each draw")
    counts = {len(scores) for scores in found.values()}
    if len(counts) != 1:
        raise TypeError(f"{DRAWS} is {shown(found)}; expected as many scores of each metric as there are draws")
    return _by_draw(found, *counts)


def _of_harness(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the scores of each draw that the harness logs, of the metrics that have one for each response."""
    found, responses = line.get(OF_HARNESS), line.get("resps")
    if not isinstance(found, Mapping) or not isinstance(responses, list) or not responses:
        return []
    # 0.5.0.dev1 also takes a metric's list of values for one response, such as one for each instruction, for draws.
    count = len(responses[-1]) if isinstance(responses[-1], list) else 1
    scores = {name: each for name, each in found.items() if isinstance(each, list) and len(each) == count}
    return _by_draw(scores, count) if scores else []


def _by_draw(scores: Mapping[str, Any], count: int) -> list[dict[str, Any]]:
    return [{name: each[number] for name, each in scores.items()} for number in range(count)] if count > 1 else []
