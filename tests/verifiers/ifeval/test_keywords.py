"""keywords and punctuation: words, letters and commas, in both editions."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_ext.verifiers import Checker, instruction
from lm_eval_ext.verifiers.text import Text, as_words
from tests.verifiers.cases import Case, judged


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


# Instruction id -> cases: arguments, text, faithful, repaired.
CASES: dict[str, list[Case]] = {
    "keywords:existence": [
        ({"keywords": ["art"]}, "The start was smart.", True, False),  # trap: art in start and smart
        # whole words, with any marks attached
        ({"keywords": ["art"]}, "Modern art sells.", True, True),
        ({"keywords": ["art"]}, "ART and craft", True, True),
        ({"keywords": ["Art"]}, "an art", True, True),
        ({"keywords": ["art"]}, "art", True, True),
        ({"keywords": ["art"]}, "(art)", True, True),
        ({"keywords": ["art"]}, "**art**", True, True),
        ({"keywords": ["art"]}, "_art_", True, True),
        ({"keywords": ["art"]}, "“art”", True, True),
        ({"keywords": ["art"]}, "an art-house film", True, True),
        ({"keywords": ["art"]}, "the art's price", True, True),
        ({"keywords": ["art"]}, "at the party", True, False),
        ({"keywords": ["art"]}, "artful", True, False),
        ({"keywords": ["art"]}, "art2", True, False),
        ({"keywords": ["art"]}, "2art", True, False),
        ({"keywords": ["art"]}, "éart", True, False),
        ({"keywords": ["art"]}, "the arts", True, False),  # a plural is another word
        ({"keywords": ["don't"]}, "don’t", False, True),  # a curly apostrophe
        ({"keywords": ["café"]}, "cafe\u0301", False, True),  # an accent as a separate character
        ({"keywords": ["art"]}, "a r t", False, False),
        ({"keywords": ["art"]}, "Kunst", False, False),
        # every keyword
        ({"keywords": ["art", "war"]}, "art and war", True, True),
        ({"keywords": ["art", "war"]}, "war, then art", True, True),
        ({"keywords": ["art", "war"]}, "art alone", False, False),
        ({"keywords": ["art", "war"]}, "smart and warm", True, False),
        ({"keywords": ["art", "art"]}, "art", True, True),
        # several words: white space of any kind between them
        ({"keywords": ["new york"]}, "in New York", True, True),
        ({"keywords": ["new york"]}, "in New\nYork", False, True),
        ({"keywords": ["new york"]}, "in New  York", False, True),
        ({"keywords": ["new york"]}, "a New Yorker", True, False),
        ({"keywords": ["new york"]}, "Newyork", False, False),
        ({"keywords": ["new york"]}, "York is new", False, False),
        ({"keywords": [" art "]}, "art", False, True),
        ({"keywords": [" art "]}, "an art form", True, True),
        # marks of regular expressions
        ({"keywords": ["a.c"]}, "abc", True, False),
        ({"keywords": ["a.c"]}, "a.c", True, True),
        ({"keywords": ["yes|no"]}, "no", True, False),
        ({"keywords": ["yes|no"]}, "tick yes|no", True, True),
        ({"keywords": ["(art)"]}, "art", True, False),
        ({"keywords": ["[art]"]}, "a cat", True, False),
        ({"keywords": ["[art]"]}, "see [art] here", True, True),
        # marks that are no part of a word may touch one
        ({"keywords": ["!"]}, "Stop!", True, True),
        ({"keywords": ["!"]}, "Stop.", False, False),
        ({"keywords": ["%"]}, "10% of it", True, True),
        ({"keywords": [".com"]}, "see example.com", True, True),
        ({"keywords": [".com"]}, "a.commune", True, False),
        ({"keywords": ["🎉"]}, "Hooray🎉", True, True),
        # scripts that put no space between words
        ({"keywords": ["猫"]}, "私の猫です", True, True),
        ({"keywords": ["猫"]}, "私の犬です", False, False),
        # a vowel sign belongs to its word
        ({"keywords": ["कल"]}, "कल आना", True, True),
        ({"keywords": ["कल"]}, "कला", True, False),
    ],
    "keywords:frequency": [
        # trap: war in forward
        ({"keyword": "war", "frequency": 3, "relation": "at least"}, "forward toward warden wars", True, False),
        ({"keyword": "war", "frequency": 3, "relation": "at least"}, "War, war and WAR.", True, True),
        ({"keyword": "war", "frequency": 3, "relation": "at least"}, "war-war _war_", True, True),
        ({"keyword": "war", "frequency": 3, "relation": "at least"}, "war war", False, False),
        ({"keyword": "war", "frequency": 3, "relation": "at least"}, "warwarwar", True, False),
        ({"keyword": "war", "frequency": 3, "relation": "less than"}, "war war", True, True),
        ({"keyword": "war", "frequency": 3, "relation": "less than"}, "war war war", False, False),
        ({"keyword": "war", "frequency": 3, "relation": "less than"}, "war warden forward", False, True),
        ({"keyword": "war", "frequency": 3, "relation": "less than"}, "peace", True, True),
        ({"keyword": "war", "frequency": 1, "relation": "at least"}, "war", True, True),
        ({"keyword": "war", "frequency": 1, "relation": "at least"}, "peace", False, False),
        ({"keyword": "war", "frequency": 1, "relation": "less than"}, "peace", True, True),
        ({"keyword": "war", "frequency": 1, "relation": "less than"}, "warm", False, True),
        # a legal 0
        ({"keyword": "war", "frequency": 0, "relation": "at least"}, "peace", True, True),
        ({"keyword": "war", "frequency": 0, "relation": "less than"}, "peace", False, False),
        # occurrences do not overlap
        ({"keyword": "ha ha", "frequency": 2, "relation": "at least"}, "ha ha ha", False, False),
        ({"keyword": "ha ha", "frequency": 2, "relation": "at least"}, "ha ha ha\nha", False, True),
        ({"keyword": "ha ha", "frequency": 2, "relation": "at least"}, "ha ha, ha ha", True, True),
        # marks of regular expressions
        ({"keyword": "e.g.", "frequency": 1, "relation": "at least"}, "eggs", True, False),
        ({"keyword": "e.g.", "frequency": 1, "relation": "at least"}, "tea, e.g. Assam", True, True),
        ({"keyword": "e.g.", "frequency": 1, "relation": "at least"}, "tea, e.g., Assam", True, True),
        ({"keyword": " war ", "frequency": 1, "relation": "at least"}, "war", True, True),
        # marks that are no part of a word may touch one
        ({"keyword": "!", "frequency": 2, "relation": "at least"}, "Stop! Now!", True, True),
        ({"keyword": "!", "frequency": 2, "relation": "at least"}, "Stop! Now.", False, False),
        ({"keyword": "#", "frequency": 2, "relation": "less than"}, "C# and F#", False, False),
        ({"keyword": "#", "frequency": 2, "relation": "less than"}, "C# and F", True, True),
    ],
    "keywords:forbidden_words": [
        ({"forbidden_words": ["U.S."]}, "Visit U.S. today", True, False),  # trap: U.S. is missed
        ({"forbidden_words": ["U.S."]}, "Visit us today", True, True),
        ({"forbidden_words": ["U.S."]}, "Ursa Major", False, True),
        ({"forbidden_words": ["U.S."]}, "the U.S.", True, False),
        ({"forbidden_words": ["no", "yes"]}, "nothing yesterday", True, True),
        ({"forbidden_words": ["no", "yes"]}, "know, eyes", True, True),
        ({"forbidden_words": ["no", "yes"]}, "No.", False, False),
        ({"forbidden_words": ["no", "yes"]}, "a yes-man", False, False),
        ({"forbidden_words": ["no", "yes"]}, "YES", False, False),
        ({"forbidden_words": ["no", "yes"]}, "maybe", True, True),
        ({"forbidden_words": ["no"]}, "_no_", True, False),
        ({"forbidden_words": ["no"]}, "no2", True, True),
        ({"forbidden_words": ["no"]}, "no\n", False, False),
        ({"forbidden_words": ["no way"]}, "no\nway", True, False),
        ({"forbidden_words": ["no way"]}, "no ways", True, True),
        ({"forbidden_words": [" no "]}, "no", True, False),
        ({"forbidden_words": ["a|b"]}, "b", False, True),
        # marks that are no part of a word may touch one
        ({"forbidden_words": ["!"]}, "Stop!", True, False),
        ({"forbidden_words": ["!"]}, "Stop.", True, True),
        ({"forbidden_words": ["$"]}, "It costs $5.", True, False),
        ({"forbidden_words": ["$"]}, "It costs 5 euros.", True, True),
    ],
    "keywords:letter_frequency": [
        # In place of a character that is no letter, the faithful edition counts "y": random.Random(0)'s first letter.
        # trap: # is counted as a letter
        ({"letter": "#", "let_frequency": 2, "let_relation": "at least"}, "# one # two", False, True),
        # trap: a letter is counted for #
        ({"letter": "#", "let_frequency": 2, "let_relation": "at least"}, "yes, yesterday", True, False),
        ({"letter": "#", "let_frequency": 1, "let_relation": "less than"}, "# one", True, False),
        ({"letter": "é", "let_frequency": 1, "let_relation": "at least"}, "Émile", False, True),
        ({"letter": "7", "let_frequency": 2, "let_relation": "at least"}, "77", False, True),
        ({"letter": "a", "let_frequency": 3, "let_relation": "at least"}, "Banana", True, True),  # b-A-n-A-n-A
        ({"letter": "a", "let_frequency": 4, "let_relation": "at least"}, "Banana", False, False),
        ({"letter": "a", "let_frequency": 2, "let_relation": "at least"}, "A cat", True, True),
        ({"letter": "A", "let_frequency": 2, "let_relation": "at least"}, "A cat", True, True),
        ({"letter": "a", "let_frequency": 3, "let_relation": "less than"}, "A cat", True, True),
        ({"letter": "a", "let_frequency": 2, "let_relation": "less than"}, "A cat", False, False),
        ({"letter": "a", "let_frequency": 1, "let_relation": "less than"}, "by", True, True),
        ({"letter": "a", "let_frequency": 1, "let_relation": "less than"}, "á", True, True),
        ({"letter": "z", "let_frequency": 1, "let_relation": "at least"}, "by", False, False),
        ({"letter": "z", "let_frequency": 1, "let_relation": "at least"}, "Z", True, True),
        # a legal 0
        ({"letter": "a", "let_frequency": 0, "let_relation": "at least"}, "by", True, True),
        ({"letter": "a", "let_frequency": 0, "let_relation": "less than"}, "by", False, False),
    ],
    "punctuation:no_comma": [
        ({}, "你好，世界", True, True),  # trap: a fullwidth comma may occur
        ({}, "one; two", True, True),
        ({}, "one, two", False, False),
        ({}, "1,000", False, False),
        ({}, ",", False, False),
        ({}, "one\ntwo,", False, False),
        ({}, "one. two's", True, True),
        ({}, "一、二", True, True),
        ({}, "واحد، اثنان", True, True),
    ],
}


test_both_editions = judged(CASES)


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


@pytest.mark.parametrize(
    ("keyword", "complaint"),
    [
        ("(a+)+$", "a repetition of something that can itself match in several ways; expected none"),
        ("(.*)*x", "a repetition of something"),
        ("(a|aa)+$", "a repetition of something"),
        (r"(\w+\s?)*$", "a repetition of something"),
        ("(a*?b)+$", "a repetition of something"),
        ("(?:(?:a+)b){2,3}", "a repetition of something"),
        (r"(?=(a+)+$)a", "a repetition of something"),
        (".*.*=", "2 unbounded repetitions before its end; expected at most 1"),
        (r"(a+)\1!", "2 unbounded repetitions"),
        ("(x|a*a*a*)b", "3 unbounded repetitions"),
        ("a?" * 10 + "a" * 10, "ways to combine its optional parts and alternatives; expected at most 1000"),
        ("(a?){30}a{30}", "more than 1000 ways"),
        ("(a|ab)" * 10 + "c", "more than 1000 ways"),
    ],
)
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


@pytest.mark.parametrize(
    ("keyword", "text"),
    [
        ("colou?r", "color"),
        (r"\d+\.\d+", "3.14"),
        (r"https?://\S+", "http://a.b"),
        ("a.*b", "a to b"),
        ("cat|dog|bird", "a dog"),
        ("(?:ha)+!", "haha!"),
        ("[ab]+c+", "abcc"),
        (r"(?:\d{1,3}\.){3}\d{1,3}", "127.0.0.1"),
        (r"(\w)\1", "ball"),
        ("wh(?=at)", "what"),
    ],
)
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
