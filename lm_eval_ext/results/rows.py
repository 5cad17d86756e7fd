"""The rows of a task: as columns, from which figures are computed, and as the lines of its samples file."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from lm_eval_ext.families.schema import PROMPT_TRUNCATED_RATE
from lm_eval_ext.results.aggregation import Aggregate, over_parts
from lm_eval_ext.results.files import is_too_deep

DatasetRows = dict[str, dict[Hashable, int]]
"""The rows of each dataset that any run was evaluated on: by key, their numbers in order of first appearance."""


def parsed(text: bytes) -> Any:
    """Return what a line holds.

    Raises:
        ValueError, RecursionError: it is not JSON, or nested too deeply.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # The harness also writes what only Python accepts as JSON: NaN, lone surrogates, long integers.
        return json.loads(text)


COLUMNS = ("ids", "clusters", "docs", "prompts", "targets", "offsets", "certainty")
BY_METRIC = ("values", "denominators", "draws", "letters", "outcomes")
"""The fields of ``Rows`` with a value for each row, and with columns by metric."""


@dataclass(frozen=True)
class Rows:
    """The rows of one task, as read by one reader.

    Attributes:
        ids: their ``doc_id`` in the task, shape (rows,).
        clusters: the dataset row that each is built from, by its number in ``DatasetRows``, shape (rows,).
        values: numbers by metric, each of shape (rows,); of a ratio, its numerators.
        denominators: of ratios, their denominators by metric, each of shape (rows,).
        docs, prompts, targets: the first characters of the hashes of each row, of its prompt and of its gold answer,
            shape (rows,); empty where the file has none.
        offsets: the byte offset of each line in its file, shape (rows,).
        path: the file.
        further: the other files, where the rows are those of several parts of a run.
        files: for each row, 0 if it is in ``path``, or the number of the further file, shape (rows,); empty if there
            are no further ones.
        letters: pairs of letters by metric, each of shape (rows,).
        outcomes: tuples of what was chosen by metric, each of shape (rows,). Equal ones are stored once.
        draws: the numbers by metric of every draw, each of shape (rows, draws), where each row was answered several
            times; ``values`` are then the means over the draws, and everything else is of the first draw.
        certainty: how sure a reader was of each draw's text, from 0 to 1, shape (rows, draws); NaN where the samples do
            not say, and empty if the family's answers are not read so.
        aggregates: how a figure comes from the rows, by metric, for the metrics of tasks that are not ours.
    """

    ids: NDArray[np.int64]
    clusters: NDArray[np.int32]
    values: Mapping[str, NDArray[np.float64]]
    docs: NDArray[np.bytes_]
    prompts: NDArray[np.bytes_]
    targets: NDArray[np.bytes_]
    offsets: NDArray[np.int64]
    path: Path
    denominators: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    letters: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)
    outcomes: Mapping[str, NDArray[np.object_]] = field(default_factory=dict)
    draws: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    certainty: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    aggregates: Mapping[str, Aggregate] = field(default_factory=dict)
    further: tuple[Path, ...] = ()
    files: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.ids)

    @property
    def drawn(self) -> int:
        """The number of draws of each row."""
        return next((of_metric.shape[1] for of_metric in self.draws.values()), 1)

    def numbers(self, metric: str) -> NDArray[np.float64]:
        """Return a metric's numbers, shape (rows,); NaN where the samples lack the metric."""
        numbers = self.values.get(metric)
        return np.full(len(self), np.nan) if numbers is None else numbers

    def draws_of(self, metric: str) -> NDArray[np.float64]:
        """Return a metric's numbers, shape (rows, draws); there is one draw of each row if there are not several."""
        return self.draws.get(metric, self.values[metric][:, None])

    def select(self, rows: NDArray[np.bool_] | NDArray[np.int64]) -> Rows:
        """Return some of the rows.

        Args:
            rows: whether each is selected, shape (rows,); or the places of those that are, in their new order.
        """
        columns = {name: getattr(self, name) for name in (*COLUMNS, "files")}
        fields: dict[str, Any] = {name: column[rows] for name, column in columns.items() if len(column)}
        for name in BY_METRIC:
            fields[name] = {metric: column[rows] for metric, column in getattr(self, name).items()}
        aggregates = {name: replace(figure, terms=figure.terms[rows]) for name, figure in self.aggregates.items()}
        return replace(self, **fields, aggregates=aggregates)

    def line(self, row: int) -> dict[str, Any]:
        """Return the complete line of a row.

        Raises:
            OSError: the file can no longer be read.
            ValueError: the line is nested too deeply to be shown, or the file has changed.
        """
        return next(self.lines((row,)))

    def lines(self, rows: Iterable[int] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the complete lines of some rows, or of all; raises as ``line``."""
        with ExitStack() as opened:
            files = [opened.enter_context(path.open("rb")) for path in (self.path, *self.further)]
            for row in range(len(self)) if rows is None else rows:
                file = files[int(self.files[row])] if len(self.files) else files[0]
                file.seek(int(self.offsets[row]))
                text = file.readline()
                try:
                    line = parsed(text)
                except RecursionError:
                    line = None
                if not isinstance(line, dict) or line.get("doc_id") != self.ids[row] or is_too_deep(line):
                    name = Path(file.name).name
                    raise ValueError(f"{name}: the line of row {self.ids[row]} is no longer where it was")
                yield line


def places_in(keys: NDArray[Any], wanted: NDArray[Any]) -> NDArray[np.int64]:
    """Return where each wanted key first is among others; -1 where it is not, shape of the wanted ones."""
    distinct, first = np.unique(keys, return_index=True)
    nearest = np.searchsorted(distinct, wanted).clip(max=len(distinct) - 1)
    return np.where(np.isin(wanted, distinct), first[nearest] if len(first) else -1, -1)


def in_common(*columns: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Return where each of several columns, such as the ``ids`` of runs of one task, has the keys that all have.

    Args:
        columns: the keys of each run, all distinct.
    """
    if all(np.array_equal(columns[0], column) for column in columns[1:]):
        # As it nearly always is; sorting once is all that is left to do.
        return [np.argsort(columns[0])] * len(columns)
    shared = reduce(np.intersect1d, columns)
    return [places_in(column, shared) for column in columns]


def common_rows(*runs: Rows) -> list[Rows]:
    """Return, of the rows of several runs of a task, those that all have, in one order."""
    return [rows.select(places) for rows, places in zip(runs, in_common(*(rows.ids for rows in runs)), strict=True)]


def joined(parts: Sequence[Rows]) -> Rows:
    """Return the rows of several parts of a run of a task, by ``doc_id``; what not all parts have is left out.

    Args:
        parts: the rows of each, of which none is in two parts; all with as many draws.
    """
    fields: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    parts = with_truncated_prompts(parts)
    for name in BY_METRIC:
        fields[name] = {metric: np.concatenate(of_parts) for metric, of_parts in _in_all(parts, name).items()}
    rows = replace(
        parts[0],
        **fields,
        aggregates={
            metric: aggregate
            for metric, of_parts in _in_all(parts, "aggregates").items()
            if (aggregate := over_parts(of_parts)) is not None
        },
        further=tuple(part.path for part in parts[1:]),
        files=np.repeat(np.arange(len(parts), dtype=np.int32), [*map(len, parts)]),
    )
    return rows.select(np.argsort(rows.ids))


def with_truncated_prompts(parts: Sequence[Rows]) -> list[Rows]:
    """Return the rows of several runs, all with the metric of truncated prompts if any of them has it.

    A run has it only if there are such prompts: one without it has none.
    """
    name = PROMPT_TRUNCATED_RATE.name
    if not any(name in part.values for part in parts):
        return [*parts]
    return [replace(part, values={name: np.zeros(len(part)), **part.values}) for part in parts]


def _in_all(parts: Sequence[Rows], field: str) -> dict[str, list[Any]]:
    """Return the entries of a field, by metric, of the metrics that all parts have: an entry for each part."""
    entries = [getattr(part, field) for part in parts]
    return {
        name: [of_part[name] for of_part in entries] for name in entries[0] if all(name in part for part in entries)
    }


def is_sample(line: Mapping[str, Any]) -> bool:
    """Return whether a line is in the harness's format (``--log_samples``)."""
    return isinstance(line.get("doc"), Mapping) and "filtered_resps" in line


def responses_in(sample: Mapping[str, Any]) -> list[str | None]:
    """Return the responses that the task judged, after its filter, one for each draw; ``None``: an API withheld it.

    Raises:
        ValueError: the row has not exactly one request, or a response is not text.
    """
    responses = sample["filtered_resps"]
    request = responses[0] if isinstance(responses, list) and len(responses) == 1 else responses
    # In 0.5, and where a row is answered several times, each request has a list of draws.
    draws = request if isinstance(request, list) and request is not responses else [request]
    if not draws or not all(draw is None or isinstance(draw, str) for draw in draws):
        raise ValueError(f"field 'filtered_resps': expected one response, found {str(responses)[:80]}")
    return draws


def response_in(sample: Mapping[str, Any]) -> str | None:
    """Return the response that the task judged, after its filter; ``None`` if an API withheld it.

    Raises:
        ValueError: there is not exactly one.
    """
    draws = responses_in(sample)
    if len(draws) > 1:
        raise ValueError(f"field 'filtered_resps': expected one response, found {str(sample['filtered_resps'])[:80]}")
    return draws[0]


def generated(sample: Mapping[str, Any]) -> str:
    """Return the text that the model generated for a row, before any filter; empty if there is none."""
    response = sample.get("resps")
    # The last request of a row is the one for a text; each has a list of draws.
    while isinstance(response, list) and response:
        response = response[-1]
    return response if isinstance(response, str) else ""
