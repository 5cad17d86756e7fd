"""Questions from every source; errors name file, row and field."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import datasets
import pytest

from lm_eval_ext.families.paired_mcq.datasets import DATASETS, OPINIONQA, MultipleChoice
from lm_eval_ext.families.paired_mcq.rows import Question, questions
from lm_eval_ext.sources import EMBEDDED_FOLDER, HubDataset, RowsError
from tests.families.jsonl import read_jsonl, write_jsonl

OWN = MultipleChoice("mine", HubDataset("nobody/mine"), "test", "stem", "{{[a, b, c]}}", "right")
ROW = {"question": "Is it so?", "options": ["Yes", "Perhaps", "No"]}


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


# options as the file has them, their ordinals -> options in canonical order, without the refusal
READ: dict[str, tuple[list[str], object, tuple[str, ...]]] = {
    "a refusal in any case": (["Yes", " refused ", "No"], None, ("Yes", "No")),
    "a refusal at the end": (["Yes", "No", "Refused"], None, ("Yes", "No")),
    "25 and a refusal": ([*map(str, range(25)), "Refused"], None, tuple(map(str, range(25)))),
    "options that differ in case": (["AA", "Aa", "aa"], None, ("AA", "Aa", "aa")),
    "no ordinals": (["No", "Yes"], None, ("No", "Yes")),
    "in order": (["Yes", "Perhaps", "No"], [1, 2, 3], ("Yes", "Perhaps", "No")),
    "backwards": (["No", "Perhaps", "Yes"], [3.0, 2.0, 1.0], ("Yes", "Perhaps", "No")),
    "one for the refusal, too": (["No", "Refused", "Yes"], [2, 99, 1], ("Yes", "No")),
    "none for the refusal": (["No", "Refused", "Yes"], [2, 1], ("Yes", "No")),
    "equal ones as they stand": (["Perhaps", "No", "Yes", "Maybe"], [2, 3, 1, 2], ("Yes", "Perhaps", "Maybe", "No")),
    "those without a number last": (["Other", "No", "Yes"], [None, 2, 1], ("Yes", "No", "Other")),
}


@pytest.mark.parametrize(("options", "ordinal", "expected"), READ.values(), ids=READ.keys())
def test_options_are_in_the_order_of_their_ordinals_without_the_refusal(
    tmp_path: Path, options: list[str], ordinal: object, expected: tuple[str, ...]
) -> None:
    row = {"question": "So?", "options": options, "option_ordinal": ordinal}
    assert asked(write_jsonl(tmp_path / "rows.jsonl", [row])) == [Question("So?", expected, None)]


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
    elif path.suffix == ".parquet":
        datasets.Dataset.from_list([ROW]).to_parquet(str(path))
    else:
        write_jsonl(path, [ROW])
    assert asked(str(tmp_path)) == asked(str(path)) == [Question("Is it so?", ("Yes", "Perhaps", "No"), None)]


def test_a_missing_source_is_named(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=r"source 'nowhere\.jsonl' is neither a file nor a folder"):
        asked("nowhere.jsonl")
    write_jsonl(tmp_path / "other.jsonl", [ROW])
    with pytest.raises(RowsError, match=r"no rows of 'opinionqa' in .*expected opinionqa_test .*found other\.jsonl"):
        asked(str(tmp_path))


# row 2 of three; what the message says
BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "options that are text": ({"options": "Yes, no"}, "field 'options': expected a list of texts, found 'Yes, no'"),
    "an option that is a number": (
        {"options": ["Yes", 2]},
        r"field 'options': expected a list of texts, found \['Yes'",
    ),
    "one option": (
        {"options": ["Yes"]},
        r"field 'options': expected 2 to 25 options in addition to 'Refused'; found \['Yes'\]",
    ),
    "one option and a refusal": ({"options": ["Yes", "Refused"]}, "field 'options': expected 2 to 25 options in"),
    "26 options": ({"options": list(map(str, range(26)))}, "field 'options': expected 2 to 25 options in"),
    "a blank option": ({"options": ["Yes", " "]}, "field 'options': expected options that are not blank"),
    "an option twice": (
        {"options": ["Yes", "No", "Yes "]},
        "field 'options': expected options that differ from one an",
    ),
    "a blank question": ({"question": " "}, "field 'question': expected text, found ' '"),
    "a question that is a number": ({"question": 5}, "field 'question': expected text, found 5"),
    "too few ordinals": (
        {"option_ordinal": [1]},
        r"field 'option_ordinal': expected null or a list of 3 .*found \[1\]",
    ),
    "ordinals that are no numbers": ({"option_ordinal": ["a", "b", "c"]}, "field 'option_ordinal': expected null or"),
    "a question missing": ({"question": ...}, "no field 'question'"),
}


@pytest.mark.parametrize(("changes", "message"), BROKEN.values(), ids=BROKEN.keys())
def test_errors_name_file_row_and_field(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    whole = {**ROW, "option_ordinal": [1, 2, 3]}
    broken = {key: value for key, value in ({**whole, "option_ordinal": None} | changes).items() if value is not ...}
    path = write_jsonl(tmp_path / "rows.jsonl", [whole, broken, whole])
    with pytest.raises(RowsError, match=rf"rows\.jsonl, row 2[,:] {message}"):
        asked(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"options": "Yes, no"}, "field 'options': expected a list in Python syntax"),
        ({"options": "__import__('os')"}, "field 'options': expected a list in Python syntax"),
        ({"options": "{{}}"}, "field 'options': expected a list in Python syntax"),
        ({"options": "3"}, "field 'options': expected a list of texts, found 3"),
        ({"option_ordinal": "open('x')"}, "field 'option_ordinal': expected a list in Python syntax"),
    ],
)
def test_what_is_no_list_in_the_tab_separated_original_is_named(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    whole = {"question": "So?", "options": "['Yes', 'No']", "option_ordinal": ""}
    with pytest.raises(RowsError, match=rf"rows\.tsv, row 2, {message}"):
        asked(write_tsv(tmp_path / "rows.tsv", [whole, whole | changes]))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            b"question,options\nSo?,x\n",
            r"has no column 'question'; expected a tab-separated file.*found question,options",
        ),
        (b"question\tanswers\nSo?\tx\n", r"has no column 'options'; expected .*found question, answers"),
        (b"question\toptions\n", "no rows"),
        (b"", "has no column 'question'.*found nothing"),
        (b"question\toptions\n\xff\t[]\n", "not a tab-separated file in UTF-8"),
    ],
)
def test_the_error_for_another_file_says_what_was_expected(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "rows.tsv"
    path.write_bytes(content)
    with pytest.raises(RowsError, match=message):
        asked(str(path))


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


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("mmlu", {"question": "?", "choices": ["a", "b"]}, "no column 'answer'; expected question, choices, answer"),
        ("mmlu", {"question": "?", "choices": ["a", "b"], "answer": 2}, "row 1, field 'answer': expected the number"),
        ("mmlu", {"question": "?", "choices": ["a", "b"], "answer": None}, "row 1, field 'answer': .* found None"),
        ("arc_challenge", {"question": "?", "choices": ["a"], "answerKey": "A"}, "row 1: its options .*no attribute"),
        (
            "arc_challenge",
            {"question": "?", "choices": {"text": ["a", "b"], "label": ["A", "B"]}, "answerKey": ""},
            "row 1: its correct option .* could not be read",
        ),
    ],
)
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


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "\"Strong\" leaders matter\t['a','b']",
            "not a tab-separated file .*; a field with a quotation mark must be in",
        ),
        ("\"Safe\t['a','b']\nQ2\t['c','d']", "not a tab-separated file .*unexpected end of data"),
        (
            "\"Safe\t['a','b']\nFair\"\t['c','d']",
            "row 1, field 'question': expected text without tabs, found",
        ),
    ],
)
def test_quotation_marks_join_no_rows_of_the_tab_separated_original(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "rows.tsv").write_text(f"question\toptions\n{line}\n", encoding="utf-8")
    with pytest.raises(RowsError, match=message):
        asked(str(tmp_path / "rows.tsv"))
    (tmp_path / "whole.tsv").write_text('question\toptions\n"""Strong"" leaders?"\t"[\'a\',\'b\']"\n', encoding="utf-8")
    assert asked(str(tmp_path / "whole.tsv"))[0].text == '"Strong" leaders?'
    (tmp_path / "lines.tsv").write_text("question\toptions\n\"How?\nChoose one.\"\t\"['a','b']\"\n", encoding="utf-8")
    assert asked(str(tmp_path / "lines.tsv"))[0].text == "How?\nChoose one."


