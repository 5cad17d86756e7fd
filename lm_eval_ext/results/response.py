"""The response in a line of a samples file, for tasks that ask for one text per row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
