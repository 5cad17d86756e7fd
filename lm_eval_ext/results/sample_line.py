"""One line of a samples file: its values by metric, each checked against what the metric can be, and its responses.

Where a run answered each row several times (``repeats``), a line has the scores of every draw.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Hashable, Mapping
from math import isfinite, nan
from typing import Any, NamedTuple

import orjson

from lm_eval_ext.families.schema import COUNT, Schema
from lm_eval_ext.results.files import shown

DRAWS = "draws"
"""Where our tasks log the scores of each draw, by metric."""
OF_HARNESS = "scores_per_repeat"
"""Where lm-eval 0.5 logs them for tasks that it scores by itself."""
_MEAN_OVER_DRAWS = re.compile(r"pass@1\((.+)\)")
"""What 0.5 calls the mean of a metric over draws, in its figures."""


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
    found = sample.get("resps")
    # The last request of a row is the one for a text; each has a list of draws.
    while isinstance(found, list) and found:
        found = found[-1]
    return found if isinstance(found, str) else ""
