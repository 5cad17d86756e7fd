"""``lm-eval-ext verify``: rows with responses in, the same rows with verdicts out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.cli import main
from tests.cli.test_cli import COMMAND, run

NO_COMMA = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}


def rows_file(folder: Path, *rows: Any) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def verified(path: Path, *options: str) -> list[dict[str, Any]]:
    process = run("verify", str(path), *options)
    assert process.returncode == 0, process.stderr
    return [json.loads(line) for line in process.stdout.splitlines()]


def test_rows_are_returned_with_verdicts(tmp_path: Path) -> None:
    row = {
        "key": 7,
        "prompt": "Say hello.",
        "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
        # As the hub has them: every argument of every instruction, null where it is not this one's.
        "kwargs": [{"num_words": None, "relation": None}, {"num_words": 2, "relation": "at least"}],
        "response": "<think>Well</think>Hello, world — ünïcode 🦜",
        "note": None,
    }
    assert verified(rows_file(tmp_path, row)) == [
        row | {"follow_instruction_list": [False, True], "follow_all_instructions": False}
    ]


def test_every_draw_of_a_sample_is_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draws = [["No comma", "One, two"], ["No comma", "No comma"]]
    samples = [{"doc_id": number, "doc": NO_COMMA, "filtered_resps": [of_row]} for number, of_row in enumerate(draws)]
    assert main(["verify", str(rows_file(tmp_path, *samples))]) == 0
    said = capsys.readouterr()
    rows = [json.loads(line) for line in said.out.splitlines()]
    found = [(row["doc_id"], row["draw"], row["follow_all_instructions"]) for row in rows]
    assert found == [(0, 1, True), (0, 2, False), (1, 1, True), (1, 2, True)]
    assert said.err.splitlines()[:3] == [
        f"{'rows':28}2",
        f"{'responses':28}4",
        f"{'prompt_level_strict_acc':28}0.7500",
    ]


def test_verdicts_of_an_earlier_run_are_replaced(tmp_path: Path) -> None:
    row = {**NO_COMMA, "response": "fine", "follow_instruction_list": [False], "follow_all_instructions": False}
    (after,) = verified(rows_file(tmp_path, row))
    assert after["follow_instruction_list"] == [True]
    assert after["follow_all_instructions"] is True


@pytest.mark.parametrize(
    ("options", "followed"),
    [
        ([], True),  # "art" is part of "smart"
        (["--edition", "faithful"], True),
        (["--edition", "repaired"], False),
    ],
)
def test_the_edition_can_be_chosen(tmp_path: Path, options: list[str], followed: bool) -> None:
    row = {"instruction_id_list": ["keywords:existence"], "kwargs": [{"keywords": ["art"]}], "response": "smart"}
    assert verified(rows_file(tmp_path, row), *options)[0]["follow_all_instructions"] is followed


def test_loose_accepts_a_response_without_its_first_line(tmp_path: Path) -> None:
    path = rows_file(tmp_path, {**NO_COMMA, "response": "Sure, here it is\nNo comma"})
    assert verified(path)[0]["follow_all_instructions"] is False
    assert verified(path, "--loose")[0]["follow_all_instructions"] is True


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("no json", "row 2: not JSON in UTF-8"),
        ("[1]", "row 2: expected an object, found list"),
        ('{"response": ' + 100_000 * "[", "row 2: not JSON"),
        ('{"instruction_id_list": [], "kwargs": []}', "row 2: no field 'response'"),
        (
            '{"response": "x", "instruction_id_list": ["punctuation:no_coma"], "kwargs": [{}]}',
            "unknown instruction 'punctuation:no_coma' (did you mean 'punctuation:no_comma'?)",
        ),
    ],
)
def test_a_bad_row_is_named_and_earlier_rows_are_printed(tmp_path: Path, line: str, complaint: str) -> None:
    path = rows_file(tmp_path, {**NO_COMMA, "response": "fine"})
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    process = run("verify", str(path))
    assert process.returncode == 1
    assert len(process.stdout.splitlines()) == 1
    assert process.stderr.startswith(f"lm-eval-ext: {path}, row 2")
    assert complaint in process.stderr
    assert "Traceback" not in process.stderr


def test_rows_from_standard_input_work_in_any_locale(tmp_path: Path) -> None:
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


def test_a_closed_pipe_is_not_an_error(tmp_path: Path) -> None:
    path = rows_file(tmp_path, *[{**NO_COMMA, "response": "word " * 200}] * 500)
    program = f"import subprocess, sys; p = subprocess.Popen([{COMMAND!r}, 'verify', {str(path)!r}], stdout=subprocess.PIPE, stderr=subprocess.PIPE); p.stdout.readline(); p.stdout.close(); sys.exit(p.wait() or bool(p.stderr.read()))"  # noqa: E501
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def figures(printed: str) -> dict[str, float]:
    return {name: float(value) for name, value in (line.split() for line in printed.splitlines())}


def test_accuracies_are_printed_in_addition_to_the_verdicts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = rows_file(tmp_path, {**NO_COMMA, "response": "fine"}, {**NO_COMMA, "response": "Sure, here:\nfine"})
    assert main(["verify", str(path)]) == 0
    captured = capsys.readouterr()
    assert [json.loads(line)["follow_all_instructions"] for line in captured.out.splitlines()] == [True, False]
    assert figures(captured.err) == {
        "rows": 2,
        "prompt_level_strict_acc": 0.5,
        "inst_level_strict_acc": 0.5,
        "prompt_level_loose_acc": 1,
        "inst_level_loose_acc": 1,
    }


def test_prompts_without_a_response_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prompts = tmp_path / "prompts.jsonl"
    known = [{"key": key, "prompt": f"Say {key}.", **NO_COMMA} for key in (1, 2, 3)]
    prompts.write_text("".join(json.dumps(row) + "\n" for row in known), encoding="utf-8")
    path = rows_file(tmp_path, {"key": 2, "response": "two"}, {"key": 2, "response": "also, two"})
    assert main(["verify", str(path), "--prompts", str(prompts)]) == 0
    captured = capsys.readouterr()
    assert [json.loads(line)["prompt"] for line in captured.out.splitlines()] == ["Say 2.", "Say 2."]
    *found, note = captured.err.splitlines()
    assert figures("\n".join(found))["prompt_level_strict_acc"] == 0.5
    assert note == "note: 2 of 3 prompts have no response; the first is 1"


def test_reasoning_is_kept_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = rows_file(tmp_path, {**NO_COMMA, "response": "<think>Well, well</think>No comma"})
    assert main(["verify", str(path), "--keep-reasoning"]) == 0
    assert json.loads(capsys.readouterr().out)["follow_all_instructions"] is False


def test_the_accuracies_of_real_responses_are_the_recorded_ones(
    tmp_path: Path, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prompts = str(shared_data / "ifeval" / "ifeval_input_data.jsonl")
    by_model: dict[str, list[dict[str, Any]]] = {}
    for row in read(shared_data / "ifeval" / "ifeval_responses.jsonl"):
        by_model.setdefault(row["model"], []).append(row)
    assert {len(rows) for rows in by_model.values()} == {541}
    for model, rows in by_model.items():
        bare = rows_file(tmp_path, *[{"key": row["key"], "response": row["response"]} for row in rows])
        assert main(["verify", str(bare), "--prompts", prompts]) == 0
        found = figures(capsys.readouterr().err)
        for kind in ("strict", "loose"):
            recorded = [row[f"follow_instruction_list_{kind}"] for row in rows]
            # Recorded by another implementation, which sets no seed: a row and an instruction may differ.
            prompt_level = sum(map(all, recorded)) / 541
            inst_level = sum(map(sum, recorded)) / 834
            assert found[f"prompt_level_{kind}_acc"] == pytest.approx(prompt_level, abs=1.1 / 541), model
            assert found[f"inst_level_{kind}_acc"] == pytest.approx(inst_level, abs=1.1 / 834), model
        if model == "Mistral-7B-Instruct-v0.3":  # where it does not
            assert found["prompt_level_strict_acc"] == round(255 / 541, 4)
            assert found["inst_level_strict_acc"] == round(492 / 834, 4)
            assert found["prompt_level_loose_acc"] == round(278 / 541, 4)
            assert found["inst_level_loose_acc"] == round(529 / 834, 4)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


GROUND_TRUTH = json.dumps([{"instruction_id": ["punctuation:no_comma"], "kwargs": [None]}])


def test_floors_need_no_responses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = rows_file(
        tmp_path,
        {"prompt": "Red, green or blue?", **NO_COMMA},
        # The columns of training data; the user's last message is the prompt.
        {
            "messages": [{"role": "user", "content": "a, b"}, {"role": "user", "content": "a"}],
            "ground_truth": GROUND_TRUTH,
        },
        # A sample of the harness.
        {
            "doc_id": 0,
            "doc": {"prompt": 'Say "ok".', **NO_COMMA},
            "filtered_resps": ["Yes, ok"],
            "resps": [["Yes, ok"]],
        },
    )
    assert main(["verify", "--floors", str(path)]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("3 rows; percent")
    both = {name: f"{share} / {share}" for name, share in {"ok": "100.0", "echo": "66.7", "empty": "0.0"}.items()}
    assert printed[1].split() == ["asked", "ok", "echo", "refusal", "empty", "examples"]
    (line,) = printed[2:]
    assert line.split("  ")[0] == "all instructions of a row"
    # The refusal has a comma; one prompt has something in quotation marks.
    shares = " ".join(line.split()[5:])
    assert shares == f"3 {both['ok']} {both['echo']} 0.0 / 0.0 {both['empty']} 33.3 / 33.3"


def test_an_audit_lists_types_that_pay_for_nothing_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = {
        "instruction_id_list": ["keywords:existence", "punctuation:no_comma"],
        "kwargs": [{"keywords": ["red"]}, {}],
    }
    assert main(["verify", "--audit", str(rows_file(tmp_path, {"prompt": "Say it.", **asked}))]) == 0
    _, headings, *lines = capsys.readouterr().out.splitlines()
    names = [line.split("  ")[0] for line in lines]
    assert names == ["all instructions of a row", "punctuation:no_comma", "keywords:existence"]
    # The shares are below their headings, however long the names are.
    assert {len(line) for line in lines} == {len(headings)}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            NO_COMMA,
            "row 1: expected a field 'prompt' that is text, or 'messages' with one of the user; found instruction",
        ),
        ({"prompt": "a", **NO_COMMA, "kwargs": []}, "row 1, fields 'instruction_id_list' and 'kwargs': kwargs has 0"),
        ({"prompt": "a"}, "row 1: no field 'instruction_id_list'"),
    ],
)
def test_a_row_without_floors_is_named(
    row: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", "--floors", str(rows_file(tmp_path, row))]) == 1
    assert message in capsys.readouterr().err
