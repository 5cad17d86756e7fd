"""What several draws tell about a difference, from made-up runs."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.comparison import difference_of
from lm_eval_ext.reports.gate.difference import Difference
from lm_eval_ext.reports.gate.drop import drop_of
from lm_eval_ext.reports.gate.sampled.components import ChangeComponents
from lm_eval_ext.reports.gate.sampled.measured import Sampled, change_of, draws_to_decide, sampled
from lm_eval_ext.reports.gate.units import Sides, Unit
from lm_eval_ext.results.comparability import OfOneSeed, as_one
from lm_eval_ext.results.load import load_apart
from tests.reports.files import SST2
from tests.reports.gate.sampled.draws import write_draws
from tests.reports.gate.two_runs import NAMES, SNLI

# Rows with both draws right, one, and none; of the other model, the last row is always right.
BEFORE = [[1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0]]
AFTER = [[1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 1.0]]


def sides_of(before: list[Path], after: list[Path]) -> Sides:
    found = load_apart([[folder] for folder in (*before, *after)])
    each = [OfOneSeed(runs, "a run") for runs in found]
    return Sides(as_one(each[: len(before)]), as_one(each[len(before) :]), NAMES)


def difference(sides: Sides, name: str = SST2) -> Difference:
    unit = sides.take(name)
    assert isinstance(unit, Unit)
    return difference_of(unit, sides)


def measured(sides: Sides, k: int | None = None) -> Sampled:
    found = sampled(difference(sides), sides.evidence.population, k)
    assert found is not None
    return found


@pytest.fixture
def sides(tmp_path: Path) -> Sides:
    return sides_of(write_draws(tmp_path, {SST2: BEFORE}), write_draws(tmp_path, {SST2: AFTER}, "two"))


def test_scores_are_means_over_draws(sides: Sides) -> None:
    found = difference(sides)
    assert (found.before, found.after, found.change.value) == (0.5, 0.75, 0.25)
    assert found.by_row.tolist() == [0, 0, 0, 1]


def test_reliability_is_by_row(sides: Sides) -> None:
    found = measured(sides)
    assert (found.draws, found.k) == ((2, 2), 2)
    assert found.reliable is not None
    assert found.any_of is not None
    assert (found.reliable.before, found.reliable.after) == (0.25, 0.5)
    assert (found.any_of.before, found.any_of.after) == (0.75, 1.0)
    assert found.reliable.change.has_interval


def test_one_of_several_draws_is_the_score_itself(sides: Sides) -> None:
    found = measured(sides, k=1)
    assert found.reliable is not None
    assert (found.reliable.before, found.reliable.after) == (0.5, 0.75)


def test_k_beyond_the_draws_is_an_error(sides: Sides) -> None:
    with pytest.raises(ReportError, match=rf"--k 3: {SST2} has 2 draws per row; expected at most 2"):
        measured(sides, k=3)


def test_the_components_of_each_side_and_of_the_change(sides: Sides) -> None:
    found = measured(sides)
    # Two of four rows have draws 1 and 0, whose variance is 0.5; the means 1, 0.5, 0.5, 0 vary by 1/6.
    assert (found.sides[0].within, found.sides[0].between) == pytest.approx((0.25, 1 / 6 - 0.125))
    # The changes 0, 0, 0, 1 vary by 0.25, exactly what the draws add: 0.25 / 2 on each side.
    assert found.change == ChangeComponents(0.5, 0.0, 4, 1.0)
    assert found.change.sufficient == inf


def test_the_error_of_one_task_does_not_depend_on_how_tasks_are_weighted(sides: Sides) -> None:
    unit = sides.take(SST2)
    assert isinstance(unit, Unit)
    found = [
        change_of(difference_of(replace(unit, tasks_weigh_alike=alike), sides), sides.evidence.population)
        for alike in (False, True)
    ]
    assert found[0].error(3) == pytest.approx(found[1].error(3)) == pytest.approx((0.5 / 3 / 4) ** 0.5)


def test_the_error_is_that_of_the_limits_without_the_made_up_rows(tmp_path: Path) -> None:
    generator = np.random.default_rng(1)
    # Half the rows become better, the others worse.
    chances = np.repeat([[0.3], [0.9]], 200, axis=0).T, np.repeat([[0.8], [0.4]], 200, axis=0).T
    before, after = ((generator.random((3, 400)) < chance).astype(float).tolist() for chance in chances)
    sides = sides_of(write_draws(tmp_path, {SST2: before}), write_draws(tmp_path, {SST2: after}, "two"))
    found = difference(sides)
    change = change_of(found, sides.evidence.population)
    # The two made-up rows hardly matter among 400.
    assert change.error(3) == pytest.approx(drop_of(found).error, rel=0.02)
    # The changes of 0.5 and -0.5 have the variance 0.25; the draws add 0.21, 0.09, 0.16 and 0.24, halved.
    assert change.between == pytest.approx(0.25, abs=0.05)
    assert change.within == pytest.approx((0.21 + 0.09 + 0.16 + 0.24) / 2, abs=0.03)


def test_draws_instead_of_rows(sides: Sides) -> None:
    found = measured(sides)
    # Without a component between rows, twice the draws tell as much as twice the rows.
    assert draws_to_decide(found, rows=8) == 4
    assert draws_to_decide(found, rows=100) == 50


def test_lower_is_better_has_zero_as_right(tmp_path: Path) -> None:
    right = [[0.0, 0.0], [0.0, 1.0]]
    sides = sides_of(write_draws(tmp_path, {SST2: right}), write_draws(tmp_path, {SST2: right}, "two"))
    unit = sides.take(SST2)
    assert isinstance(unit, Unit)
    metric = unit.pairs[0].before.schema.metric("invalid_rate")
    found = sampled(difference_of(replace(unit, headline=metric), sides), sides.evidence.population)
    assert found is not None
    assert found.reliable is not None
    # No answer is invalid, which is best.
    assert found.reliable.before == 1.0


def test_without_a_direction_nothing_is_right_and_there_is_no_reliability(sides: Sides) -> None:
    unit = sides.take(SST2)
    assert isinstance(unit, Unit)
    unknown = replace(unit, headline=replace(unit.headline, higher_is_better=None))
    found = sampled(difference_of(unknown, sides), sides.evidence.population)
    assert found is not None
    assert (found.reliable, found.any_of) == (None, None)
    assert found.sides == measured(sides).sides


def test_fractional_scores_have_no_reliability(tmp_path: Path) -> None:
    shares = {SST2: [[0.5, 1.0], [0.25, 1.0]]}
    found = measured(sides_of(write_draws(tmp_path, shares), write_draws(tmp_path, shares, "two")))
    assert found.reliable is None
    assert found.any_of is None
    assert found.sides[0].within == pytest.approx(0.03125 / 2)


def test_a_single_draw_leaves_the_chance_in_draws_unknown(tmp_path: Path) -> None:
    found = measured(sides_of(write_draws(tmp_path, {SST2: BEFORE}), write_draws(tmp_path, {SST2: AFTER[:1]}, "two")))
    assert found.draws == (2, 1)
    assert isnan(found.sides[1].within)
    assert isnan(found.change.sufficient)


def test_greedy_decoding_adds_no_chance(tmp_path: Path) -> None:
    greedy = {"generation_kwargs": {"do_sample": False}}
    after = write_draws(tmp_path, {SST2: AFTER[:1]}, "two", config=greedy)
    found = measured(sides_of(write_draws(tmp_path, {SST2: BEFORE}), after))
    assert found.change.within == pytest.approx(0.25)


def test_single_draws_are_as_they_were(tmp_path: Path) -> None:
    sides = sides_of(write_draws(tmp_path, {SST2: BEFORE[:1]}), write_draws(tmp_path, {SST2: AFTER[:1]}, "two"))
    assert sampled(difference(sides), sides.evidence.population) is None


def test_a_group_pools_the_rows_of_its_tasks(tmp_path: Path) -> None:
    tree: dict[str, Any] = {"group_subtasks": {"group": [SST2, SNLI], SST2: [], SNLI: []}}
    before = write_draws(tmp_path, {SST2: BEFORE, SNLI: BEFORE}, **tree)
    after = write_draws(tmp_path, {SST2: AFTER, SNLI: BEFORE}, "two", **tree)
    sides = sides_of(before, after)
    found = sampled(difference(sides, "group"), sides.evidence.population)
    assert found is not None
    assert found.reliable is not None
    assert (found.reliable.before, found.reliable.after) == (0.25, 0.375)
