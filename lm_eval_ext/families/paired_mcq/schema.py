"""What the results of paired_mcq and text_mcq tasks contain, and how their figures are computed from rows."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from operator import add, sub
from typing import TYPE_CHECKING, TypeVar

from lm_eval_ext.families.paired_mcq.prompt import INSTRUCTIONS
from lm_eval_ext.families.schema import EMPTY_RATE, ENTROPY, NONE, PROMPT_TRUNCATED_RATE, TRUNCATED_RATE, Metric, Schema

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NO_LETTER = "-"
"""Replaces the letter in the samples if a text does not name exactly one."""
InShuffle = tuple[int, float]
"""For one row: the number of its shuffle, and whether it is a mismatch."""
Refused = tuple[float, float]
"""For one row: whether it is a mismatch, and whether it is a mismatch because the text refuses."""
Chosen = tuple[str, tuple[str, ...]]
"""For one row: its question, and the chosen contents in alphabetical order; choosing none is an outcome, too."""
Letters = tuple[str, str]
"""For one row: the letter of the first token and that of the text, ``NO_LETTER`` if the text does not name exactly
one."""
Spelling = tuple[str, str]
"""For one row: the white space before the letter of the first token, in its most probable spelling, and the letter."""
SURE = 0.8
"""A reader is unsure of a text if its certainty is lower; docs/appendix/readers.md says how often it is right then."""
ALWAYS_SURE = ("string_match",)
"""The readers that do not estimate their certainty, and log 1."""
Number = TypeVar("Number", float, "NDArray[np.float64]")


def entropy(counts: Collection[int]) -> float:
    """Return the entropy, in nats, of the counts of the outcomes; 0 if only one occurred."""
    total = sum(counts)
    # log(n / c), not -log(c / n): a single outcome gives 0, not -0.
    return math.fsum(count / total * math.log(total / count) for count in counts)


def variation_distance(first: Sequence[Number], second: Sequence[Number], total: Number) -> Number:
    """Return the total variation distance between two distributions, from 0 to 1.

    It is the share of observations whose outcome would have to change to make the distributions equal.

    Args:
        first: the counts of the outcomes in the first distribution; numbers, or arrays in which each position is a
            separate pair of distributions.
        second: the counts in the second distribution, with the outcomes in the same order.
        total: the number of observations in each distribution.
    """
    difference: Number = reduce(add, map(abs, map(sub, first, second)))
    return difference / (2 * total)


def mismatch_bounds(mismatch: Number, unsure: Number) -> tuple[Number, Number]:
    """Return the least and the most that a row's mismatch can be if its text may have been misread.

    What the reader is sure of counts as read. Any other text may agree with the first token, or not.

    Args:
        mismatch: 1 if the text, as it was read, does not choose the first token's letter, else 0; a number, or an array
            of rows.
        unsure: 1 if the reader was not sure of the text, else 0.
    """
    return mismatch * (1 - unsure), mismatch + unsure * (1 - mismatch)


def sd_over_shuffles(rows: Iterable[InShuffle]) -> float | str:
    """Return the sample standard deviation of the mismatch over the ten runs, as in Figure 2.

    Args:
        rows: of one task; each shuffle is a run.

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


def mean_entropy(rows: Iterable[Chosen]) -> float:
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
    return variation_distance(
        [tokens[letter] for letter in letters], [texts[letter] for letter in letters], tokens.total()
    )


def share_after_white_space(rows: Iterable[Spelling]) -> float:
    """Return the share of rows in which the most probable spelling of a letter begins with white space."""
    return statistics.fmean(bool(space) for space, _ in rows)


PAIRED, GOLD = "first tokens", "correct answers"
"""What metrics need."""
MISMATCH = Metric("mismatch", higher_is_better=False, needs=(PAIRED,))
REFUSAL = Metric("refusal", higher_is_better=None)
TEXT_ACC = Metric("text_acc", higher_is_better=True, needs=(GOLD,))

SCHEMA = Schema(
    metrics=(
        MISMATCH,
        # The spread of the paper's ten runs; the report shows confidence intervals instead.
        Metric("mismatch_sd", None, sd_over_shuffles, (PAIRED,), explains="mismatch", per_row=None, drawn=False),
        Metric("mismatch_refusal", higher_is_better=None, needs=(PAIRED,), explains="mismatch"),
        # The quotient of the two above, which are both shown.
        Metric(
            "mismatch_refusal_share", None, share_of_refusals, (PAIRED,), explains="mismatch", per_row=None, drawn=False
        ),
        REFUSAL,
        Metric("refusal_first_token", higher_is_better=None, needs=(PAIRED,), explains="refusal"),
        # Which tokens were compared; it explains a figure, and no model is better for it.
        Metric(
            "first_token_spelling",
            None,
            share_after_white_space,
            (PAIRED,),
            explains="mismatch",
            per_row=None,
            drawn=False,
        ),
        Metric("no_answer", higher_is_better=False),
        # The part of no_answer in which a letter comes with another option's text.
        Metric("contradiction", higher_is_better=False, explains="no_answer"),
        Metric("several", higher_is_better=False, explains="mismatch"),
        # Empty texts are among those without an answer. There are no groups of these tasks.
        replace(EMPTY_RATE, in_groups=False, explains="no_answer"),
        replace(TRUNCATED_RATE, explains="no_answer"),
        PROMPT_TRUNCATED_RATE,
        # In nats. The paper calls it answer consistency (Table 3), but lower is better.
        Metric(
            "entropy_first_token", False, mean_entropy, (PAIRED,), explains="mismatch", per_row="choice", range=ENTROPY
        ),
        Metric("entropy_text", False, mean_entropy, explains="mismatch", per_row="choice", range=ENTROPY),
        Metric("position_bias", False, total_variation, (PAIRED,), explains="mismatch", per_row="letters"),
        Metric("first_token_acc", higher_is_better=True, needs=(PAIRED, GOLD), explains="text_acc"),
        TEXT_ACC,
    ),
    # Without first tokens there is no mismatch; then the refusal rate is the metric that every dataset has.
    headlines=(MISMATCH, TEXT_ACC, replace(REFUSAL, higher_is_better=False)),
    # constraint: how strictly the prompt asks for a letter (Table 1); paired: whether first tokens were asked for.
    facts={"constraint": "text", "paired": "true or false"},
    levels=("constraint",),
    # The weakest constraint first.
    values={"constraint": tuple(INSTRUCTIONS)},
    row_key="key",
    # Appendix A.1.
    over_temperatures=True,
    readers=("classifier", "llm", "rules", "string_match"),
    # Every question is asked in ten shuffles.
    sizes={
        f"(paired|text)_mcq_{dataset}_({'|'.join(INSTRUCTIONS)})": (questions, 10)
        for dataset, questions in (
            ("opinionqa", 414),
            ("arc_challenge", 1172),
            ("commonsense_qa", 1221),
            ("mmlu", 14042),
        )
    }
    | {r"(paired|text)_mcq_arc_challenge_medium_100": (100, 10)},
)
