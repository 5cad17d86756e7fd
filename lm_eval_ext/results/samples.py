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
from dataclasses import replace
from functools import partial
from math import isclose, nan, sqrt
from statistics import fmean
from typing import Any, Literal

import numpy as np

from lm_eval_ext.families.schema import COUNT, NONE, is_count
from lm_eval_ext.processes import in_processes
from lm_eval_ext.results.aggregation import MEAN, aggregate, stated
from lm_eval_ext.results.files import short_repr
from lm_eval_ext.results.issue import Issue, named, warning
from lm_eval_ext.results.rows import DatasetRows, Rows, parsed
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
LARGE = 2**26
"""More bytes of samples than these are worth several processes."""
_ROLLING = "loglikelihood_rolling"
"""The output type whose requests are the documents themselves."""
Line = Mapping[str, Any]
"""A line of a samples file."""


def all_with_rows(runs: Sequence[TaskRun], dataset_rows: DatasetRows, column: str) -> Iterator[TaskRun]:
    """Yield runs with their rows, as ``with_rows`` returns them; several processes read large samples."""
    size = sum(run.samples_path.stat().st_size for run in runs if run.has_samples)
    read = in_processes([partial(_read_apart, run, column) for run in runs], large=size > LARGE)
    for run, (changed, keys) in zip(runs, read, strict=True):
        dataset = dataset_rows.setdefault(run.dataset, {})
        # In the order of the runs, the numbers are those of reading all of them here.
        numbers = np.array([dataset.setdefault(key, len(dataset)) for key in keys], np.int32)
        if rows := changed.get("rows"):
            changed["rows"] = replace(rows, clusters=numbers[rows.clusters])
        yield replace(run, **changed)


def _read_apart(run: TaskRun, column: str) -> tuple[dict[str, Any], list[Hashable]]:
    """Return what ``with_rows`` changes in a run, and the keys of its dataset rows in the order of their numbers."""
    own_dataset_rows: DatasetRows = {}
    read = with_rows(run, own_dataset_rows, column)
    fields = {name: (getattr(run, name), getattr(read, name)) for name in ("family", "figures", "issues", "rows")}
    changed = {name: after for name, (before, after) in fields.items() if after is not before}
    return changed, [*own_dataset_rows.get(run.dataset, ())]


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
    dataset = dataset_rows.setdefault(run.dataset, {})
    rows, issues = _rows(run, dataset) if run.is_ours else _rows_of_other(run, dataset, column)
    if not len(rows):
        consequence = "its figures have no confidence intervals, and no answers are shown"
        issues.append(warning(f"{run.samples_name}: no rows of the filter {run.reader!r}: {consequence}"))
        return replace(run, issues=(*issues, *run.issues))
    if run.is_ours:
        run = replace(run, figures={**run.figures, **_details_in(run, rows)})
    if len(rows) != run.count:
        counts = f"{len(rows)} rows here but {run.count} in the results"
        issues.append(warning(f"{run.samples_name}: {counts}; figures are computed from the rows here"))
    else:
        issues += _disagreement(run, rows)
    family = run.family
    if not run.is_ours:
        # Its rows tell the range of its figure.
        aggregated = rows.aggregates.get(run.headline.name)
        headline = replace(run.headline, range=aggregated.range) if aggregated else run.headline
        schema = replace(run.schema, headlines=(headline,), metrics=(headline, *run.schema.metrics))
        family = replace(family, schema=schema)
    elif (variants := run.schema.variants(run.metadata)) > 1:
        complete = rows.select(np.bincount(rows.clusters)[rows.clusters] >= variants)
        if lost := len(rows) - len(complete):
            left_out = f"{lost} of {len(rows)} answers left out, to rows that were not asked in all {variants} variants"
            advice = f"with --limit, use a multiple of {variants}"
            issues.append(warning(f"{run.samples_name}: {left_out}; {advice}"))
        rows = complete
    return replace(run, rows=rows if len(rows) else None, family=family, issues=(*issues, *run.issues))


