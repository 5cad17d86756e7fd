"""``lm-eval-ext classifier read``: rows in, the same rows with readings out."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from lm_eval_ext.classifier.availability import ReaderError
from lm_eval_ext.classifier.readers import require
from lm_eval_ext.cli import main
from tests.classifier.causal.models import rows_to_learn
from tests.classifier.labelled_rows import OPTIONS, as_row, write
from tests.cli.test_cli import COMMAND
from tests.conftest import offline_environment
from tests.forks import Forks


def test_rows_are_returned_with_the_readings_of_a_causal_adapter(
    learned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [as_row(row) | {"note": "ü"} for row in rows_to_learn()]
    path = write(tmp_path / "rows.jsonl", *rows)
    assert main(["classifier", "read", str(path), "--reader", str(learned)]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["reading"] for row in found] == ["A", "B", "none", "refused"]
    assert all(0.5 < row.pop("certainty") <= 1 for row in found)
    assert [{**row, "reading": None} for row in found] == [{**row, "reading": None} for row in rows]


def test_the_rules_read_standard_input_as_it_arrives() -> None:
    # 256 rows are read at a time: they come back before the input ends.
    line = json.dumps({"options": OPTIONS, "response": "<think>A?</think>B. Coffee"}).encode() + b"\n"
    with subprocess.Popen(
        [COMMAND, "classifier", "read", "-", "--reader", "rules"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=offline_environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line * 256)
        process.stdin.flush()
        assert [json.loads(process.stdout.readline())["reading"] for _ in range(256)] == ["B"] * 256
        process.stdin.write(b'\n{"options": [], "response": ""}\n')
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 1


def test_a_null_response_is_read_as_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "rows.jsonl", {"options": OPTIONS, "response": None, "reading": "A"})
    assert main(["classifier", "read", str(path), "--reader", "string_match"]) == 0
    assert json.loads(capsys.readouterr().out)["reading"] == "none"


def test_reading_with_the_encoder_prints_only_the_rows(forks: Forks, tmp_path: Path) -> None:
    try:
        require("default")
    except ReaderError as error:
        pytest.skip(str(error))
    # The rules abstain, so that the encoder is loaded.
    row = {"options": OPTIONS, "response": "Whatever is brewed from beans, I suppose."}
    command = ("-m", "lm_eval_ext", "classifier", "read", str(write(tmp_path / "rows.jsonl", row)))
    process = forks.run(*command, folder=tmp_path, environment=offline_environment())
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["certainty"] > 0
    # transformers reports weights of the file that the model has no place for.
    assert "REPORT" not in process.stderr
    assert "UNEXPECTED" not in process.stderr


@pytest.mark.parametrize("name", ["llm:", "llm:nowhere"])
def test_a_missing_language_model_is_named(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("peft", reason="peft is not installed (extra: classifier)")
    monkeypatch.setattr(pytest.importorskip("huggingface_hub.constants"), "HF_HUB_OFFLINE", True)
    path = write(tmp_path / "rows.jsonl", {"options": OPTIONS, "response": "A"})
    assert main(["classifier", "read", str(path), "--reader", name]) == 1
    complaint = {"llm:": "no reader 'llm:': expected", "llm:nowhere": "'nowhere'"}[name]
    assert complaint in capsys.readouterr().err
