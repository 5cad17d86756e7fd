"""The task folders: what the generator writes, each file under the name of its task or group."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.registry import FAMILIES

TASKS = Path(tasks_dir())


def test_the_folders_are_what_the_generator_writes() -> None:
    written = {path.relative_to(TASKS).as_posix(): path.read_text(encoding="utf-8") for path in TASKS.rglob("*.yaml")}
    assert written == dict(runpy.run_path(str(TASKS / "_generate.py"))["files"]())


def test_a_file_has_the_name_of_its_leaf_or_group() -> None:
    for path in TASKS.rglob("*.yaml"):
        kind = "task" if path.parent.name == "leaves" else "group"
        assert re.findall(rf"^{kind}: (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE) == [path.stem]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_familys_folder_has_its_readme_templates_groups_and_one_folder(family: str) -> None:
    names = {path.name for path in (TASKS / family).iterdir() if path.suffix != ".yaml"}
    assert {name for name in names if not name.startswith("_")} == {"README.md", "leaves"}
