"""How many rows would show a drop, and simulated pairs of runs: that they are as promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf, sqrt

import numpy as np
import pytest

from lm_eval_ext.reports.gate.power import (
    Design,
    chance_beyond,
    chance_within,
    changes,
    correlation_of,
    draws_to_decide,
    drops,
    rows_to_decide,
    rows_to_show,
    simulate,
    smallest_regression,
)
from lm_eval_ext.reports.paired import MeanChange, RowSums
from lm_eval_ext.reports.statistics import Floats


def drop(changes: Floats, answers: int = 1) -> MeanChange:
    """Return the drop of rows with so many answers each, whose changes are those of the score."""
    rows = len(changes)
    return MeanChange.of_rows(
        RowSums.of_single_answers(-changes, np.full(rows, float(answers)), (rows,)), answers * rows
    )


def decided(found: MeanChange, bound: float, level: float = 0.05) -> bool:
    """Return whether the gate calls a drop what it is: the whole interval lies beyond the bound, or within it."""
    low, high = found.limits(level, 0.05)
    return low > bound or high < bound


@pytest.mark.parametrize(
    ("changes", "answers", "bound", "level"),
    [
        pytest.param({-1.0: 14, 1.0: 8, 0.0: 78}, 1, 0.02, 0.05, id="a regression"),
        pytest.param(
            {-1.0: 14, 1.0: 8, 0.0: 78}, 1, 0.02, 0.01, id="a regression among others", marks=pytest.mark.slow
        ),
        pytest.param(
            {-3.0: 30, -1.0: 5, 0.0: 265},
            3,
            0.05,
            0.05,
            id="a regression in several answers to a row",
            marks=pytest.mark.slow,
        ),
        pytest.param({-1.0: 10, 1.0: 10, 0.0: 80}, 1, 0.05, 0.01, id="not worse, for which no level is lower"),
        pytest.param({-1.0: 3, 1.0: 1, 0.0: 96}, 1, 0.04, 0.05, id="a drop that is allowed", marks=pytest.mark.slow),
        pytest.param({-1.0: 1, 1.0: 3, 0.0: 96}, 1, 0.02, 0.05, id="a gain, with hardly a change"),
        pytest.param({-3.0: 10, 1.0: 10, 2.0: 10, 0.0: 270}, 3, 0.04, 0.05, id="not worse in several answers to a row"),
    ],
)
def test_the_number_of_rows_that_would_decide_does_four_times_out_of_five(
    changes: Mapping[float, int], answers: int, bound: float, level: float
) -> None:
    of_rows = np.repeat([*changes], [*changes.values()])
    rows = int(rows_to_decide(drop(of_rows, answers), bound, level))
    generator = np.random.default_rng(11)
    runs = [decided(drop(generator.choice(of_rows, rows), answers), bound, level) for _ in range(600)]
    # 0.8, give or take three standard errors of 0.016, and of what the formula takes to be a normal distribution.
    assert np.mean(runs) == pytest.approx(0.8, abs=0.07)


def test_rows_that_never_change_decide_as_soon_as_it_is_unlikely_that_they_missed_those_that_do() -> None:
    # If one row of a hundred is lost, 0.99**299 = 0.0495 of samples have none, and 0.99**298 = 0.0500 one row less.
    assert rows_to_decide(drop(np.zeros(100)), 0.01) == 299
    assert [decided(drop(np.zeros(rows)), 0.01) for rows in (298, 299)] == [False, True]


def test_the_number_of_draws_that_would_decide_does_four_times_out_of_five() -> None:
    # Every answer is right in one draw of two: a draw on each side adds 0.5, and the rows themselves do not differ.
    generator, rows = np.random.default_rng(14), 100

    def of_draws(draws: int) -> MeanChange:
        return drop(np.subtract(*generator.binomial(draws, 0.5, (2, rows))) / draws)

    one = replace(of_draws(4), value=0.0)
    draws = draws_to_decide(one, lambda draws: sqrt(0.5 / draws / rows), 0.1)
    assert np.mean([decided(of_draws(int(draws)), 0.1) for _ in range(600)]) == pytest.approx(0.8, abs=0.07)
    # Where draws cannot vary any less, there are still the rows that nobody saw: 1 - 0.05**(1 / 100) is 0.0295.
    assert [draws_to_decide(one, lambda _: 0.0, bound) for bound in (0.02, 0.04)] == [inf, 1]


def smallest(runs: Floats) -> float:
    """Return the median of what shows in runs of rows, whose order does not matter: runs with the same count once."""
    kinds, counts = np.unique(np.sort(runs, axis=1), axis=0, return_counts=True)
    return float(np.median(np.repeat([smallest_regression(drop(kind), 0.02, 0.05) for kind in kinds], counts)))


@pytest.mark.slow
def test_a_regression_of_the_smallest_size_that_shows_is_seen_four_times_out_of_five() -> None:
    generator = np.random.default_rng(12)
    for rows, differing in ((100, 0.0), (100, 0.1), (900, 0.02)):
        noise = np.where(generator.random((400, rows)) < differing, generator.choice([-1.0, 1.0], (400, rows)), 0.0)
        shows = smallest(noise)
        worse = np.where(generator.random((400, rows)) < shows, -1.0, noise)
        seen = sum(drop(changes).p_above(0.02) < 0.05 for changes in worse)
        assert 0.74 <= seen / 400 <= 0.92
        # It is the same if half of that is already lost.
        half = np.where(generator.random((400, rows)) < shows / 2, -1.0, noise)
        assert smallest(half) == pytest.approx(shows, rel=0.06)


@pytest.mark.slow
def test_the_number_of_rows_that_show_a_drop_does() -> None:
    generator = np.random.default_rng(13)
    for rows, differing in ((5, 0), (60, 3), (100, 10)):
        noise = np.array([-1.0] * differing + [1.0] * differing + [0.0] * (rows - 2 * differing))
        needed = int(rows_to_show(drop(noise), 0.1, 0.02, 0.05))
        share = 2 * differing / rows
        worse = np.where(generator.random((400, needed)) < share, generator.choice([-1.0, 1.0], (400, needed)), 0.0)
        worse = np.where(generator.random((400, needed)) < 0.1, -1.0, worse)
        seen = sum(drop(changes).p_above(0.02) < 0.05 for changes in worse)
        assert 0.74 <= seen / 400 <= 0.92
    alone = drop(np.array([-1.0]))
    assert rows_to_show(alone, 0.1, 0.02, 0.05) == rows_to_decide(alone, 0.02) == inf
    assert smallest_regression(alone, 0.02, 0.05) == rows_to_show(drop(np.zeros(50)), 0.02, 0.02, 0.05) == inf
    assert rows_to_decide(replace(drop(np.zeros(50)), value=0.02), 0.02) == inf


GROUP = Design.uniform(900, 3, 0.1)
TWO_TASKS = Design(np.repeat([1 / 100, 1 / 500], [100, 500]), (100, 500), 1, 0.1)
"""Two tasks on their own datasets, which weigh alike."""
RESTLESS = Design.uniform(900, 3, 0.6)
"""More than half of the answers change by themselves."""
RUNS = Design(
    np.full(300, 3.0),
    (300,),
    3,
    correlation=0.5,
    observed=RowSums.of_single_answers(np.repeat([3.0, -3.0, 1.0, 0.0], [15, 12, 30, 243]), np.full(300, 3.0), (300,)),
)
"""Two runs in which some rows change as a whole."""
TOGETHER = Design.uniform(300, 4, 0.2, 0.5)
"""Half of the rows change as a whole."""


def measured(design: Design, drop: float, pairs: int) -> Floats:
    """Return the measured drop of each pair of runs, without its limits, which take most of the time."""
    return np.array([of_pair.values.sum() / of_pair.weights.sum() for of_pair in changes(design, drop, pairs)])


@pytest.mark.parametrize("asked", [GROUP, TWO_TASKS, RESTLESS, RUNS, TOGETHER])
@pytest.mark.parametrize("drop", [0.0, 0.05])
def test_the_mean_of_the_measured_drops_is_the_true_one(asked: Design, drop: float) -> None:
    found = measured(asked, drop, 400)
    assert np.mean(found) == pytest.approx(drop, abs=4 * float(np.std(found)) / 20)


def test_drops_vary_as_much_as_the_answers_that_change() -> None:
    # 10 % of 2,700 answers change, and 5 % more are lost.
    for drop, variance in ((0.0, 0.1), (0.05, 0.1 + 0.05 - 0.05**2)):
        assert np.std(measured(GROUP, drop, 1000)) == pytest.approx((variance / 2700) ** 0.5, rel=0.1)
    # Of the first task, 100 answers make up half of the score.
    assert np.std(measured(TWO_TASKS, 0.0, 1000)) == pytest.approx(
        (0.25 * 0.1 / 100 + 0.25 * 0.1 / 500) ** 0.5, rel=0.1
    )


def test_drops_vary_as_much_as_two_runs_differ() -> None:
    assert RUNS.observed is not None
    # The sign of each row is left to chance: the mean change of the two runs is no drop of the next one.
    assert np.std(measured(RUNS, 0.0, 1000)) == pytest.approx(np.sqrt(np.sum(RUNS.observed.values**2)) / 900, rel=0.1)


def test_a_score_that_is_no_share_drops_in_its_own_unit() -> None:
    shown = RowSums.of_single_answers(np.random.default_rng(1).normal(0, 4, 50), np.ones(50), (50,))
    asked = Design(np.ones(50), (50,), 1, observed=shown, is_share=False)
    found = list(drops(asked, 7.0, 300))
    assert np.mean([one.value for one in found]) == pytest.approx(7, abs=0.2)
    assert not found[0].is_share


def test_the_same_pairs_are_simulated_every_time() -> None:
    first, second = (measured(GROUP, 0.02, 3).tolist() for _ in range(2))
    assert first == second


def test_an_allowed_drop_is_rarely_a_regression_and_a_large_one_often() -> None:
    # 200 pairs; at the bound itself 5 % are expected at most, give or take three standard errors of 0.015.
    at_bound = simulate(GROUP, 0.02, 0.02, 200)
    assert at_bound.beyond <= 0.095
    assert at_bound.within <= 0.095
    assert simulate(GROUP, 0.0, 0.02, 200).within > 0.85
    assert simulate(GROUP, 0.05, 0.02, 200).beyond > 0.95


@pytest.mark.parametrize(
    "asked", [Design.uniform(100, 1, 0.13), Design.uniform(100, 10, 0.1), TOGETHER, TWO_TASKS, RUNS]
)
def test_what_is_computed_and_what_is_simulated_are_one_notion_of_power(asked: Design) -> None:
    for true_drop in (0.0, 0.05, 0.1):
        simulated = simulate(asked, true_drop, 0.02, 200)
        # Three standard errors of 200 runs are 0.11 at most.
        assert chance_beyond(simulated.typical, true_drop, 0.02) == pytest.approx(simulated.beyond, abs=0.12)
        assert chance_within(simulated.typical, true_drop, 0.02) == pytest.approx(simulated.within, abs=0.12)


def test_how_far_answers_change_together_is_measured() -> None:
    for correlation in (0.0, 0.5, 1.0):
        asked = Design.uniform(400, 5, 0.2, correlation)
        measured = [correlation_of(found) for found in drops(asked, 0.0, 50)]
        assert np.mean(measured) == pytest.approx(correlation, abs=0.05)
    # Nothing shows how answers change that do not, and a row may fail as a whole.
    assert correlation_of(drop(np.zeros(100), 10)) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [Design.uniform(100, 1, 0.1), GROUP, Design.uniform(2700, 3, 0.1), Design.uniform(100, 10, 0.05), TWO_TASKS, RUNS],
)
def test_the_gate_errs_in_at_most_one_of_twenty_of_2000_pairs(asked: Design) -> None:
    for bound in (0.01, 0.02, 0.05):
        found = simulate(asked, bound, bound, 2000)
        # Three standard errors of sqrt(0.05 * 0.95 / 2000) = 0.005.
        assert found.beyond <= 0.065, bound
        assert found.within <= 0.065, bound
        assert simulate(asked, 0.0, bound, 2000).beyond <= 0.05
