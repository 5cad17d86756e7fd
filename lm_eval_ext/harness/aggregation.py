"""How the harness aggregates the rows' values into one figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from lm_eval.api.metrics import mean


def function_of(aggregation: Callable[..., Any] | Literal["mean"]) -> Callable[..., Any]:
    """Return the function of an aggregation that may be given by the harness's name, as in a YAML file.

    The harness selects a figure's standard error by the identity of the function: only its own ``mean`` has one.
    """
    return mean if aggregation == "mean" else aggregation
