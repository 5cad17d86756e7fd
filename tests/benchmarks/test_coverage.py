"""How often the intervals of a report cover the true figure, from simulated runs with correlated rows."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.coverage import CORRELATION, Answered, chances_of_rows, covered, of_accuracy, of_residual, residual


def test_answers_to_a_row_are_right_and_correlated_as_asked() -> None:
    generator = np.random.default_rng(2)
    chances = chances_of_rows(Answered(900, 3, 0.8, 1 / 3), generator, 200)
    first, second = (generator.random(chances.shape) < chances for _ in range(2))
    assert first.mean() == pytest.approx(0.8, abs=0.005)
    assert np.corrcoef(first.ravel(), second.ravel())[0, 1] == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize("accuracy", [0.0, 1.0])
def test_at_an_end_no_answer_varies(accuracy: float) -> None:
    assert set(chances_of_rows(Answered(5, 2, accuracy, 0.3), np.random.default_rng(1), 3).ravel()) == {accuracy}


def test_near_the_end_of_the_scale_an_interval_covers_where_percentiles_do_not() -> None:
    # Of 100 runs, 95 are expected, give or take three standard errors of 2.2.
    now, before = covered(Answered(100, 1, 0.99, CORRELATION), 0.99, of_accuracy, 100)
    assert now >= 0.88
    assert before < 0.8


def test_the_true_residual_is_that_of_two_instructions_by_hand() -> None:
    # E p² - (E p)² is the variance of a row's chance: the correlation times that of an answer.
    assert residual(0.9, 2) == pytest.approx(CORRELATION * 0.9 * 0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "answers"), [(100, 1), (100, 3), (900, 3)])
@pytest.mark.parametrize("accuracy", [0.5, 0.9, 0.98, 0.99])
def test_the_interval_of_an_accuracy_covers_it_in_95_of_100_runs(rows: int, answers: int, accuracy: float) -> None:
    now, _ = covered(Answered(rows, answers, accuracy, CORRELATION), accuracy, of_accuracy, 2000)
    # A hundred answers at 0.99 have so few possible counts that no interval covers 93 to 97 %; 92 or 98 % are possible.
    assert 0.92 <= now <= 0.985


@pytest.mark.slow
@pytest.mark.parametrize("followed", [0.8, 0.95, 0.98])
def test_the_interval_of_a_residual_covers_it(followed: float) -> None:
    now, _ = covered(Answered(100, 10, followed, CORRELATION), residual(followed, 10), of_residual, 2000)
    assert now >= 0.93
