"""The limits of a mean: known intervals, exact distributions, and what nobody saw."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import exp, isinf, log

import numpy as np
import pytest
from scipy import optimize, stats

from lm_eval_ext.reports.limits import Tail, Unseen
from lm_eval_ext.reports.statistics import Floats


def tail(values: Sequence[float] | Floats, weights: Sequence[float] = (), datasets: tuple[int, ...] = ()) -> Tail:
    """Return what rows of a share tell."""
    weighs = np.array(weights) if len(weights) else np.ones(len(values))
    return Tail.of_rows(np.array(values) * weighs, weighs, datasets or (len(values),), Unseen.of_weights(weighs))


@pytest.mark.parametrize("wrong", [0, 1, 3, 10, 50, 90])
def test_of_right_and_wrong_rows_it_is_the_interval_of_clopper_and_pearson(wrong: int) -> None:
    found = tail([1.0] * wrong + [0.0] * (100 - wrong))
    for level in (0.05, 0.025, 0.005):
        exact = stats.beta.ppf(1 - level, wrong + 1, 100 - wrong)
        # Student's distribution, instead of the normal one, makes it a little wider.
        assert 0.997 * exact <= found.limit(level) <= 1.04 * exact
        assert level / 1.01 <= found.p(exact) <= 1.4 * level


def test_a_limit_and_its_p_value_say_the_same() -> None:
    found = tail([0.5, -0.5, 1.0, *[0.0] * 57])
    for level in (0.2, 0.05, 1e-3, 1e-6):
        assert found.p(found.limit(level)) == pytest.approx(level, rel=1e-3)
    assert found.p(found.value - 0.1) == 1
    limits = [found.limit(level) for level in (0.4, 0.1, 0.01, 1e-4, 1e-12)]
    assert all(wider > narrower for narrower, wider in pairwise(limits))


@pytest.mark.parametrize(
    ("values", "weights", "datasets"),
    [
        pytest.param([0.2, -0.1, 0.0, 0.3, 0.1] * 12, (), (), id="one dataset"),
        pytest.param([0.3, 0.0, 0.0, 0.0, *[0.1, -0.1] * 30], (), (4, 60), id="datasets of different sizes"),
        pytest.param([0.2, -0.1] * 30, [1.0, 2.0, 4.0] * 20, (), id="rows that weigh differently"),
    ],
)
def test_chance_among_rows_like_those_seen_is_a_bayesian_bootstrap_with_a_made_up_row(
    values: list[float], weights: Sequence[float], datasets: tuple[int, ...]
) -> None:
    found = tail(values, weights, datasets)
    generator, means, total = np.random.default_rng(1), np.zeros(20_000), 0.0
    ends = np.cumsum(datasets or (len(values),))
    for of_rows, weighs in zip(
        np.split(np.array(values), ends[:-1]),
        np.split(np.array(weights) if len(weights) else np.ones(len(values)), ends[:-1]),
        strict=True,
    ):
        with_made_up, all_weights = np.append(of_rows, of_rows.max()), np.append(weighs, weighs.max())
        drawn = generator.exponential(size=(20_000, len(with_made_up))) * all_weights
        means += weighs.sum() * (drawn @ with_made_up) / drawn.sum(axis=1)
        total += weighs.sum()
    # Nothing unseen, which is another matter.
    seen = Tail(**{**vars(found), "unseen": None})
    error = float(np.std(means / total))
    for level in (0.05, 0.01):
        exact = float(np.quantile(means / total, 1 - level))
        # Student's distribution, instead of the normal one, makes it a little wider.
        assert exact - 0.03 * error <= seen.limit(level) <= exact + 0.18 * error


def test_what_nobody_saw_is_as_bad_and_as_heavy_as_would_do_most_harm() -> None:
    weights = np.array([4.0, 4.0, 1.0, 1.0, 1.0])
    shares, surprise = weights / weights.sum(), -log(0.05)

    def missed(chances: Floats) -> float:
        """Return minus the logarithm of the probability that all such rows are missed."""
        return float(-np.log1p(-chances).sum())

    best = optimize.minimize(
        lambda chances: -float(shares @ chances),
        np.full(5, 0.3),
        bounds=[(0, 0.999999)] * 5,
        constraints={"type": "eq", "fun": lambda chances: missed(chances) - surprise},
    )
    (added,) = Unseen.of_weights(weights).added(np.array([surprise]))
    assert added == pytest.approx(-best.fun, rel=1e-4)
    # Of rows that weigh alike, none of n fails with (1 - p)**n.
    assert Unseen.of_weights(np.ones(50)).added(np.array([surprise]))[0] == pytest.approx(1 - 0.05 ** (1 / 50))


def test_four_rows_with_half_of_the_weight_exclude_little_whatever_300_others_do() -> None:
    unchanged = tail(np.zeros(304), [0.5 / 4] * 4 + [0.5 / 300] * 300, (4, 300))
    # That all four are right although a half of such rows is lost has a probability of 0.0625.
    assert unchanged.limit(0.05) > 0.5 / 2
    assert unchanged.p(0.1) > 0.3


def test_rows_whose_answers_fail_together_are_not_hidden_by_rows_whose_answers_do_not() -> None:
    generator = np.random.default_rng(2)
    excluded = 0
    for _ in range(400):
        by_themselves = (generator.binomial(10, 0.05, 100) - generator.binomial(10, 0.05, 100)) / 10
        # A row of fifty fails as a whole: 13 % of samples have none.
        rows = np.where(generator.random(100) < 0.02, 1.0, by_themselves)
        excluded += tail(rows).limit(0.05) < 0.02
    assert excluded / 400 <= 0.05 + 3 * 0.011


def test_a_score_without_bounds_is_as_uncertain_as_its_rows_and_one_half_as_far_again() -> None:
    values = np.array([3.0, -1.0, 0.5, 2.0, 0.0, 1.5])
    found = Tail.of_rows(values, np.ones(6), (6,), None)
    assert found.farthest == pytest.approx([1 + 1.5 * 2])
    assert found.limit(0.05) > stats.t.ppf(0.95, 5) * values.std(ddof=1) / 6**0.5 + 1
    assert not isinf(found.limit(1e-12))
    # The unit does not matter, and neither does what all rows have in common.
    other = Tail.of_rows(1000 * values + 500, np.ones(6), (6,), None)
    assert other.limit(0.05) == pytest.approx(1000 * found.limit(0.05) + 500)
    # One row does not show how far others are; those of another dataset do.
    alone = Tail.of_rows(np.append(values, 7.0), np.ones(7), (6, 1), None)
    assert alone.farthest[1] == pytest.approx(7 + 1.5 * 2)


def test_as_many_times_as_many_rows_tell_what_so_many_rows_would() -> None:
    few, many = tail([0.0] * 50), tail([0.0] * 200)
    assert few.as_many(4).limit(0.05) == pytest.approx(many.limit(0.05))
    assert many.limit(0.05) == pytest.approx(1 - exp(log(0.05) / 200))


def test_a_made_up_row_is_as_bad_as_the_worst_of_its_dataset_and_weighs_as_much_as_the_heaviest() -> None:
    found = tail([0.5, 0.0, 0.0, -0.5, 0.0], [4.0, 1.0, 1.0, 3.0, 3.0], (3, 2))
    assert found.farthest == pytest.approx([0.5, 0.0])
    # Each dataset has half of the weight, 6 of 12.
    assert found.pulls == pytest.approx([0.5 * 4 / (6 + 4), 0.5 * 3 / (6 + 3)])
