"""How keywords are found in a text: as IFEval does (a regular expression) and as a reader would (whole words)."""

from __future__ import annotations

import re
from functools import lru_cache

import regex

from lm_eval_ext.verifiers.text import Text, fold

# What makes a word longer: letters, their marks and digits, but not those of scripts that put no space between words or
# between a word and its particle. The underscore is none: emphasis may touch a word, as in _art_.
_PART_OF_WORD = r"[[\p{L}\p{M}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]"

_STARTS = regex.compile(_PART_OF_WORD, regex.VERSION1)


@lru_cache(maxsize=4096)
def as_regex(phrase: str, owner: str, flags: re.RegexFlag = re.IGNORECASE) -> re.Pattern[str]:
    """Return the phrase as the regular expression that IFEval takes it for.

    Args:
        phrase: a keyword or a marker, with whatever IFEval puts around it.
        owner: the instruction id, for the message.
        flags: IFEval ignores the case of keywords and lower-cases the text for markers.

    Raises:
        ValueError: the phrase is none. IFEval cannot judge such a keyword at all: it ends with an error.
    """
    try:
        return re.compile(phrase, flags)
    except re.error as error:
        raise ValueError(
            f"{owner}: IFEval searches for the regular expression {phrase!r}, which is none ({error}); "
            "the repaired edition takes keywords and markers as they stand"
        ) from None


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
