"""keywords and punctuation: words, letters and commas that must, or must not, occur."""

from __future__ import annotations

import random
import re
import string
from typing import Annotated

from lm_eval_ext.verifiers import phrases
from lm_eval_ext.verifiers.checker import (
    Checker,
    Count,
    Letter,
    Phrases,
    Relation,
    Trimmed,
    checker,
    compare,
    several_phrases,
)
from lm_eval_ext.verifiers.text import Text

# IFEval replaces a character that is not a letter by a random one; this is the first draw of a generator seeded with 0.
_IN_PLACE_OF_A_NON_LETTER = random.Random(0).choice(string.ascii_letters).lower()  # noqa: S311 # reproducible by design


def count_matches(keyword: str, owner: str, text: Text) -> int:
    """Return how often a keyword occurs, counted as in IFEval: anywhere, as a regular expression, ignoring case."""
    quick = phrases.occurrences(keyword, text)
    return len(phrases.as_regex(keyword, owner).findall(text.raw)) if quick is None else quick


def _different(value: object) -> tuple[str, ...]:
    return tuple(sorted(set(several_phrases(value))))


@checker("keywords:existence", "Include keywords {keywords} in the response.")
class Existence(Checker):
    """Each of ``keywords`` occurs, ignoring case.

    Faithful: anywhere, as a regular expression ("art" in "smart"). Repaired: literally and as whole words; a plural is
    a different word.
    """

    keywords: Phrases

    def faithful(self, text: Text) -> bool:
        return all(count_matches(keyword, self.id, text) for keyword in self.keywords)

    def require_judgeable(self) -> None:
        for keyword in self.keywords:
            phrases.as_regex(keyword, self.id)

    def repaired(self, text: Text) -> bool:
        return all(phrases.whole_words(keyword, text) for keyword in self.keywords)


@checker("keywords:frequency", "In your response, the word {keyword} should appear {relation} {frequency} times.")
class Frequency(Checker):
    """``keyword`` occurs at least, or less than, ``frequency`` times, ignoring case.

    Faithful: anywhere, as a regular expression ("war" in "forward"). Repaired: literally and as whole words; a plural
    is a different word.
    """

    keyword: Trimmed
    frequency: Count
    relation: Relation

    def faithful(self, text: Text) -> bool:
        return compare(count_matches(self.keyword, self.id, text), self.relation, self.frequency)

    def require_judgeable(self) -> None:
        phrases.as_regex(self.keyword, self.id)

    def repaired(self, text: Text) -> bool:
        return compare(phrases.whole_words(self.keyword, text), self.relation, self.frequency)


@checker("keywords:forbidden_words", "Do not include keywords {forbidden_words} in the response.")
class ForbiddenWords(Checker):
    r"""None of ``forbidden_words`` occurs, ignoring case.

    Faithful: as a regular expression between ``\\b``, so that "U.S." is missed in "the U.S. today". Repaired:
    literally and as whole words.
    """

    forbidden_words: Annotated[tuple[str, ...], _different]

    def faithful(self, text: Text) -> bool:
        return not any(
            phrases.occurrences(word, text) != 0 and self._pattern(word).search(text.raw)
            for word in self.forbidden_words
        )

    def require_judgeable(self) -> None:
        for word in self.forbidden_words:
            self._pattern(word)

    def _pattern(self, word: str) -> re.Pattern[str]:
        return phrases.as_regex(word, self.id, before=r"\b", after=r"\b")

    def repaired(self, text: Text) -> bool:
        return not any(phrases.whole_words(word, text) for word in self.forbidden_words)


@checker(
    "keywords:letter_frequency",
    "In your response, the letter {letter} should appear {let_relation} {let_frequency} times.",
)
class LetterFrequency(Checker):
    """``letter`` occurs at least, or less than, ``let_frequency`` times, in either case.

    Faithful: in place of a character other than a to z, IFEval counts a letter drawn at random; here it is always the
    first that Python's generator draws with seed 0. Repaired: the character itself is counted.
    """

    letter: Letter
    let_frequency: Count
    let_relation: Relation

    def faithful(self, text: Text) -> bool:
        letter = self.letter if "a" <= self.letter <= "z" else _IN_PLACE_OF_A_NON_LETTER
        return compare(text.lower.count(letter), self.let_relation, self.let_frequency)

    def repaired(self, text: Text) -> bool:
        return compare(text.folded.lower().count(self.letter), self.let_relation, self.let_frequency)


@checker("punctuation:no_comma", "In your entire response, refrain from the use of any commas.")
class NoComma(Checker):
    """No comma (U+002C), not even in a number; commas of other scripts, such as the fullwidth one, are allowed."""

    def faithful(self, text: Text) -> bool:
        return "," not in text.raw
