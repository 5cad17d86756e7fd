"""The key of the harness's request cache (``--cache_requests``), completed.

The harness keys built requests by task, number of demonstrations, system instruction and tokenizer. It leaves out the
generation arguments (lm-eval#3881), the rows and the prompts, and would serve requests that were built of others.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

DIGITS = 16
"""Hexadecimal digits of a fingerprint; the whole key is part of a file name."""
NOT_ASKED = ("metadata", "tag", "task_alias", "process_results", "filter_list", "metric_list", "scorer")
"""Keys of a task's config that shape no request: what it is called, and what becomes of the answers. Metadata name the
model, too, and another model is asked the same; a task adds those that do shape requests."""


def fingerprint(made_of: Mapping[str, Any]) -> str:
    """Return a short text that differs wherever requests are made of something else.

    Args:
        made_of: values that JSON holds; anything else counts by its ``repr``.
    """
    text = json.dumps(made_of, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def asked(config: object) -> dict[str, Any]:
    """Return the part of a task's config that may shape its requests: every key but ``NOT_ASKED``."""
    return {key: value for key, value in vars(config).items() if key not in NOT_ASKED}


def functions(value: Any, name: str = "") -> Iterator[str]:
    """Yield the places of functions in a value, as in ``fewshot_config.process_docs``.

    What a function does cannot be told from its name or its address. A dataclass that can be called is no such
    function: its ``repr`` tells its fields.
    """
    if dataclasses.is_dataclass(value) or isinstance(value, Mapping):
        inner = value if isinstance(value, Mapping) else vars(value)
        for key, each in inner.items():
            yield from functions(each, f"{name}.{key}".lstrip("."))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for each in value:
            yield from functions(each, name)
    elif callable(value):
        yield name
