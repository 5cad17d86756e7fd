"""Entropy and total variation: computed by hand, and the same for numbers and arrays."""

from __future__ import annotations

import numpy as np

from lm_eval_ext.families.paired_mcq.schema import entropy, mismatch_bounds, variation_distance


def test_entropy_does_not_depend_on_the_order_of_outcomes() -> None:
    assert entropy([7, 2, 1]) == entropy([1, 7, 2]) == entropy({"a": 2, "b": 1, "c": 7}.values())


def test_the_entropy_of_a_single_outcome_is_not_negative_zero() -> None:
    assert str(entropy([4])) == "0.0"


def test_arrays_of_distribution_pairs_are_supported() -> None:
    first = [np.array([3.0, 2.0]), np.array([1.0, 2.0])]
    second = [np.array([1.0, 2.0]), np.array([3.0, 2.0])]
    assert variation_distance(first, second, np.array([4.0, 4.0])).tolist() == [0.5, 0.0]


def test_a_text_that_the_reader_is_unsure_of_may_match_the_first_token_or_not() -> None:
    mismatch, unsure = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])
    least, most = mismatch_bounds(mismatch, unsure)
    assert least.tolist() == [0, 0, 1, 0]
    assert most.tolist() == [0, 1, 1, 1]
