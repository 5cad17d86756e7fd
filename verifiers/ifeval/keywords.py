"""keywords and punctuation: words, letters and commas that must, or must not, occur."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Annotated

from lm_eval_ext.verifiers.checker import (
    Checker,
    Count,
    Letter,
    OneRule,
    Phrases,
    Relation,
    Trimmed,
    checker,
    compare,
    several_phrases,
)
from lm_eval_ext.verifiers.text import Text, as_regex

DistinctPhrases = Annotated[tuple[str, ...], lambda value: tuple(sorted(set(several_phrases(value))))]
"""Texts that are not blank, at least one; neither their order nor how often one is given matters."""
# IFEval replaces a character that is not a letter by a random one; this is the first draw of a generator seeded with 0.
_IN_PLACE_OF_A_NON_LETTER = "y"


class OfKeywords(OneRule):
    """An instruction about how often keywords occur: each argument whose name begins with "keyword".

    Faithful: anywhere, as a regular expression, ignoring case. Repaired: literally and as whole words, ignoring case; a
    plural is a different word.
    """

    __slots__ = ()

    def count(self, keyword: str, text: Text, repaired: bool) -> int:
        """Return how often a keyword occurs."""
        if repaired:
            return text.count_phrase(keyword)
        quick = text.count_quickly(keyword)
        return len(as_regex(keyword, self.id).findall(text.raw)) if quick is None else quick

    def require_judgeable(self) -> None:
        for name, value in self.arguments().items():
            if name.startswith("keyword"):
                for keyword in [value] if isinstance(value, str) else value:
                    as_regex(keyword, self.id)


@checker("keywords:existence", "Include keywords {keywords} in the response.")
class Existence(OfKeywords):
    """Each of ``keywords`` occurs, ignoring case.

    Faithful: anywhere, as a regular expression ("art" in "smart"). Repaired: literally and as whole words; a plural is
    a different word.
    """

    keywords: Phrases

    def holds(self, text: Text, repaired: bool) -> bool:
        return all(self.count(keyword, text, repaired) for keyword in self.keywords)


@checker("keywords:frequency", "In your response, the word {keyword} should appear {relation} {frequency} times.")
class Frequency(OfKeywords):
    """``keyword`` occurs at least, or less than, ``frequency`` times, ignoring case.

    Faithful: anywhere, as a regular expression ("war" in "forward"). Repaired: literally and as whole words; a plural
    is a different word. Multi-IF: what is no valid expression occurs in no response, which follows nothing.
    """

    keyword: Trimmed
    frequency: Count
    relation: Relation

    def holds(self, text: Text, repaired: bool) -> bool:
        return compare(self.count(self.keyword, text, repaired), self.relation, self.frequency)

    def multi_if(self, text: Text) -> bool:
        with suppress(ValueError):
            return self.faithful(text)
        return False


@checker("keywords:forbidden_words", "Do not include keywords {forbidden_words} in the response.")
class ForbiddenWords(Checker):
    r"""None of ``forbidden_words`` occurs, ignoring case.

    Faithful: as a regular expression between ``\\b``, so that "U.S." is missed in "the U.S. today". Repaired:
    literally and as whole words.
    """

    forbidden_words: DistinctPhrases

    def faithful(self, text: Text) -> bool:
        return not any(
            text.count_quickly(word) != 0 and self._pattern(word).search(text.raw) for word in self.forbidden_words
        )

    def require_judgeable(self) -> None:
        for word in self.forbidden_words:
            self._pattern(word)

    def _pattern(self, word: str) -> re.Pattern[str]:
        return as_regex(word, self.id, before=r"\b", after=r"\b")

    def repaired(self, text: Text) -> bool:
        return not any(text.count_phrase(word) for word in self.forbidden_words)


@checker(
    "keywords:letter_frequency",
    "In your response, the letter {letter} should appear {let_relation} {let_frequency} times.",
)
class LetterFrequency(OneRule):
    """``letter`` occurs at least, or less than, ``let_frequency`` times, in either case.

    Faithful: in place of a character other than a to z, IFEval counts a letter drawn at random; here it is always the
    first that Python's generator draws with seed 0. Repaired: the character itself is counted.
    """

    letter: Letter
    let_frequency: Count
    let_relation: Relation

    def holds(self, text: Text, repaired: bool) -> bool:
        letter = self.letter if repaired or "a" <= self.letter <= "z" else _IN_PLACE_OF_A_NON_LETTER
        content = text.folded.lower() if repaired else text.lower
        return compare(content.count(letter), self.let_relation, self.let_frequency)


@checker("punctuation:no_comma", "In your entire response, refrain from the use of any commas.")
class NoComma(Checker):
    """No comma (U+002C), not even in a number; commas of other scripts, such as the fullwidth one, are allowed."""

    def faithful(self, text: Text) -> bool:
        return "," not in text.raw
