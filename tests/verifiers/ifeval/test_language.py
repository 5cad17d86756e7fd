"""language and change_case: the language of the response, capitals and small letters, in both editions."""

from __future__ import annotations

from pathlib import Path

import pytest
from langdetect.detector_factory import PROFILES_DIRECTORY
from lm_eval.tasks.ifeval.instructions_util import LANGUAGE_CODES

from lm_eval_ext.verifiers.ifeval.language import ENOUGH_WORDS, LANGUAGES
from lm_eval_ext.verifiers.text import Text

LONG_ENGLISH = (
    "we walked along the river until the sun went down and nobody wanted to go home before it was dark outside"
)
LONG_GERMAN = (
    "wir gingen am fluss entlang bis die sonne unterging und niemand wollte nach hause gehen bevor es dunkel war"
)
NAMES = "anna, ben, carla, diego, emil, fatima, gita, hugo, ines, juri, kofi, lena, mio, nils, olga, pavel, quinn, rosa"


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
