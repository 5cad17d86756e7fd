"""The examples in docs/verify.md work as shown."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.test_cli import COMMAND
from tests.conftest import ROOT, offline_environment

TEXT = (ROOT / "docs" / "verify.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)


def test_the_command_line_example_prints_what_the_page_shows(tmp_path: Path) -> None:
    (script,) = (block for block in blocks("bash") if "--prompts" in block)
    (floors,) = (block for block in blocks("bash") if "--floors" in block)
    shown, shown_of_floors = blocks("text")
    path = f"{Path(COMMAND).parent}:/usr/bin:/bin"
    for commands, printed, noted in ((script, "", shown), (floors, shown_of_floors, "")):
        process = subprocess.run(
            ["bash", "-ec", commands],
            env=offline_environment(PATH=path),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (process.returncode, process.stdout, process.stderr) == (0, printed, noted)
    assert len((tmp_path / "judged.jsonl").read_text(encoding="utf-8").splitlines()) == 2


def test_the_library_example_runs() -> None:
    (program,) = blocks("python")
    exec(program, {})  # noqa: S102 # it is in this repository


@pytest.mark.parametrize("expression", ["(a+)+$", ".*a.*b"])
def test_an_expression_that_exceeds_the_limits_is_named(expression: str) -> None:
    from lm_eval_ext.verifiers import instruction  # noqa: PLC0415 # only here

    assert f"`{expression}`" in TEXT
    with pytest.raises(ValueError, match=re.escape(repr(expression))):
        instruction("keywords:existence", {"keywords": [expression]}).require_judgeable()
