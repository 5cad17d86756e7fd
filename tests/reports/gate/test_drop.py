"""How many rows would show a drop, and the smallest drop that rows show."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from lm_eval_ext.reports.gate.drop import rows_to_decide, rows_to_show, smallest_regression
from lm_eval_ext.reports.paired import MeanChange
from lm_eval_ext.reports.statistics import Floats


def drop(changes: Floats) -> MeanChange:
    """Return the drop of rows with one answer each, whose changes are those of the score."""
    rows = len(changes)
    return MeanChange.of_rows(-changes, np.ones(rows), (rows,), rows)


def test_the_number_of_rows_that_would_decide_does() -> None:
    changes = np.array([-1.0] * 14 + [1.0] * 8 + [0.0] * 78)
    found = drop(changes)
    rows = round(rows_to_decide(found, 0.02))
    generator = np.random.default_rng(11)
    decided = sum(drop(generator.choice(changes, rows)).p_above(0.02) < 0.05 for _ in range(400))
    # Four in five, give or take three standard errors of 0.02, and the made-up rows.
    assert decided / 400 == pytest.approx(0.8, abs=0.08)


def test_a_regression_of_the_smallest_size_that_shows_is_seen_four_times_out_of_five() -> None:
    generator = np.random.default_rng(12)
    for rows, differing in ((100, 0.0), (100, 0.1), (900, 0.02)):
        noise = np.where(generator.random((400, rows)) < differing, generator.choice([-1.0, 1.0], (400, rows)), 0.0)
        smallest = float(np.median([smallest_regression(drop(changes), 0.02, 1) for changes in noise]))
        worse = np.where(generator.random((400, rows)) < smallest, -1.0, noise)
        seen = sum(drop(changes).p_above(0.02) < 0.05 for changes in worse)
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
        seen = sum(drop(changes).p_above(0.02) < 0.05 for changes in worse)
        assert 0.74 <= seen / 400 <= 0.92
    alone = drop(np.array([-1.0]))
    assert (
        rows_to_show(alone, 0.1, 0.02, 1) == rows_to_decide(alone, 0.02) == smallest_regression(alone, 0.02, 1) == inf
    )
    assert rows_to_show(drop(np.zeros(50)), 0.02, 0.02, 1) == inf
