"""Plans of few simulated pairs of runs: the tests are about what is said of them."""

from __future__ import annotations

import pytest

from lm_eval_ext.reports.gate import plan


@pytest.fixture(autouse=True)
def _few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a tenth of the pairs; the slow tests of a plan's figures take them all."""
    monkeypatch.setattr(plan, "PAIRS", 100)
    monkeypatch.setattr(plan, "PAIRS_LOOKED_AT", 50)
