"""The tutorial's commands print what the tutorial shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.harness

BLOCK = re.compile(r"^```(bash|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LEFT_OUT = "…"


def test_the_tutorials_commands_print_what_it_shows(tmp_path: Path) -> None:
    blocks = BLOCK.findall((ROOT / "docs/tutorial.md").read_text(encoding="utf-8"))
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "HF_HUB_OFFLINE": "1"}
    printed, shown = "", 0
    for kind, text in blocks:
        if kind == "bash":
            run = subprocess.run(
                ["/bin/bash", "-ec", text],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
            )
            assert run.returncode == 0, run.stderr
            printed = run.stdout
        else:
            pattern = "".join(".*" if part == LEFT_OUT else re.escape(part) for part in re.split(f"({LEFT_OUT})", text))
            assert re.search(pattern, printed, re.DOTALL), printed
            shown += 1
    assert shown >= 5
    assert (tmp_path / "report.html").is_file()
