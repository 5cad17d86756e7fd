"""Questions from every source; errors name file, row and field."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.paired_mcq.datasets import DATASETS, OPINIONQA, MultipleChoice
from lm_eval_ext.families.paired_mcq.rows import Question, questions
from lm_eval_ext.sources import EMBEDDED_FOLDER, HubDataset, RowsError
from tests.families.jsonl import read_jsonl, write_jsonl, write_rows
from tests.tables import tables

OWN = MultipleChoice("mine", HubDataset("nobody/mine"), "test", "stem", "{{[a, b, c]}}", "right")
ROW = {"question": "Is it so?", "options": ["Yes", "Perhaps", "No"]}
CASES = tables(__file__, "questions")


def asked(path: str, dataset: MultipleChoice = OPINIONQA) -> list[Question]:
    return list(questions(dataset, path).usable)


def write_tsv(path: Path, rows: list[dict[str, Any]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]), delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


# OpinionQA


def test_the_414_questions_are_read_without_their_refusal(shared_data: Path) -> None:
    found = asked(str(shared_data / "mcq" / "opinionqa_questions.jsonl"))
    assert len(found) == 414
    assert not [question for question in found if "Refused" in question.options or question.gold is not None]


@pytest.mark.parametrize(("options", "ordinal", "expected"), CASES["read"].values(), ids=CASES["read"])
def test_options_are_in_the_order_of_their_ordinals_without_the_refusal(
    tmp_path: Path, options: list[str], ordinal: object, expected: list[str]
) -> None:
    row = {"question": "So?", "options": options, "option_ordinal": ordinal}
    assert asked(write_jsonl(tmp_path / "rows.jsonl", [row])) == [Question("So?", tuple(expected), None)]


def test_the_tab_separated_original_gives_the_same_questions(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "mcq" / "opinionqa_questions.jsonl"
    original = [
        {
            "qkey": number,
            "question": row["question"],
            "options": repr([*row["options"][::-1], "Refused"]),
            "option_ordinal": repr(row["option_ordinal"][::-1] if row["option_ordinal"] else "")
            .replace("None", "nan")
            .strip("'"),
        }
        for number, row in enumerate(read_jsonl(source))
    ]
    as_given = asked(str(source))
    found = asked(write_tsv(tmp_path / "original.csv", original))
    assert [question.text for question in found] == [question.text for question in as_given]
    assert [set(question.options) for question in found] == [set(question.options) for question in as_given]
    # Equal numbers, or none, leave the order to the file.
    same = sum(one == other for one, other in zip(found, as_given, strict=True))
    assert same > 300


@pytest.mark.parametrize("name", ["opinionqa_test.jsonl", "opinionqa_test.parquet", "opinionqa_test.tsv"])
def test_a_folder_and_the_file_in_it_are_one_source(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if path.suffix == ".tsv":
        write_tsv(path, [{**ROW, "options": repr(ROW["options"])}])
    else:
        write_rows(path, [ROW])
    assert asked(str(tmp_path)) == asked(str(path)) == [Question("Is it so?", ("Yes", "Perhaps", "No"), None)]


def test_a_missing_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=r"no rows of 'opinionqa' at 'nowhere\.jsonl'; expected .* found no such files"):
        asked("nowhere.jsonl")
    write_jsonl(tmp_path / "other.jsonl", [ROW])
    with pytest.raises(RowsError, match=r"no rows of 'opinionqa' at .* with opinionqa_test .*; found other\.jsonl"):
        asked(str(tmp_path))


@pytest.mark.parametrize(("changes", "message"), CASES["wrong"].values(), ids=CASES["wrong"])
def test_errors_name_file_row_and_field(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    whole = {**ROW, "option_ordinal": [1, 2, 3]}
    path = write_jsonl(tmp_path / "rows.jsonl", [whole, {**ROW, "option_ordinal": None, **changes}, whole])
    with pytest.raises(RowsError, match=rf"rows\.jsonl, row 2, {message}"):
        asked(path)


def test_a_row_without_a_question_is_named(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", [ROW, {"options": ROW["options"]}, ROW])
    with pytest.raises(RowsError, match=r"rows\.jsonl, row 2: no field 'question'"):
        asked(path)


@pytest.mark.parametrize(("changes", "message"), CASES["wrong_lists"].values(), ids=CASES["wrong_lists"])
def test_what_is_no_list_in_the_tab_separated_original_is_named(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    whole = {"question": "So?", "options": "['Yes', 'No']", "option_ordinal": ""}
    with pytest.raises(RowsError, match=rf"rows\.tsv, row 2, {message}"):
        asked(write_tsv(tmp_path / "rows.tsv", [whole, whole | changes]))


@pytest.mark.parametrize(("content", "message"), CASES["other_files"])
def test_the_error_for_another_file_says_what_was_expected(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text(content, encoding="latin-1", newline="")
    with pytest.raises(RowsError, match=message):
        asked(str(path))


@pytest.mark.parametrize(
    ("line", "question"),
    [
        ('"""Strong"" leaders?"\t"[\'a\',\'b\']"', '"Strong" leaders?'),
        ("\"How?\nChoose one.\"\t\"['a','b']\"", "How?\nChoose one."),
    ],
    ids=["doubled", "over two lines"],
)
def test_quotation_marks_of_the_tab_separated_original_are_read(tmp_path: Path, line: str, question: str) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text(f"question\toptions\n{line}\n", encoding="utf-8")
    assert asked(str(path)) == [Question(question, ("a", "b"), None)]