def _details_in(run: TaskRun, rows: Rows) -> dict[str, float | int | str]:
    """Return the figures of the metrics that only the samples have, as the harness would have written them.

    Args:
        run: the run; its results have all metrics, or its headline and what goes with it (``metadata.DETAILS``).
        rows: its rows. Of several draws, letters and choices are from the first draw.
    """
    figures: dict[str, float | int | str] = {}
    for name in (*rows.values, *rows.letters, *rows.outcomes):
        form = run.schema.row_form(name)
        if form is None or name in run.metrics:
            continue
        aggregation, field = run.schema.metric(name).aggregation, f"{name},{run.reader}"
        if aggregation == "mean":
            values = rows.values[name]
            error = float(values.std(ddof=1)) / sqrt(len(values)) if len(values) > 1 else NONE
            figures |= {field: float(values.mean()), f"{name}_stderr,{run.reader}": error}
        elif form == "ratio":
            figures[field] = aggregation(zip(rows.values[name], rows.denominators[name], strict=True))
        elif form == "letters":
            figures[field] = aggregation(rows.letters[name])
        else:
            figures[field] = aggregation(zip(rows.clusters, rows.outcomes[name], strict=True))
    return figures


def _disagreement(run: TaskRun, rows: Rows) -> list[Issue]:
    """Return whether results and samples appear to be from different runs.

    How the figure of a task that is not ours comes from its rows may be unknown.
    """
    headline = run.headline.name
    if run.is_ours:
        numbers = (name for name in rows.values if run.schema.row_form(name) == "number")
        of_rows = {name: float(rows.values[name].mean()) for name in (headline, *numbers)}
    elif rows.drawn > 1:
        # The figure in the results is of what the harness reduced the draws to.
        return []
    elif headline in rows.aggregates:
        of_rows = {headline: rows.aggregates[headline].figure}
    else:
        return [
            warning(
                f"{run.task}: {headline} in the results is neither the mean of its rows nor another known aggregation; "
                "it is shown without an interval and not tested"
            )
        ]
    for metric, of_samples in of_rows.items():
        in_results = run.figure(metric)
        if in_results is None or not isclose(in_results, of_samples, rel_tol=1e-6, abs_tol=1e-9):
            results_say = "no number" if in_results is None else in_results
            problem = f"{metric} is {of_samples:.6g} over its rows but {results_say} in the results"
            remedy = "expected both to be from one run. Figures are computed from the rows"
            return [warning(f"{run.samples_name}: {problem}; {remedy}")]
    return []


def _rows(run: TaskRun, dataset: dict[Hashable, int]) -> tuple[Rows, list[Issue]]:
    """Return the rows of a task of ours, with all metrics in its results, and its details; raises as ``_read``.

    Args:
        run: the run, without its rows.
        dataset: see ``_read``.
    """
    schema = run.schema.of_task(run.metadata)
    metrics = dict.fromkeys((*run.metrics, *_details_of_first_line(run)))
    numbers, ratios, letters, outcomes = (
        [name for name in metrics if schema.row_form(name) == form] for form in ("number", "ratio", "letters", "choice")
    )
    # Looked up once because every row is checked.
    limits = {name: (*schema.range(name), schema.expected(name)) for name in numbers}
    values, every_draw, certainty = array("d"), array("d"), array("d")
    # Equal texts are stored once.
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    texts: dict[str, list[Any]] = {name: [] for name in (*letters, *outcomes)}
    drawn = 0

    def put(line: Line) -> Hashable:
        nonlocal drawn
        key, draws = row_key(line, schema.row_key), scores_of_draws(line)
        scored: Sequence[Line] = draws if draws else [line]
        if drawn and len(scored) != drawn:
            raise ValueError(f"{len(scored)} draws; expected {drawn}, as in the lines before")
        of_draws = [numbers_in(draw, limits) for draw in scored]
        numbers_of_line = array("d", map(fmean, zip(*of_draws, strict=True))) if draws else of_draws[0]
        for name in ratios:
            numbers_of_line.extend(map(sum, zip(*(value_parts(draw, name, "ratio") for draw in scored), strict=True)))
        parts_of_line = [value_parts(line, name, "letters") for name in letters]
        parts_of_line += [value_parts(line, name, "choice") for name in outcomes]
        drawn = len(scored)
        values.extend(numbers_of_line)
        for of_draw in of_draws if draws else ():
            every_draw.extend(of_draw)
        if schema.readers:
            certainty.extend(certainties(line, drawn))
        for column, parts in zip(texts.values(), parts_of_line, strict=True):
            column.append(known.setdefault(parts, parts))
        return key

    rows, issues = _read(run, dataset, put)
    if not len(rows):
        return rows, issues
    # A column for each number, and two for each ratio.
    table = np.array(values, np.float64).reshape(len(rows), len(numbers) + 2 * len(ratios))
    numerators, denominators = table[:, len(numbers) :: 2], table[:, len(numbers) + 1 :: 2]
    by_draw = np.array(every_draw, np.float64).reshape(len(rows), drawn if drawn > 1 else 0, len(numbers))
    rows = replace(
        rows,
        values={
            **{name: table[:, place].copy() for place, name in enumerate(numbers)},
            **{name: numerators[:, place].copy() for place, name in enumerate(ratios)},
        },
        denominators={name: denominators[:, place].copy() for place, name in enumerate(ratios)},
        letters={name: np.fromiter(texts[name], object) for name in letters},
        outcomes={name: np.fromiter(texts[name], object) for name in outcomes},
        draws={name: by_draw[:, :, place].copy() for place, name in enumerate(numbers)} if drawn > 1 else {},
        certainty=np.array(certainty, np.float64).reshape(-1, drawn),
    )
    return rows, issues


