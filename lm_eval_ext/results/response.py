"""The response in a line of a samples file, for tasks that ask for one text per row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def is_sample(line: Mapping[str, Any]) -> bool:
    """Return whether a line is in the harness's format (``--log_samples``)."""
    return isinstance(line.get("doc"), Mapping) and "filtered_resps" in line


def response_in(sample: Mapping[str, Any]) -> str | None:
    """Return the response that the task judged, after its filter; ``None`` if an API withheld it.

    Raises:
        ValueError: there is not exactly one.
    """
    responses = sample["filtered_resps"]
    # In 0.5, each request has a list of draws.
    draws = responses[0] if isinstance(responses, list) and len(responses) == 1 else responses
    if isinstance(draws, list) and len(draws) == 1:
        (draws,) = draws
    if draws is not None and not isinstance(draws, str):
        raise ValueError(f"field 'filtered_resps': expected one response, found {str(responses)[:80]}")
    return draws


def generated(sample: Mapping[str, Any]) -> str:
    """Return the text that the model generated for a row, before any filter; empty if there is none."""
    found = sample.get("resps")
    # The last request of a row is the one for a text; each has a list of draws.
    while isinstance(found, list) and found:
        found = found[-1]
    return found if isinstance(found, str) else ""
