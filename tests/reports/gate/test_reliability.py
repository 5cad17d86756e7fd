"""The estimators of reliable@k and pass@k, against enumeration."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from math import comb

import numpy as np
import pytest

from lm_eval_ext.reports.gate.sampled import all_right, any_right

MOST = 6


def sizes() -> Iterator[tuple[int, int]]:
    """Yield all numbers of draws up to a few, with all k."""
    return ((draws, k) for draws in range(1, MOST + 1) for k in range(1, draws + 1))


def test_they_are_the_shares_of_all_sets_of_k_draws() -> None:
    for draws, k in sizes():
        for right in range(draws + 1):
            given = [True] * right + [False] * (draws - right)
            sets = list(combinations(given, k))
            every = sum(map(all, sets)) / len(sets)
            some = sum(map(any, sets)) / len(sets)
            counted = np.array([float(right)])
            assert all_right(counted, draws, k) == pytest.approx([every])
            assert any_right(counted, draws, k) == pytest.approx([some])


@pytest.mark.parametrize("chance", [0.0, 0.3, 0.9, 1.0])
def test_they_are_unbiased(chance: float) -> None:
    for draws, k in sizes():
        right = np.arange(draws + 1)
        weights = np.array([comb(draws, n) * chance**n * (1 - chance) ** (draws - n) for n in right])
        counted = right.astype(np.float64)
        assert weights @ all_right(counted, draws, k) == pytest.approx(chance**k)
        assert weights @ any_right(counted, draws, k) == pytest.approx(1 - (1 - chance) ** k)


@pytest.mark.parametrize("k", [0, 4, -1])
def test_k_must_be_a_number_of_draws(k: int) -> None:
    with pytest.raises(ValueError, match=rf"k is {k}; expected a number from 1 to 3, the number of draws"):
        all_right(np.array([1.0]), 3, k)
