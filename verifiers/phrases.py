"""How keywords are found in a text: as IFEval does (a regular expression) and as a reader would (whole words)."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import regex

from lm_eval_ext.verifiers.text import Text, fold

# What makes a word longer: letters, their marks and digits, but not those of scripts that put no space between words or
# between a word and its particle. The underscore is none: emphasis may touch a word, as in _art_.
_PART_OF_WORD = r"[[\p{L}\p{M}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"

_STARTS = regex.compile(_PART_OF_WORD, regex.VERSION1)

if sys.version_info >= (3, 11):
    from re import _parser as parser  # type: ignore[attr-defined] # the only parse of a pattern that Python has
else:
    import sre_parse as parser

MOST_REPETITIONS = 1
"""Repetitions without an upper bound, with something after them that can fail, in a keyword: time grows with the square
of a text at most."""
MOST_WAYS = 1000
"""Ways in which the bounded repetitions and alternatives of a keyword can be combined."""
_REPETITIONS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")


@lru_cache(maxsize=4096)
def as_regex(
    phrase: str, owner: str, flags: re.RegexFlag = re.IGNORECASE, before: str = "", after: str = ""
) -> re.Pattern[str]:
    """Return the phrase as the regular expression that IFEval takes it for.

    Args:
        phrase: a keyword or a marker.
        owner: the instruction id, for the message.
        flags: IFEval ignores the case of keywords and lower-cases the text for markers.
        before: what IFEval puts before the phrase.
        after: what it puts after it.

    Raises:
        ValueError: the phrase is none (IFEval cannot judge such a keyword at all: it ends with an error), or one whose
            search may take time beyond any limit (IFEval does not end). The limits are of the expression alone, so that
            whether it can be judged depends neither on the text nor on the machine.
    """
    whole = before + phrase + after
    try:
        compiled = re.compile(whole, flags)
    except re.error as error:
        raise ValueError(
            f"{owner}: IFEval searches for the regular expression {whole!r}, which is none ({error}); "
            "the repaired edition takes keywords and markers as they stand"
        ) from None
    if excess := _excess(_choices_in(whole, flags), _choices_in(f"{before}a{after}", flags)):
        raise ValueError(
            f"{owner}: IFEval searches for the regular expression {phrase!r}, which has {excess}: "
            "on some texts the search would hardly end; the repaired edition takes keywords and markers as they stand"
        )
    return compiled


@dataclass(frozen=True)
class _Choices:
    """In how many ways a part of a regular expression can match, as far as a search may have to try them all.

    Attributes:
        repetitions: how many have no upper bound and are tried again where what follows fails; a back reference is one.
        ways: the product of what else can be chosen: the numbers of bounded repetitions, and alternatives.
        nested: whether something that can be chosen is repeated, so that there are exponentially many ways.
    """

    repetitions: int = 0
    ways: int = 1
    nested: bool = False


def _excess(choices: _Choices, usual: _Choices) -> str:
    """Return how a regular expression is beyond the limits; empty if it is not.

    Args:
        choices: of the expression.
        usual: those that IFEval adds to any phrase.
    """
    repetitions = choices.repetitions - usual.repetitions
    if choices.nested:
        return "a repetition of something that can itself match in several ways; expected none"
    if repetitions > MOST_REPETITIONS:
        return f"{repetitions} repetitions without an upper bound before its end; expected {MOST_REPETITIONS} at most"
    if choices.ways > MOST_WAYS * usual.ways:
        return (
            f"more than {MOST_WAYS} ways to combine its optional parts and alternatives; expected {MOST_WAYS} at most"
        )
    return ""


def _choices_in(expression: str, flags: re.RegexFlag) -> _Choices:
    parsed: Any = parser.parse(expression, flags)
    return _choices(list(parsed), can_fail=False)


def _choices(items: Sequence[tuple[Any, Any]], can_fail: bool) -> _Choices:
    """Return the choices of a sequence; ``can_fail``: whether something after it can fail, so that it is tried anew."""
    return _together(
        _choices_of(str(operator), argument, can_fail or any(map(_can_fail, items[number:])))
        for number, (operator, argument) in enumerate(items, start=1)
    )


def _choices_of(operator: str, argument: Any, can_fail: bool) -> _Choices:
    if operator in _REPETITIONS:
        least, most, body = argument
        inner = _choices(list(body), can_fail or most > 1)
        if most == parser.MAXREPEAT:
            return _Choices(inner.repetitions + can_fail, inner.ways, inner != _Choices())
        nested = inner.nested or (most > 1 and inner.repetitions > 0)
        ways = inner.ways ** min(most, MOST_WAYS.bit_length()) * (most - least + 1)  # more is too many already
        return _Choices(inner.repetitions, ways, nested)
    if operator == "BRANCH":
        branches = [_choices(list(branch), can_fail) for branch in argument[1]]
        return _Choices(
            max(branch.repetitions for branch in branches),
            sum(branch.ways for branch in branches),
            any(branch.nested for branch in branches),
        )
    if operator == "GROUPREF":
        return _Choices(repetitions=1)
    bodies: list[Any] = [part for part in _parts(argument) if isinstance(part, parser.SubPattern)]
    return _together(_choices(list(body), can_fail) for body in bodies)


def _parts(argument: Any) -> Iterable[Any]:
    return argument if isinstance(argument, tuple) else (argument,)


def _together(parts: Iterable[_Choices]) -> _Choices:
    total = _Choices()
    for part in parts:
        total = _Choices(total.repetitions + part.repetitions, total.ways * part.ways, total.nested or part.nested)
    return total


def _can_fail(item: tuple[Any, Any]) -> bool:
    """Tell whether an item of a sequence can fail to match: anything but what may be left out."""
    operator, argument = item
    return str(operator) not in _REPETITIONS or argument[0] > 0


@lru_cache(maxsize=4096)
def as_words(phrase: str) -> regex.Pattern[str]:
    """Return a pattern that finds the phrase in a folded text: as it stands, in whole words, in any case.

    A plural is another word; a phrase that begins or ends with a mark, as "C++" does, may be touched there. The kind of
    white space within the phrase does not matter.
    """
    folded = fold(phrase).strip()
    before = f"(?<!{_PART_OF_WORD})" if _STARTS.match(folded[0]) else ""
    after = f"(?!{_PART_OF_WORD})" if _STARTS.match(folded[-1]) else ""
    escaped = r"\s+".join(map(regex.escape, folded.split()))
    return regex.compile(before + escaped + after, regex.IGNORECASE | regex.VERSION1)


def occurrences(phrase: str, text: Text) -> int | None:
    """Return how often a phrase matches as a regular expression, in any case, where that is quick to know.

    It is for ASCII's letters with spaces between them, which match themselves alone; unless the text has one of the few
    characters that match such a letter and are none, for example the long s.
    """
    if not (phrase.isascii() and phrase.replace(" ", "").isalpha()):
        return None
    return None if text.caseless is None else text.caseless.count(phrase.lower().encode("ascii"))
