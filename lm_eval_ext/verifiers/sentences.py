"""Sentences: NLTK's Punkt splitter with its English data."""

from __future__ import annotations

from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nltk.tokenize.punkt import PunktTokenizer

DATA = "punkt_tab"


class MissingDataError(LookupError):
    """NLTK's sentence data are not installed; the message says how to get them."""


def has_at_least(count: int, text: str) -> bool:
    """Tell whether a text has at least ``count`` sentences; reads no further than the sentence that decides.

    Raises:
        MissingDataError: NLTK's English data are not installed.
    """
    if count <= 0:
        return True
    return next(islice(_splitter().span_tokenize(text), count - 1, None), None) is not None


def require() -> None:
    """Raise ``MissingDataError`` now rather than at the first verdict, if NLTK's English data are not installed."""
    _splitter()


@cache
def _splitter() -> PunktTokenizer:
    from nltk.tokenize.punkt import PunktTokenizer  # noqa: PLC0415 # a second, and few instructions need it

    try:
        return PunktTokenizer("english")
    except LookupError:
        raise MissingDataError(
            f"NLTK's sentence data ({DATA}, English) are not installed; length_constraints:number_sentences needs "
            f"them. Install them once with\n    python -m nltk.downloader {DATA}\nOffline: copy the folder "
            f"tokenizers/{DATA} from a machine that has it and set NLTK_DATA to the folder that holds tokenizers/."
        ) from None