# The datasets of the hub, in its columns


@pytest.mark.parametrize("name", ["arc_challenge", "commonsense_qa", "mmlu"])
def test_a_factual_question_has_its_correct_option(name: str) -> None:
    given = read_jsonl(EMBEDDED_FOLDER / f"{name}_{DATASETS[name].split}.jsonl")
    for question, row in zip(asked("embedded", DATASETS[name]), given, strict=True):
        choices = row["choices"]
        options = choices if name == "mmlu" else choices["text"]
        right = row["answer"] if name == "mmlu" else choices["label"].index(row["answerKey"])
        assert question == Question(row["question"], tuple(options), right)


def test_science_questions_labelled_with_numbers_are_read_too() -> None:
    labels = {tuple(row["choices"]["label"]) for row in read_jsonl(EMBEDDED_FOLDER / "arc_challenge_test.jsonl")}
    assert ("1", "2", "3", "4") in labels
    assert ("A", "B", "C", "D") in labels


def test_unusable_published_rows_are_left_out_and_reported(tmp_path: Path) -> None:
    good = {"question": "Which?", "choices": ["a", "b"], "answer": 1}
    write_jsonl(tmp_path / "mmlu_test.jsonl", [good, good | {"choices": ["a", "a"]}, good | {"choices": ["", "a"]}])
    found = questions(DATASETS["mmlu"], str(tmp_path))
    assert len(found.usable) == 1
    one, other = found.left_out
    assert one.endswith("mmlu_test.jsonl, row 2: expected options that differ from one another")
    assert other.endswith("mmlu_test.jsonl, row 3: expected options that are not blank")


def test_having_no_usable_rows_is_an_error(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "mmlu_test.jsonl", [{"question": "Which?", "choices": ["a", "a"], "answer": 1}])
    with pytest.raises(
        RowsError, match=r"mmlu_test\.jsonl: no usable questions; .*row 1: expected options that differ"
    ):
        questions(DATASETS["mmlu"], str(tmp_path))


@pytest.mark.parametrize(("name", "row", "message"), CASES["other_columns"])
def test_a_copy_with_other_columns_is_named(tmp_path: Path, name: str, row: dict[str, Any], message: str) -> None:
    write_jsonl(tmp_path / f"{name}_test.jsonl", [row])
    with pytest.raises(RowsError, match=message):
        questions(DATASETS[name], str(tmp_path))


