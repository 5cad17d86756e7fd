"""Errors for typos suggest similar names; a shell can complete commands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.cli.parser import place_and_value
from tests.conftest import offline_environment
from tests.tables import tables

TABLES = tables(__file__)
MODULE = (sys.executable, "-m", "lm_eval_ext")


@pytest.mark.parametrize(("line", "error"), TABLES["typos"])
def test_the_error_for_a_typo_suggests_similar_names(line: str, error: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(line.split())
    assert stop.value.code == 2
    usage, *_, said = capsys.readouterr().err.splitlines()
    assert usage.startswith("usage: lm-eval-ext")
    assert said == error


@pytest.mark.parametrize(("line", "command"), [("", "doctor"), ("manyifeval", "export"), ("classifier", "train")])
def test_without_a_command_the_commands_are_listed(line: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(line.split())
    assert stop.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith(f"usage: lm-eval-ext {line}".strip())
    assert any(line.startswith(f"    {command} ") for line in lines)


def test_options_may_be_abbreviated_and_files_may_be_named_like_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    row = {"response": "Yes", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
    Path("--rows").write_text(json.dumps(row), encoding="utf-8")
    assert main(["verify", "--edit", "repaired", "--", "--rows"]) == 0
    assert json.loads(capsys.readouterr().out)["follow_all_instructions"] is True


@pytest.mark.parametrize(("line", "words"), TABLES["completions"])
def test_a_shell_can_complete_commands(line: str, words: list[str], tmp_path: Path) -> None:
    pytest.importorskip("argcomplete", reason="the extra completion is not installed")
    # What argcomplete's function of a shell sets.
    asked = {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(tmp_path / "words"),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    subprocess.run(MODULE, env=offline_environment(**asked), capture_output=True, check=True)
    found = {word.strip() for word in (tmp_path / "words").read_text(encoding="utf-8").split("\n")}
    assert {*words} <= found


def test_a_place_may_contain_an_equals_sign_and_its_value_has_no_white_space_around_it() -> None:
    assert place_and_value("out/lr=0.1= our run ", form="RUNS=NAME", example="a=b") == ("out/lr=0.1", "our run")
