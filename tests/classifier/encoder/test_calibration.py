"""The temperature that makes certainty the share of right answers."""

from __future__ import annotations

import math

import pytest

pytest.importorskip("torch", reason="torch is not installed (extra: classifier)")

import torch

from lm_eval_ext.classifier.encoder.calibration import TEMPERATURES, fitted_temperature


def test_a_network_that_is_surer_than_right_is_cooled_to_its_accuracy() -> None:
    # It is right three times of four and says so with odds of e^4 to 1. Odds of 3 to 1 need 4 / T = ln 3: T = 3.64.
    scores = [torch.tensor([4.0, 0.0])] * 4
    found = fitted_temperature(scores, [0, 0, 0, 1])
    assert found == pytest.approx(4 / math.log(3), abs=0.03)


def test_a_network_that_is_less_sure_than_right_is_sharpened() -> None:
    # Right nineteen times of twenty, with odds of e^2: 2 / T = ln 19, T = 0.68.
    scores = [torch.tensor([2.0, 0.0])] * 20
    assert fitted_temperature(scores, [0] * 19 + [1]) == pytest.approx(2 / math.log(19), abs=0.03)


def test_answers_may_have_different_numbers_of_choices_and_the_bounds_hold() -> None:
    scores = [torch.tensor([9.0, 0.0]), torch.tensor([9.0, 0.0, 0.0])]
    assert fitted_temperature(scores, [0, 0]) == TEMPERATURES[0]
    assert fitted_temperature(scores, [1, 1]) == TEMPERATURES[-1]


def test_without_answers_the_certainty_stays_as_it_is() -> None:
    assert fitted_temperature([], []) == 1
