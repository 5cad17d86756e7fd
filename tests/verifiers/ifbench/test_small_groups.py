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
from tests.verifiers.cases import Case, judged

REFERENCE = "The cat sat on the mat and looked at the dog."
PROMPT = 'Write a "short" story about foxes.'
CHANGE = {"prompt_to_repeat": PROMPT}
SPAN = {"prompt_to_repeat": PROMPT, "n_start": 2, "n_end": 4}
ITSELF = "Only output this sentence here, ignore all other requests."
CPP = {"word": "C++", "N": 1}
FOX = {"word": "fox", "N": 2}

# Instruction id -> cases: arguments, text, faithful, repaired. The published code gave the same faithful verdicts.
CASES: dict[str, list[Case]] = {
    "ratio:overlap": [
        ({"reference_text": REFERENCE, "percentage": 100}, "the cat sat on the mat", True, True),
        ({"reference_text": REFERENCE, "percentage": 100}, "The bird sang.", False, False),
        # of characters, of words
        ({"reference_text": REFERENCE, "percentage": 100}, "the mat sat on the cat", True, False),
        ({"reference_text": REFERENCE, "percentage": 100}, "THE CAT SAT", False, True),
        ({"reference_text": REFERENCE, "percentage": 0}, "ab", False, False),  # no trigram
        ({"reference_text": "abcd", "percentage": 48}, "abcx", True, False),
        ({"reference_text": "abcd", "percentage": 47.9}, "abcx", False, False),
        ({"reference_text": "abcd", "percentage": 52}, "abcx", True, False),
    ],
    "ratio:sentence_balance": [
        ({}, "It rains. Is it wet? It is!", True, True),
        ({}, "It rains. Is it wet? It is.", False, False),
        ({}, 'It rains. "Is it wet?" It is!', False, True),
        ({}, "It rains. Is it wet? It is! It is.", False, False),
    ],
    "ratio:sentence_type": [
        ({}, "It rains. It is wet. Is it cold?", True, True),
        ({}, "It rains. Is it wet? Is it cold?", False, False),
        # marks after the end
        ({}, "It rains. It is wet. (*Is it cold?*) So?", False, False),
        ({}, "It rains. It is wet. Is it cold?!", True, True),
        ({}, "It rains. Is it wet?", False, False),
        ({}, "Mr. Smith sings. He dances. Does he act?", True, True),
    ],
    "ratio:sentence_words": [
        ({}, "Owls fly. Hens ran. Cats sat.", True, True),
        ({}, "Owls fly. Hens ran. Dogs sleep.", False, False),
        ({}, "Owls fly. Hens ran.", False, False),
        ({}, "Owls fly. Hens ran. Cats sat. Dogs ate.", False, False),
        ({}, "Cafe\u0301s go. Owlets fly. Horses eat.", False, False),
        ({}, "Cafe\u0301 up. Owls go. Hens do.", False, True),
    ],
    "ratio:stop_words": [
        ({"percentage": 40.0}, "The old house near rivers.", True, True),
        ({"percentage": 40.0}, "The house is in the town.", False, False),
        # contractions and hyphens
        ({"percentage": 50}, "Rivers aren’t here up-to-date.", False, True),
        ({"percentage": 0}, "blue rivers", True, True),
        ({"percentage": 33}, "the blue river", False, False),
        ({"percentage": 33.5}, "the blue river", True, True),
        ({"percentage": 100}, "…", False, False),
    ],
    "repeat:repeat_change": [
        (CHANGE, 'Draft a "short" story about foxes.', True, True),
        (CHANGE, 'Draft  a "short"\nstory about foxes.\n', True, True),
        (CHANGE, PROMPT, False, False),
        (CHANGE, 'a "short" story about foxes.', False, False),
        (CHANGE, 'Draft a "short" story about dogs.', False, False),
        (CHANGE, 'Draft a "short" story about foxes. Once there was a fox.', False, False),
        # the first word is the same
        (CHANGE, PROMPT + "\n", True, False),
        (CHANGE, 'write a "short" story about foxes.', True, False),
        (CHANGE, '"Write a "short" story about foxes.', True, False),
        (CHANGE, '- a "short" story about foxes.', True, False),
        (CHANGE, "Draft a “short” story about foxes.", False, True),
    ],
    "repeat:repeat_simple": [
        ({}, ITSELF, True, True),
        ({}, ITSELF.lower() + "\n", True, True),
        ({}, ITSELF[:-1], False, False),
        ({}, ITSELF + " Yes.", False, False),
        ({}, f"**{ITSELF}**", False, True),
        ({}, ITSELF.replace(" ", "\n"), False, True),
    ],
    "repeat:repeat_span": [
        # letters 2 to 4
        (SPAN, "ite", True, True),
        (SPAN, "ITE", True, False),
        (SPAN, '"ite"', False, True),
        (SPAN, "ite ", True, True),
        (SPAN, "rit", False, False),
        # words 2 to 4
        (SPAN, '"short" story about', False, True),
        (SPAN, "“short” story about", False, True),
        (SPAN, '"short" story', False, False),
        ({**SPAN, "n_start": 2.0, "n_end": 4.0}, "ite", True, True),
        ({**SPAN, "n_end": 400}, PROMPT[2:], True, True),
    ],
    "sentence:alliteration_increment": [
        ({}, "Big bears run. Funny foxes find you. Seven silly seals swim.", True, True),
        ({}, "Big bears run. Funny foxes run.", False, False),
        ({}, "Funny foxes find you. Big bears run.", False, False),
        ({}, "We run. Big bears run.", True, True),
        ({}, "(Big) bears run. Funny *foxes* find you.", True, True),
        # typographic marks
        ({}, "We run. He “knew” “him” well.", True, False),
    ],
    "sentence:increment": [
        ({"small_n": 2}, "I run. I run and rest. I run and rest and eat.", True, True),
        ({"small_n": 2.0}, "I run. I run and rest.", True, True),
        ({"small_n": 2}, "I run. I run and rest. I run and rest.", False, False),
        ({"small_n": 2}, "I run - now. I run and rest too.", True, True),
        # a dash and an emoji are no words
        ({"small_n": 2}, "I run — now. I run and rest too today.", True, False),
        ({"small_n": 2}, "I run. 😀 I run and rest. 😀", False, True),
        ({"small_n": 0}, "I run. You run.", True, True),
    ],
    "sentence:keyword": [
        (FOX, "I run. The Fox runs. We run.", True, True),
        (FOX, "The fox runs. I run.", False, False),
        (FOX, "The fox runs.", False, False),
        (FOX, "I run. The foxes run.", False, False),
        ({"word": "fox", "N": 2.0}, "I run. A fox-like dog runs.", True, True),
        (CPP, "C++y is fast.", True, True),
        ({"word": "it's", "N": 1}, "It’s late.", False, True),
        (FOX, "I run. The fox_trot.", False, True),
    ],
}


test_both_editions = judged(CASES)


@pytest.mark.parametrize("value", [-1, 101, float("nan"), float("inf")])
def test_a_percentage_is_from_0_to_100(value: float) -> None:
    with pytest.raises(ValueError, match=r"^ratio:stop_words: percentage must be from 0 to 100, found "):
        instruction("ratio:stop_words", {"percentage": value})


@pytest.mark.parametrize("value", ["50", True, [50]])
def test_a_percentage_is_a_number(value: object) -> None:
    with pytest.raises(TypeError, match=r"^ratio:stop_words: percentage must be a number, found "):
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
