"""The simulation of checks of several candidates: what the error rate is said of holds, and what it is not said of."""

from __future__ import annotations

from math import sqrt

import pytest

from benchmarks.several_candidates import BOUND, shares

CHECKS = 2000
AT_MOST = 0.05 + 3 * sqrt(0.05 * 0.95 / CHECKS)
"""What a rate of 5 % does not exceed in so many checks, but one time in a thousand."""


def test_the_shares_are_of_what_they_are_named_after() -> None:
    fell, any_fell, passed, best_passed, too_early = shares(200, (0.0, 0.5, 0.5), 20)
    assert (fell, any_fell, too_early) == (0.0, 0.0, 0.0)
    # The best-looking one is the first, which is no worse.
    assert passed == best_passed
    # Only the first one is allowed, and where it is called a regression, all are: it begins too early.
    fell, any_fell, _, _, too_early = shares(200, (BOUND, 0.5, 0.5), 60)
    assert fell == any_fell == too_early
    # Where none is allowed, none can be called a regression wrongly.
    fell, any_fell, _, best_passed, too_early = shares(200, (0.5, 0.5), 20)
    assert (fell, any_fell, best_passed, too_early) == (1.0, None, 0.0, None)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [500, 2000])
def test_the_error_rates_are_those_of_each_candidate_by_itself(rows: int) -> None:
    fell, any_fell, passed, best_passed, _ = shares(rows, (BOUND,) * 5, CHECKS)
    assert fell is not None
    assert passed is not None
    assert max(fell, passed) <= AT_MOST
    # Of any of five, they are larger, as the documentation says, but for what the candidates share.
    for of_any in (any_fell, best_passed):
        assert of_any is not None
        assert AT_MOST < of_any < 5 * AT_MOST


@pytest.mark.slow
@pytest.mark.parametrize("allowed", [1, 2, 4])
def test_worse_from_begins_too_early_at_most_one_time_in_twenty(allowed: int) -> None:
    drops = (BOUND,) * allowed + (0.08,) * (5 - allowed)
    *_, too_early = shares(500, drops, CHECKS)
    assert too_early is not None
    assert too_early <= AT_MOST
