"""The wordings: the first is the paper's, all say the same, and none of them is an answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

import pytest

from lm_eval_ext.families.verbalizer.answer import read_answer
from lm_eval_ext.families.verbalizer.rows import DATASETS
from lm_eval_ext.families.verbalizer.verbalizer import QUESTIONS, WORDINGS, Reads, instructions
from tests.conftest import ROOT
from tests.families.verbalizer.table_1 import GOLDEN_NAMES, VERBALIZERS, words

READS: tuple[Reads, ...] = ("first", "final")


def test_every_dataset_has_its_two_golden_labels_in_the_order_of_the_paper() -> None:
    assert QUESTIONS.keys() == DATASETS.keys()
    assert {dataset: tuple(question.conditions) for dataset, question in QUESTIONS.items()} == GOLDEN_NAMES


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("dataset", GOLDEN_NAMES)
def test_all_wordings_differ_and_each_has_the_whole_mapping(dataset: str, reads: Reads) -> None:
    question = QUESTIONS[dataset]
    first, second = question.conditions.values()
    one, other = "zam", "keb"
    found = instructions(dataset, reads, dict(zip(question.conditions, (one, other), strict=True)))
    assert len(set(found)) == len(found) == WORDINGS
    # What is judged, and both conditions, in the same words and in the same order.
    for text in found:
        assert "{" not in text
        assert "helpful assistant" in text
        assert ("allowed" in text) == (reads == "first")
        assert ("final answer" in text) == (reads == "final")
        judged, *mapping = (text.index(part, text.index(question.judged)) for part in (question.judged, first, second))
        assert judged <= mapping[0] < mapping[1]
        # Swapping the words is swapping them in the text, so that no wording has a word of its own.
        swapped = instructions(dataset, reads, dict(zip(question.conditions, (other, one), strict=True)))
        assert text.replace(one, "*").replace(other, one).replace("*", other) in swapped
        assert text.index(f'"{one}"') < text.index(f'"{other}"')


def test_the_page_lists_them() -> None:
    text = (ROOT / "docs/appendix/verbalizer-wordings.md").read_text(encoding="utf-8")
    section = text.partition("\n## ")[0]
    listed = [" ".join(item.split()) for item in re.split(r"\n\d\. ", section)[1:]]
    assert tuple(listed) == instructions("sst2", "first", {"positive": "foo", "negative": "bar"})


def repetitions(instruction: str) -> Iterator[str]:
    """Yield an instruction, each of its sentences, and all of them from one on."""
    sentences = [f"{sentence.rstrip('.')}." for sentence in instruction.split(". ")]
    for number, sentence in enumerate(sentences):
        yield sentence
        yield " ".join(sentences[number:])


@pytest.mark.parametrize("reads", READS)
@pytest.mark.parametrize("dataset", GOLDEN_NAMES)
def test_a_response_that_only_repeats_a_wording_is_no_answer(dataset: str, reads: Reads) -> None:
    for verbalizer in chain.from_iterable(VERBALIZERS.values()):
        labels = words(dataset, verbalizer)
        for instruction in instructions(dataset, reads, dict(zip(GOLDEN_NAMES[dataset], labels, strict=True))):
            for text in repetitions(instruction):
                assert read_answer(text, labels, reads) is None, text
