"""``lm-eval-ext verify``: rows with responses in, the same rows with verdicts out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.test_cli import COMMAND, run

NO_COMMA = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}


def rows_file(folder: Path, *rows: Any) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def verified(path: Path, *options: str) -> list[dict[str, Any]]:
    process = run("verify", str(path), *options)
    assert process.returncode == 0, process.stderr
    return [json.loads(line) for line in process.stdout.splitlines()]


def test_the_same_rows_come_back_with_verdicts(tmp_path: Path) -> None:
    row = {
        "key": 7,
        "prompt": "Say hello.",
        "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
        # As the hub has them: every argument of every instruction, null where it is not this one's.
        "kwargs": [{"num_words": None, "relation": None}, {"num_words": 2, "relation": "at least"}],
        "response": "Hello, world — ünïcode 🦜",
        "note": None,
    }
    assert verified(rows_file(tmp_path, row)) == [
        row | {"follow_instruction_list": [False, True], "follow_all_instructions": False}
    ]


def test_verdicts_of_an_earlier_run_are_replaced(tmp_path: Path) -> None:
    row = {**NO_COMMA, "response": "fine", "follow_instruction_list": [False], "follow_all_instructions": False}
    (after,) = verified(rows_file(tmp_path, row))
    assert after["follow_instruction_list"] == [True]
    assert after["follow_all_instructions"] is True


@pytest.mark.parametrize(
    ("options", "followed"),
    [
        ([], True),  # "art" stands in "smart"
        (["--edition", "faithful"], True),
        (["--edition", "repaired"], False),
    ],
)
def test_the_edition_is_chosen(tmp_path: Path, options: list[str], followed: bool) -> None:
    row = {"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": ["art"]}], "response": "smart"}
    assert verified(rows_file(tmp_path, row), *options)[0]["follow_all_instructions"] is followed


def test_loose_accepts_what_follows_without_its_first_line(tmp_path: Path) -> None:
    path = rows_file(tmp_path, {**NO_COMMA, "response": "Sure, here it is\nNo comma"})
    assert verified(path)[0]["follow_all_instructions"] is False
    assert verified(path, "--loose")[0]["follow_all_instructions"] is True


@pytest.mark.parametrize(
    ("response", "followed"),
    [
        ("<think>Well, well</think>No comma", True),
        ("<think>Well, well", False),  # no answer was reached
        (None, False),  # an API withheld it
        ("", False),
    ],
)
def test_reasoning_is_no_part_of_the_answer(tmp_path: Path, response: str | None, followed: bool) -> None:
    (row,) = verified(rows_file(tmp_path, {**NO_COMMA, "response": response}))
    assert row["follow_all_instructions"] is followed
    assert row["response"] == response


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("no json", "row 2: not JSON in UTF-8"),
        ("[1]", "row 2: expected an object, found list"),
        ('{"response": ' + 100_000 * "[", "row 2: not JSON"),
        ('{"instruction_id_list": [], "kwargs": []}', "row 2: no field 'response'"),
        ('{"response": "x", "kwargs": []}', "row 2: no field 'instruction_id_list'"),
        ('{"response": 3, "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}', "row 2, field 'response'"),
        ('{"response": "x", "instruction_id_list": [], "kwargs": []}', "no instructions"),
        ('{"response": "x", "instruction_id_list": ["punctuation:no_comma"], "kwargs": []}', "kwargs has 0 entries"),
        (
            '{"response": "x", "instruction_id_list": ["punctuation:no_coma"], "kwargs": [{}]}',
            "unknown instruction 'punctuation:no_coma' (did you mean 'punctuation:no_comma'?)",
        ),
        (
            '{"response": "x", "instruction_id_list": ["keywords:frequency"], "kwargs": [{"keyword": "a"}]}',
            "missing argument 'frequency', 'relation'",
        ),
    ],
)
def test_a_bad_row_is_named_and_those_before_it_are_kept(tmp_path: Path, line: str, complaint: str) -> None:
    path = rows_file(tmp_path, {**NO_COMMA, "response": "fine"})
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    process = run("verify", str(path))
    assert process.returncode == 1
    assert len(process.stdout.splitlines()) == 1
    assert process.stderr.startswith(f"lm-eval-ext: {path}, row 2")
    assert complaint in process.stderr
    assert "Traceback" not in process.stderr


def test_a_file_that_is_not_there_is_named() -> None:
    process = run("verify", "nowhere.jsonl")
    assert process.returncode == 1
    assert process.stderr == "lm-eval-ext: nowhere.jsonl: No such file or directory\n"


def test_rows_may_come_from_standard_input_and_go_through_any_locale(tmp_path: Path) -> None:
    row = json.dumps({**NO_COMMA, "response": "grüß dich"}) + "\n\n"  # a blank line is none
    process = run_with_input(row + json.dumps({**NO_COMMA, "response": "\ud800"}) + "\n")
    assert process.returncode == 0, process.stderr
    assert [json.loads(line)["follow_all_instructions"] for line in process.stdout.splitlines()] == [True, True]
    broken = run_with_input("{}\n")
    assert broken.stderr.startswith("lm-eval-ext: standard input, row 1: no field 'response'")


def run_with_input(text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "verify", "-"],
        input=text,
        env={"LC_ALL": "C", "PATH": ""},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_a_reader_that_stops_early_is_no_error(tmp_path: Path) -> None:
    path = rows_file(tmp_path, *[{**NO_COMMA, "response": "word " * 200}] * 500)
    program = f"import subprocess, sys; p = subprocess.Popen([{COMMAND!r}, 'verify', {str(path)!r}], stdout=subprocess.PIPE, stderr=subprocess.PIPE); p.stdout.readline(); p.stdout.close(); sys.exit(p.wait() or bool(p.stderr.read()))"  # noqa: E501
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_real_responses_get_the_verdicts_of_the_library(tmp_path: Path, shared_data: Path) -> None:
    from lm_eval_ext.verifiers import verify_all  # noqa: PLC0415 # only here

    prompts = {row["key"]: row for row in read(shared_data / "ifeval" / "ifeval_input_data.jsonl")}
    responses = read(shared_data / "ifeval" / "ifeval_responses.jsonl")[::40]
    rows = [prompts[row["key"]] | {"response": row["response"]} for row in responses]
    expected = [list(verdict.follow_instruction_list) for verdict in verify_all(rows)]
    assert [row["follow_instruction_list"] for row in verified(rows_file(tmp_path, *rows))] == expected


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