# The correct option, as a user's rows may name it


@pytest.mark.parametrize(
    ("options", "right", "index"),
    [
        (["red", "green", "blue"], 1, 1),
        (["red", "green", "blue"], "1", 1),
        (["red", "green", "blue"], "B", 1),
        (["red", "green", "blue"], " B ", 1),
        (["red", "green", "blue"], "green", 1),
        (["7", "1", "0"], "7", 0),
        (["red", "Refused", "blue"], "C", 1),  # the refusal is set aside after the letters are counted
    ],
)
def test_the_correct_option_may_be_given_by_text_letter_or_number(
    tmp_path: Path, options: list[str], right: object, index: int
) -> None:
    row = {"stem": "Which?", **dict(zip("abc", options, strict=True)), "right": right}
    write_jsonl(tmp_path / "mine_test.jsonl", [row])
    (question,) = asked(str(tmp_path), OWN)
    assert question.gold == index


def of_rows(folder: Path, *rows: tuple[Sequence[str], object]) -> list[int | None]:
    """Return the indices of the correct options of questions with these options and answers."""
    options = [dict(zip("abc", of_row, strict=True)) for of_row, _ in rows]
    lines = [
        {"stem": f"{n}?", **row, "right": right} for n, (row, (_, right)) in enumerate(zip(options, rows, strict=True))
    ]
    write_jsonl(folder / "mine_test.jsonl", lines)
    return [question.gold for question in asked(str(folder), OWN)]


