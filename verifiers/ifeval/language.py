"""language and change_case: the language of the response, its capitals and small letters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from lm_eval_ext.verifiers.checker import Checker, Count, OneRule, Relation, checker, compare, phrase
from lm_eval_ext.verifiers.text import Text

ENOUGH_WORDS = 20
"""Below this number of words langdetect is often wrong."""
FEW_WORDS = 6
"""Below this number of words langdetect is no evidence at all: it takes "hello there" for Norwegian or Dutch."""
FUNCTION_WORDS = frozenset(
    {"a", "and", "are", "for", "is", "it", "my", "of", "that", "the", "this", "with", "you", "your"}
)
"""Words that almost every English sentence contains, and that few other languages have."""
SURE = 0.9
"""Below this probability langdetect is guessing, for example at a list of names."""
LANGUAGES: Mapping[str, str] = dict(
    line.split() for line in Path(__file__).with_name("languages.txt").read_text(encoding="utf-8").splitlines()
)
"""ISO 639-1 code to the name in IFEval's wording."""


@checker("change_case:english_capital", "Your entire response should be in English, and in all capital letters.")
class EnglishCapital(OneRule):
    """English, with every letter a capital.

    Faithful: langdetect decides what is English, and reads only the ends of words in capitals; "HELLO 123!" is not.
    Repaired: see ``is_english``.
    """

    def holds(self, text: Text, repaired: bool) -> bool:
        return text.raw.isupper() and (is_english(Text(text.lower)) if repaired else text.language in ("en", None))


@checker(
    "change_case:english_lowercase",
    "Your entire response should be in English, and in all lowercase letters. No capital letters are allowed.",
)
class EnglishLowercase(OneRule):
    """English, with every letter lowercase.

    Faithful: langdetect decides what is English, and is often wrong on short texts. Repaired: see ``is_english``.
    """

    def holds(self, text: Text, repaired: bool) -> bool:
        return text.raw.islower() and (is_english(text) if repaired else text.language in ("en", None))


def is_english(text: Text) -> bool:
    """Return whether a text is plausibly English.

    langdetect decides if it is sure (``SURE``) and the text is long enough (``ENOUGH_WORDS``). From ``FEW_WORDS`` words
    on, it also decides if the text has no English function word. Otherwise it is enough that most letters are a to z.
    """
    is_sure = text.words >= FEW_WORDS and text.detection.probability >= SURE
    has_no_evidence = text.words >= ENOUGH_WORDS or FUNCTION_WORDS.isdisjoint(text.lower.split())
    if is_sure and text.language != "en" and has_no_evidence:
        return False
    letters = [letter for letter in text.lower if letter.isalpha()]
    return 2 * sum("a" <= letter <= "z" for letter in letters) > len(letters)


@checker(
    "change_case:capital_word_frequency",
    "In your response, words with all capital letters should appear {capital_relation} {capital_frequency} times.",
)
class CapitalWordFrequency(Checker):
    """Words in capitals occur at least, or less than, ``capital_frequency`` times.

    Words are NLTK's tokens: "I", "A", "3D" and "U.S" count, "NASA's" counts once and "WELL-KNOWN" once.
    """

    capital_frequency: Count
    capital_relation: Relation

    def faithful(self, text: Text) -> bool:
        return compare(text.capital_words, self.capital_relation, self.capital_frequency)


def _language(value: object) -> str:
    language = phrase(value)
    if language not in LANGUAGES:
        names = {name.casefold(): code for code, name in LANGUAGES.items()} | {code: code for code in LANGUAGES}
        code = names.get(language.strip().casefold())
        hint = f" (did you mean {code!r}?)" if code else ""
        raise ValueError(f"must be one of {', '.join(LANGUAGES)}, found {language!r}{hint}")
    return language


@checker("language:response_language")
class ResponseLanguage(Checker):
    """langdetect names ``language`` (ISO 639-1) as the language of the response.

    Faithful: a text whose language cannot be identified, such as digits, counts as followed. Repaired: it does not,
    text in capitals is converted to lower case first, and for English ``is_english`` decides, because langdetect is
    often wrong on short texts.
    """

    language: Annotated[str, _language]

    def describe(self) -> str:
        return f"Your ENTIRE response should be in {LANGUAGES[self.language]} language, no other language is allowed."

    def faithful(self, text: Text) -> bool:
        return text.language in (self.language, None)

    def repaired(self, text: Text) -> bool:
        small = Text(text.lower) if text.raw.isupper() else text
        return is_english(small) if self.language == "en" else small.language == self.language
