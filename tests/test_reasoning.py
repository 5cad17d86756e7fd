"""A reasoning block does not belong to the answer."""

from __future__ import annotations

import pytest

from lm_eval_ext.reasoning import without_reasoning


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("foo", "foo"),
        ("<think>bar</think>foo", "foo"),
        ("<think>\nbar\n</think>\n\nfoo\n", "foo"),
        ("<THINK>bar</THINK> foo", "foo"),
        ("<thinking>bar</thinking>foo", "foo"),
        ("<reasoning>bar</reasoning>foo", "foo"),
        ("<think>a</think>foo<think>b</think> bar", "foo bar"),
        # never closed: the answer was not reached
        ("<think>bar", ""),
        ("foo <think>bar", "foo"),
        ("<think>a</think>foo<think>bar", "foo"),
        # the chat template opened it in the prompt
        ("bar</think>foo", "foo"),
        ("bar</think>", ""),
        ("<think></think>", ""),
        ("", ""),
        # near misses
        ("I think foo", "I think foo"),
        ("think>foo", "think>foo"),
        ("<b>foo</b>", "<b>foo</b>"),
    ],
)
def test_what_is_left_of_a_response(response: str, answer: str) -> None:
    assert without_reasoning(response) == answer
