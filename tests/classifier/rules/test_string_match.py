"""The paper's baseline: the first capital letter that is followed by a period."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lm_eval_ext.classifier.labelled import labelled_file
from lm_eval_ext.classifier.reading import Answer, Option, Reading
from lm_eval_ext.classifier.rules.string_match import read

OPTIONS = tuple(map(Option, "ABCD", ("Often", "Sometimes", "Rarely", "Never")))


@pytest.mark.parametrize(
    ("response", "value"),
    [
        ("B. Sometimes", "B"),
        ("The answer is B.", "B"),
        ("B.\nC.", "B"),
        ("xB.", "B"),
        # A letter without its full stop is none, and a full stop is no other character.
        ("B", "none"),
        ("B) Sometimes", "none"),
        ("Both of them", "none"),
        ("b.", "none"),
        ("", "none"),
        # The first one counts, though it is no option's or belongs to another word.
        ("E. B.", "none"),
        ("The U.S. should, so B.", "none"),
        ("A. is wrong, B. is right", "A"),
    ],
)
def test_the_first_capital_letter_before_a_period_is_the_answer(response: str, value: str) -> None:
    assert [reading.value for reading in read([Answer(response, OPTIONS)])] == [value]


def test_answers_are_read_in_order() -> None:
    assert read([Answer("C.", OPTIONS), Answer("?", OPTIONS), Answer("A.", OPTIONS)]) == [
        Reading("option", ("C",)),
        Reading("none"),
        Reading("option", ("A",)),
    ]


def test_the_accuracy_on_the_annotated_rows_is_the_papers(shared_data: Path) -> None:
    rows = labelled_file(shared_data / "mcq" / "mismatch_train.jsonl")
    readings = read([row.answer for row in rows])
    right = Counter(row.model for row, reading in zip(rows, readings, strict=True) if reading.same(row.label))
    # By model: 23.6 %, 55.3 %, 73.7 %, 79.1 % of these.
    assert Counter(row.model for row in rows) == {
        "llama2-7b": 331,
        "llama2-13b": 331,
        "llama2-70b": 331,
        "mixtral": 326,
    }
    assert right == {"llama2-7b": 78, "llama2-13b": 183, "llama2-70b": 244, "mixtral": 258}
    # 763 / 1319 = 57.8 %; the paper has 55 % on its test split. An unescaped dot takes any first capital letter.
    assert f"{sum(right.values()) / len(rows):.3f}" == "0.578"
