"""Where a response names the options: genuine letters, whole texts, and no overlaps."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from lm_eval_ext.classifier.reading import Option
from lm_eval_ext.classifier.rules.mentions import core, find_mentions, plain

OFTEN = tuple(map(Option, "ABCD", ("Often", "Not very often", "Very often", "Never, ever.")))
LIKELY = tuple(map(Option, "ABCD", ("Very likely", "Not very likely", "A lot", "I agree")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**B**", "B"),
        ("`B`", "B"),
        ("__B__", "B"),
        ("  B \n", "B"),
        ("“It’s B” – he said", '"It\'s B" - he said'),  # noqa: RUF001 # as models write
        ("\\boxed{B}", "answer: {B}"),
        ("\\boxed{\\text{B}}", "answer: {{B}}"),
        # A single underscore or a word "boxed" is text.
        ("a_b", "a_b"),
        ("boxed{B}", "boxed{B}"),
        # NFC: a letter and a combining mark are one letter.
        ("cafe\u0301", "café"),
    ],
)
def test_a_plain_text_has_no_emphasis_and_straight_quotes(text: str, expected: str) -> None:
    assert plain(text) == expected
    assert plain(expected) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Never, ever.", "Never, ever"), ('"Yes!"', "Yes"), ("**No**", "No"), ("U.S.", "U.S"), ("...", "")],
)
def test_option_texts_are_matched_without_final_punctuation(text: str, expected: str) -> None:
    assert core(text) == expected


def named(response: str, options: tuple[Option, ...] = OFTEN) -> list[tuple[str, str]]:
    return [(mention.letter, mention.how) for mention in find_mentions(response, options)]


MENTIONS = yaml.safe_load(Path(__file__).with_name("mentions.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("response", "expected"), [(response, expected) for response, *expected in MENTIONS])
def test_a_response_names_options(response: str, expected: list[str]) -> None:
    assert named(response) == [tuple(one.split()) for one in expected]


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("Very likely", [("A", "text")]),
        ("Not very likely", [("B", "text")]),
        # "A" and "I" belong to the text of an option.
        ("A lot", [("C", "text")]),
        ("I agree", [("D", "text")]),
        ("C. A lot", [("C", "both")]),
    ],
)
def test_an_overlap_belongs_to_the_longest_match(response: str, expected: list[tuple[str, str]]) -> None:
    assert named(response, LIKELY) == expected


@pytest.mark.parametrize(
    ("response", "letter"), [("Tea with milk", "B"), ("tea, I think", "A"), ("Tea with lemon", "A")]
)
def test_the_longer_of_two_options_with_a_common_prefix_is_named(response: str, letter: str) -> None:
    for texts in (("Tea", "Tea with milk"), ("Tea with milk", "Tea")):
        options = tuple(map(Option, "AB" if texts[0] == "Tea" else "BA", texts))
        assert named(response, options) == [(letter, "text")]


@pytest.mark.parametrize("pronoun", ["I", "I think", "as far as I know, I do", "I'd say so", "I, for one, agree"])
def test_the_pronoun_i_is_not_an_option(pronoun: str) -> None:
    options = tuple(map(Option, "HIJ", ("Iron", "Gold", "Tin")))
    # A response of only "I" is a letter; in a sentence it is the pronoun.
    assert named(pronoun, options) == ([("I", "letter")] if pronoun == "I" else [])


def test_a_mention_has_a_position() -> None:
    response = "I would go for B. Not very often, I think"
    (found,) = find_mentions(response, OFTEN)
    assert response[found.start : found.end] == "B. Not very often"


def test_an_option_without_searchable_text_is_named_only_by_its_letter() -> None:
    options = (Option("A", "..."), Option("B", ""), Option("C", "Tea"))
    assert named("... well", options) == []
    assert named("B.", options) == [("B", "letter")]


def test_mentions_are_in_order_and_do_not_overlap() -> None:
    response = "A. Often\nB. Not very often\nC. Very often\nD. Never, ever.\n\nVery often (C), or not very often."
    found = find_mentions(response, OFTEN)
    assert [mention.letter for mention in found] == list("ABCDCCB")
    assert all(one.end <= two.start for one, two in pairwise(found))
