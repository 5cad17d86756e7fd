"""The nine datasets of the paper (section 3.1, Table 1, appendix B): where they lie, their columns and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lm_eval_ext.sources import HubDataset


@dataclass(frozen=True)
class Classification:
    """A classification dataset.

    Attributes:
        name: in task and file names.
        hub: where it lies.
        evaluation_split, training_split: the evaluated rows, and those that demonstrations are drawn from. Without a
            training split the tasks are zero-shot only.
        label_column: a column of integers (or of label names).
        labels: the name of every integer label, in order; ``None``: the names that the hub declares for the column or,
            where it declares none, the golden labels in the verbalizer's order.
        unlabelled: the value that marks rows without a gold label. They are left out.
        held_out: the share of the training split that serves as evaluation split, where the dataset has none.
    """

    name: str
    hub: HubDataset
    evaluation_split: str
    training_split: str | None = "train"
    label_column: str = "label"
    labels: tuple[str, ...] | None = None
    unlabelled: int | None = None
    held_out: float | None = None


def _glue(name: str, *labels: str) -> Classification:
    return Classification(name, HubDataset("nyu-mll/glue", name), "validation", labels=labels)


_NLI = ("entailment", "neutral", "contradiction")
_PARQUET = "refs/convert/parquet"  # the hub's own conversion of repositories that hold a loading script

DATASETS: Mapping[str, Classification] = {
    dataset.name: dataset
    for dataset in (
        _glue("sst2", "negative", "positive"),
        Classification(
            "fp",
            HubDataset(
                "takala/financial_phrasebank",
                revision=_PARQUET,
                # All agree (appendix B). Without it the hub would concatenate four overlapping configurations.
                data_files=(("train", "sentences_allagree/train/0000.parquet"),),
            ),
            "test",
            labels=("negative", "neutral", "positive"),
            held_out=0.2,
        ),
        Classification(
            "emotion",
            HubDataset("dair-ai/emotion", "split"),
            "test",
            labels=("sadness", "joy", "love", "anger", "fear", "surprise"),
        ),
        Classification("snli", HubDataset("stanfordnlp/snli"), "test", labels=_NLI, unlabelled=-1),
        Classification("sick", HubDataset("RobZamp/sick", revision=_PARQUET), "test", labels=_NLI),
        _glue("rte", "entailment", "not entailment"),
        _glue("qqp", "not duplicate", "duplicate"),
        _glue("mrpc", "not equivalent", "equivalent"),
        Classification("subj", HubDataset("SetFit/subj"), "test", labels=("objective", "subjective")),
    )
}


def is_known(dataset: Classification) -> bool:
    """Return whether it is one of the nine, and not just called like one (``owner/sst2``)."""
    return DATASETS.get(dataset.name) is dataset
