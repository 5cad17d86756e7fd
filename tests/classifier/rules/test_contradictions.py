"""A letter with another option's text: where it is clear, and what it is worth."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lm_eval_ext.classifier.labelled import labelled_file
from lm_eval_ext.classifier.reading import Answer, Option, Reading
from lm_eval_ext.classifier.rules.contradictions import CERTAINTY
from lm_eval_ext.classifier.rules.reader import decide

HOME = (Option("A", "In a city"), Option("B", "In a suburb"), Option("C", "In a village"), Option("D", "Refused"))


@pytest.mark.parametrize(
    "response",
    [
        "A. In a village",
        "A. In a village.",
        "(A) In a village\n\nVillages are quiet.",
        "The answer is A: in a village!",
        "I'm just an AI, but the best choice is A. In a village.",
        "A. Refused",
    ],
)
def test_it_is_read_with_a_certainty_below_one(response: str) -> None:
    assert decide(Answer(response, HOME)) == Reading("contradiction", (), CERTAINTY)


@pytest.mark.parametrize(
    "response",
    [
        "In a village (A)",  # the letter may be a slip
        "A, in a village",  # a bare letter
        "A. In a village, or C. In a village",
        "A. In a village? No, C.",
        "A. In a village\nB. In a city",  # two of them
        "A. In a village near the coast",  # more than the option's text
        "A is better than in a village.",
    ],
)
def test_it_is_not_read_where_letter_or_text_is_not_clear(response: str) -> None:
    found = decide(Answer(response, HOME))
    assert found is None or found.kind != "contradiction"


def test_annotators_call_it_no_answer(shared_data: Path) -> None:
    labels: Counter[str] = Counter()
    for name in ("mismatch_train", "robustness"):
        for row in labelled_file(shared_data / "mcq" / f"{name}.jsonl"):
            reading = decide(row.answer)
            if reading is not None and reading.kind == "contradiction":
                labels[row.label.kind] += 1
    assert labels == {"none": 15, "option": 2}
    assert pytest.approx(labels["none"] / labels.total(), abs=0.03) == CERTAINTY
