"""The samples of a task that is not ours: one metric's value in each row, and which rows belong together."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.results import sample_line
from lm_eval_ext.results.draws.scores import scored_in_draws, scores_of_draws
from lm_eval_ext.results.files import shown
from lm_eval_ext.results.issue import Issue, warning
from lm_eval_ext.results.other.aggregation import MEAN, Aggregate, aggregate
from lm_eval_ext.results.rows import Rows
from lm_eval_ext.results.runs import TaskRun
from lm_eval_ext.results.samples import LeftOut, read_lines

COLUMN, ROW = "column", "row"
"""What the keys of rows without a usable hash begin with."""
_ROLLING = "loglikelihood_rolling"
"""The output type whose requests are the documents themselves."""


def read_other_samples(
    run: TaskRun, column: str, numbers: dict[Hashable, int]
) -> tuple[Rows, tuple[float, float], LeftOut]:
    """Return the rows of a task's main metric, the range of its figure, and which lines were skipped.

    If the metric is a mean over rows, ``values`` has its numbers, and ``draws`` those of several draws. If its
    aggregation is known, ``aggregates`` has it.

    Args:
        run: the run, without its rows.
        column: the documents' column whose values group rows; if it is empty, or a document has no such column or
            null in it, rows with the same document are grouped.
        numbers: the numbers of the dataset's rows, by key; new rows get the next numbers.

    Raises:
        OSError: the file cannot be read.
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

    wrong = LeftOut()
    read_lines(run.samples_path, run.readers, put, wrong)
    found = aggregate(metric, stated(run.config, metric), items, run.figure(metric)) if items else None
    drawn = _drawn(draws) if found is not None and found.name == MEAN else None
    if drawn is not None:
        found = aggregate(metric, MEAN, drawn.mean(axis=1).tolist(), None)
    hashes = np.dtype("S16")
    rows = Rows(
        np.array(ids, np.int64),
        np.array(clusters, np.int32),
        {metric: _values(found)} if found is not None and found.name == MEAN else {},
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
    return rows, run.headline.range if found is None else found.range, wrong


def _drawn(draws: Sequence[Sequence[Any]]) -> NDArray[np.float64] | None:
    """Return the numbers of several draws, shape (rows, draws); ``None`` if not every row has as many numbers."""
    counts = {len(of_row) for of_row in draws}
    numbers = all(isinstance(value, int | float) for of_row in draws for value in of_row)
    return np.array(draws, np.float64) if len(counts) == 1 and counts != {0} and numbers else None


def _values(found: Aggregate) -> Any:
    """Return the number of each row; NaN where it does not count."""
    return np.where(found.terms[:, 1] > 0, found.terms[:, 0], np.nan)


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


def with_other_rows(run: TaskRun, rows: Rows, limits: tuple[float, float]) -> TaskRun:
    """Return a run with its rows, and with what they tell about the range of its main metric."""
    headline = replace(run.headline, range=limits)
    schema = replace(run.schema, headlines=(headline,), metrics=(headline, *run.schema.metrics))
    return replace(run, rows=rows, family=replace(run.family, schema=schema))


def of_rows(run: TaskRun, rows: Rows) -> list[Issue]:
    """Return what is to be said about the rows of a run: whether they give the figure of the results, and how."""
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
        told = "no number" if figure is None else f"{figure:.6g}"
        return [
            warning(
                f"{rows.path}: {metric} is {found.figure:.6g} over its rows but {told} in the results; expected both "
                "to be from one run. Figures are computed from the rows"
            )
        ]
    return []
