"""Labeled rows: what a file may contain, what it means, and the errors for invalid rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.classifier.labelled import (
    Labelled,
    answer_of_row,
    labelled_file,
    labelled_row,
    question_key,
    split_by_question,
)
from lm_eval_ext.classifier.reading import Answer, Option, Reading
from lm_eval_ext.sources import RowsError
from tests.tables import tables

OPTIONS = [{"letter": "A", "text": "Tea"}, {"letter": "B", "text": "Coffee"}, {"letter": "C", "text": "Water"}]
CASES = tables(__file__, "labelled")


def labelled(fields: dict[str, Any]) -> Labelled:
    return labelled_row("rows.jsonl, row 1", {"options": OPTIONS, "response": "Tea."} | fields)


@pytest.mark.parametrize(("fields", "label"), CASES["labels"])
def test_a_label_is_a_reading(fields: dict[str, Any], label: str | list[str]) -> None:
    options = [*OPTIONS, {"letter": "D", "text": " refused"}] if fields.get("options") == "refusable" else OPTIONS
    found = labelled(fields | {"options": options}).label
    assert (found.value, found.certainty) == (label, 1)


@pytest.mark.parametrize(("fields", "complaint"), CASES["wrong"])
def test_an_invalid_row_is_named_with_the_field(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RowsError) as error:
        labelled(fields)
    assert str(error.value).startswith(f"rows.jsonl, row 1{complaint}")


def test_a_row_without_a_label_is_still_an_answer() -> None:
    answer = answer_of_row("row 1", {"options": OPTIONS[:1], "response": "Tea."})
    assert answer == Answer("Tea.", (Option("A", "Tea"),))


@pytest.mark.parametrize("field", ["options", "response"])
def test_a_row_without_options_or_response_is_rejected(field: str) -> None:
    row = {"options": OPTIONS, "response": "Tea.", "other": 1}
    del row[field]
    with pytest.raises(RowsError, match=f"row 1: no field '{field}'; expected options, response; found .*other"):
        answer_of_row("row 1", row)


@pytest.mark.parametrize(("response", "text"), CASES["responses"])
def test_reasoning_is_removed_before_reading(response: str | None, text: str) -> None:
    assert labelled({"label": "A", "response": response}).answer.text == text


def test_blank_lines_in_a_file_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"options": OPTIONS, "response": "Tea.", "label": "A", "model": "m", "question": "Which?"}
    path.write_text(f"{json.dumps(row)}\n\n{json.dumps(row | {'label': 'B', 'model': None})}\n", encoding="utf-8")
    first, second = labelled_file(path)
    assert (first.model, first.question, first.label.value) == ("m", "Which?", "A")
    assert (second.model, second.label.value) == ("", "B")


def test_a_malformed_file_is_named_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("\n", encoding="utf-8")
    with pytest.raises(RowsError, match=r"rows\.jsonl: no rows"):
        labelled_file(path)
    path.write_text('\n{"options": 1}\n[]\n', encoding="utf-8")
    with pytest.raises(RowsError, match=r"rows\.jsonl, row 2: no field 'response'"):
        labelled_file(path)


def asked(question: str, *texts: str) -> Labelled:
    return Labelled(Answer("", tuple(map(Option, "AB", texts))), Reading("none"), question=question)


@pytest.mark.parametrize(("one", "other", "expected"), CASES["questions"])
def test_rows_of_the_same_question_are_recognized(one: list[str], other: list[str], expected: str) -> None:
    is_same = question_key(asked(*one)) == question_key(asked(*other))
    assert is_same == (expected == "same")


def test_the_split_keeps_questions_whole() -> None:
    rows = [asked(f"Question {number % 10}?", "Tea") for number in range(35)]
    taught, held_out = split_by_question(rows, 0.2, seed=0)
    assert len({question_key(row) for row in held_out}) == 2  # 0.2 * 10
    assert not {question_key(row) for row in taught} & {question_key(row) for row in held_out}
    assert len(taught) + len(held_out) == 35


def test_the_split_depends_on_the_seed_and_not_on_the_order() -> None:
    rows = [asked(f"Question {number}?", "Tea") for number in range(30)]
    held_out = {row.question for row in split_by_question(rows, 0.3, seed=0)[1]}
    assert {row.question for row in split_by_question(rows[::-1], 0.3, seed=0)[1]} == held_out
    assert {row.question for row in split_by_question(rows, 0.3, seed=1)[1]} != held_out


@pytest.mark.parametrize(("name", "kinds"), [("mismatch_train", {"option"}), ("robustness", {"option", "refused"})])
def test_the_published_annotations_are_valid_rows(shared_data: Path, name: str, kinds: set[str]) -> None:
    rows = labelled_file(shared_data / "mcq" / f"{name}.jsonl")
    found = {row.label.kind for row in rows}
    assert found == kinds | {"several", "none"}
    assert all(row.model and row.question for row in rows)
