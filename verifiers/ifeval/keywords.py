"""keywords: words and letters that must, or must not, occur."""

from __future__ import annotations

import random
import re
import string
from dataclasses import dataclass

from lm_eval_ext.verifiers import phrases
from lm_eval_ext.verifiers.checker import (
    Checker,
    Relation,
    check_count,
    check_phrase,
    check_phrases,
    check_relation,
    checker,
    compare,
    normalize,
)
from lm_eval_ext.verifiers.text import Text

# IFEval replaces a character that is not a letter by a random one; this is the first draw of a generator seeded with 0.
_IN_PLACE_OF_A_NON_LETTER = random.Random(0).choice(string.ascii_letters).lower()  # noqa: S311 # reproducible by design


def _count(keyword: str, owner: str, text: Text) -> int:
    """Return how often a keyword occurs, counted as in IFEval: anywhere, as a regular expression, in any case."""
    quick = phrases.occurrences(keyword, text)
    return len(phrases.as_regex(keyword, owner).findall(text.raw)) if quick is None else quick


@checker("keywords:existence")
@dataclass(frozen=True, slots=True)
class Existence(Checker):
    """Each of ``keywords`` occurs, in any case.

    Faithful: anywhere, as a regular expression ("art" in "smart"). Repaired: literally and as whole words; a plural is
    a different word.
    """

    keywords: tuple[str, ...]

    def __post_init__(self) -> None:
        check_phrases(self, "keywords", self.keywords)
        normalize(self, "keywords", tuple(sorted(self.keywords)))

    def describe(self) -> str:
        return f"Include keywords {list(self.keywords)} in the response."

    def faithful(self, text: Text) -> bool:
        return all(_count(keyword, self.id, text) for keyword in self.keywords)

    def require_judgeable(self) -> None:
        for keyword in self.keywords:
            phrases.as_regex(keyword, self.id)

    def repaired(self, text: Text) -> bool:
        return all(phrases.whole_words(keyword, text) for keyword in self.keywords)


@checker("keywords:frequency")
@dataclass(frozen=True, slots=True)
class Frequency(Checker):
    """``keyword`` occurs at least, or less than, ``frequency`` times, in any case.

    Faithful: anywhere, as a regular expression ("war" in "forward"). Repaired: literally and as whole words; a plural
    is a different word.
    """

    keyword: str
    frequency: int
    relation: Relation

    def __post_init__(self) -> None:
        check_phrase(self, "keyword", self.keyword)
        check_count(self, "frequency", self.frequency)
        check_relation(self, "relation", self.relation)
        normalize(self, "keyword", self.keyword.strip())

    def describe(self) -> str:
        return f"In your response, the word {self.keyword} should appear {self.relation} {self.frequency} times."

    def faithful(self, text: Text) -> bool:
        return compare(_count(self.keyword, self.id, text), self.relation, self.frequency)

    def require_judgeable(self) -> None:
        phrases.as_regex(self.keyword, self.id)

    def repaired(self, text: Text) -> bool:
        return compare(phrases.whole_words(self.keyword, text), self.relation, self.frequency)


@checker("keywords:forbidden_words")
@dataclass(frozen=True, slots=True)
class ForbiddenWords(Checker):
    r"""None of ``forbidden_words`` occurs, in any case.

    Faithful: as a regular expression between ``\\b``, so that "U.S." is missed in "the U.S. today". Repaired:
    literally and as whole words.
    """

    forbidden_words: tuple[str, ...]

    def __post_init__(self) -> None:
        check_phrases(self, "forbidden_words", self.forbidden_words)
        normalize(self, "forbidden_words", tuple(sorted(set(self.forbidden_words))))

    def describe(self) -> str:
        return f"Do not include keywords {list(self.forbidden_words)} in the response."

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


@checker("keywords:letter_frequency")
@dataclass(frozen=True, slots=True)
class LetterFrequency(Checker):
    """``letter`` occurs at least, or less than, ``let_frequency`` times, in either case.

    Faithful: in place of a character other than a to z, IFEval counts a letter drawn at random; here it is always the
    first that Python's generator draws with seed 0. Repaired: the character itself is counted.
    """

    letter: str
    let_frequency: int
    let_relation: Relation

    def __post_init__(self) -> None:
        check_phrase(self, "letter", self.letter)
        if len(self.letter.lower()) != 1:
            raise ValueError(f"{self.id}: letter must be one character, found {self.letter!r}")
        check_count(self, "let_frequency", self.let_frequency)
        check_relation(self, "let_relation", self.let_relation)
        normalize(self, "letter", self.letter.lower())

    def describe(self) -> str:
        return (
            f"In your response, the letter {self.letter} should appear {self.let_relation} {self.let_frequency} times."
        )

    def faithful(self, text: Text) -> bool:
        letter = self.letter if "a" <= self.letter <= "z" else _IN_PLACE_OF_A_NON_LETTER
        return compare(text.lower.count(letter), self.let_relation, self.let_frequency)

    def repaired(self, text: Text) -> bool:
        return compare(text.folded.lower().count(self.letter), self.let_relation, self.let_frequency)