def _details_of_first_line(run: TaskRun) -> list[str]:
    """Return the details that the samples of a task of ours have."""
    for _, _, text in _lines(run):
        try:
            line = parsed(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict) and line.get("filter") == run.reader:
            return [name for name in line if (metric := run.schema.known_metric(name)) and metric.explains]
    return []


def _lines(run: TaskRun) -> Iterator[tuple[int, int, bytes]]:
    """Yield the lines of a run's samples file but those of its other readers, each with its number and offset.

    Raises:
        OSError: the file cannot be read.
    """
    # Most lines can belong to other readers and need no parsing: quotation marks inside a JSON string are escaped, so
    # this byte sequence cannot occur in a text.
    of_other_readers = tuple(_FILTER + json.dumps(reader).encode() for reader in run.readers[1:])
    offset = 0
    with run.samples_path.open("rb", buffering=READ_AT_ONCE) as file:
        for number, text in enumerate(file, start=1):
            start, offset = offset, offset + len(text)
            if not (of_other_readers and text.startswith(of_other_readers, text.rfind(_FILTER))):
                yield number, start, text


def _read(run: TaskRun, dataset: dict[Hashable, int], put: Callable[[Line], Hashable]) -> tuple[Rows, list[Issue]]:
    """Return the rows in a run's samples file that its reader has, without scores, and which lines were skipped.

    Args:
        run: the run.
        dataset: the numbers of the dataset's rows, by key; new rows get the next numbers.
        put: keeps the scores of a line and returns the key of its row. It raises ``ValueError``, ``KeyError`` or
            ``TypeError`` and keeps nothing if the line is malformed.

    Raises:
        OSError: the file cannot be read.
    """
    # Stored compactly because there can be millions of rows.
    ids, clusters, offsets = array("q"), array("i"), array("q")
    hashes: dict[str, list[bytes]] = {"doc_hash": [], "prompt_hash": [], "target_hash": []}
    known: set[int] = set()
    bad: list[str] = []
    for number, start, text in _lines(run):
        try:
            line = parsed(text)
            if not isinstance(line, dict):
                raise TypeError(f"{short_repr(line)} is not a row")
            if line["filter"] != run.reader:
                continue
            row_id = line["doc_id"]
            if not is_count(row_id):
                raise TypeError(f"doc_id is {short_repr(row_id)}; expected the number of a row")
            if row_id in known:
                raise ValueError(f"doc_id {row_id} is also in an earlier line")
            key = put(line)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            # Python also rejects numbers that are too long and nesting that is too deep.
            reason = f"no {error}" if isinstance(error, KeyError) else str(error)
            if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
                reason = "truncated or not JSON"
            bad.append(f"line {number} ({reason})")
            continue
        known.add(row_id)
        ids.append(row_id)
        clusters.append(dataset.setdefault(key, len(dataset)))
        offsets.append(start)
        for name, column in hashes.items():
            digest = line.get(name)
            # Sixteen characters tell rows apart; a lone surrogate, which is no hash, has no bytes of its own.
            column.append(digest[:16].encode(errors="replace") if isinstance(digest, str) else b"")
    docs, prompts, targets = (np.array(column, "S16") for column in hashes.values())
    rows = Rows(
        ids=np.array(ids, np.int64),
        clusters=np.array(clusters, np.int32),
        values={},
        docs=docs,
        prompts=prompts,
        targets=targets,
        offsets=np.array(offsets, np.int64),
        path=run.samples_path,
    )
    return rows, [warning(f"{run.samples_name}: skipped {named(bad, MOST_LINES_NAMED)}")] if bad else []


