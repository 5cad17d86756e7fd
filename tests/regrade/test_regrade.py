"""Verdicts and accuracies of recorded responses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lm_eval_ext.regrade.regrade import accuracies, regrade
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
