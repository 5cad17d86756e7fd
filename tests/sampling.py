"""Parameters of a test that the quick suite only samples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(values: Iterable[object], every: int) -> list[Any]:
    """Return the values as parameters: the first and every so-many-th after it are quick, and the others are slow."""
    return [
        value if place % every == 0 else pytest.param(value, marks=pytest.mark.slow)
        for place, value in enumerate(values)
    ]
