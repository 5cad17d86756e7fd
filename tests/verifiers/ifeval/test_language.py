"""language and change_case: the language of the response, capitals and small letters, in both editions."""

from __future__ import annotations

from pathlib import Path

import pytest
from langdetect.detector_factory import PROFILES_DIRECTORY
from lm_eval.tasks.ifeval.instructions_util import LANGUAGE_CODES

from lm_eval_ext.verifiers import EDITIONS, instruction
from lm_eval_ext.verifiers.ifeval.language import ENOUGH_WORDS, LANGUAGES
from lm_eval_ext.verifiers.text import Text

GERMAN = "Das ist ein kurzer deutscher Satz über das Wetter."
ENGLISH = "This is a short English sentence about the weather."


@pytest.mark.parametrize(
    ("language", "text", "faithful", "repaired"),
    [
        pytest.param("de", "12345", True, False, id="trap: followed where detection fails"),
        pytest.param("en", "…?!", True, False, id="trap: followed where detection fails, marks"),
        ("de", GERMAN, True, True),
        ("de", ENGLISH, False, False),
        ("en", ENGLISH, True, True),
        ("en", GERMAN, False, False),
        ("de", f"{GERMAN} 12345", True, True),
        ("de", GERMAN.upper(), True, True),
        ("de", ENGLISH.upper(), False, False),
        ("de", f"{ENGLISH} {ENGLISH} {GERMAN}", False, False),
        ("fr", "Il fait beau aujourd'hui et nous allons nous promener.", True, True),
        ("fr", "Oggi fa bel tempo e andiamo a fare una passeggiata.", False, False),
        ("it", "Oggi fa bel tempo e andiamo a fare una passeggiata.", True, True),
        ("hi", "आज मौसम बहुत अच्छा है और हम टहलने जा रहे हैं।", True, True),
        ("ru", "Сегодня хорошая погода, и мы идём гулять.", True, True),
        ("uk", "Сьогодні гарна погода, і ми йдемо гуляти.", True, True),
        ("ru", "Сьогодні гарна погода, і ми йдемо гуляти.", False, False),
        ("th", "วันนี้อากาศดีมากและเรากำลังจะไปเดินเล่น", True, True),
        ("de", "", False, False),
        ("de", " \n", False, False),
    ],
)
def test_the_language_is_the_requested_one(language: str, text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("language:response_language", {"language": language})
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


def test_the_languages_are_the_harnesss() -> None:
    assert set(LANGUAGES) == set(LANGUAGE_CODES)


@pytest.mark.parametrize("language", sorted(LANGUAGES))
def test_every_requestable_language_can_be_detected(language: str) -> None:
    assert (Path(PROFILES_DIRECTORY) / language).is_file()


LONG_ENGLISH = (
    "we walked along the river until the sun went down and nobody wanted to go home before it was dark outside"
)
LONG_GERMAN = (
    "wir gingen am fluss entlang bis die sonne unterging und niemand wollte nach hause gehen bevor es dunkel war"
)
NAMES = "anna, ben, carla, diego, emil, fatima, gita, hugo, ines, juri, kofi, lena, mio, nils, olga, pavel, quinn, rosa"


def test_langdetect_decides_the_long_texts_below() -> None:
    assert Text(LONG_ENGLISH).words == 21  # >= ENOUGH_WORDS
    assert Text(f"{LONG_GERMAN} jetzt").words == 20
    assert Text(f"{NAMES}, tom, uma").words == 20
    assert ENOUGH_WORDS == 20


@pytest.mark.parametrize(
    ("text", "faithful", "repaired"),
    [
        pytest.param("HELLO 123!", False, True, id="trap: langdetect says that HELLO is not English"),
        ("HELLO", False, True),
        ("THE WEATHER IS FINE TODAY.", True, True),
        (LONG_ENGLISH.upper(), True, True),
        (LONG_ENGLISH.upper().replace("SUN", "sun"), False, False),
        (LONG_ENGLISH, False, False),
        ("The weather is fine today.", False, False),
        ("THE WEATHER IS FINE TODAy.", False, False),
        ("12345", False, False),
        ("…?!", False, False),
        # another language: certain from 20 words on, or in another alphabet
        (f"{LONG_GERMAN} jetzt".upper(), False, False),
        ("ПРИВЕТ МИР", False, False),
        ("THE МИР", False, False),  # 3 of 6 letters
        ("THEN МИР", False, True),  # 4 of 7
        ("", False, False),
        (" \n", False, False),
    ],
)
def test_all_capitals_are_recognized(text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("change_case:english_capital")
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


@pytest.mark.parametrize(
    ("text", "faithful", "repaired"),
    [
        pytest.param("hi 123!", False, True, id="trap: langdetect says that hi is not English"),
        ("the weather is fine today.", True, True),
        (LONG_ENGLISH, True, True),
        (LONG_ENGLISH.replace("sun", "Sun"), False, False),
        (LONG_ENGLISH.upper(), False, False),
        ("The weather is fine today.", False, False),
        ("12345", False, False),
        ("…?!", False, False),
        # another language: certain from 20 words on, or in another alphabet
        (f"{LONG_GERMAN} jetzt", False, False),
        (f"{NAMES}, tom, uma", False, True),  # langdetect is not sure
        ("привет мир", False, False),
        ("the мир", True, False),  # 3 of 6 letters
        ("", False, False),
        (" \n", False, False),
    ],
)
def test_all_lowercase_is_recognized(text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("change_case:english_lowercase")
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


@pytest.mark.parametrize(
    ("frequency", "relation", "text", "faithful", "repaired"),
    [
        (2, "at least", "NASA and ESA agree.", True, True),
        (2, "at least", "NASA agrees with Esa.", False, False),
        (2, "at least", "I ate A pie.", True, True),  # I, A
        (2, "at least", "a 3D TV", True, True),  # 3D, TV
        (2, "at least", "NASA's plan, ESA's plan", True, True),
        (2, "at least", "NASA's plan", False, False),
        (2, "at least", "a WELL-KNOWN plan", False, False),  # one token
        (2, "at least", "a WELL, KNOWN plan", True, True),
        (2, "at least", "42 1984", False, False),  # no letters
        (2, "at least", "ПРИВЕТ МИР", True, True),
        (2, "less than", "NASA agrees.", True, True),
        (2, "less than", "NASA and ESA agree.", False, False),
        (1, "less than", "all small", True, True),
        (1, "less than", "I", False, False),
        # a legal 0
        (0, "at least", "all small", True, True),
        (0, "at least", "", False, False),
        (0, "less than", "all small", False, False),
        (1, "less than", "\n", False, False),
    ],
)
def test_words_in_capitals_are_counted(
    frequency: int, relation: str, text: str, faithful: bool, repaired: bool
) -> None:
    arguments = {"capital_frequency": frequency, "capital_relation": relation}
    checker = instruction("change_case:capital_word_frequency", arguments)
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]
