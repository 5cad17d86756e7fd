"""Entropy and total variation: computed by hand, and the same for numbers and arrays."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from lm_eval_ext.families.paired_mcq.schema import entropy, mismatch_bounds, variation_distance


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([10], 0.0),
        ([5, 5], log(2)),
        # 1/4 log 4 + 3/4 log 4/3
        ([3, 1], 0.25 * log(4) + 0.75 * log(4 / 3)),
        ([1] * 10, log(10)),
    ],
)
def test_entropy_is_in_nats(counts: list[int], expected: float) -> None:
    assert entropy(counts) == pytest.approx(expected, rel=1e-15)


def test_entropy_does_not_depend_on_the_order_of_outcomes() -> None:
    assert entropy([7, 2, 1]) == entropy([1, 7, 2]) == entropy(count for count in (2, 1, 7))


def test_the_entropy_of_a_single_outcome_is_not_negative_zero() -> None:
    assert str(entropy([4])) == "0.0"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([3, 1, 0], [1, 1, 2], 0.5),  # (2 + 0 + 2) / (2 * 4)
        ([2, 2], [2, 2], 0.0),
        ([4, 0], [0, 4], 1.0),
    ],
)
def test_total_variation_is_the_share_that_differs(first: list[float], second: list[float], expected: float) -> None:
    assert variation_distance(first, second, 4) == expected


def test_arrays_of_distribution_pairs_are_supported() -> None:
    first = [np.array([3.0, 2.0]), np.array([1.0, 2.0])]
    second = [np.array([1.0, 2.0]), np.array([3.0, 2.0])]
    assert variation_distance(first, second, np.array([4.0, 4.0])).tolist() == [0.5, 0.0]


def test_a_text_that_the_reader_is_unsure_of_may_match_the_first_token_or_not() -> None:
    mismatch, unsure = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
    least, most = mismatch_bounds(mismatch, unsure)
    assert least.tolist() == [0, 0, 1, 0]
    assert most.tolist() == [0, 1, 1, 1]
