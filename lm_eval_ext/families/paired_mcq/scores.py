"""The metrics (section 4): the first token compared with the text, per row and over the shuffles.

If a metric is not a plain mean over rows, each row gives the values that the figure is computed from, and ``schema``
says how.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_ext.classifier.reading import REFUSED, Option, refusal_option
from lm_eval_ext.families.paired_mcq.filters import options_of
from lm_eval_ext.families.paired_mcq.schema import NO_LETTER, Chosen, InShuffle, Letters, Refused
from lm_eval_ext.families.schema import EMPTY_RATE

Value = str | Sequence[str]
"""The reading of a text, as in ``Reading.value``: a letter, a list of letters, or a word of ``NO_OPTION``."""
NO_OPTION = ("refused", "none", "contradiction")
"""The readings that choose no option."""
RowValue = float | InShuffle | Refused | Chosen | Letters
"""The value of a metric for one row."""


@dataclass(frozen=True)
class Asked:
    """A row as it was asked.

    Attributes:
        question: its key.
        shuffle: the number of its shuffle.
        options: in the order shown, including the refusal.
        gold: the letter of the correct one, if there is one.
    """

    question: str
    shuffle: int
    options: tuple[Option, ...]
    gold: str | None = None


def score(doc: Mapping[str, Any], results: Sequence[Any]) -> dict[str, RowValue]:
    """Return the metrics of one row; see ``scores``.

    Args:
        doc: the row.
        results: the log-likelihood of each letter, if they were requested, and the reading of the text (``filters``).
    """
    *loglikelihoods, text = results
    options = options_of(doc)
    token = None
    if loglikelihoods:
        token = first_token([option.letter for option in options], [value for value, _ in loglikelihoods])
    asked = Asked(doc["key"], doc["shuffle"], options, doc["gold"] or None)
    read = json.loads(text)
    return scores(asked, read["reading"], token, empty=read.get("empty", False))


def first_token(letters: Sequence[str], loglikelihoods: Sequence[float]) -> str:
    """Return the letter with the highest log-likelihood (section 3); on a tie, the first."""
    return letters[max(range(len(letters)), key=loglikelihoods.__getitem__)]


def scores(asked: Asked, text: Value, token: str | None = None, *, empty: bool = False) -> dict[str, RowValue]:
    """Return the metrics of one row.

    Args:
        asked: the row.
        text: a reader's reading of the generated text. A refusal counts as the refusal option, if there is one
            (appendix A.2). A contradiction is no answer: annotators mark it as one.
        token: the letter of the first token; ``None`` if it was not requested.
        empty: whether the generated text is empty.

    Returns:
        The family's metrics that apply. ``mismatch`` is 0 only if the text names the first token's letter and no
        other.
    """
    chosen = _letters(text, asked.options)
    refusal = refusal_option(asked.options)
    refuses = text == "refused" or chosen == (refusal,)
    result: dict[str, RowValue] = {
        "refusal": float(refuses),
        "no_answer": float(text in ("none", "contradiction")),
        "contradiction": float(text == "contradiction"),
        "several": float(len(chosen) > 1),
        EMPTY_RATE.name: float(empty),
        "entropy_text": (asked.question, (REFUSED,) if refuses else _contents(chosen, asked.options)),
    }
    if asked.gold is not None:
        result["text_acc"] = float(chosen == (asked.gold,))
    if token is None:
        return result
    mismatch = float(chosen != (token,))
    result |= {
        "mismatch": mismatch,
        "mismatch_sd": (asked.shuffle, mismatch),
        "mismatch_refusal": float(mismatch and refuses),
        "mismatch_refusal_share": (mismatch, float(mismatch and refuses)),
        "refusal_first_token": float(token == refusal),
        "entropy_first_token": (asked.question, _contents((token,), asked.options)),
        "position_bias": (token, chosen[0] if len(chosen) == 1 else NO_LETTER),
    }
    if asked.gold is not None:
        result["first_token_acc"] = float(token == asked.gold)
    return result


def _letters(text: Value, options: Sequence[Option]) -> tuple[str, ...]:
    if text == "refused":
        refusal = refusal_option(options)
        return () if refusal is None else (refusal,)
    return () if text in NO_OPTION else tuple(text)


def _contents(letters: Iterable[str], options: Sequence[Option]) -> tuple[str, ...]:
    texts = {option.letter: option.text for option in options}
    return tuple(sorted(texts[letter] for letter in letters))
