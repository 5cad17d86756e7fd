"""Intervals and tests, compared with what can be computed in another way."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from lm_eval_ext.reports.statistics import (
    RESAMPLES,
    Floats,
    Population,
    Ratio,
    Replicates,
    computed,
    estimate,
    holm,
    spread,
)

# Of 400 rows 120 are right: 0.3, standard error sqrt(0.3 * 0.7 / 400) = 0.0229.
ROWS, RIGHT = 400, 120
ERROR = sqrt(0.3 * 0.7 / ROWS)


def answers(right: int = RIGHT, rows: int = ROWS) -> Floats:
    return (np.arange(rows) < right).astype(np.float64)


def population(**rows: int) -> Population:
    """Return one of so many rows of each dataset."""
    return Population({dataset: range(count) for dataset, count in rows.items()})


def mean_of(values: Floats, clusters: NDArray[np.int64] | None = None, dataset: str = "data") -> Ratio:
    numbers = np.arange(len(values)) if clusters is None else clusters
    return population(**{dataset: len({*numbers.tolist()})}).ratio(dataset, numbers.astype(np.int32), values)


# The bootstrap's interval


def test_the_standard_error_of_an_accuracy_is_the_binomial_one() -> None:
    # That of 1,000 resamples is off by 1 / sqrt(2 * 1000) = 2.2 %; four times that is never seen.
    assert np.std(mean_of(answers()).value.values[1:]) == pytest.approx(ERROR, rel=0.09)


def test_the_interval_of_an_accuracy_is_the_binomial_one() -> None:
    found = estimate(mean_of(answers()).value)
    low, high = stats.binom.ppf([0.025, 0.975], ROWS, 0.3) / ROWS
    # An end is off by sqrt(0.025 * 0.975 / 1000) / (density at it, 0.0584 / ERROR) = 0.0019; four times that.
    assert found.value == 0.3
    assert [found.low, found.high] == pytest.approx([low, high], abs=0.008)


def test_the_dataset_comes_first_and_each_resample_has_as_many_rows() -> None:
    weights = population(data=30).weights("data")
    assert weights[0].tolist() == [1] * 30
    assert weights.sum(axis=1).tolist() == [30] * (1 + RESAMPLES)
    assert weights[1:].mean(axis=0) == pytest.approx(1, abs=0.2)


def test_copies_of_an_answer_do_not_narrow_the_interval() -> None:
    copies = np.repeat(answers(), 9)
    of_rows = mean_of(copies, np.repeat(np.arange(ROWS), 9))
    assert of_rows.value.values == pytest.approx(mean_of(answers()).value.values)
    # As if they were nine times as many rows, the error would be a third.
    assert np.std(mean_of(copies).value.values[1:]) == pytest.approx(ERROR / 3, rel=0.09)


@pytest.mark.parametrize(
    ("datasets", "error"),
    [
        # 0 of 200 right in one dataset and 200 of 200 in the other: no draw can change that.
        (("one", "other"), 0.0),
        # As one dataset it is 200 of 400: sqrt(0.5 * 0.5 / 400) = 0.025.
        (("one", "one"), 0.025),
    ],
)
def test_every_dataset_keeps_its_number_of_rows(datasets: tuple[str, str], error: float) -> None:
    everything = population(one=400) if len({*datasets}) == 1 else population(one=200, other=200)
    wrong = np.arange(200, dtype=np.int32)
    right = wrong + np.int32(200 if len({*datasets}) == 1 else 0)
    both = Ratio.sum(
        [everything.ratio(datasets[0], wrong, np.zeros(200)), everything.ratio(datasets[1], right, np.ones(200))]
    )
    assert both.quotient[0] == 0.5
    assert np.std(both.quotient[1:]) == pytest.approx(error, rel=0.09)


def test_two_models_share_the_resamples_of_common_rows_and_other_datasets_have_others() -> None:
    one, again, other = (mean_of(answers(), dataset=dataset).value.values for dataset in ("data", "data", "other"))
    assert one.tolist() == again.tolist() != other.tolist()


def test_a_row_added_after_resampling_is_rejected() -> None:
    rows = {"data": range(2), "other": range(1)}
    drawn = Population(rows)
    numbers, values = np.arange(2, dtype=np.int32), np.ones(2)
    drawn.ratio("data", numbers, values)
    rows["data"] = range(3)
    with pytest.raises(RuntimeError, match="data: all rows must be read before"):
        drawn.ratio("data", numbers, values)
    assert drawn.ratio("other", numbers[:1], values[:1]).value.figure == 1


# Figures that are not there


def test_a_missing_value_is_ignored() -> None:
    found = mean_of(np.array([1.0, nan, 0.0, 1.0]))
    assert (found.total[0], found.count[0]) == (2, 3)


def test_the_mean_of_nothing_does_not_exist() -> None:
    found = estimate(mean_of(np.array([nan, nan])).value)
    assert not found.exists
    assert not found.has_interval


@pytest.mark.parametrize(("missing", "has_interval"), [(RESAMPLES // 2 - 1, True), (RESAMPLES // 2, False)])
def test_an_interval_needs_more_than_half_of_the_resamples(missing: int, has_interval: bool) -> None:
    values = np.linspace(0, 1, 1 + RESAMPLES)
    values[1 : 1 + missing] = nan
    assert estimate(Replicates(values)).has_interval == has_interval


def test_an_estimate_without_rows_has_no_interval_but_can_be_combined() -> None:
    both = Ratio.sum([Ratio.without_rows(0.5, 100), Ratio.without_rows(0.8, 50)])
    # (50 + 40) / 150
    assert estimate(both.value).value == 0.6
    assert not estimate(both.value).has_interval


def test_what_is_computed_from_replicates_is_over_as_many_rows_and_answers() -> None:
    value = mean_of(np.repeat(answers(), 3), np.repeat(np.arange(ROWS), 3)).measured("one").value
    for found in (value, computed(np.subtract, value, value), computed(lambda values: 1 - values**10, value)):
        assert (estimate(found).rows, estimate(found).answers) == (ROWS, 3 * ROWS)
    kept = np.where(np.arange(ROWS) < 10, answers(), nan)
    assert estimate(mean_of(kept).value).rows == 10
    assert estimate(Replicates(np.zeros(1 + RESAMPLES))).rows == 0


def test_what_is_computed_from_figures_over_different_rows_has_the_count_of_none_of_them() -> None:
    many, few = mean_of(answers()).value, mean_of(np.where(np.arange(ROWS) < 10, answers(), nan)).value
    # As many rows, but three answers to each.
    copies = mean_of(np.repeat(answers(), 3), np.repeat(np.arange(ROWS), 3)).value
    for sides in ((many, few), (few, many), (many, copies), (copies, many)):
        found = computed(np.subtract, *sides)
        assert (estimate(found).rows, estimate(found).answers) == (0, 0)
    assert computed(np.subtract, many, few).values.tolist() == (many.values - few.values).tolist()
    for observed, rows in ((many, ROWS), (few, 10)):
        assert estimate(computed(np.subtract, many, few, over=observed)).rows == rows


def test_tasks_over_the_same_rows_do_not_add_rows() -> None:
    everything, numbers = population(data=ROWS), np.arange(ROWS, dtype=np.int32)
    both = [everything.ratio("data", numbers, answers()) for _ in range(2)]
    for found in (Ratio.sum(both), Ratio.mean(both)):
        assert found.rows == {"data": ROWS}
        assert found.answers == 2 * ROWS
        assert estimate(found.value).value == pytest.approx(0.3)


# Wilson's interval in the form of resamples, of 100 rows


def wilson(values: Floats, name: str = "", answers: int = 1, rows: int = 100) -> Ratio:
    """Return the ratio of so many answers to each row, whose resamples are spread."""
    return mean_of(values, np.repeat(np.arange(rows), answers)).measured(name)


@pytest.mark.parametrize("right", [50, 90, 97, 99, 100, 0, 3])
def test_with_one_answer_to_each_row_it_is_wilsons_interval(right: int) -> None:
    found = estimate(wilson(answers(right, 100)).value)
    expected = stats.binomtest(right, 100).proportion_ci(method="wilson")
    # Quantiles of t with 99 degrees of freedom instead of 1.96, and a variance of resamples: 3 % wider, give or take 5.
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.012)
    assert found.value == right / 100


@pytest.mark.parametrize("right", [0, 100])
def test_at_an_end_the_interval_is_a_one_sided_limit(right: int) -> None:
    found = estimate(wilson(answers(right, 100)).value)
    assert right / 100 in (found.low, found.high)
    # Quantile t² / (rows + t²), with t = 1.984.
    assert found.high - found.low == pytest.approx(0.0379, abs=0.001)
    assert 0 <= found.low < found.high <= 1


def test_answers_that_agree_are_worth_one_and_independent_ones_several() -> None:
    agree = np.repeat(answers(80, 100), 5)
    generator = np.random.default_rng(4)
    alone, together = (estimate(wilson(of, answers=count).value) for of, count in ((answers(80, 100), 1), (agree, 5)))
    assert (together.low, together.high) == pytest.approx((alone.low, alone.high), abs=0.002)
    independent = estimate(wilson(generator.permutation(np.repeat(answers(80, 100), 5)), answers=5).value)
    # The standard error falls by the square root of 5.
    assert independent.high - independent.low == pytest.approx((alone.high - alone.low) / np.sqrt(5), rel=0.15)


def test_values_between_right_and_wrong_vary_less() -> None:
    found = estimate(wilson(np.tile([0.4, 0.6], 50)).value)
    # A standard deviation of 0.1 instead of 0.5: 0.5 -+ 1.98 * 0.01, and a little for what few rows do not tell.
    assert (found.low, found.high) == pytest.approx((0.48, 0.52), abs=0.005)


def test_a_figure_of_one_row_has_no_interval() -> None:
    found = estimate(wilson(np.array([1.0, 0.0, 1.0]), answers=3, rows=1).value)
    assert found.value == pytest.approx(2 / 3)
    assert not found.has_interval
    both = population(one=1, other=1)
    number = np.zeros(1, dtype=np.int32)
    one_each = Ratio.sum([both.ratio("one", number, np.ones(1)), both.ratio("other", number, np.zeros(1))])
    assert not estimate(one_each.value).has_interval


def test_equal_figures_of_two_models_are_not_known_to_stay_equal() -> None:
    first, second = (wilson(answers(100, 100), name).value for name in ("one", "other"))
    difference = estimate(computed(np.subtract, first, second))
    assert difference.value == 0
    # Each may be at 0.963 while the other is at 1.
    assert (difference.low, difference.high) == pytest.approx((-0.04, 0.04), abs=0.01)
    assert estimate(computed(np.subtract, first, wilson(answers(100, 100), "one").value)).high == 0


def test_a_difference_keeps_its_pairs() -> None:
    # 20 of 100 rows differ: a standard error of 0.04; unpaired, 0.067.
    first, second = wilson(answers(70, 100), "one").value, wilson(answers(50, 100), "other").value
    difference = estimate(computed(np.subtract, first, second))
    assert (difference.low, difference.high) == pytest.approx((0.12, 0.28), abs=0.012)


def test_the_mean_of_many_tasks_is_as_near_to_the_end_as_they_are() -> None:
    # Twenty tasks at 0.99: the interval is that of 2,000 rows, not twenty intervals of 100 rows side by side.
    names = [f"task {number}" for number in range(20)]
    population = Population(dict.fromkeys(names, range(100)))
    numbers = np.arange(100, dtype=np.int32)
    found = estimate(
        Ratio.mean(population.ratio(name, numbers, answers(99, 100)).measured(name) for name in names).value
    )
    expected = stats.binomtest(1980, 2000).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.001)


def test_resamples_without_a_figure_stay_without_one() -> None:
    quotient = np.full(1 + RESAMPLES, 0.5)
    quotient[3] = np.nan
    found = spread(quotient, (0.0, 1.0), 10, 9, [1])
    assert np.flatnonzero(np.isnan(found)).tolist() == [3]


def test_another_scale_is_spread_within_its_limits() -> None:
    most = float(np.log(10))
    found = estimate(wilson(np.zeros(100)).measured("entropy", (0.0, most)).value)
    assert (found.low, found.value) == (0.0, 0.0)
    assert found.high == pytest.approx(0.0379 * most, abs=0.003)


# Many tests


def test_what_has_more_of_the_level_needs_less_certainty() -> None:
    found = {"whole": 0.02, "a": 0.01, "b": 0.5}
    # Half of the level is for the whole. Once it is rejected, its half is the others'.
    adjusted = holm(found, {"whole": 2.0, "a": 1.0, "b": 1.0})
    assert adjusted == pytest.approx({"whole": 0.02 * 4 / 2, "a": 0.04, "b": 0.5})
    assert holm(found, dict.fromkeys(found, 3.0)) == holm(found)
    # As often as each is tested alone with its part of the level.
    generator = np.random.default_rng(3)
    any_rejected = [
        min(holm(dict(zip(found, row, strict=True)), {"whole": 2.0, "a": 1.0, "b": 1.0}).values())
        for row in generator.random((4000, 3))
    ]
    assert np.mean(np.array(any_rejected) < 0.05) <= 0.05 + 3 * 0.0035


@pytest.mark.parametrize(
    ("found", "adjusted"),
    [
        ({}, {}),
        ({"a": 0.04}, {"a": 0.04}),
        ({"a": 0.04, "not tested": nan}, {"a": 0.04, "not tested": nan}),
        ({"a": 0.6, "b": 0.7}, {"a": 1.0, "b": 1.0}),
        # In order: 4 * 0.005, 3 * 0.01, 2 * 0.03, and 1 * 0.04, which may not be below the one before it.
        ({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}, {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}),
    ],
)
def test_holms_adjustment_by_hand(found: dict[str, float], adjusted: dict[str, float]) -> None:
    assert holm(found) == pytest.approx(adjusted, nan_ok=True)
