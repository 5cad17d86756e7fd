"""count: words, names, numbers, pronouns and marks, in both editions.

``test_differences.py`` judges the texts of the documentation.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_ext.verifiers import instruction
from lm_eval_ext.verifiers.ifbench.count import NAMES, PRONOUNS, ordinal
from lm_eval_ext.verifiers.text import Text
from tests.verifiers.cases import Case, judged

KEYWORDS = {"keyword1": "owl", "keyword2": "fox", "keyword3": "hen", "keyword4": "bee", "keyword5": "ant"}
FOLLOWED = "owl" + " fox" * 2 + " hen" * 3 + " bee" * 5 + " ant" * 7

# Instruction id -> cases: arguments, text, faithful, repaired. The published code gave the same faithful verdicts.
CASES: dict[str, list[Case]] = {
    "count:conjunctions": [
        ({"small_n": 3}, "Red and blue or green but calm.", True, True),
        ({"small_n": 3}, "Red and blue or green or calm.", False, False),
        ({"small_n": 2}, "so—or not yet", False, True),
        ({"small_n": 7}, "for and nor but or yet so", True, True),
        ({"small_n": 8}, "for and nor but or yet so", False, False),
    ],
    "count:keywords_multiple": [
        (KEYWORDS, FOLLOWED, True, True),
        (KEYWORDS, f"{FOLLOWED} owl", False, False),
        (KEYWORDS, f"{FOLLOWED} want", False, True),
        (KEYWORDS, FOLLOWED.upper(), True, True),
    ],
    "count:numbers": [
        ({"N": 2.0}, "Room 12 has 1,500 books.", True, True),
        ({"N": 2.0}, "Room 12 has 1,500 books and 2 doors.", False, False),
        ({"N": 2}, "10:30", False, True),
        ({"N": 3}, "2020-01-02", False, True),
        ({"N": 1}, "1,234,567.89", True, True),
        ({"N": 1}, "the 1st", True, True),
        ({"N": 3}, "1, 2, 3", True, True),
        ({"N": 3}, "1,2,3", False, True),
        ({"N": 0}, "three", True, True),
    ],
    "count:person_names": [
        ({"N": 2}, "Emma met Liam.", True, True),
        ({"N": 2}, "Emma met Emma.", False, False),
        ({"N": 1}, "_Emma_ said", False, True),
        ({"N": 1}, "Emma's book", True, True),
        ({"N": 1}, "with grace", False, False),
        ({"N": 1}, "Emmanuel", False, False),
        ({"N": 2}, "Mary-Grace and Zoe’s", True, True),
    ],
    "count:pronouns": [
        ({"N": 3}, "She gave it to them.", True, True),
        ({"N": 3}, "She gave it to Anna.", False, False),
        ({"N": 1}, "an IT department", True, False),
        ({"N": 2}, "GIVE IT TO US", True, True),
        ({"N": 1}, "gimme more", True, False),
        ({"N": 3}, "she/her/hers", True, True),
        ({"N": 3}, "It’s I. You're here", False, True),
        ({"N": 1}, "red, i.e. warm", False, False),
        ({"N": 1}, "hen't", True, False),
        ({"N": 0}, "red", True, True),
    ],
    "count:punctuation": [
        ({}, "Well: red, blue; green. Really?! Yes! Why?", True, True),
        ({}, "Well: red, blue; green. Really?! Why?", False, False),
        ({}, ".,;:?! ‽", False, True),
        ({}, ".,;: ! ? ‽", True, True),
        ({}, ".,;: ! ? !?", True, True),
        ({}, ".,;: ?!", False, False),
        ({}, ".,;: ! ?", False, False),
    ],
    "count:unique_word_count": [
        ({"N": 3}, "Red, blue, green.", True, True),
        ({"N": 3}, "Red, blue, red.", False, False),
        # what counts as a word
        ({"N": 2}, "red—blue", False, True),
        ({"N": 2}, "Red red, (RED)", False, False),
        ({"N": 0}, "red", True, True),
    ],
    "count:word_count_range": [
        ({"min_words": 3, "max_words": 4}, "Blue is calm.", True, True),
        ({"min_words": 3, "max_words": 4}, "Blue is calm in the sea.", False, False),
        # apostrophes and hyphens
        ({"min_words": 3, "max_words": 3}, "Don't go.", True, False),
        ({"min_words": 2, "max_words": 2}, "well-known facts", False, True),
        ({"min_words": 2, "max_words": 2}, "red — blue", True, True),
        ({"min_words": 2.0, "max_words": 2.0}, "red blue", True, True),
    ],
    "count:words_japanese": [
        ({"N": 2}, "I 食べる red りんご.", True, True),
        ({"N": 2}, "I 食べる red apples.", False, False),
        ({"N": 2}, "a - b 犬", True, False),
        ({"N": 2}, "a — 猫 b", False, True),
        ({"N": 2}, "a 42, b", True, True),
        ({"N": 3}, "a b", True, False),
    ],
}


test_both_editions = judged(CASES)


def test_the_lists_are_ifbenchs() -> None:
    assert len(set(NAMES)) == 50
    assert len(PRONOUNS) == 63


@pytest.mark.parametrize(
    ("number", "expected"),
    [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (13, "13th"), (21, "21st"), (111, "111th")],
)
def test_ordinals(number: int, expected: str) -> None:
    assert ordinal(number) == expected


@pytest.mark.parametrize("most", [4, -1])
def test_a_range_that_ends_before_it_begins_is_refused(most: int) -> None:
    message = f"^count:word_count_range: max_words must be 5 or more, found {most}$"
    with pytest.raises(ValueError, match=message):
        instruction("count:word_count_range", {"min_words": 5, "max_words": most})


PIECES = [
    *("it", "It.", "you,", "we?", "(they)", "they/them", "US", "I'm", "it’s", "_me_", "*us*", "hen't"),
    *("gimme", "lemme"),
    *("cannot", "'tis", "all:", "some;", "Mr.", "e.g.", "one", "\n", "—it", "it—", "it--us", ",,it", '"you"', "#me"),
    *("gımme", "you.", "them.", "That", "me\x1cus", "me\u00a0us", "me...", "...us", "you!?", "", "'it'", "``us''"),
]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join), st.integers(0, 6))
def test_pronouns_are_counted_as_with_nltks_tokens(text: str, number: int) -> None:
    import nltk  # noqa: PLC0415 # a second

    count = sum(token in PRONOUNS for token in nltk.word_tokenize(text.replace("/", " ").lower()))
    expected = bool(text.strip()) and count >= number
    assert instruction("count:pronouns", {"N": number}).follows(Text(text), "faithful") == expected
