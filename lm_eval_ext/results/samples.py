"""Samples files: what the harness logs for every row of one task (``--log_samples``)."""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, nan
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import orjson
from numpy.typing import NDArray

from lm_eval_ext.families.schema import COUNT, Schema, is_count
from lm_eval_ext.results.files import is_too_deep, shown

FEW = 3
"""The most bad lines of a file that are named; the rest are counted."""
_FILTER = b'"filter": '
ASKED = "asked "
"""The prefix of the column that holds the second number of a metric ``[followed, asked]``."""

Value = TypeVar("Value", bound=Hashable)


@dataclass(frozen=True)
class Coded(Generic[Value]):
    """A column with few distinct values, each stored once.

    Attributes:
        values: the distinct values.
        codes: the index into ``values`` for each row, shape (rows,).
    """

    values: tuple[Value, ...]
    codes: NDArray[np.int32]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    def __getitem__(self, row: int) -> Value:
        """Return a row's value."""
        value: Value = self.values[int(self.codes[row])]
        return value

    def __iter__(self) -> Iterator[Value]:
        """Yield every row's value."""
        return (self.values[code] for code in self.codes)


@dataclass(frozen=True)
class Rows:
    """The rows of one task, as read by one reader.

    Attributes:
        ids: their ``doc_id`` in the task, shape (rows,).
        clusters: the dataset row that each is built from, by its number in ``DatasetRows``, shape (rows,).
        values: numbers by metric, each of shape (rows,).
        letters: pairs of letters by metric.
        outcomes: what was chosen, by metric.
        docs, prompts: the first characters of the hashes of each row and of its prompt, shape (rows,); empty where the
            file has none.
        offsets: the byte offset of each line in the file, shape (rows,).
        path: the file.
    """

    ids: NDArray[np.int64]
    clusters: NDArray[np.int32]
    values: Mapping[str, NDArray[np.float64]]
    letters: Mapping[str, Coded[tuple[str, str]]]
    outcomes: Mapping[str, Coded[tuple[str, ...]]]
    docs: NDArray[np.bytes_]
    prompts: NDArray[np.bytes_]
    offsets: NDArray[np.int64]
    path: Path

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.ids)

    def line(self, row: int) -> dict[str, Any]:
        """Return the complete line of a row.

        Raises:
            OSError: the file can no longer be read.
            ValueError: the line is nested too deeply to be shown, or the file has changed.
        """
        with self.path.open("rb") as file:
            file.seek(int(self.offsets[row]))
            text = file.readline()
        try:
            found = _parsed(text)
        except RecursionError:
            found = None
        if not isinstance(found, dict) or found.get("doc_id") != self.ids[row] or is_too_deep(found):
            raise ValueError(f"{self.path}: the line of row {self.ids[row]} is no longer where it was")
        return found


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
        if len(self.reasons) < FEW:
            self.reasons.append(f"line {number}: {_reason(error)}")

    def __str__(self) -> str:
        more = f" and {self.count - FEW} more" if self.count > FEW else ""
        return f"{self.count} line{'s' if self.count > 1 else ''} skipped ({'; '.join(self.reasons)}{more})"


@dataclass
class DatasetRows:
    """The dataset rows that any run was evaluated on, numbered in order of first appearance."""

    _numbers: dict[str, dict[Hashable, int]] = field(default_factory=dict)

    def of(self, dataset: str) -> dict[Hashable, int]:
        """Return the number of each row of a dataset, by its key; reading samples adds new rows."""
        return self._numbers.setdefault(dataset, {})

    def count(self, dataset: str) -> int:
        """Return how many rows of a dataset have been seen."""
        return len(self._numbers.get(dataset, ()))


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
            np.array(self.offsets, np.int64),
            path,
        )


_HASH = np.dtype("S16")


