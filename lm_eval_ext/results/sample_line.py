"""One line of a samples file: its values by metric, each checked against what the metric can be."""

from __future__ import annotations

import json
from array import array
from collections.abc import Hashable, Mapping
from math import isfinite, nan
from typing import Any, NamedTuple

import orjson

from lm_eval_ext.families.schema import COUNT, Schema
from lm_eval_ext.results.files import shown


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


def beginning(digest: object) -> bytes:
    """Return the first characters of a hash; empty if there is none."""
    return digest[:16].encode() if isinstance(digest, str) else b""


class Limits(NamedTuple):
    """The limits of a metric's values; looked up once because every row is checked."""

    least: float
    most: float
    expected: str

    @classmethod
    def of(cls, schema: Schema, metric: str) -> Limits:
        """Return the limits of one metric."""
        return cls(*schema.range(metric), schema.expected(metric))


def numbers(line: Mapping[str, Any], limits: Mapping[str, Limits]) -> array[float]:
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