def _rows_of_other(run: TaskRun, dataset: dict[Hashable, int], column: str) -> tuple[Rows, list[Issue]]:
    """Return the rows of a task that is not ours; raises as ``_read``.

    If its main metric is a mean over rows, ``values`` has its numbers, and ``draws`` those of several draws. If its
    aggregation is known, ``aggregates`` has it.

    Args:
        run: the run, without its rows.
        dataset: see ``_read``.
        column: the documents' column whose values group rows; if it is empty, or a document has no such column or
            null in it, rows with the same document are grouped.
    """
    metric = run.headline.name
    mean_over_draws = _MEAN_OVER_DRAWS.fullmatch(metric)
    scored = mean_over_draws[1] if mean_over_draws else metric
    items: list[Any] = []
    draws: list[list[Any]] = []

    def put(line: Line) -> Hashable:
        item, doc, digest = line[metric], line.get("doc"), line.get("doc_hash")
        # The same document can be a row of several tasks.
        key: Hashable = digest if isinstance(digest, str) else (ROW, run.task, line["doc_id"])
        if column and isinstance(doc, dict) and (value := doc.get(column)) is not None:
            if not isinstance(value, str | int | float):
                raise TypeError(f"doc.{column} is {short_repr(value)}; expected text or a number")
            key = COLUMN, column, value
        # The harness reduces the draws of a row to one value, by default that of the first.
        draws.append([of_draw[scored] for of_draw in scores_of_draws(line) if scored in of_draw])
        items.append(item)
        return key

    rows, issues = _read(run, dataset, put)
    if run.config.get("output_type") == _ROLLING:
        # In 0.5, the prompt of such a request is empty, and its target, which is the document in 0.4, a number.
        rows = replace(rows, prompts=rows.docs, targets=rows.docs)
    aggregated = aggregate(metric, stated(run.config, metric), items, run.figure(metric)) if items else None
    if aggregated is None:
        return rows, issues
    if aggregated.name != MEAN:
        return replace(rows, aggregates={metric: aggregated}), issues
    counts = {len(of_row) for of_row in draws}
    are_numbers = all(isinstance(number, int | float) for of_row in draws for number in of_row)
    if len(counts) == 1 and counts != {0} and are_numbers:
        drawn = np.array(draws, np.float64)
        rows = replace(rows, draws={metric: drawn})
        aggregated = aggregate(metric, MEAN, drawn.mean(axis=1).tolist(), None) or aggregated
    # NaN where a row does not count.
    values = np.where(aggregated.terms[:, 1] > 0, aggregated.terms[:, 0], np.nan)
    return replace(rows, values={metric: values}, aggregates={metric: aggregated}), issues


def row_key(line: Mapping[str, Any], field: str | None) -> Hashable:
    """Return the key of the dataset's row: a field of the document, or ``doc_id`` if the family has none.

    Raises:
        KeyError, TypeError: the line has no such key.
    """
    if field is None:
        return int(line["doc_id"])
    doc = line["doc"]
    if not isinstance(doc, dict):
        raise TypeError(f"doc is {short_repr(doc)}; expected an object")
    key = doc[field]
    if not isinstance(key, str | int) or isinstance(key, bool):
        raise TypeError(f"doc.{field} is {short_repr(key)}; expected text or a whole number")
    return key