def read_samples(
    path: Path, schema: Schema, metrics: Sequence[str], readers: Sequence[str], numbers: dict[Hashable, int]
) -> tuple[Rows, LeftOut]:
    """Return the rows of a samples file, and which of its lines were skipped.

    A line that is truncated or malformed is skipped; the first few of these are named.

    Args:
        path: the file.
        schema: the schema of the task's family.
        metrics: the metrics in the task's results.
        readers: the filters whose lines the file has; only the lines of the first are read.
        numbers: the numbers of the dataset's rows, by key; new rows get the next numbers.

    Raises:
        OSError: the file cannot be read.
    """
    reader = readers[0]
    columns, wrong = _Columns(), LeftOut()
    ids: set[int] = set()
    put = _recorder(schema, metrics, numbers, columns)
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
                line = _parsed(text)
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
    return columns.rows(path), wrong


def _parsed(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        # The harness also writes what only Python accepts as JSON: NaN, lone surrogates, long integers.
        return json.loads(text)


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
    columns.names = (*numbers, *(column for name in ratios for column in (name, ASKED + name)))
    limits = {name: _Limits.of(schema, name) for name in numbers}
    letters_into = [columns.letters.setdefault(name, _Coding()) for name in letters]
    outcomes_into = [columns.outcomes.setdefault(name, _Coding()) for name in choices]

    def put(line: Mapping[str, Any], offset: int) -> None:
        row_id, key = line["doc_id"], _key(line, schema.row_key)
        found = _numbers(line, limits)
        for name in ratios:
            found.extend(_two_numbers(line, name))
        two = [_two_letters(line, name) for name in letters]
        chosen = [_outcome(line, name) for name in choices]
        columns.ids.append(row_id)
        columns.clusters.append(rows.setdefault(key, len(rows)))
        columns.docs.append(_beginning(line.get("doc_hash")))
        columns.prompts.append(_beginning(line.get("prompt_hash")))
        columns.offsets.append(offset)
        columns.values.extend(found)
        for pair_column, pair in zip(letters_into, two, strict=True):
            pair_column.append(pair)
        for outcome_column, outcome in zip(outcomes_into, chosen, strict=True):
            outcome_column.append(outcome)

    return put


def _key(line: Mapping[str, Any], field: str | None) -> Hashable:
    if field is None:
        return int(line["doc_id"])
    doc = line["doc"]
    if not isinstance(doc, dict):
        raise TypeError(f"doc is {shown(doc)}; expected an object")
    found = doc[field]
    if not isinstance(found, str | int) or isinstance(found, bool):
        raise TypeError(f"doc.{field} is {shown(found)}; expected text or a whole number")
    return found


def _beginning(digest: object) -> bytes:
    return digest[:16].encode() if isinstance(digest, str) else b""


class _Limits(NamedTuple):
    """The limits of a metric's values; looked up once because every row is checked."""

    least: float
    most: float
    expected: str

    @classmethod
    def of(cls, schema: Schema, metric: str) -> _Limits:
        return cls(*schema.range(metric), schema.expected(metric))


def _numbers(line: Mapping[str, Any], limits: Mapping[str, _Limits]) -> array[float]:
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


def _two_numbers(line: Mapping[str, Any], name: str) -> list[float]:
    match line[name]:
        case [float() | int() as followed, float() | int() as asked] if 0 <= followed <= asked <= COUNT[1]:
            return [float(followed), float(asked)]
    raise TypeError(f"{name} is {shown(line[name])}; expected two numbers, the first no greater than the second")


def _two_letters(line: Mapping[str, Any], name: str) -> tuple[str, str]:
    match line[name]:
        case [str() as first, str() as second]:
            return first, second
    raise TypeError(f"{name} is {shown(line[name])}; expected two letters")


def _outcome(line: Mapping[str, Any], name: str) -> tuple[str, ...]:
    match line[name]:
        case [str(), [*chosen]] if all(isinstance(text, str) for text in chosen):
            return tuple(chosen)
    raise TypeError(f"{name} is {shown(line[name])}; expected a question and what was chosen")
