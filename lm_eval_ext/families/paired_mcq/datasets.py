"""The datasets that need no more than their name: where they lie, and how their rows become questions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lm_eval_ext.sources import HubDataset


@dataclass(frozen=True)
class MultipleChoice:
    """A multiple-choice dataset.

    Attributes:
        name: in task and file names.
        hub: where it lies; ``None``: nowhere on the hub.
        split: the evaluated one.
        question, options, gold: columns or templates over them (``expression``): text, a list of texts, and the right
            one of them (its number from 0, its letter or its text); ``gold`` is ``None`` where no answer is right.
        ordinal: a column of lists of numbers by which the options are sorted, where there is one.
        published: whether the rows are others' and fixed: then a question that cannot be asked is left out and
            counted, where a user's own is an error to be mended.
        rows: how many of its questions are asked, in the order in which they come; ``None``: all.
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
            "{{choices.label.index(answerKey)}}",  # some rows are labelled 1 2 3 4
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
    """Return whether it is one of these, and not just called like one (``owner/mmlu``)."""
    return DATASETS.get(dataset.name) is dataset
