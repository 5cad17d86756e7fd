"""A file of samples: what the harness wrote of every row of one task (``--log_samples``)."""

from __future__ import annotations

import json
import sys
from array import array
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.kinds import Kind

_FILTER = b'"filter": '
ASKED = "asked "
"""Before the name of a metric ``[followed, asked]``: the column of the second number."""


@dataclass(frozen=True)
class Rows:
    """The rows of one task, as one reader has them.

    Attributes:
        ids: their numbers in the task, shape (rows,).
        clusters: the row of the data set that each asks, shape (rows,).
        values: numbers by metric, each of shape (rows,).
        letters: pairs of letters by metric, each of length rows.
        outcomes: what was chosen, by metric, each of length rows.
        docs, prompts: the beginning of the hash of each row, and of what was asked; empty where the file has none.
        offsets: where in the file each line begins, in bytes, shape (rows,).
        path: the file.
    """

    ids: NDArray[np.int64]
    clusters: tuple[Hashable, ...]
    values: Mapping[str, NDArray[np.float64]]
    letters: Mapping[str, tuple[tuple[str, str], ...]]
    outcomes: Mapping[str, tuple[tuple[str, ...], ...]]
    docs: tuple[str, ...]
    prompts: tuple[str, ...]
    offsets: NDArray[np.int64]
    path: Path

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.ids)

    def line(self, row: int) -> dict[str, Any]:
        """Return everything that the file says of a row."""
        with self.path.open("rb") as file:
            file.seek(int(self.offsets[row]))
            found: dict[str, Any] = json.loads(file.readline())
        return found


@dataclass
class _Columns:
    """What has been read so far; compact, for there are millions of rows."""

    ids: array[int] = field(default_factory=lambda: array("q"))
    offsets: array[int] = field(default_factory=lambda: array("q"))
    clusters: list[Hashable] = field(default_factory=list)
    values: dict[str, array[float]] = field(default_factory=dict)
    letters: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    outcomes: dict[str, list[tuple[str, ...]]] = field(default_factory=dict)
    docs: list[str] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    # Each distinct text is kept once.
    seen: dict[Any, Any] = field(default_factory=dict)

    def one(self, value: Any) -> Any:
        return self.seen.setdefault(value, value)


def read_samples(path: Path, kind: Kind, metrics: Sequence[str], readers: Sequence[str]) -> tuple[Rows, list[str]]:
    """Return the rows of a file of samples, and what was wrong with it.

    A line that is cut off or is none of this family's is left out and named.

    Args:
        path: the file.
        kind: the family of its task.
        metrics: the metrics that the task's results have.
        readers: the filters whose lines the file has; those of the first are taken.

    Raises:
        OSError: the file cannot be read.
    """
    reader = readers[0]
    columns, wrong, ids = _Columns(), [], set()
    put = _recorder(kind, metrics, columns)
    # Most lines can be another reader's, which need no parsing: a quotation mark inside a text has a backslash before
    # it, so that these words are no text.
    others = tuple(_FILTER + json.dumps(other).encode() for other in readers[1:])
    offset = 0
    with path.open("rb") as file:
        for number, text in enumerate(file, start=1):
            start, offset = offset, offset + len(text)
            if others and text.startswith(others, text.rfind(_FILTER)):
                continue
            try:
                line = json.loads(text)
                if not isinstance(line, dict):
                    raise TypeError(f"{str(line)[:40]!r} is no row")
                if line["filter"] != reader:
                    continue
                if line["doc_id"] in ids:
                    raise ValueError(f"doc_id {line['doc_id']!r} stands in an earlier line, too")
                put(line, start)
                ids.add(line["doc_id"])
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                # A number that is too long is no JSON to Python, a text that is too deep neither.
                wrong.append(f"line {number}: {_reason(error)}")
    return (
        Rows(
            np.array(columns.ids, np.int64),
            tuple(columns.clusters),
            {name: np.array(values, np.float64) for name, values in columns.values.items()},
            {name: tuple(pairs) for name, pairs in columns.letters.items()},
            {name: tuple(chosen) for name, chosen in columns.outcomes.items()},
            tuple(columns.docs),
            tuple(columns.prompts),
            np.array(columns.offsets, np.int64),
            path,
        ),
        wrong,
    )


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return "cut off or not JSON"
    return f"no {error}" if isinstance(error, KeyError) else str(error)


def _recorder(kind: Kind, metrics: Sequence[str], columns: _Columns) -> Callable[[Mapping[str, Any], int], None]:
    """Return a function that puts a line into the columns, or raises and puts nothing."""
    numbers = [name for name in metrics if kind.numbers.fullmatch(name)]
    pairs = [name for name in metrics if kind.pairs.fullmatch(name)]
    letters = [name for name in metrics if kind.letters.fullmatch(name)]
    outcomes = [name for name in metrics if kind.outcomes.fullmatch(name)]
    named = (*numbers, *(column for name in pairs for column in (name, ASKED + name)))
    into = [columns.values.setdefault(name, array("d")) for name in named]
    letters_into = [columns.letters.setdefault(name, []) for name in letters]
    outcomes_into = [columns.outcomes.setdefault(name, []) for name in outcomes]

    def put(line: Mapping[str, Any], offset: int) -> None:
        row_id, cluster = int(line["doc_id"]), columns.one(kind.cluster(line))
        found = [_number(line, name) for name in numbers]
        for name in pairs:
            found += _two_numbers(line, name)
        two = [columns.one(_two_letters(line, name)) for name in letters]
        chosen = [columns.one(_outcome(line, name)) for name in outcomes]
        columns.ids.append(row_id)
        columns.docs.append(_beginning(line.get("doc_hash")))
        columns.prompts.append(_beginning(line.get("prompt_hash")))
        columns.offsets.append(offset)
        columns.clusters.append(cluster)
        for column, value in zip(into, found, strict=True):
            column.append(value)
        for pair_column, pair in zip(letters_into, two, strict=True):
            pair_column.append(pair)
        for outcome_column, outcome in zip(outcomes_into, chosen, strict=True):
            outcome_column.append(outcome)

    return put


def _beginning(digest: object) -> str:
    # The same rows are asked of every model: each text is kept once for all files.
    return sys.intern(digest[:16]) if isinstance(digest, str) else ""


def _number(line: Mapping[str, Any], name: str) -> float:
    value = line[name]
    if isinstance(value, float | int) and isfinite(value):
        return float(value)
    raise TypeError(f"{name} is {value!r}; expected a number")


def _two_numbers(line: Mapping[str, Any], name: str) -> list[float]:
    match line[name]:
        case [float() | int() as followed, float() | int() as asked] if isfinite(followed) and isfinite(asked):
            return [float(followed), float(asked)]
    raise TypeError(f"{name} is {line[name]!r}; expected two numbers")


def _two_letters(line: Mapping[str, Any], name: str) -> tuple[str, str]:
    match line[name]:
        case [str() as first, str() as second]:
            return first, second
    raise TypeError(f"{name} is {line[name]!r}; expected two letters")


def _outcome(line: Mapping[str, Any], name: str) -> tuple[str, ...]:
    match line[name]:
        case [str(), [*chosen]] if all(isinstance(text, str) for text in chosen):
            return tuple(chosen)
    raise TypeError(f"{name} is {line[name]!r}; expected a question and what was chosen")
