"""``lm-eval-ext natural-instructions export``: training pairs as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.families.natural_instructions.files import read
from lm_eval_ext.families.natural_instructions.rows import evaluated
from tests.families.natural_instructions.training.lamps import LAMPS, OTHER


def export(*arguments: str) -> int:
    return main(["natural-instructions", "export", *arguments])


def exported(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Mapping[str, Any]]:
    assert export(*arguments) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_export_prints_pairs_and_their_numbers(lamp_files: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--source", lamp_files, "--subtasks", LAMPS, OTHER, "--encoding", "prompt", "--evaluated", "12")
    assert export(*given, "--split", "dev") == 0
    printed = capsys.readouterr()
    rows = [json.loads(line) for line in printed.out.splitlines()]
    assert len(rows) == 48
    assert {name: value for name, value in rows[0].items() if name not in ("index", "prompt", "references")} == {
        "subtask": LAMPS,
        "encoding": "prompt",
        "completion": f" {rows[0]['references'][0]}",
        "split": "dev",
    }
    assert rows[0]["prompt"].startswith("Prompt: Say whether the ferry waits.\ninput: place")
    assert printed.err.splitlines() == [
        f"{LAMPS}: 24 pairs (dev) of 400 instances: 316 train, 24 dev, 48 test, 12 kept for the evaluation",
        f"{OTHER}: 24 pairs (dev) of 400 instances: 316 train, 24 dev, 48 test, 12 kept for the evaluation",
        "2 of 2 subtasks have fewer pairs than the paper's 500: 24",
    ]


def test_ten_instances_are_the_first_of_the_training_split(lamp_files: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--source", lamp_files, "--subtasks", LAMPS, "--encoding", "instance")
    ten = exported(capsys, *given, "--instances", "10")
    assert len(ten) == 10
    assert ten == exported(capsys, *given)[:10]


def test_a_tokenizer_decides_what_fits(lamp_files: str, causal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--source", lamp_files, "--subtasks", LAMPS, "--encoding", "instance", "--tokenizer", str(causal))
    # "input : place1 place2 shows red output :" is 8 tokens, and 16 are for the answer.
    assert len(exported(capsys, *given, "--instances", "5", "--max-length", "24")) == 5
    assert export(*given, "--max-length", "23", "--instances", "5") == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "; 5 left out: too long for the context\n" in printed.err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--encoding", "everything"), "lm-eval-ext: --encoding everything: expected one of instance, prompt, "),
        (("--encoding", "all", "--subtasks", "evaluation"), "no file for 'subtask002_quoref_answer_generation' in "),
    ],
)
def test_what_cannot_be_exported_is_reported_and_nothing_printed(
    options: tuple[str, ...], complaint: str, lamp_files: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export("--source", lamp_files, "--subtasks", LAMPS, *options) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert complaint in printed.err


def test_no_evaluated_instance_of_a_real_subtask_is_exported(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = shared_data / "natural_instructions" / "eval_tasks"
    for path in sorted(source.glob("*.json")):
        instances = read(path, path.stem).instances
        asked = {instances[index].input.strip() for index in evaluated(len(instances))}
        given = ("--source", str(source), "--subtasks", path.stem, "--encoding", "instance", "--max-length", "4096")
        rows = [row for split in ("train", "dev", "test") for row in exported(capsys, *given, "--split", split)]
        indices = {row["index"] for row in rows}
        assert not {instances[index].input.strip() for index in indices} & asked
        # ROUGE sees no reference of one instance of subtask 044.
        unseen = 1 if "subtask044" in path.stem else 0
        assert len(rows) == len(indices) == len(instances) - 100 - unseen
