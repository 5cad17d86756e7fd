"""How keywords are found in a text: as IFEval does (a regular expression) and as a reader would (whole words)."""

from __future__ import annotations

import re
from functools import lru_cache

from lm_eval_ext.verifiers.text import Text

# Emphasis marks may touch a word, as in _art_, so the underscore is no letter here.
_NO_LETTER_BEFORE = r"(?<![^\W_])"
_NO_LETTER_AFTER = r"(?![^\W_])"


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
            f"{owner}: IFEval takes a keyword for a regular expression, and {phrase!r} is none ({error}); "
            "the repaired edition takes keywords as they stand"
        ) from None


@lru_cache(maxsize=4096)
def as_words(phrase: str) -> re.Pattern[str]:
    """Return a pattern for the phrase as it stands, in whole words, ignoring case and the kind of white space."""
    escaped = r"\s+".join(map(re.escape, phrase.split()))
    return re.compile(_NO_LETTER_BEFORE + escaped + _NO_LETTER_AFTER, re.IGNORECASE)


def may_occur(phrase: str, text: Text) -> bool:
    """Tell whether a phrase may match as a regular expression: ``False`` is certain, and much quicker to know.

    Only letters of ASCII in ASCII are certain: elsewhere other letters match too, for example the long s.
    """
    return not (phrase.isalpha() and phrase.isascii() and text.raw.isascii()) or phrase.lower() in text.lower
