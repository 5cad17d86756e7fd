"""Every text in the tables of cases gets the verdicts that are written there."""

from __future__ import annotations

import pytest

from lm_eval_ext.verifiers import EDITIONS, instruction
from lm_eval_ext.verifiers.text import Text
from tests.verifiers.cases import CASES


@pytest.mark.parametrize("name", CASES)
def test_both_editions(name: str) -> None:
    judged = []
    for arguments, text, *_ in CASES[name]:
        checker = instruction(name, arguments)
        judged.append((arguments, text, *(checker.follows(Text(text), edition) for edition in EDITIONS)))
    assert judged == list(CASES[name])
