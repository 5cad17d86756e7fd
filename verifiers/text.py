"""The only tokenization: the quantities that checkers count in a response, each computed at most once per text."""

from __future__ import annotations

import string
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import regex

from lm_eval_ext.verifiers import tokenization

if TYPE_CHECKING:
    from lm_eval_ext.verifiers.detection import Detection

# Not re, whose \w splits words of Indic scripts at every vowel sign. NLTK, and therefore IFEval, uses regex too.
_WORD = regex.compile(r"\w+")
# Much faster for text with few non-ASCII characters: word characters become an a, all others a space.
_SPACED = bytes(ord("a" if chr(code).isalnum() or chr(code) == "_" else " ") for code in range(128)) + bytes(128)
_ASCII = bytes(range(128))
_FEW = 20
_ASCII_WORD = regex.compile(r"[a-z0-9]+")


@lru_cache(maxsize=4096)
def _as_ascii(character: str) -> str:
    return "a" if _WORD.match(character) else " "


_LIKE_ASCII = "\u017f\u212a\u0130\u0131"
"""Characters that case-insensitive regular expressions match with s, k and i: the long s, the Kelvin sign, the Turkish
letters."""
# Letters and digits with their accents and joiners; apostrophes and hyphens between them are part of a word.
_WHOLE_WORD = regex.compile(
    r"[\p{L}\p{N}][\p{L}\p{M}\p{N}\u200c\u200d]*(?:['\u2010\u2011-][\p{L}\p{M}\p{N}\u200c\u200d]+)*"
)
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
# More accents on one letter than any writing needs. They remain as they are: sorting them takes quadratic time.
_STACK = regex.compile(r"(\p{M}{31,}+)")
_STRAIGHT = str.maketrans("’‘“”", "''\"\"")


def fold(text: str) -> str:
    """Return a text in composed Unicode (NFC) with straight quotation marks and apostrophes."""
    if text.isascii():
        return text
    pieces = _STACK.split(text)
    pieces[::2] = [unicodedata.normalize("NFC", piece) for piece in pieces[::2]]
    return "".join(pieces).translate(_STRAIGHT)


def without_punctuation(text: str) -> str:
    """Return a text without ASCII punctuation, including the marks inside words: "don't" becomes "dont"."""
    if text.isascii():
        return text.translate(_NO_PUNCTUATION)
    for mark in string.punctuation:  # much faster than translate, which is slow for other texts
        text = text.replace(mark, "")
    return text


def has_word(text: str) -> bool:
    """Return whether a reader sees something to read in a text: a letter or digit."""
    return any(map(str.isalnum, text))


def spoken(text: str) -> list[str]:
    """Return what is between white space and has a letter or digit."""
    return list(filter(has_word, text.split()))


class Text:
    """A response, or a variant of one, with the quantities counted in it.

    Attributes:
        raw: the text itself.
    """

    def __init__(self, raw: str) -> None:
        if not isinstance(raw, str):
            raise TypeError(f"a response must be text, found {type(raw).__name__}")
        self.raw = raw

    @cached_property
    def stripped(self) -> str:
        """The text without surrounding white space."""
        return self.raw.strip()

    @property
    def is_blank(self) -> bool:
        """Whether the text is empty or only white space."""
        return not self.raw or self.raw.isspace()

    @cached_property
    def lower(self) -> str:
        """The text in lower case."""
        return self.raw.lower()

    @cached_property
    def utf8(self) -> bytes:
        """The text in UTF-8."""
        return self.raw.encode("utf-8", "surrogatepass")

    @cached_property
    def caseless(self) -> bytes | None:
        """The text in UTF-8 with ASCII letters in lower case.

        ``None`` if it has a non-ASCII character that matches an ASCII letter when case is ignored.
        """
        return None if any(character in self.raw for character in _LIKE_ASCII) else self.utf8.lower()

    @cached_property
    def folded(self) -> str:
        """The text after ``fold``: "é" is one character and apostrophes are straight."""
        return fold(self.raw)

    @cached_property
    def ascii_words(self) -> Counter[str]:
        """How often each run of ASCII letters and digits occurs, in lower case."""
        return Counter(_ASCII_WORD.findall(self.folded.lower()))

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The text split at line feeds."""
        return tuple(self.raw.split("\n"))

    @cached_property
    def words(self) -> int:
        r"""The number of maximal runs of ``\w``: "don't" is two words, "well-known" two, "U.S.A." three."""
        others = set(self.utf8.translate(None, _ASCII).decode("utf-8", "surrogatepass"))
        if len(others) > _FEW:
            return len(_WORD.findall(self.raw))
        text = self.raw
        for character in others:
            text = text.replace(character, _as_ascii(character))
        spaced = text.encode("ascii").translate(_SPACED)
        # A word begins where an a follows a space.
        return spaced.count(b" a") + spaced.startswith(b"a")

    @cached_property
    def capital_words(self) -> int:
        """The number of NLTK word tokens whose letters are all capitals, including "I" and "A"."""
        return tokenization.count_capital_words(self.raw)

    def has_sentences(self, count: int) -> bool:
        """Return whether NLTK's sentence splitter finds at least ``count`` sentences."""
        return tokenization.has_sentences(count, self.raw)

    def has_statements(self, count: int) -> bool:
        """Return whether at least ``count`` sentences certainly end with a full stop; a quick answer, often no."""
        return tokenization.has_statements(count, self.raw)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The sentences that NLTK's splitter finds."""
        return tuple(tokenization.sentences(self.raw))

    @cached_property
    def ifeval_sentences(self) -> tuple[str, ...]:
        """The sentences by IFEval's own rules, which need no data and know few abbreviations."""
        return tuple(tokenization.ifeval_sentences(self.raw))

    def each_sentence(self) -> Iterator[str]:
        """Return an iterator over the sentences that splits no further than it is read."""
        return iter(self.__dict__.get("sentences") or tokenization.sentences(self.raw))

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """NLTK's word tokens; punctuation marks are tokens, and "don't" is two."""
        return tuple(tokenization.word_tokens(self.raw))

    def each_token(self) -> Iterator[str]:
        """Return an iterator over the word tokens that tokenizes no further than it is read, sentence by sentence."""
        return iter(self.__dict__.get("tokens") or tokenization.word_tokens(self.raw))

    @cached_property
    def first_tag(self) -> str | None:
        """The part of speech (Penn Treebank) of the first word token; ``None`` if there is no token."""
        return tokenization.first_tag(self.raw)

    @cached_property
    def chunks(self) -> tuple[str, ...]:
        """What is between white space."""
        return tuple(self.raw.split())

    @cached_property
    def unpunctuated(self) -> str:
        """The text without ASCII punctuation (see ``without_punctuation``)."""
        return without_punctuation(self.raw)

    @cached_property
    def whole_words(self) -> tuple[str, ...]:
        """The words as a reader sees them, folded: "don't" and "well-known" are one each; marks are none."""
        return tuple(_WHOLE_WORD.findall(self.folded))

    @cached_property
    def small_words(self) -> tuple[str, ...]:
        """The words as a reader sees them, in lower case."""
        return tuple(map(str.lower, self.whole_words))

    @property
    def language(self) -> str | None:
        """The language that langdetect detects (ISO 639-1); ``None`` if it cannot identify one."""
        return self.detection.language

    @property
    def detection(self) -> Detection:
        """The language that langdetect detects, with its probability."""
        from lm_eval_ext.verifiers.detection import detect  # noqa: PLC0415 # imports langdetect and numpy

        return detect(self.raw)
