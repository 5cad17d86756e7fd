"""ROUGE-L (Lin, 2004) as the paper measures answers (section 6.1): stemmed, best over the references."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from types import SimpleNamespace

TEXTS, WORDS = 1 << 14, 1 << 16
"""How many texts are remembered as tokens, and how many words as stems."""
BLOCK = 1 << 12
"""How many words are compared at once."""


def rouge_l(prediction: str, references: Sequence[str]) -> float:
    """Return the F-measure of the longest common subsequence, for the reference where it is highest.

    Words and figure are those of the library ``rouge_score``. It knows the letters a to z and digits only: a text
    without any scores 0. Time grows with the product of the two lengths, memory with the longer one.

    Args:
        prediction: what the model answered.
        references: the correct answers; at least one.

    Returns:
        From 0 to 1.

    Raises:
        ValueError: there is no reference.
    """
    if not references:
        raise ValueError("ROUGE-L of a prediction without references; expected at least one reference")
    from rouge_score.scoring import fmeasure  # noqa: PLC0415 # brings numpy

    answer = _tokens(prediction)
    best = 0.0
    for reference in references:
        expected = _tokens(reference)
        if answer and expected:
            length = _length_of_common_subsequence(answer, expected)
            best = max(best, fmeasure(length / len(answer), length / len(expected)))
    return best


def _length_of_common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the length of the longest common subsequence, in memory linear in the longer sequence.

    The library keeps the whole table: of 100,000 by 10,000 words it takes gigabytes. This is a row of it at a time, one
    bit per column: 0 where the length grows by one (Hyyrö, "Bit-parallel LCS-length computation revisited", 2004). So
    that the masks of words stay small, the columns come in blocks, and what a row carries over is kept between them.
    """
    columns, rows = sorted((first, second), key=len)
    carried = bytearray(len(rows))
    length = 0
    for start in range(0, len(columns), BLOCK):
        block = columns[start : start + BLOCK]
        masks: dict[str, int] = {}
        for column, word in enumerate(block):
            masks[word] = masks.get(word, 0) | 1 << column
        ones = state = (1 << len(block)) - 1
        for row, word in enumerate(rows):
            mask = masks.get(word, 0)
            total = state + (state & mask) + carried[row]
            state = (total | (state & ~mask)) & ones
            carried[row] = total >> len(block)
        length += (ones ^ state).bit_count()
    return length


def has_words(text: str) -> bool:
    """Tell whether ROUGE sees anything of a text: whether it holds a letter from a to z or a digit."""
    return re.search("[a-z0-9]", text.lower()) is not None


@lru_cache(TEXTS)
def _tokens(text: str) -> Sequence[str]:
    """Return the library's stemmed tokens; remembered, for encodings of one subtask share their references."""
    from rouge_score.tokenize import tokenize  # noqa: PLC0415 # brings all of NLTK: a second

    return tuple(tokenize(text, _stemmer()))


@cache
def _stemmer() -> SimpleNamespace:
    from nltk.stem.porter import PorterStemmer  # noqa: PLC0415 # as above

    return SimpleNamespace(stem=lru_cache(WORDS)(PorterStemmer().stem))
