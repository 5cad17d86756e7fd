"""Where a response names the options: genuine letters, whole texts, and no overlaps."""

from __future__ import annotations

from itertools import pairwise
from string import ascii_uppercase

import pytest

from lm_eval_ext.classifier.reading import Option
from lm_eval_ext.classifier.rules.mentions import core, find_mentions, plain
from tests.tables import tables

CASES = tables(__file__, "mentions")
OFTEN = tuple(map(Option, "ABCD", ("Often", "Not very often", "Very often", "Never, ever.")))


@pytest.mark.parametrize(("text", "expected"), CASES["plain"])
def test_a_plain_text_has_no_emphasis_and_straight_quotes(text: str, expected: str) -> None:
    assert plain(text) == expected
    assert plain(expected) == expected


@pytest.mark.parametrize(("text", "expected"), CASES["core"])
def test_option_texts_are_matched_without_final_punctuation(text: str, expected: str) -> None:
    assert core(text) == expected


NAMED = [
    pytest.param(case["options"], case.get("letters", ascii_uppercase), response, expected, id=response)
    for case in CASES["named"]
    for response, *expected in case["cases"]
]


@pytest.mark.parametrize(("texts", "letters", "response", "expected"), NAMED)
def test_a_response_names_options(texts: list[str], letters: str, response: str, expected: list[str]) -> None:
    found = find_mentions(response, tuple(map(Option, letters, texts)))
    assert [f"{mention.letter} {mention.how}" for mention in found] == expected


def test_a_mention_has_a_position() -> None:
    response = "I would go for B. Not very often, I think"
    (found,) = find_mentions(response, OFTEN)
    assert response[found.start : found.end] == "B. Not very often"


def test_mentions_are_in_order_and_do_not_overlap() -> None:
    response = "A. Often\nB. Not very often\nC. Very often\nD. Never, ever.\n\nVery often (C), or not very often."
    found = find_mentions(response, OFTEN)
    assert [mention.letter for mention in found] == list("ABCDCCB")
    assert all(one.end <= two.start for one, two in pairwise(found))


def test_an_option_of_white_space_in_quotes_is_not_named() -> None:
    (found,) = find_mentions("- - B. Tea", (Option("A", '"\x0b"'), Option("B", "Tea")))
    assert (found.letter, found.how) == ("B", "both")
