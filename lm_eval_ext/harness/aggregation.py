"""How the harness makes one figure of the rows' values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from lm_eval.api.metrics import mean


def function_of(aggregation: Callable[..., Any] | Literal["mean"]) -> Callable[..., Any]:
    """Return the function of an aggregation that may be given by the harness's name, as a YAML file has it.

    The harness tells by the function itself which standard error a figure has: no other mean than its own has one.
    """
    return mean if aggregation == "mean" else aggregation
