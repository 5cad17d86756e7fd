"""The accuracy of readings by their certainty."""

from __future__ import annotations

from itertools import pairwise

import pytest

from lm_eval_ext.classifier.evaluation.reliability import EDGES, CertaintyBin, reliability
from lm_eval_ext.classifier.reading import Reading


def certain(*certainties: float) -> list[Reading]:
    return [Reading("option", ("A",), certainty) for certainty in certainties]


def test_a_bin_has_the_mean_certainty_and_the_share_of_right_readings() -> None:
    (low, high) = reliability(certain(0.6, 0.7, 0.96, 0.97, 0.98), [True, False, True, True, False])
    assert (low.above, low.most, low.rows, low.accuracy) == (0.5, 0.7, 2, 0.5)
    assert low.certainty == pytest.approx(0.65)
    assert (high.above, high.most, high.rows, high.accuracy) == (0.95, 0.99, 3, 2 / 3)
    assert high.certainty == pytest.approx(0.97)


def test_a_bound_belongs_to_the_bin_below_it() -> None:
    found = reliability(certain(*EDGES[1:]), [True] * 7)
    assert [(one.above, one.most) for one in found] == list(pairwise(EDGES))


def test_an_abstention_is_in_no_bin() -> None:
    assert reliability([Reading("none", (), 0.0)], [True]) == []
    assert reliability([Reading("none", (), 0.0), *certain(1.0)], [True, False]) == [CertaintyBin(0.99, 1.0, 1, 1.0, 0)]
