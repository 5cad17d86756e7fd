"""A text, and what checkers count in it, each quantity at most once: words, sentences, tokens, and keywords.

A keyword is found as IFEval does, as a regular expression (``as_regex``), and as a human reader would, as whole words.
"""

from __future__ import annotations

import math
import re
import string
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import regex

from lm_eval_ext.verifiers import tokenization

if sys.version_info >= (3, 11):
    from re import _parser as parser  # type: ignore[attr-defined] # Python's only parser of patterns
else:
    import sre_parse as parser

if TYPE_CHECKING:
    from lm_eval_ext.verifiers.detection import Detection

# Not re, whose \w splits words of Indic scripts at every vowel sign. NLTK, and therefore IFEval, uses regex too.
WORD = regex.compile(r"\w+")
# Much faster for text with few non-ASCII characters: word characters become an a, all others a space.
_SPACED = bytes(ord("a" if chr(code).isalnum() or chr(code) == "_" else " ") for code in range(128)) + bytes(128)
_ASCII = bytes(range(128))
_FEW = 20
_ASCII_WORD = regex.compile(r"[a-z0-9]+")


@lru_cache(maxsize=4096)
def _as_ascii(character: str) -> str:
    return "a" if WORD.match(character) else " "


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
AROUND = string.punctuation + " "
"""What IFBench takes off the ends of a word."""
_STRAIGHT = str.maketrans("’‘“”", "''\"\"")
# The characters that extend a word: letters, combining marks and digits, except in scripts without spaces between words
# or between a word and its particle. The underscore is excluded, because emphasis may touch a word, as in _art_.
_PART_OF_WORD = r"[[\p{L}\p{M}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"

_STARTS = regex.compile(_PART_OF_WORD, regex.VERSION1)


def fold(text: str) -> str:
    """Return a text in composed Unicode (NFC) with straight quotation marks and apostrophes."""
    if text.isascii():
        return text
    pieces = _STACK.split(text)
    pieces[::2] = [unicodedata.normalize("NFC", piece) for piece in pieces[::2]]
    return "".join(pieces).translate(_STRAIGHT)


def without_punctuation(text: str) -> str:
    """Return a text without ASCII punctuation, including the marks inside words: "don't" becomes "dont"."""
    return text.translate(_NO_PUNCTUATION)


def has_word(text: str) -> bool:
    """Return whether a reader sees something to read in a text: a letter or digit."""
    return any(map(str.isalnum, text))


def spoken(text: str) -> list[str]:
    """Return what is between white space and has a letter or digit."""
    return list(filter(has_word, text.split()))


@lru_cache(maxsize=4096)
def as_words(phrase: str) -> regex.Pattern[str]:
    """Return a pattern that finds the phrase in a folded text: literally, as whole words, ignoring case.

    A plural is a different word; if a phrase begins or ends with a mark, as "C++" does, a word may touch it there. The
    kind of white space within the phrase does not matter.
    """
    folded = fold(phrase).strip()
    before = f"(?<!{_PART_OF_WORD})" if _STARTS.match(folded[0]) else ""
    after = f"(?!{_PART_OF_WORD})" if _STARTS.match(folded[-1]) else ""
    escaped = r"\s+".join(map(regex.escape, folded.split()))
    return regex.compile(before + escaped + after, regex.IGNORECASE | regex.VERSION1)


