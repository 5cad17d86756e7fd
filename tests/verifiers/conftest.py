"""Nothing here can be judged without NLTK's sentence data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.families.jsonl import read_jsonl

pytest.register_assert_rewrite("tests.verifiers.cases")

RecordedRows = Callable[[str], list[dict[str, Any]]]


@pytest.fixture(scope="session", autouse=True)
def _sentence_data(sentence_data: None) -> None:
    """Skip every test of this folder where they are not installed."""


@pytest.fixture(scope="session")
def recorded_rows(shared_data: Path) -> RecordedRows:
    """Return a function that reads recorded verdicts."""
    return lambda name: read_jsonl(shared_data / "ifeval" / name)