def numbers_in(line: Mapping[str, Any], limits: Mapping[str, tuple[float, float, str]]) -> array[float]:
    """Return the numbers of some metrics, in the order of their limits.

    Args:
        line: a line of a samples file, or the scores of a draw.
        limits: the least and the greatest possible value of each metric, and what is expected, for the message.

    Raises:
        KeyError, TypeError: a metric is missing, not a number, or outside its limits.
    """
    for name, (least, most, expected) in limits.items():
        value = line[name]
        if not isinstance(value, float | int) or not least <= value <= most:
            raise TypeError(f"{name} is {short_repr(value)}; expected {expected}")
    return array("d", [line[name] for name in limits])


PARTS: Mapping[str, str] = {
    "ratio": "two numbers, the first no greater than the second",
    "letters": "two letters",
    "choice": "a question and what was chosen",
}
"""What is expected of a metric's value that has parts, by its form."""


def value_parts(line: Mapping[str, Any], name: str, form: Literal["ratio", "letters", "choice"]) -> tuple[Any, ...]:
    """Return the parts of a metric's value: two numbers, two letters, or what was chosen.

    Raises:
        KeyError, TypeError: the line does not have them.
    """
    match line[name]:
        case [float() | int() as numerator, float() | int() as denominator] if (
            form == "ratio" and 0 <= numerator <= denominator <= COUNT[1]
        ):
            return float(numerator), float(denominator)
        case [str() as first, str() as second] if form == "letters":
            return first, second
        case [str(), [*chosen]] if form == "choice" and all(isinstance(text, str) for text in chosen):
            return tuple(chosen)
    raise TypeError(f"{name} is {short_repr(line[name])}; expected {PARTS[form]}")


def certainties(line: Line, draws: int) -> list[float]:
    """Return how sure the reader of a row's text was, for each draw; NaN where the line does not say.

    Args:
        line: a line of a samples file, whose last response is a reading in JSON, or a list of them.
        draws: the number of draws.
    """
    match line.get("filtered_resps"):
        case [*_, list() as readings] if len(readings) == draws:
            pass
        case [*_, str() as reading] if draws == 1:
            readings = [reading]
        case _:
            readings = []
    by_draw = [nan] * draws
    for draw, reading in enumerate(readings):
        try:
            read = parsed(reading.encode()) if isinstance(reading, str) else None
        except (ValueError, RecursionError):
            continue
        certainty = read.get("certainty") if isinstance(read, dict) else None
        if isinstance(certainty, int | float):
            by_draw[draw] = float(certainty)
    return by_draw


def scores_of_draws(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the scores of each draw of a row, in the form of a line; empty if there is a single draw.

    Args:
        line: a line of a samples file.

    Raises:
        TypeError: it does not have one score of each metric for each draw.
    """
    scores = line.get(DRAWS)
    if scores is None:
        logged, responses = line.get(OF_HARNESS), line.get("resps")
        if not isinstance(logged, Mapping) or not isinstance(responses, list) or not responses:
            return []
        # 0.5.0.dev1 also takes a metric's list of values for one response, such as one for each instruction, for draws.
        count = len(responses[-1]) if isinstance(responses[-1], list) else 1
        scores = {name: values for name, values in logged.items() if isinstance(values, list) and len(values) == count}
        if not scores:
            return []
    elif not isinstance(scores, Mapping) or not all(isinstance(values, list) for values in scores.values()):
        raise TypeError(f"{DRAWS} is {short_repr(scores)}; expected the scores of each draw")
    counts = {len(values) for values in scores.values()}
    if len(counts) != 1:
        raise TypeError(f"{DRAWS} is {short_repr(scores)}; expected as many scores of each metric as there are draws")
    (count,) = counts
    return [{name: values[draw] for name, values in scores.items()} for draw in range(count)] if count > 1 else []
