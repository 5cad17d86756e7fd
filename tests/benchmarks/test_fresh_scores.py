"""The scores in the figure of the documentation."""

from __future__ import annotations

from statistics import fmean, pstdev

import pytest

from benchmarks.fresh_scores import shares_followed


@pytest.mark.slow
@pytest.mark.usefixtures("sentence_data")
def test_known_policies_have_their_scores_under_two_seeds() -> None:
    first, second = shares_followed(0), shares_followed(7)
    for shares in (first, second):
        assert set(shares["oracle"]) == {1.0}
        assert set(shares["drop_one"]) == {0.8}
    # One text for all rows: what it follows differs from row to row, and hardly from seed to seed.
    assert all(pstdev(shares["plain text"]) > 0.1 for shares in (first, second))
    assert fmean(first["plain text"]) == pytest.approx(fmean(second["plain text"]), abs=0.03)