class Text:
    """A response, or a variant of a response, with the quantities counted in it.

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
            return len(WORD.findall(self.raw))
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

    def count_phrase(self, phrase: str) -> int:
        """Return how often a phrase occurs to a human reader, as ``as_words`` finds it.

        In ASCII, a word of letters is one exactly where neither a letter nor a digit touches it. Compiling the pattern
        takes longer than counting the words of a long text.
        """
        if phrase.isascii() and phrase.isalpha() and self.folded.isascii():
            return self.ascii_words[phrase.lower()]
        return len(as_words(phrase).findall(self.folded))

    def count_quickly(self, phrase: str) -> int | None:
        """Return how often a phrase matches as a regular expression, ignoring case; ``None`` without a quick answer.

        There is one for ASCII letters and spaces, which match only themselves, unless the text has one of the few
        non-ASCII characters that match such a letter, for example the long s.
        """
        if not (phrase.isascii() and phrase.replace(" ", "").isalpha()):
            return None
        return None if self.caseless is None else self.caseless.count(phrase.lower().encode("ascii"))

    @property
    def language(self) -> str | None:
        """The language that langdetect detects (ISO 639-1); ``None`` if it cannot identify one."""
        return self.detection.language

    @property
    def detection(self) -> Detection:
        """The language that langdetect detects, with its probability."""
        from lm_eval_ext.verifiers.detection import detect  # noqa: PLC0415 # imports langdetect and numpy

        return detect(self.raw)


# Keywords as regular expressions.

MOST_REPETITIONS = 1
"""The maximum number of unbounded repetitions in a keyword that are followed by something that can fail: the time is
then at most quadratic in the text."""
MOST_WAYS = 1000
"""The maximum number of ways to combine the bounded repetitions and alternatives of a keyword."""
_REPETITIONS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


@lru_cache(maxsize=4096)
def as_regex(
    phrase: str, owner: str, flags: re.RegexFlag = re.IGNORECASE, before: str = "", after: str = ""
) -> re.Pattern[str]:
    """Return the phrase compiled as a regular expression, as in IFEval.

    Args:
        phrase: a keyword or a marker.
        owner: the instruction id, for the message.
        flags: IFEval ignores the case of keywords and lower-cases the text for markers.
        before: the expression that IFEval puts before the phrase.
        after: the expression that it puts after the phrase.

    Raises:
        ValueError: the phrase is not a valid regular expression (IFEval fails on such a keyword), or its search could
            take practically forever (IFEval hangs). The limits concern only the expression, so the error depends
            neither on the text nor on the machine.
    """
    pattern = before + phrase + after
    try:
        compiled = re.compile(pattern, flags)
    except re.error as error:
        raise ValueError(
            f"{owner}: IFEval searches for {pattern!r}, an invalid regular expression ({error}); "
            "the repaired edition matches keywords and markers literally"
        ) from None
    # Without what IFEval adds to any phrase.
    choices, usual = (_choices(parser.parse(expression, flags), False) for expression in (pattern, f"{before}a{after}"))
    repetitions = choices.repetitions - usual.repetitions
    if choices.nested:
        excess = "a repetition of something that can itself match in several ways; expected none"
    elif repetitions > MOST_REPETITIONS:
        excess = f"{repetitions} unbounded repetitions before its end; expected at most {MOST_REPETITIONS}"
    elif choices.ways > MOST_WAYS * usual.ways:
        excess = (
            f"more than {MOST_WAYS} ways to combine its optional parts and alternatives; expected at most {MOST_WAYS}"
        )
    else:
        return compiled
    raise ValueError(
        f"{owner}: IFEval searches for the regular expression {phrase!r}, which has {excess}: "
        "on some texts the search would take too long; the repaired edition matches keywords and markers literally"
    )


@dataclass(frozen=True)
class _Choices:
    """The number of ways in which part of a regular expression can match, if a search may have to try them all.

    Attributes:
        repetitions: the unbounded repetitions that are retried if the rest fails; a back reference counts as one.
        ways: the product of the other choices: the counts of bounded repetitions, and alternatives.
        nested: whether something with a choice is itself repeated, so that there are exponentially many ways.
    """

    repetitions: int = 0
    ways: int = 1
    nested: bool = False


def _choices(parsed: Any, can_fail: bool) -> _Choices:
    """Return the choices of a sequence; ``can_fail``: whether something after it can fail and make it backtrack."""
    total = _Choices()
    for operator, argument in reversed(list(parsed)):
        part = _choices_of(str(operator), argument, can_fail)
        total = _Choices(total.repetitions + part.repetitions, total.ways * part.ways, total.nested or part.nested)
        # Anything that is not optional can fail.
        can_fail = can_fail or str(operator) not in _REPETITIONS or argument[0] > 0
    return total


def _choices_of(operator: str, argument: Any, can_fail: bool) -> _Choices:
    if operator in _REPETITIONS:
        least, most, body = argument
        inner = _choices(body, can_fail or most > 1)
        if most == parser.MAXREPEAT:
            return _Choices(inner.repetitions + can_fail, inner.ways, inner != _Choices())
        nested = inner.nested or (most > 1 and inner.repetitions > 0)
        ways = inner.ways ** min(most, MOST_WAYS.bit_length()) * (most - least + 1)  # more is already too many
        return _Choices(inner.repetitions, ways, nested)
    if operator == "BRANCH":
        branches = [_choices(branch, can_fail) for branch in argument[1]]
        return _Choices(
            max(branch.repetitions for branch in branches),
            sum(branch.ways for branch in branches),
            any(branch.nested for branch in branches),
        )
    if operator == "GROUPREF":
        return _Choices(repetitions=1)
    parts: tuple[Any, ...] = argument if isinstance(argument, tuple) else (argument,)
    inside = [_choices(part, can_fail) for part in parts if isinstance(part, parser.SubPattern)]
    return _Choices(
        sum(part.repetitions for part in inside),
        math.prod(part.ways for part in inside),
        any(part.nested for part in inside),
    )
