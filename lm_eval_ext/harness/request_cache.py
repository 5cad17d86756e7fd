"""Completes the key of the harness's request cache (``--cache_requests``).

The harness keys built requests by task, number of demonstrations, system instruction and tokenizer. It leaves out the
generation arguments (lm-eval#3881), the rows and the prompts, and so would reuse requests that were built from others.
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
"""Keys of a task's config that do not affect requests: names, and what happens to the answers. Metadata include the
model, which does not affect requests either; a task adds the metadata that do."""


def fingerprint(made_of: Mapping[str, Any]) -> str:
    """Return a short text that changes whenever the inputs of the requests change.

    Args:
        made_of: the inputs, as values that JSON can represent; anything else is represented by its ``repr``.
    """
    text = json.dumps(made_of, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def asked(config: object) -> dict[str, Any]:
    """Return the part of a task's config that may affect its requests: every key but ``NOT_ASKED``."""
    return {key: value for key, value in vars(config).items() if key not in NOT_ASKED}


def functions(value: Any, name: str = "") -> Iterator[str]:
    """Yield the paths of functions in a value, such as ``fewshot_config.process_docs``.

    The name or address of a function does not identify its behavior. A callable dataclass does not count as a
    function, because its ``repr`` gives its fields.
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
