"""Recorded responses: the formats of their rows, their verdicts and accuracies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.regrade import Prompts, accuracies, answered, read_prompts, regrade
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import Edition, Verdict

NO_COMMA = "punctuation:no_comma"
WORDS = "length_constraints:number_words"


def lines(*rows: Any) -> list[bytes]:
    return [json.dumps(row).encode() + b"\n" for row in rows]


def row(response: str | None, *ids: str) -> dict[str, Any]:
    arguments = {NO_COMMA: {}, WORDS: {"num_words": 2, "relation": "at least"}}
    return {"response": response, "instruction_id_list": list(ids), "kwargs": [arguments[name] for name in ids]}


def test_accuracies_are_over_rows_and_over_all_instructions() -> None:
    strict = [Verdict((True, True, True)), Verdict((False,)), Verdict((True, False))]
    loose = [Verdict((True, True, True)), Verdict((True,)), Verdict((True, False))]
    assert accuracies(strict, loose, "faithful") == {
        "prompt_level_strict_acc": 1 / 3,
        "inst_level_strict_acc": 4 / 6,  # not the mean of 1, 0 and 1/2
        "prompt_level_loose_acc": 2 / 3,
        "inst_level_loose_acc": 5 / 6,
    }
    assert list(accuracies(strict, loose, "repaired")) == [
        "prompt_level_repaired_acc",
        "inst_level_repaired_acc",
        "prompt_level_repaired_loose_acc",
        "inst_level_repaired_loose_acc",
    ]


def test_each_row_has_both_verdicts() -> None:
    (judged,) = regrade(lines(row("Sure, here:\none two", NO_COMMA, WORDS)), "file")
    assert judged.strict.follow_instruction_list == (False, True)
    assert judged.loose.follow_instruction_list == (True, True)
    assert judged.row(loose=False)["follow_all_instructions"] is False
    assert judged.row(loose=True)["follow_instruction_list"] == [True, True]


@pytest.mark.parametrize(("edition", "followed"), [("faithful", True), ("repaired", False)])
def test_both_verdicts_are_those_of_the_edition(edition: Edition, followed: bool) -> None:
    keyword = {"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": ["art"]}], "response": "smart"}
    (judged,) = regrade(lines(keyword), "file", edition)
    assert judged.strict.follow_all_instructions is judged.loose.follow_all_instructions is followed


@pytest.mark.parametrize(("strip", "followed"), [(True, True), (False, False)])
def test_reasoning_is_not_part_of_the_answer_unless_it_is_kept(strip: bool, followed: bool) -> None:
    said = "<think>Well,\nwell,\nwell</think>No comma"
    (judged,) = regrade(lines(row(said, NO_COMMA)), "file", strip_reasoning=strip)
    assert judged.strict.follow_all_instructions is judged.loose.follow_all_instructions is followed


@pytest.mark.parametrize("text", [[], [b"\n", b"  \n"]])
def test_having_no_rows_is_an_error(text: list[bytes]) -> None:
    with pytest.raises(RowsError, match=r"^file: no rows; expected one response per line"):
        list(regrade(text, "file"))


def test_an_instruction_that_cannot_be_judged_is_an_error_that_names_the_row() -> None:
    keyword = {"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": ["(a+)+$"]}], "response": "x"}
    found = regrade([*lines(row("x", NO_COMMA)), b"\n", *lines(keyword)], "file")
    assert next(found).strict.follow_all_instructions
    with pytest.raises(RowsError, match=r"^file, row 3, fields .*: keywords:existence: .*'\(a\+\)\+\$'"):
        next(found)


# The formats of rows.

ASKED = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
PROMPT = {"key": 7, "prompt": "Say hello.", **ASKED}


def line(row: Any) -> bytes:
    return json.dumps(row).encode()


@pytest.fixture
def prompts(tmp_path: Path) -> Prompts:
    path = tmp_path / "prompts.jsonl"
    path.write_bytes(line(PROMPT) + b"\n\n" + line({**PROMPT, "key": "b", "prompt": "Say no."}))
    return read_prompts(path)


def test_a_row_with_instructions_and_response_is_complete() -> None:
    row = {**ASKED, "response": "Hello", "note": 1}
    (found,) = answered("here", line(row), None)
    assert (found.row, found.asked, found.response) == (row, row, "Hello")


@pytest.mark.parametrize("written", [json.dumps, repr], ids=["JSON", "a Python literal"])
def test_a_row_of_if_rlvr_has_its_instructions_in_ground_truth(written: Callable[[Any], str], tmp_path: Path) -> None:
    packed = {"ground_truth": written([{"instruction_id": ["punctuation:no_comma"], "kwargs": [None]}])}
    asked = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [None]}
    (found,) = answered("here", line({**packed, "response": "Hello"}), None)
    assert (found.row, found.response) == ({**packed, **asked, "response": "Hello"}, "Hello")
    (found,) = answered("here", line({"doc": packed, "filtered_resps": ["Hello"]}), None)
    assert found.asked == {**packed, **asked}
    path = tmp_path / "prompts.jsonl"
    path.write_bytes(line({"key": 7, "prompt": "Say hello.", **packed}))
    (found,) = answered("here", line({"key": 7, "response": "Hello"}), read_prompts(path))
    assert found.asked["instruction_id_list"] == ["punctuation:no_comma"]


@pytest.mark.parametrize("responses", [["Hello"], [["Hello"]]], ids=["lm-eval 0.4", "lm-eval 0.5"])
def test_a_line_of_a_samples_file_is_a_row(responses: list[Any]) -> None:
    row = {"doc_id": 0, "doc": PROMPT, "resps": [["Hello "]], "filtered_resps": responses, "filter": "none"}
    (found,) = answered("here", line(row), None)
    assert (found.row, found.asked, found.response) == (row, PROMPT, "Hello")


def test_every_draw_of_a_row_is_a_response_with_its_number() -> None:
    row = {"doc_id": 0, "doc": PROMPT, "filtered_resps": [["Hello", None, "Hello"]]}
    found = answered("here", line(row), None)
    assert [(one.row, one.asked, one.response, one.draw) for one in found] == [
        ({**row, "draw": 1}, PROMPT, "Hello", 1),
        ({**row, "draw": 2}, PROMPT, "", 2),
        ({**row, "draw": 3}, PROMPT, "Hello", 3),
    ]


@pytest.mark.parametrize("names", [{"key": 7}, {"key": 7, "prompt": "another"}, {"prompt": "Say hello."}])
def test_a_bare_response_gets_the_instructions_of_its_prompt(names: dict[str, Any], prompts: Prompts) -> None:
    (found,) = answered("here", line({**names, "response": "Hello", "model": "m"}), prompts)
    assert found.row == {**PROMPT, **names, "response": "Hello", "model": "m"}
    assert (found.asked, found.response) == (PROMPT, "Hello")


def test_the_prompts_instructions_are_used_if_prompts_are_given(prompts: Prompts) -> None:
    other = {"instruction_id_list": ["startend:quotation"], "kwargs": [{}]}
    (found,) = answered("here", line({"key": "b", "response": "Hello", **other}), prompts)
    assert found.row["instruction_id_list"] == found.asked["instruction_id_list"] == ["punctuation:no_comma"]


@pytest.mark.parametrize(
    "row",
    [
        {**ASKED, "response": None},
        {"doc": PROMPT, "filtered_resps": [None]},
        {"doc": PROMPT, "filtered_resps": [[None]]},
    ],
)
def test_a_null_response_is_empty(row: dict[str, Any]) -> None:
    (found,) = answered("here", line(row), None)
    assert (found.response, found.row.get("response")) == ("", None)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        (
            {"response": "x", "key": 7},
            ": no field 'instruction_id_list'; expected response, instruction_id_list, kwargs; ",
        ),
        ({"response": "x", "key": 7}, ": .*found response, key; --prompts FILE supplies the instructions by key"),
        (
            {"doc": {"question": "x"}, "filtered_resps": ["x"]},
            ", field 'doc': no field 'instruction_id_list'; expected sa",
        ),
        (
            {"doc": PROMPT, "filtered_resps": ["x", "y"]},
            r", field 'filtered_resps': expected one response, found \['x', ",
        ),
        (
            {"doc": PROMPT, "filtered_resps": [["x", 3]]},
            r", field 'filtered_resps': expected one response, found \[\[",
        ),
        ({"doc": PROMPT, "filtered_resps": []}, r", field 'filtered_resps': expected one response, found \[\]"),
        ({**ASKED, "response": ["x"]}, r", field 'response': expected text, found \['x'\]"),
        ({"response": "x", "ground_truth": "42"}, r", field 'ground_truth': expected \[\{.*, found '42'$"),
        (
            {"doc": {"ground_truth": None}, "filtered_resps": ["x"]},
            r", field 'doc', field 'ground_truth': expected \[\{.*, found None$",
        ),
    ],
)
def test_any_other_row_is_an_error_that_says_what_was_expected(row: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RowsError, match=f"^file, row 3{complaint}"):
        answered("file, row 3", line(row), None)


@pytest.mark.parametrize(
    ("row", "complaint"),
    [
        ({"key": 8, "response": "x"}, ": no prompt with key 8 in .*prompts.jsonl"),
        ({"key": "7", "response": "x"}, ": no prompt with key '7' in "),
        ({"key": [7], "response": "x"}, r": no prompt with key \[7\] in "),
        ({"prompt": "Say yes.", "response": "x"}, ": no prompt 'Say yes.' in .*, and no field 'key'"),
        ({"response": "x"}, ": no field 'key' or 'prompt' to find its prompt by; found response"),
        ({"key": 7}, ": no field 'response'; expected response; found key"),
        ({"key": 7, "response": 3}, ", field 'response': expected text, found 3"),
    ],
)
def test_a_response_to_an_unknown_prompt_is_an_error(row: dict[str, Any], complaint: str, prompts: Prompts) -> None:
    with pytest.raises(RowsError, match=f"^file, row 3{complaint}"):
        answered("file, row 3", line(row), prompts)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (b"", ": no prompts; expected one row with key, prompt, instruction_id_list, kwargs per line"),
        (b"no json", ", row 1: not JSON"),
        (line(PROMPT) + b"\n" + line(PROMPT), ", row 2: key 7 already occurs in an earlier row; expected it once"),
        (line({**ASKED, "key": 7}), ", row 1: no field 'prompt'; expected key, prompt, instruction_id_list, kwargs; f"),
        (line({**PROMPT, "key": None}), ", row 1, field 'key': expected text or a whole number, found None"),
        (line({**PROMPT, "prompt": 3}), ", row 1, field 'prompt': expected text, found 3"),
    ],
)
def test_a_file_of_other_rows_is_not_a_prompts_file(text: bytes, complaint: str, tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_bytes(text)
    with pytest.raises(RowsError, match=f"^{path}{complaint}"):
        read_prompts(path)
