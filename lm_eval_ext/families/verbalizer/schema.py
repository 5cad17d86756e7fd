"""What the results of verbalizer tasks hold."""

from __future__ import annotations

from lm_eval_ext.families.schema import Metric, Schema

SCHEMA = Schema(
    metrics=(
        Metric("acc", higher_is_better=True),
        Metric("prior_rate", higher_is_better=False),
        Metric("invalid_rate", higher_is_better=False),
    ),
    headlines=(Metric("acc", higher_is_better=True),),
    # verbalizer and naturalness are null where a leaf of the user's own does not say them. label_words and prior_words:
    # golden label name to the word that the prompt demands, and to the one that means it by itself.
    facts={
        "verbalizer": "text or null",
        "naturalness": "text or null",
        "prompting": "text",
        "label_words": "a text for each label",
        "prior_words": "a text for each label",
    },
    values={
        "prompting": ("direct", "chain_of_thought"),
        # By what is asked: sentiment, inference, paraphrase, subjectivity.
        "dataset": ("sst2", "fp", "emotion", "snli", "sick", "rte", "qqp", "mrpc", "subj"),
        "naturalness": ("natural", "neutral", "unnatural"),
        # Words that are exchanged for each other stand side by side.
        "verbalizer": ("golden", "flipped", "foo_bar", "bar_foo", "sfo_lax", "lax_sfo", "lake_river", "river_lake"),
    },
)
