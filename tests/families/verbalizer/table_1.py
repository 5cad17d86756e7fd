"""Table 1, written down independently of the generator."""

from __future__ import annotations

# Dataset -> its golden label names, the affirmative one first.
GOLDEN_NAMES = {
    "sst2": ("positive", "negative"),
    "fp": ("positive", "negative"),
    "emotion": ("joy", "sadness"),
    "snli": ("entailment", "contradiction"),
    "sick": ("entailment", "contradiction"),
    "rte": ("entailment", "not entailment"),
    "qqp": ("duplicate", "not duplicate"),
    "mrpc": ("equivalent", "not equivalent"),
    "subj": ("subjective", "objective"),
}

VERBALIZERS = {
    "natural": ("golden", "1_0", "yes_no"),
    "neutral": ("foo_bar", "bar_foo", "sfo_lax", "lax_sfo", "lake_river", "river_lake"),
    "unnatural": ("flipped", "0_1", "no_yes"),
}

# Verbalizer -> what the two golden labels' words mean by themselves; without one, the golden names.
MEANING = {"1_0": ("1", "0"), "yes_no": ("yes", "no"), "0_1": ("1", "0"), "no_yes": ("yes", "no")}


def words(dataset: str, verbalizer: str) -> tuple[str, ...]:
    """Return what a verbalizer makes of the two golden labels, the affirmative one first."""
    golden = GOLDEN_NAMES[dataset]
    return {"golden": golden, "flipped": golden[::-1]}.get(verbalizer) or tuple(verbalizer.split("_"))


def meaning(dataset: str, verbalizer: str) -> tuple[str, ...]:
    """Return the words by which the two golden labels are meant if nothing else is said."""
    return MEANING.get(verbalizer, GOLDEN_NAMES[dataset])
