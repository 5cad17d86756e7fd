"""The tutorial's commands print what the tutorial shows."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import ROOT, offline_environment
from tests.forks import Forks

pytestmark = [pytest.mark.harness, pytest.mark.slow]

BLOCK = re.compile(r"^```(bash|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = "…"


def printed_at_a_terminal(script: str, folder: Path, environment: dict[str, str]) -> str:
    """Return what a script prints at a terminal of 80 columns; it must succeed.

    Args:
        script: for Bash.
        folder: the working directory.
        environment: its environment variables.
    """
    terminal, end = pty.openpty()
    with (folder / "errors").open("w+", encoding="utf-8") as errors, os.fdopen(terminal, "rb", buffering=0) as screen:
        run = subprocess.Popen(
            ["/bin/bash", "-ec", script], cwd=folder, env={**environment, "COLUMNS": "80"}, stdout=end, stderr=errors
        )
        os.close(end)
        shown = b""
        # Reading fails once the script has ended: on Linux, that is how a terminal says so.
        with suppress(OSError):
            while part := screen.read(65536):
                shown += part
        assert run.wait(timeout=300) == 0, Path(errors.name).read_text(encoding="utf-8")
    return shown.decode().replace("\r\n", "\n")


def options_of_the_harness(script: str) -> list[str] | None:
    """Return the options of a script that is one ``lm_eval`` command; ``None`` for any other script."""
    # To a shell, a line that ends with a backslash goes on.
    name, *options = shlex.split(script.replace("\\\n", ""))
    return options if name == "lm_eval" and not {"|", "||", "&&", ";", "lm_eval"}.intersection(options) else None


def printed_by_the_harness(warm: Forks, options: Sequence[str], folder: Path) -> str:
    """Return what a run prints: its tables do not depend on a terminal, and its start is what other tests test."""
    process = warm.run("-m", "lm_eval", *options, folder=folder)
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_the_tutorials_commands_print_what_it_shows(small_harness: str, warm: Forks, tmp_path: Path) -> None:
    blocks = BLOCK.findall((ROOT / "docs/tutorial.md").read_text(encoding="utf-8"))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = offline_environment(PATH=path, PYTHONPATH=small_harness)
    printed, shown, evaluated = "", 0, 0
    for kind, text in blocks:
        if kind == "bash" and (options := options_of_the_harness(text)):
            printed = printed_by_the_harness(warm, options, tmp_path)
            evaluated += 1
        elif kind == "bash":
            printed = printed_at_a_terminal(text, tmp_path, environment)
        else:
            pattern = "".join(".*" if part == LEFT_OUT else re.escape(part) for part in re.split(f"({LEFT_OUT})", text))
            assert re.search(pattern, printed, re.DOTALL), printed
            shown += 1
    assert shown >= 5
    assert evaluated == 2
    assert (tmp_path / "report.html").is_file()
