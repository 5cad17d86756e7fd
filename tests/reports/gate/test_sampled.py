"""What several draws per row tell: reliability, components of variance, and how many draws suffice."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from math import inf, isnan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.gate.measure import measured
from lm_eval_ext.reports.gate.sampled import (
    ChangeComponents,
    Components,
    Sampled,
    all_right,
    any_right,
    change_of,
    components,
    draws_to_decide,
    sampled,
)
from lm_eval_ext.reports.gate.units import Compared, Sides
from lm_eval_ext.reports.paired import Difference, MeanChange
from lm_eval_ext.results.comparability import OfOneSeed, as_one
from lm_eval_ext.results.load import load_apart
from tests.reports.files import SST2
from tests.reports.gate.draws import write_draws
from tests.reports.gate.two_runs import NAMES, SNLI

# Rows with both draws right, one, and none; of the other model, the last row is always right.
BEFORE = [[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]]
AFTER = [[1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0]]


def sides_of(before: list[Path], after: list[Path]) -> Sides:
    found = load_apart([[folder] for folder in (*before, *after)])
    each = [OfOneSeed(runs, "a run") for runs in found]
    return Sides(as_one(each[: len(before)]), as_one(each[len(before) :]), NAMES)


def unit_of(sides: Sides, name: str = SST2) -> Compared:
    unit = sides.take(name)
    assert isinstance(unit, Compared)
    return unit


def drawn(sides: Sides, k: int | None = None, unit: Compared | None = None) -> Sampled:
    unit = unit or unit_of(sides)
    found = sampled(unit, measured(unit, sides), k)
    assert found is not None
    return found


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    return sides_of(write_draws(tmp_path, {SST2: BEFORE}), write_draws(tmp_path, {SST2: AFTER}, "two"))


def test_scores_are_means_over_draws(sides: Sides) -> None:
    found = measured(unit_of(sides), sides)
    assert (found.before, found.after, found.change.value) == (0.5, 0.75, 0.25)
    assert found.by_row.tolist() == [0, 0, 0, 1]


def test_reliability_is_by_row(sides: Sides) -> None:
    found = drawn(sides)
    assert (found.draws, found.k) == ((2, 2), 2)
    assert found.reliable is not None
    assert found.any_of is not None
    assert (found.reliable.before, found.reliable.after) == (0.25, 0.5)
    assert (found.any_of.before, found.any_of.after) == (0.75, 1.0)
    assert found.reliable.change.has_interval


def test_one_of_several_draws_is_the_score_itself(sides: Sides) -> None:
    found = drawn(sides, k=1)
    assert found.reliable is not None
    assert (found.reliable.before, found.reliable.after) == (0.5, 0.75)


def test_k_beyond_the_draws_is_an_error(sides: Sides) -> None:
    with pytest.raises(ReportError, match=rf"--k 3: {SST2} has 2 draws per row; expected at most 2"):
        drawn(sides, k=3)


def test_the_components_of_each_side_and_of_the_change(sides: Sides) -> None:
    found = drawn(sides)
    # Two of four rows have draws 1 and 0, whose variance is 0.5; the means 1, 0.5, 0.5, 0 vary by 1/6.
    assert (found.sides[0].within, found.sides[0].between) == pytest.approx((0.25, 1 / 6 - 0.125))
    # The changes 0, 0, 0, 1 vary by 0.25, exactly what the draws add: 0.25 / 2 on each side.
    assert found.change == ChangeComponents(0.5, 0.0, 4, 1.0)
    assert found.change.sufficient == inf


def test_the_error_of_one_task_does_not_depend_on_how_tasks_are_weighted(sides: Sides) -> None:
    found = []
    for alike in (False, True):
        unit = replace(unit_of(sides), tasks_weigh_alike=alike)
        found.append(change_of(unit, measured(unit, sides)))
    assert found[0].error(3) == pytest.approx(found[1].error(3)) == pytest.approx((0.5 / 3 / 4) ** 0.5)


def test_the_error_is_that_of_the_limits_without_the_made_up_rows(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    # Half the rows become better, the others worse.
    chances = np.repeat([[0.3], [0.9]], 200, axis=0).T, np.repeat([[0.8], [0.4]], 200, axis=0).T
    before, after = ((generator.random((3, 400)) < chance).astype(float).tolist() for chance in chances)
    sides = sides_of(write_draws(tmp_path, {SST2: before}), write_draws(tmp_path, {SST2: after}, "two"))
    found = measured(unit_of(sides), sides)
    change = change_of(unit_of(sides), found)
    # The two made-up rows hardly matter among 400.
    assert change.error(3) == pytest.approx(found.mean.error, rel=0.02)
    # The changes of 0.5 and -0.5 have the variance 0.25; the draws add 0.21, 0.09, 0.16 and 0.24, halved.
    assert change.between == pytest.approx(0.25, abs=0.05)
    assert change.within == pytest.approx((0.21 + 0.09 + 0.16 + 0.24) / 2, abs=0.03)


def test_draws_instead_of_rows(sides: Sides) -> None:
    found = drawn(sides)
    # Without a component between rows, twice the draws tell as much as twice the rows.
    assert draws_to_decide(found, rows=8) == 4
    assert draws_to_decide(found, rows=100) == 50


def test_lower_is_better_has_zero_as_right(tmp_path: Path) -> None:
    right = [[0.0, 0.0], [0.0, 1.0]]
    sides = sides_of(write_draws(tmp_path, {SST2: right}), write_draws(tmp_path, {SST2: right}, "two"))
    unit = unit_of(sides)
    metric = unit.pairs[0].before.schema.metric("invalid_rate")
    found = drawn(sides, unit=replace(unit, headline=metric))
    assert found.reliable is not None
    # No answer is invalid, which is best.
    assert found.reliable.before == 1.0


def test_without_a_direction_nothing_is_right_and_there_is_no_reliability(sides: Sides) -> None:
    unit = unit_of(sides)
    unknown = replace(unit, headline=replace(unit.headline, higher_is_better=None))
    found = drawn(sides, unit=unknown)
    assert (found.reliable, found.any_of) == (None, None)
    assert found.sides == drawn(sides).sides


def test_fractional_scores_have_no_reliability(tmp_path: Path) -> None:
    shares = {SST2: [[0.5, 1.0], [0.25, 1.0]]}
    found = drawn(sides_of(write_draws(tmp_path, shares), write_draws(tmp_path, shares, "two")))
    assert found.reliable is None
    assert found.any_of is None
    assert found.sides[0].within == pytest.approx(0.03125 / 2)


def test_a_single_draw_leaves_the_chance_in_draws_unknown(tmp_path: Path) -> None:
    found = drawn(sides_of(write_draws(tmp_path, {SST2: BEFORE}), write_draws(tmp_path, {SST2: AFTER[:1]}, "two")))
    assert found.draws == (2, 1)
    assert isnan(found.sides[1].within)
    assert isnan(found.sides[1].between)
    assert isnan(found.change.sufficient)


def test_greedy_decoding_adds_no_chance(tmp_path: Path) -> None:
    greedy = {"generation_kwargs": {"do_sample": False}}
    after = write_draws(tmp_path, {SST2: AFTER[:1]}, "two", config=greedy)
    found = drawn(sides_of(write_draws(tmp_path, {SST2: BEFORE}), after))
    assert found.change.within == pytest.approx(0.25)


def test_single_draws_are_as_they_were(tmp_path: Path) -> None:
    sides = sides_of(write_draws(tmp_path, {SST2: BEFORE[:1]}), write_draws(tmp_path, {SST2: AFTER[:1]}, "two"))
    assert sampled(unit_of(sides), measured(unit_of(sides), sides)) is None


def test_a_group_pools_the_rows_of_its_tasks(tmp_path: Path) -> None:
    tree: dict[str, Any] = {"group_subtasks": {"group": [SST2, SNLI], SST2: [], SNLI: []}}
    before = write_draws(tmp_path, {SST2: BEFORE, SNLI: BEFORE}, **tree)
    after = write_draws(tmp_path, {SST2: AFTER, SNLI: BEFORE}, "two", **tree)
    sides = sides_of(before, after)
    found = drawn(sides, unit=unit_of(sides, "group"))
    assert found.reliable is not None
    assert (found.reliable.before, found.reliable.after) == (0.25, 0.375)


def test_draws_that_agree_vary_only_between_rows() -> None:
    # Variances of the means 1, 0: 0.5; of the draws of a row: 0.
    assert components(np.array([[1.0, 1.0], [0.0, 0.0]])) == Components(0.0, 0.5)


def test_rows_that_agree_vary_only_within() -> None:
    # The variance of 1, 0 is 0.5; that of the means is 0, less than the 0.25 that chance adds.
    assert components(np.array([[1.0, 0.0], [0.0, 1.0]])) == Components(0.5, 0.0)


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
    # Within each dataset, all rows change alike.
    assert of_rows([1.0, 1.0, 0.0, 0.0], (2, 2), 0.0, 0.0).between == 0.0
    # Rows of which each is a dataset have no variance.
    assert isnan(of_rows([1.0], (1,), 0.0, 1.0).between)


def test_they_are_the_shares_of_all_sets_of_k_draws() -> None:
    for draws in range(1, 7):
        for k, right in product(range(1, draws + 1), range(draws + 1)):
            sets = list(combinations([True] * right + [False] * (draws - right), k))
            counted = np.array([float(right)])
            assert all_right(counted, draws, k) == pytest.approx([sum(map(all, sets)) / len(sets)])
            assert any_right(counted, draws, k) == pytest.approx([sum(map(any, sets)) / len(sets)])


@pytest.mark.parametrize("k", [0, 4, -1])
def test_k_must_be_a_number_of_draws(k: int) -> None:
    with pytest.raises(ValueError, match=rf"k is {k}; expected a number from 1 to 3, the number of draws"):
        all_right(np.array([1.0]), 3, k)
