"""Roots are those of scipy, to the last digit."""

from __future__ import annotations

from collections.abc import Callable
from math import atan, exp, log

import numpy as np
import pytest
from scipy.optimize import brentq

from lm_eval_ext.reports.root import root

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "a line": lambda x: x - 0.3,
    "a cubic": lambda x: x**3 - 2 * x - 5,
    "steep at one end": lambda x: exp(20 * x) - 1000,
    "flat at both ends": lambda x: atan(1e4 * (x - 0.1234)),
    "tiny numbers": lambda x: 1e-160 * (exp(x) - 2),
    "a logarithm": lambda x: log(x + 4) - 0.5,
    "a jump": lambda x: -1.0 if x < 0.2 else 1.0,
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_roots_are_those_of_scipy(function: Callable[[float], float]) -> None:
    generator, compared = np.random.default_rng(1), 0
    for low, high in zip(generator.uniform(-3, 0.1, 300), generator.uniform(0.1, 4, 300), strict=True):
        if (function(low) < 0) != (function(high) < 0):
            for tolerance in (1e-3, 1e-9, 1e-12):
                assert root(function, low, high, tolerance) == brentq(function, low, high, xtol=tolerance)
            compared += 1
    assert compared > 50


def test_an_end_can_be_the_root() -> None:
    assert root(lambda x: x, 0.0, 1.0, 1e-9) == root(lambda x: x, -1.0, 0.0, 1e-9) == 0.0


def test_without_a_change_of_sign_there_is_no_root() -> None:
    with pytest.raises(ValueError, match="same sign at 1 and 2; expected a root between them"):
        root(lambda x: x, 1, 2, 1e-9)


def test_steps_come_to_an_end() -> None:
    ends = (-1.4133529634292041, 1.180820006000761)
    with pytest.raises(RuntimeError, match="after 100 iterations"):
        brentq(lambda x: (x - 0.7) ** 9, *ends, xtol=1e-12)
    with pytest.raises(ArithmeticError, match=r"no root between -1\.4\d+ and 1\.1\d+ in 100 steps"):
        root(lambda x: (x - 0.7) ** 9, *ends, 1e-12)
