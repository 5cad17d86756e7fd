"""The metrics of a report: the share of its words that it contains, by their place in the list, and what it misses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from nltk.stem.snowball import SnowballStemmer

from lm_eval_ext.families.manyifeval.dense.thirds import in_thirds, share
from lm_eval_ext.families.schema import EMPTY_RATE
from lm_eval_ext.verifiers import without_reasoning
from lm_eval_ext.verifiers.reasoning import is_empty
from lm_eval_ext.verifiers.text import fold

FOLLOWED = "words_followed"
OMITTED, MODIFIED = "words_omitted", "words_modified"
THIRDS = ("words_followed_first_third", "words_followed_middle_third", "words_followed_last_third")
PRIMACY = "primacy"
_WORD = re.compile(r"[^\W\d_]+")


def scores(response: str | None, words: Sequence[str]) -> dict[str, float]:
    """Return the metrics of one row.

    Args:
        response: the model's response, including reasoning, which is removed first. An API that withholds a completion
            returns ``None``, which counts as empty.
        words: the words that it must contain, in the prompt's order; at least three.

    Returns:
        ``words_followed``, the share of the words that the response contains as whole words, in any case; the same for
        each third of the list, and ``primacy``, the first third's minus the last one's; ``words_modified``, the share
        of those of which it has only another form ("margins", "marginal"), and ``words_omitted``, of which it has none;
        ``empty_rate``.
    """
    there = set(_WORD.findall(fold(without_reasoning(response or "")).lower()))
    stems = {stem(word) for word in there}
    followed = [word in there for word in words]
    modified = [not kept and stem(word) in stems for word, kept in zip(words, followed, strict=True)]
    thirds = in_thirds(followed)
    return {
        FOLLOWED: share(followed),
        **dict(zip(THIRDS, thirds, strict=True)),
        PRIMACY: thirds[0] - thirds[-1],
        MODIFIED: share(modified),
        OMITTED: 1 - share(followed) - share(modified),
        EMPTY_RATE.name: float(is_empty(response)),
    }


@cache
def stem(word: str) -> str:
    """Return what a word's forms have in common (the Snowball stemmer for English)."""
    common: str = SnowballStemmer("english").stem(word)
    return common


@dataclass(frozen=True)
class ProcessReport:
    """``process_results``: the metrics of one row; a dataclass, because the harness copies and prints a config."""

    def __call__(self, doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, float]:
        """Score the report; see ``scores``."""
        return scores(results[0], doc["words"])
