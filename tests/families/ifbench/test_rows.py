"""The rows of both tasks: three sources, and what is wrong with a bad row."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.ifbench.rows import IFEVAL, ONE_TURN, TWO_TURNS, published_rows, rows_hash
from lm_eval_ext.sources import EMBEDDED_FOLDER, RowsError
from lm_eval_ext.verifiers import ifbench, ifeval, instruction, instruction_ids
from tests.families.jsonl import write_rows

Row = dict[str, Any]

ONE: Row = {"key": "1", "prompt": "Why? Be calm.", "instruction_id_list": ["words:start_verb"], "kwargs": [{"N": None}]}
MESSAGES = [
    {"role": "user", "content": "Why?"},
    {"role": "assistant", "content": "So."},
    {"role": "user", "content": "Again, with 2 numbers."},
]
TWO: Row = {
    "key": 1,
    "messages": MESSAGES,
    "instruction_id_list": ["count:numbers"],
    "kwargs": [{"N": 2, "word": None}],
}
TYPES = {*instruction_ids(ifbench)}


def test_there_are_58_types_and_the_embedded_rows_have_each_of_them() -> None:
    found = published_rows("embedded", ONE_TURN).rows
    assert len(TYPES) == 58
    assert set(instruction_ids()) >= TYPES
    assert {one.id for row in found for one in row.instructions} == TYPES
    assert Counter(len(row.instructions) for row in found) == {1: 62, 2: 18}


@pytest.mark.parametrize("name", [ONE_TURN, TWO_TURNS])
def test_no_embedded_prompt_is_a_published_one(name: str, real_ifeval: str) -> None:
    real = {row.prompt for row in published_rows(real_ifeval, ONE_TURN).rows}
    # A whole task that IFBench asks in one wording only is an instruction, and not written anew.
    ours = [row for row in published_rows("embedded", name).rows if not row.instructions[0].id.startswith("custom:")]
    assert not [row.prompt for row in ours if row.prompt in real]


def test_the_embedded_rows_of_ifeval_have_each_of_its_25_types_and_no_published_prompt(real_ifeval: str) -> None:
    found = published_rows("embedded", IFEVAL).rows
    assert {one.id for row in found for one in row.instructions} == {*instruction_ids(ifeval)}
    assert {row.prompt for row in found}.isdisjoint(row.prompt for row in published_rows(real_ifeval, IFEVAL).rows)


def test_the_embedded_conversations_give_the_instructions_in_the_second_message() -> None:
    found = published_rows("embedded", TWO_TURNS).rows
    alone = {row.instructions: row.prompt for row in published_rows("embedded", ONE_TURN).rows}
    assert len(found) == 44
    for row in found:
        assert row.prompt in alone[row.instructions] != row.prompt
        assert row.second.startswith("Rewrite your answer so that it follows this instruction: ")


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_folder_or_file_in_the_hubs_columns_is_read(tmp_path: Path, suffix: str) -> None:
    for dataset, row in ((ONE_TURN, ONE), (TWO_TURNS, TWO)):
        path = write_rows(tmp_path / f"{dataset}_test.{suffix}", [row])
        of_folder, of_file = (published_rows(source, dataset).rows for source in (str(tmp_path), path))
        assert of_folder == of_file
    (one,), (two,) = (published_rows(str(tmp_path), dataset).rows for dataset in (ONE_TURN, TWO_TURNS))
    assert (one.key, one.prompt, one.second) == ("1", "Why? Be calm.", "")
    # The published answer in the middle is another model's.
    assert (two.prompt, two.second) == ("Why?", "Again, with 2 numbers.")
    assert two.instructions == (instruction("count:numbers", {"N": 2}),)


def test_the_published_rows_are_300_with_344_instructions(real_ifeval: str) -> None:
    found = published_rows(real_ifeval, ONE_TURN).rows
    assert len(found) == 300
    assert Counter(len(row.instructions) for row in found) == {1: 256, 2: 44}
    assert {one.id for row in found for one in row.instructions} == TYPES


def test_the_hash_depends_on_messages_and_instructions(tmp_path: Path) -> None:
    changes: list[Row] = [{}, {"key": 2}, {"kwargs": [{"N": 3}]}, {"messages": [MESSAGES[0], MESSAGES[1], MESSAGES[0]]}]
    hashes = []
    for number, change in enumerate(changes):
        path = write_rows(tmp_path / f"{number}.jsonl", [TWO | change])
        hashes.append(rows_hash(published_rows(path, TWO_TURNS).rows))
    assert len(set(hashes)) == len(changes)
    other_answer = [MESSAGES[0], {"role": "assistant", "content": "Otherwise."}, MESSAGES[2]]
    path = write_rows(tmp_path / "5.jsonl", [TWO | {"messages": other_answer}])
    assert rows_hash(published_rows(path, TWO_TURNS).rows) == hashes[0]


OTHER = TWO | {"messages": [*MESSAGES[:2], {"role": "user", "content": "Otherwise."}]}
# The published code would draw the argument whenever it judges.
DRAWN = TWO | {"key": 2, "kwargs": [{"N": None}]}
WRONG: list[tuple[str, list[Row], str]] = [
    (ONE_TURN, [ONE | {"prompt": " "}], r"row 1, field 'prompt': expected text, found ' '"),
    (ONE_TURN, [ONE | {"key": 1.5}], r"row 1, field 'key': expected a number or text, found 1\.5"),
    (ONE_TURN, [ONE | {"kwargs": [{"N": 3}]}], r"'instruction_id_list' and 'kwargs': words:start_verb: unknown"),
    (ONE_TURN, [ONE | {"instruction_id_list": ["count:numbers"]}], "count:numbers: missing argument 'N'"),
    (ONE_TURN, [ONE, ONE], "row 2, field 'key': '1' is already row 1; expected one row per key"),
    (TWO_TURNS, [ONE], "no field 'messages'; expected key, messages, instruction_id_list, kwargs;"),
    (TWO_TURNS, [TWO | {"messages": "Hi"}], r"field 'messages': expected a list of messages, found 'Hi'"),
    (TWO_TURNS, [TWO | {"messages": MESSAGES[:2]}], r"'messages': roles 'user', 'assistant'; expected user, assist"),
    (TWO_TURNS, [TWO | {"messages": [*MESSAGES[:2], {"role": "user", "content": ""}]}], r"'messages\[2\]\.content'"),
    (TWO_TURNS, [TWO, OTHER, TWO], "row 3, field 'key': 1 is already row 1; expected one row per key and messages"),
    (TWO_TURNS, [DRAWN], "no row whose instructions have all their arguments"),
]


@pytest.mark.parametrize(("dataset", "found", "message"), WRONG)
def test_a_bad_row_is_named_with_its_field(dataset: str, found: list[Row], message: str, tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=message):
        published_rows(write_rows(tmp_path / "rows.jsonl", found), dataset)


def test_a_prompt_may_recur_with_another_second_message_and_is_left_out_without_an_argument(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "some.jsonl", [DRAWN, TWO, OTHER, DRAWN | {"kwargs": [{}]}])
    found = published_rows(path, TWO_TURNS)
    assert [(row.key, row.second) for row in found.rows] == [(1, MESSAGES[2]["content"]), (1, "Otherwise.")]
    assert found.left_out == 2


def test_the_embedded_files_have_the_hubs_columns() -> None:
    for dataset, columns in (
        (ONE_TURN, ("key", "prompt", "instruction_id_list", "kwargs")),
        (TWO_TURNS, ("key", "prompt", "instruction_id_list", "kwargs", "messages")),
    ):
        lines = (EMBEDDED_FOLDER / f"{dataset}_test.jsonl").read_text(encoding="utf-8").splitlines()
        assert {tuple(json.loads(line)) for line in lines} == {columns}
