"""What the results of verbalizer tasks contain."""

from __future__ import annotations

from dataclasses import replace

from lm_eval_ext.families.schema import EMPTY_RATE, Metric, Schema
from lm_eval_ext.metadata import PARAPHRASES

KINDS = {
    "sentiment": ("sst2", "fp", "emotion"),
    "inference": ("snli", "sick", "rte"),
    "paraphrase": ("qqp", "mrpc"),
    "subjectivity": ("subj",),
}
"""The paper's datasets by kind of task (section 4.4)."""

OF_ANSWERS = (
    Metric("acc", higher_is_better=True),
    Metric("prior_rate", higher_is_better=False),
    Metric("invalid_rate", higher_is_better=False),
    # What invalid answers are made of: disjoint shares of all rows, whose sum is invalid_rate.
    replace(EMPTY_RATE, drawn=True),
    Metric("invalid_prior", higher_is_better=False),
    Metric("invalid_echo", higher_is_better=False),
    Metric("invalid_refusal", higher_is_better=False),
    Metric("invalid_multiple", higher_is_better=False),
    Metric("invalid_inflected", higher_is_better=False),
    Metric("invalid_other", higher_is_better=False),
)
"""The metrics that every task reports."""
ROW, PARAPHRASE = "row", "paraphrase"
"""The fields that a document has if every row is asked in several wordings: the number of its row, from 0, which is
that of its document otherwise; and the number of its wording, from 1, the published one."""

OF_WORDING, SENSITIVITY, RELIABLE = "acc_paraphrase_", "prompt_sensitivity", "reliable_at_"
"""The metrics of a task that asks every row in several wordings: the accuracy with one wording, by its number; the
highest of these minus the lowest; and the share of rows that are right in all of so many wordings."""

_NATURALNESS = {"natural": 3, "neutral": 6, "unnatural": 3}
"""How many verbalizers each has (Table 1)."""
_DATASETS = tuple(dataset for datasets in KINDS.values() for dataset in datasets)

SCHEMA = Schema(
    metrics=(
        *OF_ANSWERS,
        # Only for rows in several wordings.
        Metric(f"{OF_WORDING}*", higher_is_better=True, per_row="ratio"),
        Metric(SENSITIVITY, higher_is_better=False, per_row=None),
        Metric(f"{RELIABLE}*", higher_is_better=True, per_row=None),
    ),
    headlines=(Metric("acc", higher_is_better=True),),
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
