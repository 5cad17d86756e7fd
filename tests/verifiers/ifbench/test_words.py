"""words: their letters, lengths, syllables, order and place, in both editions.

``test_differences.py`` judges the texts of the documentation.
"""

from __future__ import annotations

import pytest

from lm_eval_ext.verifiers.ifbench.words import PRIMES, spoken_syllables, syllables
from tests.verifiers.cases import Case, judged

TEN = "level radar civic kayak madam refer rotor tenet stats sagas"

# Instruction id -> cases: arguments, text, faithful, repaired. The published code gave the same faithful verdicts.
CASES: dict[str, list[Case]] = {
    "words:alphabet": [
        ({}, "Xylophones yield zest, apples bring calm.", True, True),
        ({}, "Xylophones yield zest, bears come.", False, False),
        # dashes, digits, a capital that is two letters in lower case
        ({}, "ants—bees", True, True),
        ({}, "ants—cats", True, False),
        ({}, "Zebras and birds", True, True),
        ({}, "ants 2 cats", False, False),
        ({}, "İx jo", False, True),
        ({}, "hi İx", True, True),
        ({}, "!?", False, False),
        ({}, "alone", True, False),
    ],
    "words:consonants": [
        ({}, "Small children sprint past.", True, True),
        ({}, "Small children sprint by a pond.", False, False),
        # what is no word
        ({}, "past - present", False, True),
        ({}, "a stork", False, False),
        ({}, "types", True, True),  # y is a consonant here
        ({}, "42", False, False),
    ],
    "words:keywords_specific_position": [
        ({"keyword": "blue", "n": 2, "m": 3}, "It rains. Seas are blue.", True, True),
        ({"keyword": "blue", "n": 2, "m": 3}, "It rains. Seas look calm and blue.", False, False),
        # "don't" is two tokens
        ({"keyword": "go", "n": 1, "m": 3}, "Don't go.", True, False),
        ({"keyword": " Go ", "n": 1.0, "m": 2.0}, "- You GO", True, True),
        ({"keyword": "go", "n": 2, "m": 1}, "Go.", False, False),
    ],
    "words:last_first": [
        ({}, "I like tea. Tea is hot. Hot is good.", True, True),
        ({}, "I like tea. Tea is hot. It is good.", False, False),
        ({}, "I like tea. Tea, hot. Hot!", False, True),
        ({}, "It is “tea.” Tea helps.", False, True),
        ({}, "One sentence.", True, False),
        ({}, "It is tea. Coffee helps.", False, False),
    ],
    "words:no_consecutive": [
        ({}, "Calm seas glow.", True, True),
        ({}, "Calm seas shine.", False, False),
        ({}, "red “blue” “green”", False, True),
        ({}, "élan everywhere", True, False),
        ({}, "Red roses", False, False),
        ({}, "alone", True, False),
    ],
    "words:odd_even_syllables": [
        ({}, "Big rivers run under trees.", True, True),
        ({}, "Big rivers under trees run.", False, False),
        ({}, "Big 7 rivers", False, False),
        ({}, "Big 12 big", True, True),
        ({}, "rivers bypassed rivers", True, False),
        ({}, "alone", True, False),
    ],
    "words:palindrome": [
        ({}, TEN, True, True),
        ({}, TEN.replace("sagas", "saga"), False, False),
        ({}, "level " * 10, True, False),
        ({}, "12321 " * 10, True, False),
        ({}, TEN.upper().replace(" ", ", "), True, True),
        ({}, TEN.replace(" ", "—"), False, True),
    ],
    "words:paragraph_last_first": [
        ({}, "Blue is always blue.\nRed is red.", True, True),
        ({}, "Blue is always blue.\nRed is warm.", False, False),
        ({}, "“Blue” is blue", False, True),
        ({}, "Red is RED\n\n- blue", True, True),
        ({}, "red\nblue", True, False),
        ({}, "---", True, False),
    ],
    "words:prime_lengths": [
        ({}, "Blues can swirl.", True, True),
        ({}, "Blues can glow.", False, False),
        ({}, "it's", True, True),
        ({}, "“red”", True, True),
        ({}, "“blue”", False, False),
        ({}, "...", True, False),
    ],
    "words:repeats": [
        ({"small_n": 2}, "Red, blue, red.", True, True),
        ({"small_n": 2}, "Red, blue, red, red.", False, False),
        ({"small_n": 1}, "1. red 1. blue", False, True),
        ({"small_n": 1}, "Red red", False, False),
        ({"small_n": 0}, "!", True, True),
    ],
    "words:start_verb": [
        ({}, "Write a poem about the sea.", True, True),
        ({}, "The sea is blue.", False, False),
        ({}, "He writes a poem.", False, False),
    ],
    "words:vowel": [
        ({}, "An old man sat on the hot sand.", True, True),
        ({}, "An old man sat in the hot sun.", False, False),
        # lines, no word
        ({}, "a\n\no", False, False),
        ({}, "123", True, False),
        ({}, "\nrhythm myths\n", True, True),
        ({}, "rhythm", True, False),
    ],
    "words:words_position": [
        ({"keyword": "blue"}, "Deep blue seas stay blue forever.", True, True),
        ({"keyword": "blue"}, "Deep blue seas stay forever blue.", False, False),
        # marks are tokens
        ({"keyword": "blue"}, '"Deep blue seas stay blue forever."', False, True),
        ({"keyword": "blue"}, "Deep blue seas stay blue forever!!", False, True),
        ({"keyword": "blue"}, "Deep blue seas stay blue .", False, False),
        ({"keyword": "blue"}, "blue blue", True, True),
        ({"keyword": "blue"}, "blue", False, False),
        ({"keyword": "blue"}, "Deep BLUE seas", True, True),
    ],
}


test_both_editions = judged(CASES)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *[("walked", 1), ("makes", 1), ("zapped", 1), ("blended", 2), ("knotted", 2), ("horses", 2), ("settled", 2)],
        *[("tables", 2), ("called", 1), ("miles", 1), ("tried", 1), ("red", 1), ("bed", 1), ("yes", 1), ("agreed", 2)],
        *[("judges", 2), ("wishes", 2), ("shoes", 1), ("well-known", 2)],
    ],
)
def test_the_silent_e_is_no_syllable(word: str, expected: int) -> None:
    assert spoken_syllables(word) == expected


def test_syllables_are_syllapys() -> None:
    assert [syllables(word) for word in ("big", "rivers", "x2", "—")] == [1, 2, 0, 1]


def test_the_prime_lengths_are_all_below_100() -> None:
    assert {number for number in range(2, 100) if all(number % part for part in range(2, number))} == PRIMES
