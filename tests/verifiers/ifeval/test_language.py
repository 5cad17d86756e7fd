"""language and change_case: the language of the response, capitals and small letters, in both editions."""

from __future__ import annotations

from pathlib import Path

import pytest
from langdetect.detector_factory import PROFILES_DIRECTORY
from lm_eval.tasks.ifeval.instructions_util import LANGUAGE_CODES

from lm_eval_ext.verifiers.ifeval.language import ENOUGH_WORDS, LANGUAGES
from lm_eval_ext.verifiers.text import Text
from tests.verifiers.cases import Case, judged

GERMAN = "Das ist ein kurzer deutscher Satz über das Wetter."
LONG_ENGLISH = (
    "we walked along the river until the sun went down and nobody wanted to go home before it was dark outside"
)
LONG_GERMAN = (
    "wir gingen am fluss entlang bis die sonne unterging und niemand wollte nach hause gehen bevor es dunkel war"
)
NAMES = "anna, ben, carla, diego, emil, fatima, gita, hugo, ines, juri, kofi, lena, mio, nils, olga, pavel, quinn, rosa"
ENGLISH = "This is a short English sentence about the weather."

# Instruction id -> cases: arguments, text, faithful, repaired.
CASES: dict[str, list[Case]] = {
    "language:response_language": [
        ({"language": "de"}, "12345", True, False),  # trap: followed where detection fails
        ({"language": "en"}, "…?!", True, False),  # trap: followed where detection fails, marks
        ({"language": "de"}, GERMAN, True, True),
        ({"language": "de"}, ENGLISH, False, False),
        ({"language": "en"}, ENGLISH, True, True),
        ({"language": "en"}, GERMAN, False, False),
        ({"language": "de"}, f"{GERMAN} 12345", True, True),
        ({"language": "de"}, GERMAN.upper(), True, True),
        ({"language": "de"}, ENGLISH.upper(), False, False),
        ({"language": "de"}, f"{ENGLISH} {ENGLISH} {GERMAN}", False, False),
        ({"language": "fr"}, "Il fait beau aujourd'hui et nous allons nous promener.", True, True),
        ({"language": "fr"}, "Oggi fa bel tempo e andiamo a fare una passeggiata.", False, False),
        ({"language": "it"}, "Oggi fa bel tempo e andiamo a fare una passeggiata.", True, True),
        ({"language": "hi"}, "आज मौसम बहुत अच्छा है और हम टहलने जा रहे हैं।", True, True),
        ({"language": "ru"}, "Сегодня хорошая погода, и мы идём гулять.", True, True),
        ({"language": "uk"}, "Сьогодні гарна погода, і ми йдемо гуляти.", True, True),
        ({"language": "ru"}, "Сьогодні гарна погода, і ми йдемо гуляти.", False, False),
        ({"language": "th"}, "วันนี้อากาศดีมากและเรากำลังจะไปเดินเล่น", True, True),
    ],
    "change_case:english_capital": [
        ({}, "HELLO 123!", False, True),  # trap: langdetect says that HELLO is not English
        ({}, "HELLO", False, True),
        ({}, "THE WEATHER IS FINE TODAY.", True, True),
        ({}, LONG_ENGLISH.upper(), True, True),
        ({}, LONG_ENGLISH.upper().replace("SUN", "sun"), False, False),
        ({}, LONG_ENGLISH, False, False),
        ({}, "The weather is fine today.", False, False),
        ({}, "THE WEATHER IS FINE TODAy.", False, False),
        ({}, "12345", False, False),
        ({}, "…?!", False, False),
        # another language: certain from 20 words on, or in another alphabet
        ({}, f"{LONG_GERMAN} jetzt".upper(), False, False),
        ({}, "ПРИВЕТ МИР", False, False),
        ({}, "THE МИР", False, False),  # 3 of 6 letters
        ({}, "THEN МИР", False, True),  # 4 of 7
    ],
    "change_case:english_lowercase": [
        ({}, "hi 123!", False, True),  # trap: langdetect says that hi is not English
        ({}, "the weather is fine today.", True, True),
        ({}, LONG_ENGLISH, True, True),
        ({}, LONG_ENGLISH.replace("sun", "Sun"), False, False),
        ({}, LONG_ENGLISH.upper(), False, False),
        ({}, "The weather is fine today.", False, False),
        ({}, "12345", False, False),
        ({}, "…?!", False, False),
        # another language: certain from 20 words on, or in another alphabet
        ({}, f"{LONG_GERMAN} jetzt", False, False),
        ({}, f"{NAMES}, tom, uma", False, True),  # langdetect is not sure
        ({}, "привет мир", False, False),
        ({}, "the мир", True, False),  # 3 of 6 letters
    ],
    "change_case:capital_word_frequency": [
        ({"capital_frequency": 2, "capital_relation": "at least"}, "NASA and ESA agree.", True, True),
        ({"capital_frequency": 2, "capital_relation": "at least"}, "NASA agrees with Esa.", False, False),
        ({"capital_frequency": 2, "capital_relation": "at least"}, "I ate A pie.", True, True),  # I, A
        ({"capital_frequency": 2, "capital_relation": "at least"}, "a 3D TV", True, True),  # 3D, TV
        ({"capital_frequency": 2, "capital_relation": "at least"}, "NASA's plan, ESA's plan", True, True),
        ({"capital_frequency": 2, "capital_relation": "at least"}, "NASA's plan", False, False),
        ({"capital_frequency": 2, "capital_relation": "at least"}, "a WELL-KNOWN plan", False, False),  # one token
        ({"capital_frequency": 2, "capital_relation": "at least"}, "a WELL, KNOWN plan", True, True),
        ({"capital_frequency": 2, "capital_relation": "at least"}, "42 1984", False, False),  # no letters
        ({"capital_frequency": 2, "capital_relation": "at least"}, "ПРИВЕТ МИР", True, True),
        ({"capital_frequency": 2, "capital_relation": "less than"}, "NASA agrees.", True, True),
        ({"capital_frequency": 2, "capital_relation": "less than"}, "NASA and ESA agree.", False, False),
        ({"capital_frequency": 1, "capital_relation": "less than"}, "all small", True, True),
        ({"capital_frequency": 1, "capital_relation": "less than"}, "I", False, False),
        # a legal 0
        ({"capital_frequency": 0, "capital_relation": "at least"}, "all small", True, True),
        ({"capital_frequency": 0, "capital_relation": "less than"}, "all small", False, False),
    ],
}


test_both_editions = judged(CASES)


def test_the_languages_are_the_harnesss() -> None:
    assert set(LANGUAGES) == set(LANGUAGE_CODES)


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_requestable_language_can_be_detected(language: str) -> None:
    assert (Path(PROFILES_DIRECTORY) / language).is_file()


def test_langdetect_decides_the_long_texts() -> None:
    assert Text(LONG_ENGLISH).words == 21  # >= ENOUGH_WORDS
    assert Text(f"{LONG_GERMAN} jetzt").words == 20
    assert Text(f"{NAMES}, tom, uma").words == 20
    assert ENOUGH_WORDS == 20
