"""The nine datasets of the paper (section 3.1, Table 1, appendix B): their locations, columns and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lm_eval_ext.sources import HubDataset


@dataclass(frozen=True)
class Classification:
    """A classification dataset.

    Attributes:
        name: in task and file names.
        hub: its location.
        evaluation_split, training_split: the evaluated rows, and those from which demonstrations are drawn. Without a
            training split, the tasks are zero-shot only.
        label_column: a column of integers (or of label names).
        labels: the name of every integer label, in order; ``None`` for those that the hub declares for the column or,
            if it declares none, the golden labels in the verbalizer's order.
        unlabeled: the value that marks rows without a gold label. They are left out.
        held_out: the share of the training split used for evaluation, if the dataset has no evaluation split.
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
_PARQUET = "refs/convert/parquet"  # the hub's own conversion of repositories that contain a loading script

DATASETS: Mapping[str, Classification] = {
    dataset.name: dataset
    for dataset in (
        _glue("sst2", "negative", "positive"),
        Classification(
            "fp",
            HubDataset(
                "takala/financial_phrasebank",
                revision=_PARQUET,
                # All annotators agree (appendix B). Without this, the hub joins four overlapping configurations.
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
    """Return whether a dataset is one of the nine, and does not just share a name (``owner/sst2``)."""
    return DATASETS.get(dataset.name) is dataset
