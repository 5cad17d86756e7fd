"""The metrics (section 4): the first token compared with the text, per row and over the shuffles.

If a metric is not a plain mean over rows, each row gives the values that the figure is computed from, and a function
below computes it. Every row gives every metric of its task, because the harness gathers them from several processes by
name.
"""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_ext.classifier.reading import REFUSED, Option, refusal_option
from lm_eval_ext.distributions import entropy
from lm_eval_ext.distributions import total_variation as total_variation_distance
from lm_eval_ext.families.paired_mcq.schema import NO_LETTER, SCHEMA
from lm_eval_ext.families.schema import EMPTY_RATE

Value = str | Sequence[str]
"""The reading of a text, as in ``Reading.value``: a letter, a list of letters, or a word of ``NO_OPTION``."""
NO_OPTION = ("refused", "none", "contradiction")
"""The readings that choose no option."""
InShuffle = tuple[int, float]
"""For one row: the number of its shuffle, and whether it is a mismatch."""
Refused = tuple[float, float]
"""For one row: whether it is a mismatch, and whether it is a mismatch because the text refuses."""
Outcome = tuple[str, tuple[str, ...]]
"""For one row: its question, and the chosen contents in alphabetical order; choosing none is an outcome, too."""
Letters = tuple[str, str]
"""For one row: the letter of the first token and that of the text, ``NO_LETTER`` if the text does not name exactly
one."""
RowValue = float | InShuffle | Refused | Outcome | Letters
"""The value of a metric for one row."""

NONE = "N/A"
"""The harness's own notation for an undefined figure."""


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


def sd_over_shuffles(rows: Iterable[InShuffle]) -> float | str:
    """Return the sample standard deviation of the mismatch over the ten runs, as in Figure 2.

    Args:
        rows: those of one task; each shuffle is a run.

    Returns:
        The standard deviation, or ``NONE`` if there is only one shuffle.
    """
    runs = defaultdict(list)
    for shuffle, mismatch in rows:
        runs[shuffle].append(mismatch)
    shares = [statistics.fmean(run) for _, run in sorted(runs.items())]
    return statistics.stdev(shares) if len(shares) > 1 else NONE


def share_of_refusals(rows: Iterable[Refused]) -> float | str:
    """Return the share of mismatches in which the text refuses; ``NONE`` if there is no mismatch."""
    mismatches, refusals = map(sum, zip(*rows, strict=True))
    return refusals / mismatches if mismatches else NONE


def mean_entropy(rows: Iterable[Outcome]) -> float:
    """Return the entropy, in nats, of the choices over a question's shuffles, averaged over questions (Table 3).

    0 means the same content in every order. Several contents together are one outcome, as is no answer.
    """
    chosen: defaultdict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for question, outcome in rows:
        chosen[question][tuple(outcome)] += 1
    return statistics.fmean(entropy(chosen[question].values()) for question in sorted(chosen))


def total_variation(rows: Iterable[Letters]) -> float:
    """Return the total variation distance between the letters of first tokens and those of texts, from 0 to 1.

    A text that does not name exactly one letter is a separate outcome, which no first token has.
    """
    tokens, texts = (Counter(letters) for letters in zip(*rows, strict=True))
    letters = tokens | texts
    return total_variation_distance(
        [tokens[letter] for letter in letters], [texts[letter] for letter in letters], tokens.total()
    )


AGGREGATIONS: Mapping[str, Callable[[Iterable[Any]], float | str]] = {
    "mismatch_sd": sd_over_shuffles,
    "mismatch_refusal_share": share_of_refusals,
    "entropy_first_token": mean_entropy,
    "entropy_text": mean_entropy,
    "position_bias": total_variation,
}
"""The aggregations of the metrics that are not means over rows."""
OF_TEXT = frozenset({"refusal", "no_answer", "contradiction", "several", EMPTY_RATE.name, "entropy_text", "text_acc"})
"""The metrics that need no first token."""
OF_GOLD = frozenset({"first_token_acc", "text_acc"})
"""The metrics that need a correct answer."""


def metric_list(paired: bool, gold: bool) -> list[dict[str, Any]]:
    """Return the metrics of a task, in the harness's form.

    Args:
        paired: whether it requests first tokens.
        gold: whether its questions have a correct answer.
    """
    return [
        {
            "metric": metric.name,
            "aggregation": AGGREGATIONS.get(metric.name, "mean"),
            "higher_is_better": metric.higher_is_better,
        }
        for metric in SCHEMA.metrics
        if (paired or metric.name in OF_TEXT) and (gold or metric.name not in OF_GOLD)
    ]
