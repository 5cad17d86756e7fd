"""Lists of letters that an answer leaves open, beside lists that it only mentions."""

from __future__ import annotations

import pytest

from lm_eval_ext.classifier.reading import Answer, Option
from lm_eval_ext.classifier.rules.reader import decide

OPTIONS = (
    Option("A", "Often"),
    Option("B", "Sometimes"),
    Option("C", "Rarely"),
    Option("D", "Never"),
    Option("E", "Refused"),
)


@pytest.mark.parametrize(
    ("response", "letters"),
    [
        ("A, B, or C, depending on the week.", "ABC"),
        ("As an AI I have no habits. The answer would be A, B or C, depending on the person.", "ABC"),
        ("I cannot decide. One of the following letters: B, D.", "BD"),
        ("I have no view. The only valid answer is either B or C.", "BC"),
        ("Possible answers: A, B", "AB"),
        ("Either A or D.", "AD"),
        ("Any of the options A, C and D would be fine.", "ACD"),
        ("Options B and C are equally valid.", "BC"),
        ("B and C could both apply.", "BC"),
        ("B. Sometimes or C. Rarely, depending on the season", "BC"),
        ("I'm not a person, but A (Often) or B (Sometimes) would be plausible.", None),
    ],
)
def test_a_list_that_is_left_open_is_several(response: str, letters: str | None) -> None:
    reading = decide(Answer(response, OPTIONS))
    if letters is None:
        assert reading is None
    else:
        assert reading is not None
        assert reading.value == [*letters]


@pytest.mark.parametrize(
    "response",
    [
        "I won't select any of A, B or C.",
        "I cannot choose between A and B.",
        "It is hard to say whether A or B is right.",
        "Some people would say A or B.",
        "Neither A nor B could be right.",
        "A or B could be right, but C is better.",
        "Any of the options A, B, C, D, or E could be chosen.",  # with the refusal: all that there is
        "The list has A, B and C.",
    ],
)
def test_a_list_that_is_only_mentioned_is_not(response: str) -> None:
    reading = decide(Answer(response, OPTIONS))
    assert reading is None or reading.kind != "several"
