"""A choice after a disclaimer or a refusal: read where it is plain, with less certainty than others."""

from __future__ import annotations

import pytest

from lm_eval_ext.classifier.reading import Answer, Option
from lm_eval_ext.classifier.rules.after_refusal import CERTAINTY
from lm_eval_ext.classifier.rules.reader import decide

OPTIONS = (Option("A", "Often"), Option("B", "Sometimes"), Option("C", "Rarely"), Option("D", "Never"))
DISCLAIMERS = (
    "As an AI, I don't have personal opinions.",
    "I cannot answer this question.",
    "I'm sorry, but it is not appropriate for me to choose.",
)


@pytest.mark.parametrize("disclaimer", DISCLAIMERS)
@pytest.mark.parametrize(
    "choice",
    [
        "The answer is: C. Rarely",
        "Therefore, the correct answer is (C) Rarely.",
        "However, based on the options, I would choose C.",
        "My answer is:\n\nC. Rarely\n\nThis is because it rarely happens.",
        "\n\nC. Rarely",
        "Answer: C",
    ],
)
def test_a_plain_choice_is_read_whatever_stands_before_it(disclaimer: str, choice: str) -> None:
    reading = decide(Answer(f"{disclaimer} {choice}", OPTIONS))
    assert reading is not None
    assert (reading.value, reading.certainty) == ("C", CERTAINTY)


@pytest.mark.parametrize("disclaimer", DISCLAIMERS)
@pytest.mark.parametrize(
    "choice",
    [
        "If I were a person, I would choose C.",
        "Most people would say that the answer is C.",
        "Some would choose C and others D.",
        "Option C means that it rarely happens.",
        "I would not choose C.",
        "I chose C once, but the answer is D.",
    ],
)
def test_a_choice_that_is_not_plain_is_left_to_the_encoder(disclaimer: str, choice: str) -> None:
    assert decide(Answer(f"{disclaimer} {choice}", OPTIONS)) is None
