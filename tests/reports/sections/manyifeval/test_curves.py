"""The shape of a falling share, found again in made-up curves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from lm_eval_ext.reports.sections.manyifeval.curves import decay
from lm_eval_ext.reports.statistics import Floats

NUMBERS = (10, 20, 50, 100, 200, 300, 400, 500)
X = np.array(NUMBERS, dtype=np.float64)


def with_noise(curve: Floats, deviation: float = 0.005) -> Floats:
    noise = np.random.default_rng(7).normal(0, deviation, (400, len(curve)))
    noise[0] /= 10
    return curve + noise


@pytest.mark.parametrize(
    ("shape", "curve", "parameter", "within"),
    [
        ("threshold", 0.98 - 0.002 * np.maximum(X - 180, 0), 180, 10),
        ("steady", 0.98 - 0.0012 * X, 0.12, 0.005),
        ("early", 0.2 + 0.7 * np.exp(-X / 60), 60, 8),
    ],
)
def test_a_shape_and_its_parameter_are_found_again(shape: str, curve: Floats, parameter: float, within: float) -> None:
    found = decay(NUMBERS, with_noise(curve))
    assert found is not None
    assert found.shape == shape
    assert found.parameter == pytest.approx(parameter, abs=within)
    assert found.low <= parameter <= found.high
    assert found.support > 0.6


def test_a_straight_line_is_not_taken_for_a_bent_one_because_that_fits_the_noise() -> None:
    found = decay(NUMBERS, with_noise(0.98 - 0.0012 * X, deviation=0.03))
    assert found is not None
    assert found.shape == "steady"
    assert found.support > 0.95


@pytest.mark.parametrize(
    ("numbers", "shares"),
    [
        (NUMBERS, np.full(8, 0.9)),
        (NUMBERS, np.linspace(0.2, 0.9, 8)),
        (NUMBERS, np.array([0.9, np.nan, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3])),
        (NUMBERS[:4], np.array([0.9, 0.7, 0.5, 0.3])),
    ],
)
def test_no_shape_is_claimed_without_a_fall_or_with_too_few_numbers(numbers: Sequence[int], shares: Floats) -> None:
    assert decay(numbers, np.tile(shares, (5, 1))) is None
