"""Every text in the tables of cases gets the verdicts that are written there."""

from __future__ import annotations

from typing import Any

import pytest

from lm_eval_ext.verifiers import EDITIONS, instruction
from lm_eval_ext.verifiers.text import Text
from tests.verifiers.cases import CASES


@pytest.mark.parametrize(
    ("name", "arguments", "text", "verdicts"),
    [(name, arguments, text, verdicts) for name, cases in CASES.items() for arguments, text, *verdicts in cases],
)
def test_both_editions(name: str, arguments: dict[str, Any], text: str, verdicts: list[bool]) -> None:
    checker = instruction(name, arguments)
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == verdicts
