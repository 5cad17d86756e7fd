"""Finds keywords in a text: as IFEval does (a regular expression), and as a human reader would (whole words)."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import regex

from lm_eval_ext.verifiers.text import Text, fold

# The characters that extend a word: letters, combining marks and digits, except in scripts without spaces between words
# or between a word and its particle. The underscore is excluded, because emphasis may touch a word, as in _art_.
_PART_OF_WORD = r"[[\p{L}\p{M}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"

_STARTS = regex.compile(_PART_OF_WORD, regex.VERSION1)

if sys.version_info >= (3, 11):
    from re import _parser as parser  # type: ignore[attr-defined] # Python's only parser of patterns
else:
    import sre_parse as parser

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
    whole = before + phrase + after
    try:
        compiled = re.compile(whole, flags)
    except re.error as error:
        raise ValueError(
            f"{owner}: IFEval searches for {whole!r}, an invalid regular expression ({error}); "
            "the repaired edition matches keywords and markers literally"
        ) from None
    # Without what IFEval adds to any phrase.
    choices, usual = (_choices(parser.parse(each, flags), False) for each in (whole, f"{before}a{after}"))
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
        found = _choices_of(str(operator), argument, can_fail)
        total = _Choices(total.repetitions + found.repetitions, total.ways * found.ways, total.nested or found.nested)
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


def whole_words(phrase: str, text: Text) -> int:
    """Return how often a phrase occurs in a text as ``as_words`` finds it.

    In ASCII, a word of letters is one exactly where neither a letter nor a digit touches it. Compiling the pattern
    takes longer than counting the words of a long text.
    """
    if phrase.isascii() and phrase.isalpha() and text.folded.isascii():
        return text.ascii_words[phrase.lower()]
    return len(as_words(phrase).findall(text.folded))


def occurrences(phrase: str, text: Text) -> int | None:
    """Return how often a phrase matches as a regular expression, ignoring case; ``None`` if there is no quick answer.

    There is one for ASCII letters and spaces, which match only themselves, unless the text has one of the few non-ASCII
    characters that match such a letter, for example the long s.
    """
    if not (phrase.isascii() and phrase.replace(" ", "").isalpha()):
        return None
    return None if text.caseless is None else text.caseless.count(phrase.lower().encode("ascii"))
