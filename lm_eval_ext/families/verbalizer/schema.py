"""What the results of verbalizer tasks contain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from statistics import fmean

from lm_eval_ext.families.schema import (
    EMPTY_RATE,
    NONE,
    PROMPT_TRUNCATED_RATE,
    TRUNCATED_RATE,
    Metric,
    Outcome,
    Schema,
    outcomes_by_row,
    reliable,
    share_followed,
)
from lm_eval_ext.metadata import PARAPHRASES

KINDS = {
    "sentiment": ("sst2", "fp", "emotion"),
    "inference": ("snli", "sick", "rte"),
    "paraphrase": ("qqp", "mrpc"),
    "subjectivity": ("subj",),
}
"""The paper's datasets by kind of task (section 4.4)."""

ROW, PARAPHRASE = "row", "paraphrase"
"""The fields that a document has if every row is asked in several wordings: the number of its row, from 0, which is
that of its document otherwise; and the number of its wording, from 1, the published one."""

SENSITIVITY = "prompt_sensitivity"
OF_WORDING: Mapping[int, str] = {number: f"acc_paraphrase_{number}" for number in range(1, 9)}
"""By number of a wording, the accuracy with it; a task that asks every row in several has one for each of them."""
RELIABLE: Mapping[int, str] = {count: f"reliable_at_{count}" for count in range(2, 9)}
"""By number of wordings, the share of rows that are right in all of them."""

_NATURALNESS = {"natural": 3, "neutral": 6, "unnatural": 3}
"""How many verbalizers each has (Table 1)."""
_DATASETS = tuple(dataset for datasets in KINDS.values() for dataset in datasets)


def in_wordings(count: int) -> tuple[str, ...]:
    """Return what a task has of what metrics need that asks every row in so many wordings."""
    return ("wordings", f"{count} wordings", *(f"wording {number}" for number in range(1, count + 1)))


def sensitivity(answers: Iterable[Outcome]) -> float | str:
    """Return the highest accuracy of a wording minus the lowest, over all draws of each answer together.

    ``NONE`` if there are no rows with every wording.

    The mean over draws of each draw's spread would be larger: where fewer answers make an accuracy, chance spreads
    them further.

    Args:
        answers: of each, the number of its wording, and whether it is right; or several draws of that (``draws``).
    """
    drawn = [draw for answer in answers for draw in getattr(answer, "draws", (answer,))]
    accuracies = list(map(fmean, outcomes_by_row(drawn).values()))
    return max(accuracies) - min(accuracies) if accuracies else NONE


ACC = Metric("acc", higher_is_better=True, in_groups=True)
SCHEMA = Schema(
    metrics=(
        ACC,
        # With natural words, the prior is right.
        Metric("prior_rate", higher_is_better=False, in_groups=True, holds_for_all=False),
        Metric("invalid_rate", higher_is_better=False, in_groups=True),
        # What invalid answers are made of: disjoint shares of all rows, whose sum is invalid_rate.
        replace(EMPTY_RATE, in_groups=False, drawn=True, explains="invalid_rate"),
        replace(TRUNCATED_RATE, explains="acc"),
        PROMPT_TRUNCATED_RATE,
        *(
            Metric(name, higher_is_better=False, explains="invalid_rate")
            for name in (
                "invalid_prior",
                "invalid_echo",
                "invalid_refusal",
                "invalid_multiple",
                "invalid_inflected",
                "invalid_other",
            )
        ),
        # Only for rows in several wordings.
        *(
            Metric(name, True, share_followed, (f"wording {number}",), explains=SENSITIVITY, per_row="ratio")
            for number, name in OF_WORDING.items()
        ),
        Metric(SENSITIVITY, False, sensitivity, ("wordings",), per_row=None),
        *(
            Metric(name, True, reliable, (f"{number} wordings",), explains="acc", per_row=None)
            for number, name in RELIABLE.items()
        ),
    ),
    headlines=(ACC,),
    # verbalizer and naturalness are null if a user-defined leaf does not set them. label_words and prior_words map a
    # golden label name to the word that the prompt demands, and to the word that names it by itself.
    facts={
        "verbalizer": "text or null",
        "naturalness": "text or null",
        "prompting": "text",
        "label_words": "a text for each label",
        "prior_words": "a text for each label",
    },
    levels=("prompting", "naturalness"),
    values={
        "prompting": ("direct", "chain_of_thought"),
        "dataset": _DATASETS,
        "naturalness": tuple(_NATURALNESS),
        # Verbalizers that swap each other's words are adjacent.
        "verbalizer": ("golden", "flipped", "foo_bar", "bar_foo", "sfo_lax", "lax_sfo", "lake_river", "river_lake"),
    },
    choices="label_words",
    row_keys_of_variants={PARAPHRASES: ROW},
    # Of each dataset, 100 rows.
    sizes={
        **{rf"verbalizer(_cot)?_{kind}": (100 * len(_DATASETS), number) for kind, number in _NATURALNESS.items()},
        r"verbalizer(_cot)?": (100 * len(_DATASETS), 12),
        rf"verbalizer(_cot)?_({'|'.join(_DATASETS)})": (100, 12),
        rf"verbalizer(_cot)?_({'|'.join(_NATURALNESS)})_\w+": (100 * len(_DATASETS), 1),
        rf"verbalizer(_cot)?_({'|'.join(_DATASETS)})_({'|'.join(_NATURALNESS)})_\w+": (100, 1),
    },
)