def test_a_row_without_ordinals_has_none_wherever_it_is(tmp_path: Path) -> None:
    backwards: dict[str, Any] = {**ROW, "option_ordinal": [3, 2, 1]}
    in_order, reversed_options = tuple(ROW["options"]), tuple(ROW["options"][::-1])
    for name, rows in (("first", [ROW, backwards]), ("last", [backwards, ROW])):
        found = asked(write_jsonl(tmp_path / f"{name}.jsonl", rows))
        assert [question.options for question in found] == [
            reversed_options if row is backwards else in_order for row in rows
        ]


# The correct option, as a user's rows may name it

Named = tuple[Sequence[str], object]
"""The options of a row, and what names the correct one."""


def golds(folder: Path, *rows: Named) -> list[int | None]:
    """Return the indices of the correct options of questions with these options and answers."""
    lines = [
        {"stem": f"{number}?", **dict(zip("abc", options, strict=True)), "right": right}
        for number, (options, right) in enumerate(rows)
    ]
    write_jsonl(folder / "mine_test.jsonl", lines)
    return [question.gold for question in asked(str(folder), OWN)]


COLORS = ["red", "green", "blue"]
# The text "C" is the first option, the letter C the third.
OPEN: Named = (["C", "B", "A"], "C")
NAMED: dict[str, tuple[list[Named], list[int]]] = {
    "a number": ([(COLORS, 1)], [1]),
    "a number as text": ([(COLORS, "1")], [1]),
    "a letter": ([(COLORS, "B")], [1]),
    "a letter between spaces": ([(COLORS, " B ")], [1]),
    "a text": ([(COLORS, "green")], [1]),
    "a text that is a number": ([(["7", "1", "0"], "7")], [0]),
    "the refusal is set aside after the letters are counted": ([(["red", "Refused", "blue"], "C")], [1]),
    "a letter, because another row has one": ([(COLORS, "B"), OPEN], [1, 2]),
    "a text, because another row has one": ([(COLORS, "blue"), OPEN], [2, 0]),
    "each in its own way, because there is no way for all": ([(COLORS, "B"), (COLORS, "blue"), (COLORS, 0)], [1, 2, 0]),
}


@pytest.mark.parametrize(("rows", "expected"), NAMED.values(), ids=NAMED)
def test_a_column_names_options_in_one_way_by_text_letter_or_number(
    tmp_path: Path, rows: list[Named], expected: list[int]
) -> None:
    assert golds(tmp_path, *rows) == expected


def test_an_answer_that_names_nothing_is_named_before_what_it_leaves_open(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=r"row 3, field 'right': expected the number \(from 0\), .*; found ''"):
        golds(tmp_path, (COLORS, "B"), OPEN, (["x", "y", "z"], ""))


@pytest.mark.parametrize(
    ("named", "ways"),
    [
        (OPEN, "'C' names 'C' by its text and 'A' by its letter"),
        ((["2", "1", "0"], "2"), "'2' names '2' by its text and '0' by its number"),
    ],
)
def test_an_answer_that_names_two_options_is_an_error(tmp_path: Path, named: Named, ways: str) -> None:
    message = rf"mine_test\.jsonl, row 1, field 'right': {ways}, .*; give numbers \(from 0\)"
    with pytest.raises(RowsError, match=message):
        golds(tmp_path, named)
    # Nor is it one by what the others have.
    (tmp_path / "others").mkdir()
    others: list[Named] = [(["red", "x", "y"], "red"), (["x", "y", "z"], "A")]
    with pytest.raises(RowsError, match=r"row 2, .* names"):
        golds(tmp_path / "others", (["red", "green", "C"], "C"), named, *others)


@pytest.mark.parametrize("right", [3, -1, True, "D", "b", "Refused", "", None, 1.0, ["red"]], ids=repr)
def test_a_target_that_names_no_option_is_an_error(tmp_path: Path, right: object) -> None:
    with pytest.raises(RowsError, match=r"mine_test\.jsonl, row 1, field 'right': expected the number \(from 0\), the"):
        golds(tmp_path, (["Refused", "red", "blue"], right))
