"""The key of the harness's request cache (``--cache_requests``), completed.

The harness keys built requests by task, number of demonstrations, system instruction and tokenizer. It leaves out the
generation arguments (lm-eval#3881), the rows and the prompts, and would serve requests that were built of others.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

DIGITS = 16
"""Hexadecimal digits of a fingerprint; the whole key is part of a file name."""


def fingerprint(made_of: Mapping[str, Any]) -> str:
    """Return a short text that differs wherever requests are made of something else.

    Args:
        made_of: values that JSON holds; anything else counts by its ``repr``. One that has an address in it is never
            found again, which costs time and serves nothing wrong.
    """
    text = json.dumps(made_of, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
