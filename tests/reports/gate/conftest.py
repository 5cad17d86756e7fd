"""An empty working directory, and plans of few simulated pairs of runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.reports.gate import plan


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, which is empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def few_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate some pairs of runs only, for tests of what is planned for: what they show is not looked at."""
    for name in ("PAIRS", "PAIRS_LOOKED_AT"):
        monkeypatch.setattr(plan, name, 5)
