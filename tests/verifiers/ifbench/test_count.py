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
