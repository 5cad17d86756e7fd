"""Wilson's interval in the form of resamples, compared with his formula."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lm_eval_ext.reports.statistics import DRAWS, Floats, Population, Ratio, estimate, spread

ROWS = 100


def ratio(values: Floats, name: str = "", answers: int = 1, rows: int = ROWS) -> Ratio:
    numbers = np.repeat(np.arange(rows, dtype=np.int32), answers)
    return Population({"data": rows}.__getitem__).ratio("data", numbers, values).measured(name)


def answers(right: int, of: int = ROWS) -> Floats:
    return (np.arange(of) < right).astype(np.float64)


@pytest.mark.parametrize("right", [50, 90, 97, 99, 100, 0, 3])
def test_with_one_answer_to_each_row_it_is_wilsons_interval(right: int) -> None:
    found = estimate(ratio(answers(right)).value)
    expected = stats.binomtest(right, ROWS).proportion_ci(method="wilson")
    # Quantiles of t with 99 degrees of freedom instead of 1.96, and a variance of resamples: 3 % wider, give or take 5.
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.012)
    assert found.value == right / ROWS


@pytest.mark.parametrize("right", [0, ROWS])
def test_at_an_end_the_interval_is_a_one_sided_limit(right: int) -> None:
    found = estimate(ratio(answers(right)).value)
    assert right / ROWS in (found.low, found.high)
    # Quantile t² / (rows + t²), with t = 1.984.
    assert found.high - found.low == pytest.approx(0.0379, abs=0.001)
    assert 0 <= found.low < found.high <= 1


def test_answers_that_agree_are_worth_one_and_independent_ones_several() -> None:
    agree = np.repeat(answers(80), 5)
    generator = np.random.default_rng(4)
    alone, together = (estimate(ratio(of, answers=count).value) for of, count in ((answers(80), 1), (agree, 5)))
    assert (together.low, together.high) == pytest.approx((alone.low, alone.high), abs=0.002)
    independent = estimate(ratio(generator.permutation(np.repeat(answers(80), 5)), answers=5).value)
    # The standard error falls by the square root of 5.
    assert independent.high - independent.low == pytest.approx((alone.high - alone.low) / np.sqrt(5), rel=0.15)


def test_values_between_right_and_wrong_vary_less() -> None:
    found = estimate(ratio(np.tile([0.4, 0.6], 50)).value)
    # A standard deviation of 0.1 instead of 0.5: 0.5 -+ 1.98 * 0.01, and a little for what few rows do not tell.
    assert (found.low, found.high) == pytest.approx((0.48, 0.52), abs=0.005)


def test_a_figure_of_one_row_has_no_interval() -> None:
    found = estimate(ratio(np.array([1.0, 0.0, 1.0]), answers=3, rows=1).value)
    assert found.value == pytest.approx(2 / 3)
    assert not found.has_interval
    both = Population({"one": 1, "other": 1}.__getitem__)
    number = np.zeros(1, dtype=np.int32)
    one_each = Ratio.sum([both.ratio("one", number, np.ones(1)), both.ratio("other", number, np.zeros(1))])
    assert not estimate(one_each.value).has_interval


def test_equal_figures_of_two_models_are_not_known_to_stay_equal() -> None:
    first, second = (ratio(answers(100), name).value for name in ("one", "other"))
    difference = estimate(first - second)
    assert difference.value == 0
    # Each may be at 0.963 while the other is at 1.
    assert (difference.low, difference.high) == pytest.approx((-0.04, 0.04), abs=0.01)
    assert estimate(first - ratio(answers(100), "one").value).high == 0


def test_a_difference_keeps_its_pairs() -> None:
    # 20 of 100 rows differ: a standard error of 0.04; unpaired, 0.067.
    difference = estimate(ratio(answers(70), "one").value - ratio(answers(50), "other").value)
    assert (difference.low, difference.high) == pytest.approx((0.12, 0.28), abs=0.012)


def test_the_mean_of_many_tasks_is_as_near_to_the_end_as_they_are() -> None:
    # Twenty tasks at 0.99: the interval is that of 2,000 rows, not twenty intervals of 100 rows side by side.
    names = [f"task {number}" for number in range(20)]
    population = Population(dict.fromkeys(names, ROWS).__getitem__)
    numbers = np.arange(ROWS, dtype=np.int32)
    found = estimate(Ratio.mean(population.ratio(name, numbers, answers(99)).measured(name) for name in names).value)
    expected = stats.binomtest(1980, 2000).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.001)


def test_resamples_without_a_figure_stay_without_one() -> None:
    quotient = np.full(1 + DRAWS, 0.5)
    quotient[3] = np.nan
    found = spread(quotient, (0.0, 1.0), 10, 9, [1])
    assert np.flatnonzero(np.isnan(found)).tolist() == [3]


def test_another_scale_is_spread_within_its_limits() -> None:
    most = float(np.log(10))
    found = estimate(ratio(np.zeros(ROWS)).measured("entropy", (0.0, most)).value)
    assert (found.low, found.value) == (0.0, 0.0)
    assert found.high == pytest.approx(0.0379 * most, abs=0.003)
