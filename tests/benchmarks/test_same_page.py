"""The comparison of the reports of two checkouts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.same_page import RUNS, blend, changed
from tests.task_files import task_names


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder
