"""ratio, repeat and sentence: shares, repetitions, and sentence by sentence, in both editions.

``test_differences.py`` judges the texts of the documentation.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_ext.verifiers import MissingDataError, instruction, tokenization
from lm_eval_ext.verifiers.ifbench.small_groups import stop_words
from lm_eval_ext.verifiers.text import Text

PROMPT = 'Write a "short" story about foxes.'
CHANGE = {"prompt_to_repeat": PROMPT}
SPAN = {"prompt_to_repeat": PROMPT, "n_start": 2, "n_end": 4}


@pytest.mark.parametrize(
    ("value", "error", "complaint"),
    [
        *((value, ValueError, "must be from 0 to 100, found ") for value in (-1, 101, float("nan"), float("inf"))),
        *((value, TypeError, "must be a number, found ") for value in ("50", True, [50])),
    ],
)
def test_a_percentage_is_a_number_from_0_to_100(value: object, error: type[Exception], complaint: str) -> None:
    with pytest.raises(error, match=f"^ratio:stop_words: percentage {complaint}"):
        instruction("ratio:stop_words", {"percentage": value})


def test_stop_words_are_nltks() -> None:
    assert {"the", "don't", "herself"} <= stop_words()
    assert "river" not in stop_words()


def test_without_nltks_stop_words_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import nltk  # noqa: PLC0415 # a second

    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(MissingDataError, match=r"python -m nltk.downloader stopwords\nOffline: copy corpora/stopwords"):
        tokenization.find(tokenization.STOP_WORDS)


SENTENCES = [
    *("It rains.", "Is it?", "No!", "Mr. X", "1.", '"So."', "(Why?)", "e.g. this", "Hi...", "U.S."),
    *("go.Then", "\n"),
]


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=8).map(" ".join))
def test_kinds_of_sentences_are_counted_as_punkt_divides_the_text(text: str) -> None:
    import nltk  # noqa: PLC0415 # a second

    stops, questions, shouts = (sum(sentence.endswith(mark) for sentence in nltk.sent_tokenize(text)) for mark in ".?!")
    expected = bool(text.strip()) and stops == 2 * questions
    assert instruction("ratio:sentence_type").follows(Text(text), "faithful") == expected
    expected = bool(text.strip()) and stops == questions == shouts
    assert instruction("ratio:sentence_balance").follows(Text(text), "faithful") == expected


def test_a_span_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ValueError, match=r"repeat:repeat_span: n_end must be n_start \(4\) or more, found 3"):
        instruction("repeat:repeat_span", {"prompt_to_repeat": PROMPT, "n_start": 4, "n_end": 3})


def test_the_description_of_a_span_does_not_repeat_the_request() -> None:
    assert PROMPT in instruction("repeat:repeat_change", CHANGE).describe()
    assert (
        instruction("repeat:repeat_span", SPAN).describe().endswith("index 2 and 4, the indices are character indices!")
    )
