"""ROUGE-L (Lin, 2004) as the paper measures answers (section 6.1): stemmed, best over the references."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import Any

TEXTS, WORDS = 1 << 14, 1 << 16
"""How many texts are remembered as tokens, and how many words as stems."""


def rouge_l(prediction: str, references: Sequence[str]) -> float:
    """Return the F-measure of the longest common subsequence, for the reference where it is highest.

    The library ``rouge_score`` computes it. It knows the letters a to z and digits only: a text without any scores 0.

    Args:
        prediction: what the model answered.
        references: the right answers; at least one.

    Returns:
        From 0 to 1.

    Raises:
        ValueError: there is no reference.
    """
    if not references:
        raise ValueError("ROUGE-L of a prediction without references; expected at least one reference")
    return float(_scorer().score_multi(references, prediction)["rougeL"].fmeasure)


def has_words(text: str) -> bool:
    """Tell whether ROUGE sees anything of a text: whether it holds a letter from a to z or a digit."""
    return re.search("[a-z0-9]", text.lower()) is not None


@cache
def _scorer() -> Any:
    from rouge_score.rouge_scorer import RougeScorer  # noqa: PLC0415 # brings all of NLTK: a second

    return RougeScorer(["rougeL"], tokenizer=_StemmedWords())


class _StemmedWords:
    """The library's tokenizer with its stemmer, which remembers what it has seen.

    The library tokenizes a prediction once for each reference, and encodings of one subtask share their references.
    """

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer  # noqa: PLC0415
        from rouge_score.tokenize import tokenize  # noqa: PLC0415

        stemmer = SimpleNamespace(stem=lru_cache(WORDS)(PorterStemmer().stem))
        self._tokens = lru_cache(TEXTS)(lambda text: tokenize(text, stemmer))

    def tokenize(self, text: str) -> list[str]:
        """Return the stemmed tokens; the library's name for it. The list is shared, and nothing changes it."""
        tokens: list[str] = self._tokens(text)
        return tokens
