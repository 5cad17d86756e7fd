"""Finished rows in the published schema: ours survive export and import; invalid ones are named by row and field."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.manyifeval.command import as_published
from lm_eval_ext.families.manyifeval.rows import (
    InstructionRow,
    Selection,
    all_rows,
    evaluated,
    rows_hash,
    rows_with_count,
)
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import instruction
from tests.families.jsonl import WRONG_ROWS, write_jsonl, write_rows
from tests.families.manyifeval.files import published_rows

FIELDS = ("key", "prompt", "instruction_id_list", "kwargs", "task_prompt", "not_conflict_rules_list", "rules")

# Two task prompts with one and two instructions each: the smallest file with every relation between rows.
PROMPT = "Say it.\n\nYour response should follow the instructions below:\n- …"
ONE = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
TWO = {
    "instruction_id_list": ["punctuation:no_comma", "keywords:frequency"],
    "kwargs": [{}, {"keyword": "fox", "frequency": 2, "relation": "at least"}],
}
TEXTS = {"prompt": PROMPT, "task_prompt": "Say it.", "not_conflict_rules_list": ["…"], "rules": ["…"]}
SMALL: list[dict[str, Any]] = [{"key": key} | shape | TEXTS for key in (7, 8) for shape in (ONE, TWO)]


def without_witness(found: tuple[InstructionRow, ...]) -> tuple[InstructionRow, ...]:
    return tuple(replace(row, witness=None) for row in found)


@pytest.mark.parametrize("name", ["manyifeval_test.jsonl", "manyifeval_test.parquet"])
def test_exported_rows_are_read_back_unchanged_from_a_file_or_folder(tmp_path: Path, name: str) -> None:
    path = write_rows(tmp_path / name, published_rows())
    ours = all_rows("embedded", "test")
    assert len(ours) == 1000
    for source in (path, str(tmp_path)):
        assert all_rows(source, "test") == without_witness(ours)
        assert rows_hash(evaluated(Selection(source, 10))) == rows_hash(evaluated(Selection("embedded", 10)))
        repeated, other = (rows_with_count(Selection(where, 4, repeat=True)) for where in (source, "embedded"))
        assert repeated == without_witness(other)


def test_exported_rows_from_ifeval_are_read_back_unchanged(tmp_path: Path, real_ifeval: str) -> None:
    ours = all_rows(real_ifeval, "test")
    path = write_jsonl(tmp_path / "rows.jsonl", as_published(ours))
    assert all_rows(path, "test") == without_witness(ours)


def test_a_row_is_exported_with_the_published_fields() -> None:
    fox = instruction("keywords:existence", {"keywords": ["hen", "fox"]})
    comma = instruction("punctuation:no_comma")
    found = [
        InstructionRow(3, "Say it.", "Say it, please.", (fox, comma)),
        InstructionRow(3, "Say it.", "Say it!", (fox,)),
    ]
    two, one = as_published(found)
    assert tuple(two) == tuple(one) == FIELDS
    assert one == {
        "key": 3,
        "prompt": "Say it!",
        "instruction_id_list": ["keywords:existence"],
        "kwargs": [{"keywords": ["fox", "hen"]}],
        "task_prompt": "Say it.",
        # All that the task prompt has, whichever row it is.
        "not_conflict_rules_list": [
            "Include keywords ['fox', 'hen'] in the response.",
            "In your entire response, refrain from the use of any commas.",
        ],
        "rules": ["Include keywords ['fox', 'hen'] in the response."],
    }
    assert two["kwargs"] == [{"keywords": ["fox", "hen"]}, {}]
    assert two["rules"] == two["not_conflict_rules_list"] == one["not_conflict_rules_list"]


def test_rows_are_read_in_file_order(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "small.jsonl", SMALL[::-1])
    assert [(row.key, len(row.instructions)) for row in all_rows(path, "test")] == [(8, 2), (8, 1), (7, 2), (7, 1)]
    assert [row.key for row in rows_with_count(Selection(path, 2))] == [8, 7]
    first = all_rows(path, "test")[0]
    assert (first.prompt, first.task_prompt, first.witness) == (PROMPT, "Say it.", None)
    assert first.instructions == (
        instruction("punctuation:no_comma"),
        instruction("keywords:frequency", {"keyword": "fox", "frequency": 2, "relation": "at least"}),
    )
    with pytest.raises(RowsError, match=r"small\.jsonl', split 'test': no rows with 3 instructions"):
        rows_with_count(Selection(path, 3))


def test_nulls_for_or_among_the_arguments_are_ignored_but_zeros_are_not(tmp_path: Path) -> None:
    bullets = {"instruction_id_list": ["detectable_format:number_bullet_lists"]}
    padded = [{"num_bullets": 0, "num_words": None, "relation": None, "keywords": None}]
    rows = [SMALL[0] | bullets | {"kwargs": padded}, SMALL[2] | {"kwargs": [None]}]
    found = [row.instructions for row in all_rows(write_jsonl(tmp_path / "rows.jsonl", rows), "test")]
    zero = instruction("detectable_format:number_bullet_lists", {"num_bullets": 0})
    assert found == [(zero,), (instruction("punctuation:no_comma"),)]


def test_keys_may_be_strings(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", [row | {"key": f"number {row['key']}"} for row in SMALL])
    assert [row.key for row in rows_with_count(Selection(path, 1))] == ["number 7", "number 8"]


# Errors: SMALL with its row 3 changed


@pytest.mark.parametrize(("change", "message"), WRONG_ROWS["published"].values(), ids=WRONG_ROWS["published"])
def test_an_invalid_value_is_named_by_row_and_field(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", [*SMALL[:2], SMALL[2] | change, SMALL[3]])
    with pytest.raises(RowsError, match=rf"rows\.jsonl, row 3{message}"):
        all_rows(path, "test")


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_missing_from_one_row_or_all_is_named_with_the_existing_fields(tmp_path: Path, field: str) -> None:
    lacking = [{name: value for name, value in row.items() if name != field} for row in SMALL]
    expected, found = (re.escape(", ".join(fields)) for fields in (FIELDS, lacking[0]))
    for number, found_rows in ((3, [*SMALL[:2], lacking[2], SMALL[3]]), (1, lacking)):
        path = write_jsonl(tmp_path / f"{number}.jsonl", found_rows)
        with pytest.raises(RowsError, match=rf"row {number}: no field '{field}'; expected {expected}; found {found}"):
            all_rows(path, "test")


# rows in place of the four of SMALL; what the message says
BETWEEN_ROWS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "one row twice": (
        [*SMALL, SMALL[1]],
        "row 5, field 'key': 7 is already row 2; expected one row per key and number of instructions",
    ),
    "one key and number twice, with another prompt": (
        [*SMALL[:2], SMALL[0] | {"prompt": "Other."}, *SMALL[2:]],
        "row 3, field 'key': 7 is already row 1",
    ),
    "a key that lacks a number": (
        SMALL[:3],
        "row 3, field 'key': 8 has no row with 2 instructions, but other keys have one",
    ),
    "numbers that no two keys share": (
        [SMALL[0], SMALL[3]],
        "row 2, field 'key': 8 has no row with 1 instructions",
    ),
    # They would have to be in one column of one type.
    "keys of two kinds": (
        [*SMALL[:2], *(row | {"key": "eight"} for row in SMALL[2:])],
        "row 3, field 'key'",
    ),
}


@pytest.mark.parametrize(("found", "message"), BETWEEN_ROWS.values(), ids=BETWEEN_ROWS.keys())
def test_inconsistent_rows_are_named(tmp_path: Path, found: list[dict[str, Any]], message: str) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", found)
    with pytest.raises(RowsError, match=rf"rows\.jsonl, {message}"):
        all_rows(path, "test")


# Other splits


@pytest.mark.parametrize(
    ("split", "fields"), [("train", FIELDS), ("fewshot", FIELDS), ("fewshot", ("key", "task_prompt"))], ids=str
)
def test_a_single_file_has_only_test_rows_and_the_error_explains_how_to_add_others(
    tmp_path: Path, split: str, fields: tuple[str, ...]
) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", [{field: row[field] for field in fields} for row in SMALL])
    message = rf"rows\.jsonl: a single file has no {split} split; .*folder with manyifeval_{split}\.jsonl"
    with pytest.raises(RowsError, match=message):
        all_rows(path, split)


def test_a_folder_may_contain_few_shot_examples(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "manyifeval_test.jsonl", published_rows())
    write_jsonl(tmp_path / "manyifeval_fewshot.jsonl", published_rows("fewshot"))
    assert all_rows(str(tmp_path), "fewshot") == without_witness(all_rows("embedded", "fewshot"))


def test_a_folder_with_only_test_rows_names_the_missing_file(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "manyifeval_test.jsonl", SMALL)
    with pytest.raises(RowsError, match=r"manyifeval_fewshot\.jsonl"):
        all_rows(str(tmp_path), "fewshot")


def test_evaluated_task_prompts_are_not_few_shot_examples(tmp_path: Path, real_ifeval: str) -> None:
    # The published file holds all 216 task prompts, those of the other splits too; a copy of IFEval is next to it.
    everything = [row for split in ("test", "train", "fewshot") for row in all_rows(real_ifeval, split)]
    write_jsonl(tmp_path / "manyifeval_test.jsonl", as_published(everything))
    (tmp_path / "ifeval_train.jsonl").symlink_to(Path(real_ifeval) / "ifeval_input_data.jsonl")
    evaluated = {row.task_prompt for row in rows_with_count(Selection(str(tmp_path), 2))}
    assert len(evaluated) == 216
    try:
        demonstrations = {row.task_prompt for row in rows_with_count(Selection(str(tmp_path), 2), "fewshot")}
    except RowsError:
        demonstrations = set()  # there are none, which is an error
    assert not evaluated & demonstrations