@pytest.mark.parametrize(
    ("other", "right"),
    [
        # What the other row needs, decides.
        ((["red", "green", "blue"], "B"), [1, 2]),
        ((["red", "green", "blue"], "blue"), [2, 0]),
    ],
)
def test_a_column_names_options_in_one_way(
    tmp_path: Path, other: tuple[Sequence[str], object], right: list[int]
) -> None:
    # The text "C" is the first option, the letter C the third.
    assert of_rows(tmp_path, other, (["C", "B", "A"], "C")) == right


def test_an_answer_that_names_nothing_is_named_before_what_it_leaves_open(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=r"row 3, field 'right': expected the number \(from 0\), .*; found ''"):
        of_rows(tmp_path, (["red", "green", "blue"], "B"), (["C", "B", "A"], "C"), (["x", "y", "z"], ""))


def test_a_column_that_nothing_reads_in_one_way_may_name_each_option_in_its_own(tmp_path: Path) -> None:
    colors = ["red", "green", "blue"]
    assert of_rows(tmp_path, (colors, "B"), (colors, "blue"), (colors, 0)) == [1, 2, 0]


@pytest.mark.parametrize(
    ("options", "right", "ways"),
    [
        (["C", "B", "A"], "C", "'C' by its text and 'A' by its letter"),
        (["2", "1", "0"], "2", "'2' by its text and '0' by its number"),
    ],
)
def test_an_answer_that_names_two_options_is_an_error(
    tmp_path: Path, options: list[str], right: str, ways: str
) -> None:
    message = rf"mine_test\.jsonl, row 1, field 'right': '{right}' names {ways}, .*; give numbers \(from 0\)"
    with pytest.raises(RowsError, match=message):
        of_rows(tmp_path, (options, right))
    # Nor is it one by what the others have.
    (tmp_path / "others").mkdir()
    with pytest.raises(RowsError, match=r"row 2, .* names"):
        of_rows(
            tmp_path / "others",
            (["red", "green", "C"], "C"),
            (options, right),
            (["red", "x", "y"], "red"),
            (["x", "y", "z"], "A"),
        )


@pytest.mark.parametrize("right", [3, -1, True, "D", "b", "Refused", "", None, 1.0, ["red"]], ids=repr)
def test_a_target_that_names_no_option_is_an_error(tmp_path: Path, right: object) -> None:
    row = {"stem": "Which?", "a": "red", "b": "Refused", "c": "blue", "right": right}
    write_jsonl(tmp_path / "mine_test.jsonl", [row])
    with pytest.raises(RowsError, match=r"mine_test\.jsonl, row 1, field 'right': expected the number \(from 0\), the"):
        asked(str(tmp_path), OWN)
