"""keywords and punctuation: words, letters and commas, in both editions."""

from __future__ import annotations

import random
import re
import string
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_ext.verifiers import Checker, instruction
from lm_eval_ext.verifiers.text import Text, as_words
from tests.verifiers.cases import table

ARGUMENTS = table("arguments")


@pytest.mark.parametrize(
    ("text", "faithful", "repaired"),
    [
        pytest.param("I write C.", True, False, id="trap: C++ matches a bare C"),
        ("I write C++.", True, True),
        ("I write c++", True, True),
        ("a cat", True, False),
        ("I write Rust.", False, False),
    ],
)
def test_a_plus_is_a_quantifier_or_literal(text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("keywords:existence", {"keywords": ["C++"]})
    assert checker.follows(Text(text), "repaired") is repaired
    if sys.version_info >= (3, 11):
        assert checker.follows(Text(text), "faithful") is faithful
    else:  # where the second + is an error of the regular expression
        with pytest.raises(ValueError, match="multiple repeat"):
            checker.follows(Text(text), "faithful")


# --- What is counted without a regular expression, counted with one ---------------------------------------------------


def test_only_the_known_characters_match_an_ascii_letter() -> None:
    letter = re.compile("[a-z]", re.IGNORECASE)
    likes = [chr(code) for code in range(128, sys.maxunicode + 1) if letter.match(chr(code))]
    assert sorted(likes) == ["\u0130", "\u0131", "\u017f", "\u212a"]
    assert [Text(like).caseless for like in likes] == [None] * 4


@settings(derandomize=True, deadline=None, max_examples=400)
@given(st.text("kis K", min_size=1), st.one_of(st.text("kisKIS é’"), st.text("kis\u212a\u017f\u0130\u0131"), st.text()))
def test_a_phrase_of_letters_is_counted_like_a_regular_expression(phrase: str, text: str) -> None:
    found = Text(text).count_quickly(phrase)
    assert found is None or found == len(re.findall(phrase, text, re.IGNORECASE))


@settings(derandomize=True, deadline=None, max_examples=1000)
@given(st.sampled_from(["art", "Art", "a", "x1", "é", "a b"]), st.one_of(st.text("artARTx1 _-'."), st.text("artéK x")))
def test_whole_words_are_counted_like_the_pattern(phrase: str, text: str) -> None:
    assert Text(text).count_phrase(phrase) == len(as_words(phrase).findall(Text(text).folded))


@pytest.mark.parametrize("phrase", ["a.b", "C++", "café", "a-b", "10", "", " "])
def test_other_phrases_are_matched_by_the_regular_expression(phrase: str) -> None:
    assert Text("a b 10").count_quickly(phrase) is None


# --- Expressions whose search would hardly end ------------------------------------------------------------------------


@pytest.mark.parametrize(("keyword", "complaint"), ARGUMENTS["endless expressions"])
@pytest.mark.parametrize("name", ["existence", "frequency", "forbidden_words"])
def test_a_keyword_with_excessive_search_time_is_an_error_or_literal(name: str, keyword: str, complaint: str) -> None:
    arguments: dict[str, dict[str, Any]] = {
        "existence": {"keywords": [keyword]},
        "frequency": {"keyword": keyword, "frequency": 1, "relation": "at least"},
        "forbidden_words": {"forbidden_words": [keyword]},
    }
    checker = instruction(f"keywords:{name}", arguments[name])
    text = Text("a" * 28 + "!")
    with pytest.raises(ValueError, match=rf"^keywords:{name}: .*{re.escape(repr(keyword))}.*{re.escape(complaint)}"):
        checker.faithful(text)
    with pytest.raises(ValueError, match="the repaired edition matches keywords and markers literally"):
        checker.require_judgeable()
    assert checker.repaired(text) == (name == "forbidden_words")


@pytest.mark.parametrize(("keyword", "text"), ARGUMENTS["other expressions"])
def test_any_other_regular_expression_is_searched(keyword: str, text: str) -> None:
    checker = instruction("keywords:existence", {"keywords": [keyword]})
    assert checker.faithful(Text(text))
    assert not checker.faithful(Text("nothing of it"))


@pytest.mark.parametrize(
    "other",
    [
        instruction("detectable_format:multiple_sections", {"section_spliter": "(a+)+", "num_sections": 1}),
        instruction("detectable_content:postscript", {"postscript_marker": "(a+)+!"}),
    ],
    ids=lambda checker: checker.id,
)
def test_section_marks_and_postscripts_with_excessive_search_time_are_errors_or_literal(other: Checker) -> None:
    with pytest.raises(ValueError, match=rf"^{other.id}: .*\(a\+\)\+.* which has a repetition of something"):
        other.faithful(Text("a" * 28))


def test_in_place_of_a_mark_the_first_random_letter_is_counted() -> None:
    letter = random.Random(0).choice(string.ascii_letters).lower()  # noqa: S311 # reproducible by design
    marks = instruction("keywords:letter_frequency", {"letter": "#", "let_frequency": 2, "let_relation": "at least"})
    assert marks.follows(Text(letter * 2), "faithful")
    assert not marks.follows(Text(string.ascii_lowercase + "##"), "faithful")
