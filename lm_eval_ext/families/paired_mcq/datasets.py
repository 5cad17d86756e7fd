"""The built-in datasets: their locations, and how their rows become questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lm_eval_ext.sources import HubDataset


@dataclass(frozen=True)
class MultipleChoice:
    """A multiple-choice dataset.

    Attributes:
        name: in task and file names.
        hub: its location on the hub; ``None`` if it is not there.
        split: the evaluated split.
        question, options, gold: columns or templates over them (``expression``): text, a list of texts, and the correct
            one (its number from 0, its letter or its text); ``gold`` is ``None`` if no answer is correct.
        ordinal: a column of lists of numbers by which the options are sorted, if there is one.
        published: whether the rows are a fixed publication: then an unusable question is left out and counted, whereas
            in a user-defined dataset it is an error.
        rows: how many of its questions are asked, in their order; ``None`` for all.
    """

    name: str
    hub: HubDataset | None
    split: str
    question: str
    options: str
    gold: str | None
    ordinal: str | None = None
    published: bool = False
    rows: int | None = None


OPINIONQA = MultipleChoice("opinionqa", None, "test", "question", "options", None, "option_ordinal")

DATASETS: Mapping[str, MultipleChoice] = {
    dataset.name: dataset
    for dataset in (
        OPINIONQA,
        MultipleChoice(
            "arc_challenge",
            HubDataset("allenai/ai2_arc", "ARC-Challenge"),
            "test",
            "question",
            "{{choices.text}}",
            "{{choices.label.index(answerKey)}}",  # some rows use the labels 1 2 3 4
            published=True,
        ),
        MultipleChoice(
            "commonsense_qa",
            HubDataset("tau/commonsense_qa"),
            "validation",  # the test split has no answers
            "question",
            "{{choices.text}}",
            "{{choices.label.index(answerKey)}}",
            published=True,
        ),
        MultipleChoice("mmlu", HubDataset("cais/mmlu", "all"), "test", "question", "choices", "answer", published=True),
    )
}


def is_known(dataset: MultipleChoice) -> bool:
    """Return whether a dataset is one of these, and does not just share a name (``owner/mmlu``)."""
    return DATASETS.get(dataset.name) is dataset
