"""A user's own task prompts, without instructions: composed like ours, or rejected with row and field."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.manyifeval.prompts import SPLITS, content_of, task_prompts
from lm_eval_ext.families.manyifeval.rows import Selection, all_rows, rows_with_count
from lm_eval_ext.sources import EMBEDDED_FOLDER, RowsError
from tests.families.jsonl import WRONG_ROWS, read_jsonl, write_jsonl

SMALL: list[dict[str, Any]] = [{"key": key, "task_prompt": f"Write about {key}."} for key in ("rain", "sea", "3")]


def test_our_task_prompts_in_a_folder_or_a_file_give_the_embedded_rows(tmp_path: Path) -> None:
    for split in SPLITS:
        write_jsonl(tmp_path / f"manyifeval_{split}.jsonl", read_jsonl(EMBEDDED_FOLDER / f"manyifeval_{split}.jsonl"))
        assert all_rows(str(tmp_path), split) == all_rows("embedded", split)
    assert content_of(str(tmp_path), "test") == content_of("embedded", "test")
    assert task_prompts(str(tmp_path / "manyifeval_test.jsonl"), "test") == task_prompts("embedded", "test")


def test_any_number_of_task_prompts_has_one_to_ten_instructions_each(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "mine.jsonl", SMALL)
    for count in range(1, 11):
        assert [row.task_prompt for row in rows_with_count(Selection(path, count))] == [
            row["task_prompt"] for row in SMALL
        ]
        assert {len(row.instructions) for row in rows_with_count(Selection(path, count))} == {count}
    assert [row.key for row in rows_with_count(Selection(path, 1))] == ["rain", "sea", "3"]


@pytest.mark.parametrize(("change", "message"), WRONG_ROWS["bare"].values(), ids=WRONG_ROWS["bare"])
def test_an_invalid_row_is_named_with_the_field(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = write_jsonl(tmp_path / "mine.jsonl", [SMALL[0], SMALL[1] | change, SMALL[2]])
    with pytest.raises(RowsError, match=rf"mine\.jsonl, row 2{message}"):
        task_prompts(path, "test")


@pytest.mark.parametrize("field", ["key", "task_prompt"])
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    lacking = {name: value for name, value in SMALL[1].items() if name != field}
    path = write_jsonl(tmp_path / "mine.jsonl", [SMALL[0], lacking, SMALL[2]])
    with pytest.raises(RowsError, match=rf"mine\.jsonl, row 2: no field '{field}'"):
        task_prompts(path, "test")


def test_further_columns_do_not_matter(tmp_path: Path) -> None:
    extra = [{**row, "topic": "weather"} for row in SMALL]
    for name, rows in (("all", extra), ("first", [extra[0], *SMALL[1:]]), ("last", [*SMALL[:2], extra[2]])):
        path = write_jsonl(tmp_path / f"{name}.jsonl", rows)
        assert task_prompts(path, "test") == task_prompts(write_jsonl(tmp_path / "bare.jsonl", SMALL), "test")


@pytest.mark.parametrize("row_seed", [None, 7])
def test_few_shot_examples_have_other_instructions_than_the_rows_of_their_keys(
    tmp_path: Path, row_seed: int | None
) -> None:
    for split in SPLITS:
        rows = [{"key": key, "task_prompt": f"Write about the {split} {key}."} for key in range(1, 4)]
        write_jsonl(tmp_path / f"manyifeval_{split}.jsonl", rows)
    found = {split: [row.instructions for row in all_rows(str(tmp_path), split, row_seed)] for split in SPLITS}
    assert len({tuple(instructions) for instructions in found.values()}) == len(SPLITS)
    # Not even the types are the same.
    assert [[one.id for one in row] for row in found["test"]] != [[one.id for one in row] for row in found["fewshot"]]


def test_finished_rows_among_bare_ones_are_an_error(tmp_path: Path) -> None:
    finished = {**SMALL[1], "prompt": "Write.", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
    with pytest.raises(RowsError, match=r"row 1: no field 'prompt'; expected key, prompt, "):
        all_rows(write_jsonl(tmp_path / "mixed.jsonl", [SMALL[0], finished]), "test")
