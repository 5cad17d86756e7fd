"""Shares of the thirds of a list."""

from __future__ import annotations

import pytest

from lm_eval_ext.families.manyifeval.dense.thirds import in_thirds, share


@pytest.mark.parametrize(
    ("verdicts", "thirds"),
    [
        ("100", [1, 0, 0]),
        ("110000", [1, 0, 0]),
        # Ten are divided into three, four and three.
        ("1110000001", [1, 0, 1 / 3]),
        ("0001111000", [0, 1, 0]),
    ],
)
def test_every_verdict_is_in_one_third(verdicts: str, thirds: list[float]) -> None:
    given = [verdict == "1" for verdict in verdicts]
    assert in_thirds(given) == pytest.approx(thirds)
    assert share(given) == verdicts.count("1") / len(verdicts)
