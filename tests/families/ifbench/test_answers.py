"""The reference model's answers by policy."""

from __future__ import annotations

import pytest

from lm_eval_ext.families.ifbench.rows import IFBenchRow
from lm_eval_ext.families.ifbench.task import first_answers, known_answers
from lm_eval_ext.harness.requests import answer_of
from lm_eval_ext.turns import Turns
from lm_eval_ext.verifiers import instruction
from tests.known_answers import text_of

MULTIPLES, VOWELS = instruction("custom:multiples"), instruction("words:vowel")
ONE = IFBenchRow("7", "Count.", (MULTIPLES,))
TWO = IFBenchRow("7", "Count.", (MULTIPLES,), second="Now so.")


def test_a_policy_is_a_text_and_after_two_turns_the_first_ignores() -> None:
    assert set(known_answers(ONE)) == {"oracle", "drop_one", "ignore"}
    once = text_of(known_answers(ONE), "oracle")
    assert once == "14, 21, 28, 35, 42, 49"
    assert not isinstance(once, Turns)
    twice = text_of(known_answers(TWO), "oracle")
    assert isinstance(twice, Turns)
    assert (twice, twice.first) == (once, text_of(known_answers(ONE), "ignore"))
    assert text_of(first_answers(TWO), "oracle") == twice.first


def test_a_row_that_nobody_can_follow_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lm_eval_ext.families.ifbench.task.respond", lambda *_: None)
    monkeypatch.setattr("lm_eval_ext.families.ifbench.task.break_one", lambda *_: None)
    with pytest.raises(ValueError, match="row 7: no answer is known for policy 'oracle'"):
        answer_of(known_answers(ONE), "oracle", "row 7")
