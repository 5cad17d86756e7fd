"""How a judge's reply is interpreted."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lm_eval_ext.self_refine.judgment import concluded, verdict, verdicts
from lm_eval_ext.self_refine.strategies import STRATEGIES, judge_one, judge_together, reply
from tests.families.jsonl import read_jsonl
from tests.sampling import sampled

JUDGED = {"YES": True, "NO": False, "?": None}
REPLIES = read_jsonl(Path(__file__).with_name("replies.jsonl"))
"""Replies: which function parses them, what they are examples of, and a verdict, or "?", for each instruction."""


@pytest.mark.parametrize("case", REPLIES, ids=[f"{case['parser']}: {case['about']}" for case in REPLIES])
def test_a_reply_has_the_verdicts_that_it_states_and_no_others(case: dict[str, str]) -> None:
    said, judged = case["said"], tuple(JUDGED[word] for word in case["judged"].split())
    if case["parser"] == "verdict":
        assert (verdict(said),) == judged
    else:
        assert {"verdicts": verdicts, "concluded": concluded}[case["parser"]](said, len(judged)) == judged


@given(st.lists(st.booleans(), min_size=1, max_size=25))
def test_replies_in_the_requested_format_are_parsed(truth: list[bool]) -> None:
    assert verdicts(reply(truth, STRATEGIES["feedback"]), len(truth)) == tuple(truth)
    assert concluded(reply(truth, STRATEGIES["feedback_cot"]), len(truth)) == tuple(truth)
    for strategy in ("feedback_each", "feedback_each_cot"):
        assert [verdict(reply([one], STRATEGIES[strategy])) for one in truth] == truth


@given(st.text(), st.integers(1, 10))
def test_any_reply_has_one_verdict_for_each_instruction(said: str, count: int) -> None:
    assert len(verdicts(said, count)) == len(concluded(said, count)) == count
    assert verdict(said) in (True, False, None)


@pytest.mark.parametrize("answer", ["", "Blue."])
def test_a_reply_that_repeats_its_prompt_has_no_verdict(answer: str) -> None:
    instructions = ["Answer with 3 words.", "Include keywords ['no', 'yes'] in the response."]
    assert [verdict(judge_one("Task.", instructions[1], answer, cot)) for cot in (True, False)] == [None, None]
    assert verdicts(judge_together("Task.", instructions, answer, cot=False), 2) == (None, None)
    assert concluded(judge_together("Task.", instructions, answer, cot=True), 2) == (None, None)


UNITS = (
    *("verdict ", "verdict: ", "\nverdicts: ", " ", "\n", "*", "yes or ", "1", "1: yes, ", "1 (", "1\n"),
    *("\\boxed{", "no no "),
)


@pytest.mark.parametrize("unit", sampled(UNITS, 3))
@pytest.mark.parametrize("length", [200_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_a_long_repetition_of_any_text_is_parsed(unit: str, length: int) -> None:
    # A rule whose cost is the square of the length would take minutes, and of a megabyte hours.
    said = "verdict" + unit * (length // len(unit)) + "verdict"
    assert verdict(said) is None
    assert verdicts(said, 3)[1:] == (None, None)
    assert concluded(said, 3)[1:] == (None, None)


@pytest.mark.parametrize(
    ("strategy", "verdicts", "said"),
    [
        ("feedback", [True, False], "1: YES\n2: NO"),
        ("feedback_cot", [True, False], "Verdicts:\n1: YES\n2: NO"),
        ("feedback_each", [False], "NO"),
        ("feedback_each_cot", [True], "Verdict: YES"),
    ],
)
def test_the_shortest_reply_in_the_requested_format_is_parsed(strategy: str, verdicts: list[bool], said: str) -> None:
    assert reply(verdicts, STRATEGIES[strategy]) == said
