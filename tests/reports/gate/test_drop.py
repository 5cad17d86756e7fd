"""Limits of a drop: what they are made of, and how often they are right where answers are correlated."""

from __future__ import annotations

from math import inf, isnan, sqrt

import numpy as np
import pytest
from scipy import stats

from lm_eval_ext.reports.gate.drop import Drop, drop_of_changes, rows_to_decide, rows_to_show, smallest_regression
from lm_eval_ext.reports.statistics import Floats


def drop(changes: Floats, answers: int = 1, datasets: tuple[int, ...] = ()) -> Drop:
    """Return the drop of rows with so many answers each, whose changes are those of the score."""
    rows = len(changes)
    return drop_of_changes(-changes, np.full(rows, float(answers)), datasets or (rows,), answers * rows)


def test_with_one_answer_to_each_row_it_is_the_interval_of_bonett_and_price() -> None:
    # Their equation (2): proportions with one added to each of the changed cells and two to the number of rows.
    lost, won, rows = 9, 4, 60
    changes = np.array([-1.0] * lost + [1.0] * won + [0.0] * (rows - lost - won))
    worse, better = (lost + 1) / (rows + 2), (won + 1) / (rows + 2)
    center, error = worse - better, sqrt((worse + better - (worse - better) ** 2) / (rows + 2))
    found = drop(changes)
    assert found.value == pytest.approx(5 / 60)
    assert found.center == pytest.approx(center)
    # Theirs divides by the number of rows, ours by the degrees of freedom.
    assert found.error == pytest.approx(error, rel=0.01)
    t = stats.t.ppf(0.95, rows - 1)
    assert found.limits(0.05, 0.05) == pytest.approx((center - t * found.error, 5 / 60 + t * found.error))


def test_limits_and_p_values_say_the_same() -> None:
    found = drop(np.array([-1.0] * 12 + [1.0] * 3 + [0.0] * 85))
    low, high = found.limits(0.05, 0.025)
    assert found.p_beyond(low) == pytest.approx(0.05)
    assert found.p_within(high) == pytest.approx(0.025)
    assert found.p_beyond(low - 0.01) < 0.05 < found.p_beyond(low + 0.01)


def test_the_measured_drop_is_within_its_limits() -> None:
    for sign in (1.0, -1.0):
        low, high = drop(np.full(40, 4 * sign), answers=4).limits(0.05, 0.05)
        assert low <= -sign <= high


def test_equal_answers_exclude_only_drops_of_which_rows_would_show_one() -> None:
    # Without a change in n rows, at most about 3 / n of all rows change (the rule of three, 95 %).
    for rows in (20, 100, 900):
        _, high = drop(np.zeros(rows)).limits(0.05, 0.05)
        assert high == pytest.approx(3 / rows, rel=0.35)


def test_datasets_vary_around_their_own_means() -> None:
    # One dataset is entirely lost, the other unchanged: more rows like these would say the same.
    changes = np.array([-1.0] * 50 + [0.0] * 50)
    assert drop(changes, datasets=(50, 50)).error < 0.3 * drop(changes).error


def test_one_row_of_each_dataset_has_no_error() -> None:
    found = drop(np.array([-1.0, 0.0]), datasets=(1, 1))
    assert (found.error, found.p_beyond(0.0), found.p_within(0.9)) == (inf, 1.0, 1.0)
    assert all(map(isnan, found.limits(0.05, 0.05)))
    assert rows_to_decide(found, 0.02) == smallest_regression(found, 0.02, 1) == inf


def test_the_number_of_rows_that_would_decide_does() -> None:
    changes = np.array([-1.0] * 14 + [1.0] * 8 + [0.0] * 78)
    found = drop(changes)
    rows = round(rows_to_decide(found, 0.02))
    generator = np.random.default_rng(11)
    decided = sum(drop(generator.choice(changes, rows)).p_beyond(0.02) < 0.05 for _ in range(400))
    # Four in five, give or take three standard errors of 0.02, and the made-up rows.
    assert decided / 400 == pytest.approx(0.8, abs=0.08)


def test_a_regression_of_the_smallest_size_that_shows_is_seen_four_times_out_of_five() -> None:
    generator = np.random.default_rng(12)
    for rows, differing in ((100, 0.0), (100, 0.1), (900, 0.02)):
        noise = np.where(generator.random((400, rows)) < differing, generator.choice([-1.0, 1.0], (400, rows)), 0.0)
        smallest = float(np.median([smallest_regression(drop(changes), 0.02, 1) for changes in noise]))
        worse = np.where(generator.random((400, rows)) < smallest, -1.0, noise)
        seen = sum(drop(changes).p_beyond(0.02) < 0.05 for changes in worse)
        assert 0.74 <= seen / 400 <= 0.92
        # It is the same if half of that is already lost.
        half = np.where(generator.random((400, rows)) < smallest / 2, -1.0, noise)
        again = float(np.median([smallest_regression(drop(changes), 0.02, 1) for changes in half]))
        assert again == pytest.approx(smallest, rel=0.06)


def test_the_number_of_rows_that_show_a_drop_does() -> None:
    generator = np.random.default_rng(13)
    for rows, differing in ((5, 0), (60, 3), (100, 10)):
        noise = np.array([-1.0] * differing + [1.0] * differing + [0.0] * (rows - 2 * differing))
        needed = int(rows_to_show(drop(noise), 0.1, 0.02, 1))
        share = 2 * differing / rows
        worse = np.where(generator.random((400, needed)) < share, generator.choice([-1.0, 1.0], (400, needed)), 0.0)
        worse = np.where(generator.random((400, needed)) < 0.1, -1.0, worse)
        seen = sum(drop(changes).p_beyond(0.02) < 0.05 for changes in worse)
        assert 0.74 <= seen / 400 <= 0.92
    assert rows_to_show(drop(np.array([-1.0])), 0.1, 0.02, 1) == inf
    assert rows_to_show(drop(np.zeros(50)), 0.02, 0.02, 1) == inf


def simulated(accuracy: float, true_drop: float, rows: int, answers: int) -> Floats:
    """Return changes of rows, shape (500, rows): answers to a row succeed together, and a tenth are given anew."""
    generator = np.random.default_rng([rows, answers, round(1000 * accuracy), round(1000 * true_drop)])
    chances = np.full((500, rows, 1), 1.0)
    if accuracy < 1:
        chances = generator.beta(2 * accuracy, 2 * (1 - accuracy), (500, rows, 1))
    before = generator.random((500, rows, answers)) < chances
    anew = generator.random((500, rows, answers)) < 0.1
    after = np.where(anew, generator.random((500, rows, answers)) < chances, before)
    after &= generator.random((500, rows, answers)) >= true_drop / accuracy
    changes: Floats = after.sum(2) - before.sum(2).astype(np.float64)
    return changes


@pytest.mark.parametrize("accuracy", [0.5, 0.9, 0.98, 1.0])
@pytest.mark.parametrize(("rows", "answers"), [(100, 1), (100, 27), (300, 3)])
@pytest.mark.parametrize("bound", [0.0, 0.02])
def test_a_drop_as_large_as_the_bound_is_seldom_called_beyond_or_within_it(
    accuracy: float, rows: int, answers: int, bound: float
) -> None:
    drops = [drop(changes, answers) for changes in simulated(accuracy, bound, rows, answers)]
    beyond = sum(found.p_beyond(bound) < 0.05 for found in drops) / 500
    within = sum(found.p_within(bound) < 0.05 for found in drops) / 500
    # 5 % and three standard errors of 1 %.
    assert beyond < 0.08
    assert within < 0.08
