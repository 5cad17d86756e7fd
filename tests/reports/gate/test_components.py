"""The components of variance, against arithmetic and enumeration."""

from __future__ import annotations

from itertools import product
from math import inf, isnan, sqrt

import numpy as np
import pytest

from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.gate.sampled import ChangeComponents, Components, components
from lm_eval_ext.reports.paired import Difference, MeanChange


def test_draws_that_agree_vary_only_between_rows() -> None:
    # Variances of the means 1, 0: 0.5; of the draws of a row: 0.
    assert components(np.array([[1.0, 1.0], [0.0, 0.0]])) == Components(0.0, 0.5)


def test_rows_that_agree_vary_only_within() -> None:
    # The variance of 1, 0 is 0.5; that of the means is 0, less than the 0.25 that chance adds.
    assert components(np.array([[1.0, 0.0], [0.0, 1.0]])) == Components(0.5, 0.0)


def test_a_single_draw_has_no_variance_within_its_row() -> None:
    found = components(np.array([[1.0], [0.0]]))
    assert isnan(found.within)
    assert isnan(found.between)


def test_the_variance_within_rows_is_unbiased() -> None:
    # Over all outcomes of three draws of two rows with chances 0.2 and 0.9.
    chances = np.array([0.2, 0.9])
    mean = 0.0
    for outcome in product([0.0, 1.0], repeat=6):
        draws = np.array(outcome).reshape(2, 3)
        probability = np.prod(np.where(draws == 1, chances[:, None], 1 - chances[:, None]))
        mean += float(probability) * components(draws).within
    assert mean == pytest.approx((0.2 * 0.8 + 0.9 * 0.1) / 2)


def test_the_error_of_a_change_has_a_part_that_draws_reduce() -> None:
    # (0.1 + 0.4 / 4) / 100
    found = ChangeComponents(within=0.4, between=0.1, rows=100)
    assert found.error(4) == pytest.approx(sqrt(0.002))
    assert ChangeComponents(0.4, 0.1, 100, scale=2.0).error(4) == pytest.approx(sqrt(0.002) / 2)


def test_enough_draws_leave_little_to_gain() -> None:
    found = ChangeComponents(within=0.4, between=0.1, rows=100)
    # 0.4 / (0.1 * (1 / 0.95**2 - 1)) = 37.03
    assert found.sufficient == 38
    assert found.error(inf) >= 0.95 * found.error(38)
    assert found.error(inf) < 0.95 * found.error(37)


@pytest.mark.parametrize(
    ("within", "between", "enough"), [(0.4, 0.0, inf), (0.0, 0.1, 1), (0.0, 0.0, 1), (0.001, 0.1, 1)]
)
def test_the_number_of_enough_draws_at_the_edges(within: float, between: float, enough: float) -> None:
    assert ChangeComponents(within, between, rows=10).sufficient == enough


def test_unknown_chance_in_draws_leaves_the_numbers_unknown() -> None:
    found = ChangeComponents(within=float("nan"), between=float("nan"), rows=10)
    assert isnan(found.sufficient)
    assert isnan(found.decisive(0.1))


def test_draws_decide_if_the_rows_alone_vary_little_enough() -> None:
    found = ChangeComponents(within=0.4, between=0.1, rows=100)
    # (0.1 + 0.4 / 8) / 100 = 0.0015
    assert found.decisive(sqrt(0.0015)) == 8
    assert found.decisive(sqrt(0.0015) * 0.999) == 9
    # With any number of draws, (0.1 + 0) / 100 is left.
    assert found.decisive(sqrt(0.001)) == inf
    assert found.decisive(0.01) == inf


def of_rows(changes: list[float], datasets: tuple[int, ...], added: float, by_one: float) -> ChangeComponents:
    values, weights = np.array(changes), np.ones(len(changes))
    mean = MeanChange.of_rows(values, weights, datasets, len(changes))
    difference = Difference(0.0, 0.0, Estimate(mean.value), mean, values, weights, datasets, len(changes))
    return ChangeComponents.of(difference, added * weights, by_one * weights)


def test_the_components_of_a_change_are_those_of_its_rows() -> None:
    # Variance of the changes: 1; of this, the draws at hand add 0.25.
    found = of_rows([1.0, -1.0, 0.0], (3,), 0.25, 0.5)
    assert found == ChangeComponents(within=0.5, between=0.75, rows=3, scale=1.0)


def test_datasets_are_strata_of_a_change() -> None:
    # Within each dataset, all rows change alike.
    assert of_rows([1.0, 1.0, 0.0, 0.0], (2, 2), 0.0, 0.0).between == 0.0


def test_rows_of_which_each_is_a_dataset_have_no_variance() -> None:
    assert isnan(of_rows([1.0], (1,), 0.0, 1.0).between)
