"""A reasoning block is not part of the answer."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lm_eval_ext.verifiers.verify import is_cut_off, is_empty, without_reasoning


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
def test_reasoning_is_removed_from_a_response(response: str, answer: str) -> None:
    assert without_reasoning(response) == answer


def plainly(response: str) -> str:
    """Return the answer as three regular expressions say what it is, the first of them in quadratic time."""
    names = "think|thinking|reasoning"
    answer = re.sub(rf"<({names})>.*?</\1>", "", response, flags=re.DOTALL | re.IGNORECASE)
    answer = re.sub(rf"<(?:{names})>.*", "", answer, flags=re.DOTALL | re.IGNORECASE)
    answer = re.sub(rf"^.*</(?:{names})>", "", answer, flags=re.DOTALL | re.IGNORECASE)
    return response if answer == response else answer.strip()


# The letters at the end are i and k, or s, to an expression that ignores case.
NAMES = ["think", "thinking", "reasoning", "THINK", "Reasoning", "th\u0130nk", "th\u0131n\u212a", "rea\u017foning", "b"]
PIECES = st.sampled_from(
    [f"{mark}{name}>" for mark in ("<", "</") for name in NAMES]
    + ["<", "</", "<thi", "nk>", "ing>", "think>", ">", "foo", " bar ", "\n", ""]
)


@settings(derandomize=True, deadline=None, max_examples=600)
@given(st.lists(PIECES, max_size=16).map("".join))
@example("<thi<think></think>nk>foo")  # what a removed block leaves can be a tag
def test_the_result_equals_that_of_the_plain_regular_expressions(response: str) -> None:
    answer = without_reasoning(response)
    assert answer == plainly(response)
    assert without_reasoning(answer) == answer  # so it may be taken off twice


@pytest.mark.parametrize("unit", ["<think>", "<think><reasoning>", "</think>", "<think></think>", "<think></thinking>"])
def test_time_is_linear_in_the_response(unit: str) -> None:
    taken = []
    for size in (5_000, 500_000):
        response = unit * (size // len(unit))
        begin = time.process_time()
        without_reasoning(response)
        taken.append(time.process_time() - begin)
    # Linear time is 100 times and quadratic time 10,000; below two milliseconds is the machine's noise.
    assert taken[1] < 1000 * max(taken[0], 0.002), taken


@pytest.mark.parametrize(
    ("response", "empty"),
    [
        (None, True),
        ("", True),
        (" \n\t", True),
        ("<think>So", True),
        ("<think>So</think>", True),
        ("So</think>\n ", True),
        ("yes", False),
        ("<think>So</think> yes", False),
        ("yes <think>but", False),
    ],
)
def test_a_response_is_empty_if_nothing_is_left_without_its_reasoning(response: str | None, empty: bool) -> None:
    assert is_empty(response) is empty


@pytest.mark.parametrize(
    ("response", "cut_off"),
    [
        ("<think>So", True),
        ("<think>So</think> but <thinking>wait", True),
        ("<think>So</think>", False),
        ("So</think>", False),
        ("yes", False),
        ("", False),
    ],
)
def test_a_response_is_cut_off_if_a_block_of_reasoning_is_open_at_its_end(response: str, cut_off: bool) -> None:
    assert is_cut_off(response) is cut_off
