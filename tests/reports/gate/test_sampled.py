"""What several draws per row tell: reliability, components of variance, and how many draws suffice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, product
from math import inf, isnan, nan, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.sampled import (
    ChangeComponents,
    Sampled,
    all_right,
    any_right,
    change_of,
    components,
    sampled,
)
from lm_eval_ext.reports.gate.units import Compared, Sides
from tests.other_files import MadeUp, write_other_run
from tests.reports.files import SST2
from tests.reports.gate.two_runs import SNLI, sides_of, unit, write_draws

Draws = Sequence[Sequence[float]]
"""The values of each draw of each row."""
# Rows with both draws right, one, and none; of the other model, the last row is always right.
BEFORE = [[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]]
AFTER = [[1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0]]


def drawn(of: Sides | Compared, k: int | None = None) -> Sampled:
    found = sampled(of if isinstance(of, Compared) else unit(of.take(SST2)), k)
    assert found is not None
    return found


def two_models(folder: Path, before: Draws, after: Draws, **of_after: Any) -> Sides:
    """Write several draws of two models, which may be of fewer for one of them, and read them."""
    return sides_of(write_draws(folder, {SST2: before}), write_draws(folder, {SST2: after}, "two", **of_after))


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    return two_models(tmp_path, BEFORE, AFTER)


def test_scores_are_means_over_draws(sides: Sides) -> None:
    found = unit(sides.take(SST2)).difference
    assert (found.before, found.after, found.change.value) == (0.5, 0.75, 0.25)
    assert found.by_row.values.tolist() == [0, 0, 0, 1]


def test_reliability_is_by_row(sides: Sides) -> None:
    found = drawn(sides)
    assert (found.draws, found.k) == ((2, 2), 2)
    assert found.reliable
    assert found.any_of
    assert (found.reliable.before, found.reliable.after) == (0.25, 0.5)
    assert (found.any_of.before, found.any_of.after) == (0.75, 1.0)
    assert found.reliable.change.has_interval
    # One of several draws is the score itself.
    one = drawn(sides, k=1).reliable
    assert one
    assert (one.before, one.after) == (0.5, 0.75)


def test_k_beyond_the_draws_is_an_error(sides: Sides) -> None:
    with pytest.raises(ReportError, match=rf"--k 3: {SST2} has 2 draws per row; expected at most 2"):
        drawn(sides, k=3)


def test_the_components_of_each_side_and_of_the_change(sides: Sides) -> None:
    found = drawn(sides)
    # Two of four rows have draws 1 and 0, whose variance is 0.5; the means 1, 0.5, 0.5, 0 vary by 1/6.
    assert (found.within[0], found.between[0]) == pytest.approx((0.25, 1 / 6 - 0.125))
    # The changes 0, 0, 0, 1 vary by 0.25, exactly what the draws add: 0.25 / 2 on each side.
    assert found.change == ChangeComponents(0.5, 0.0, 4, 1.0)
    assert found.change.sufficient == inf


def test_the_error_of_one_task_does_not_depend_on_how_tasks_are_weighted(sides: Sides) -> None:
    found = []
    for alike in (False, True):
        found.append(change_of(replace(unit(sides.take(SST2)), tasks_weigh_alike=alike)))
    assert found[0].error(3) == pytest.approx(found[1].error(3)) == pytest.approx((0.5 / 3 / 4) ** 0.5)


def test_the_error_is_that_of_the_limits_without_the_made_up_rows(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    # Half the rows become better, the others worse.
    chances = np.repeat([[0.3], [0.9]], 200, axis=0).T, np.repeat([[0.8], [0.4]], 200, axis=0).T
    before, after = ((generator.random((3, 400)) < chance).astype(float).tolist() for chance in chances)
    sides = two_models(tmp_path, before, after)
    found = unit(sides.take(SST2)).difference
    change = change_of(unit(sides.take(SST2)))
    # The two made-up rows hardly matter among 400.
    assert change.error(3) == pytest.approx(found.mean.error, rel=0.02)
    # The changes of 0.5 and -0.5 have the variance 0.25; the draws add 0.21, 0.09, 0.16 and 0.24, halved.
    assert change.between == pytest.approx(0.25, abs=0.05)
    assert change.within == pytest.approx((0.21 + 0.09 + 0.16 + 0.24) / 2, abs=0.03)


def test_lower_is_better_has_zero_as_right(tmp_path: Path) -> None:
    right = [[0.0, 0.0], [0.0, 1.0]]
    both = unit(two_models(tmp_path, right, right).take(SST2))
    found = drawn(replace(both, headline=both.pairs[0].before.schema.metric("invalid_rate")))
    assert found.reliable
    # No answer is invalid, which is best.
    assert found.reliable.before == 1.0


def test_without_a_direction_or_with_fractional_scores_there_is_no_reliability(sides: Sides, tmp_path: Path) -> None:
    both = unit(sides.take(SST2))
    found = drawn(replace(both, headline=replace(both.headline, higher_is_better=None)))
    assert (found.reliable, found.any_of) == (None, None)
    assert (found.within, found.between) == (drawn(sides).within, drawn(sides).between)
    shares = [[0.5, 1.0], [0.25, 1.0]]
    found = drawn(two_models(tmp_path / "shares", shares, shares))
    assert (found.reliable, found.any_of) == (None, None)
    assert found.within[0] == pytest.approx(0.03125 / 2)


def test_a_single_draw_leaves_the_chance_in_draws_unknown_unless_decoding_is_greedy(tmp_path: Path) -> None:
    found = drawn(two_models(tmp_path, BEFORE, AFTER[:1]))
    assert found.draws == (2, 1)
    assert isnan(found.within[1])
    assert isnan(found.between[1])
    assert isnan(found.change.sufficient)
    greedy = {"generation_kwargs": {"do_sample": False}}
    assert drawn(two_models(tmp_path, BEFORE, AFTER[:1], config=greedy)).change.within == pytest.approx(0.25)
    assert sampled(unit(two_models(tmp_path / "single", BEFORE[:1], AFTER[:1]).take(SST2))) is None


def test_a_group_pools_the_rows_of_its_tasks(tmp_path: Path) -> None:
    tree: dict[str, Any] = {"group_subtasks": {"group": [SST2, SNLI], SST2: [], SNLI: []}}
    before = write_draws(tmp_path, {SST2: BEFORE, SNLI: BEFORE}, **tree)
    after = write_draws(tmp_path, {SST2: AFTER, SNLI: BEFORE}, "two", **tree)
    found = drawn(unit(sides_of(before, after).take("group")))
    assert found.reliable
    assert (found.reliable.before, found.reliable.after) == (0.25, 0.375)


def test_rows_of_one_dataset_vary_around_what_they_have_in_common(tmp_path: Path) -> None:
    def write(name: str, seed: int, rows: int, quiz: float) -> Path:
        tasks = {"quiz": MadeUp([quiz] * rows), "test": MadeUp([0.0] * rows)}
        scores = {"exam": {"acc,none": quiz / 2}}
        folder, groups = tmp_path / f"{name}{seed}{rows}", {"exam": ["quiz", "test"]}
        return write_other_run(folder, tasks, model=name, groups=groups, scores=scores, seed=seed)

    # Every answer to one task has become right, and none to the other, in every draw.
    for rows, between in ((2, 0.0), (1, nan)):
        before, after = ([write(name, seed, rows, quiz) for seed in (1, 2)] for name, quiz in (("a", 0.0), ("b", 1.0)))
        sides = sides_of(before, after)
        assert drawn(unit(sides.take("exam"))).change.between == pytest.approx(between, nan_ok=True)


@pytest.mark.parametrize(
    ("draws", "within", "between"),
    [
        # Variances of the means 1, 0: 0.5; of the draws of a row: 0.
        pytest.param([[1.0, 1.0], [0.0, 0.0]], 0.0, 0.5, id="draws that agree"),
        # The variance of 1, 0 is 0.5; that of the means is 0, less than the 0.25 that chance adds.
        pytest.param([[1.0, 0.0], [0.0, 1.0]], 0.5, 0.0, id="rows that agree"),
    ],
)
def test_draws_vary_within_their_row_and_between_rows(draws: Draws, within: float, between: float) -> None:
    assert components(np.array(draws)) == (within, between)


def test_the_variance_within_rows_is_unbiased() -> None:
    # Over all outcomes of three draws of two rows with chances 0.2 and 0.9.
    chances = np.array([0.2, 0.9])
    mean = 0.0
    for outcome in product([0.0, 1.0], repeat=6):
        draws = np.array(outcome).reshape(2, 3)
        probability = np.prod(np.where(draws == 1, chances[:, None], 1 - chances[:, None]))
        mean += float(probability) * components(draws)[0]
    assert mean == pytest.approx((0.2 * 0.8 + 0.9 * 0.1) / 2)


def test_the_error_of_a_change_has_a_part_that_draws_reduce() -> None:
    # (0.1 + 0.4 / 4) / 100
    found = ChangeComponents(within=0.4, between=0.1, rows=100)
    assert found.error(4) == pytest.approx(sqrt(0.002))
    assert replace(found, scale=2.0).error(4) == pytest.approx(sqrt(0.002) / 2)
    # Enough draws leave little to gain: 0.4 / (0.1 * (1 / 0.95**2 - 1)) = 37.03.
    assert found.sufficient == 38
    assert found.error(38) <= found.error(inf) / 0.95 < found.error(37)


@pytest.mark.parametrize(
    ("within", "between", "enough"),
    [(0.4, 0.0, inf), (0.0, 0.1, 1), (0.0, 0.0, 1), (0.001, 0.1, 1), (nan, nan, nan), (nan, 0.1, nan)],
)
def test_the_number_of_enough_draws_at_the_edges(within: float, between: float, enough: float) -> None:
    assert ChangeComponents(within, between, rows=10).sufficient == pytest.approx(enough, nan_ok=True)


def test_they_are_the_shares_of_all_sets_of_k_draws() -> None:
    for draws in range(1, 7):
        for k, right in product(range(1, draws + 1), range(draws + 1)):
            sets = list(combinations([True] * right + [False] * (draws - right), k))
            counted = np.array([float(right)])
            assert all_right(counted, draws, k) == pytest.approx([sum(map(all, sets)) / len(sets)])
            assert any_right(counted, draws, k) == pytest.approx([sum(map(any, sets)) / len(sets)])
