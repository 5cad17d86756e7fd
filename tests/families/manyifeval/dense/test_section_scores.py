"""What a report follows of the instructions about its sections."""

from __future__ import annotations

from typing import Any

import pytest

from lm_eval_ext.families.instructions.kinds import SECTION_TYPES
from lm_eval_ext.families.manyifeval.dense.section_scores import scores, type_metric
from lm_eval_ext.verifiers import instruction

GIVEN: list[tuple[int, str, dict[str, Any]]] = [
    (2, "keywords:existence", {"keywords": ["budget"]}),
    (1, "punctuation:no_comma", {}),
    (1, "section:question", {}),
    (2, "section:question", {}),
    (1, "section:first_letter", {"letter": "t"}),
    (2, "punctuation:no_comma", {}),
]
ABOUT = [number for number, _, _ in GIVEN]
INSTRUCTIONS = [instruction(name, arguments) for _, name, arguments in GIVEN]


@pytest.mark.parametrize(
    ("response", "followed", "omitted", "thirds"),
    [
        ("Section 1\nThe end?\nSection 2\nWhat budget?", 6, 0, (1, 1, 1)),
        # A keyword is a whole word, as a reader sees it.
        ("Section 1\nThe end?\nSection 2\nWhat budgets?", 5, 0, (0.5, 1, 1)),
        ("Section 1\nAn end, perhaps.\nSection 2\nThe budget.", 2, 0, (0.5, 0, 0.5)),
        ("Section 2\nThe budget.", 2, 3, (0.5, 0, 0.5)),
        ("Section 1\n\nSection 2\nThe budget.", 2, 3, (0.5, 0, 0.5)),
        ("<think>Section 1\nThe end?</think>Section 2\nWhat budget?", 3, 3, (0.5, 0.5, 0.5)),
        ("What budget?", 0, 6, (0, 0, 0)),
        ("", 0, 6, (0, 0, 0)),
        (None, 0, 6, (0, 0, 0)),
    ],
)
def test_instructions_are_followed_broken_or_omitted(
    response: str | None, followed: int, omitted: int, thirds: tuple[float, ...]
) -> None:
    found = scores(response, ABOUT, INSTRUCTIONS)
    assert found["instructions_followed"] == pytest.approx(followed / 6)
    assert found["instructions_omitted"] == pytest.approx(omitted / 6)
    assert found["instructions_broken"] == pytest.approx((6 - followed - omitted) / 6)
    assert tuple(found[f"instructions_followed_{third}_third"] for third in ("first", "middle", "last")) == thirds
    assert found["primacy"] == thirds[0] - thirds[-1]
    assert found["empty_rate"] == (not response)


def test_each_type_has_how_many_are_followed_and_asked() -> None:
    found = scores("Section 1\nThe end, perhaps.\nSection 2\nThe budget.", ABOUT, INSTRUCTIONS)
    expected = dict.fromkeys(map(type_metric, SECTION_TYPES), (0, 0)) | {
        "section_acc_keywords_existence": (1, 1),
        "section_acc_punctuation_no_comma": (1, 2),
        "section_acc_section_question": (0, 2),
        "section_acc_section_first_letter": (1, 1),
    }
    assert {name: value for name, value in found.items() if name.startswith("section_acc_")} == expected
