"""The comparison of the reports of two checkouts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.same_page import OWN, blend, changed, own_leaf
from lm_eval_ext.results.load import load
from tests.reports.files import SST2, write_run


def test_a_changed_byte_a_missing_and_a_new_file_are_named(tmp_path: Path) -> None:
    for folder, files in (("before", {"a": "1", "b": "1", "c": "1"}), ("after", {"a": "1", "b": "2", "d": "1"})):
        (tmp_path / folder / "report").mkdir(parents=True)
        for name, text in files.items():
            (tmp_path / folder / "report" / name).write_text(text, encoding="utf-8")
    assert changed(tmp_path / "before", tmp_path / "after") == ["report/b", "report/c", "report/d"]


def test_a_made_up_model_answers_its_share_of_the_rows_like_the_first_run(tmp_path: Path) -> None:
    for name, right in (("right", 1), ("wrong", 0)):
        write_run(tmp_path / name, {SST2: [right] * 200})
    output = tmp_path / "blend"
    blend(tmp_path / "right", tmp_path / "wrong", output, "blend-70", 70)
    (path,) = output.glob("results_*.json")
    assert json.loads(path.read_text(encoding="utf-8"))["config"]["model_args"] == {"pretrained": "blend-70"}
    (run,) = load([output]).counting
    assert run.rows is not None
    assert 0.6 < run.rows.values["acc"].mean() < 0.8


@pytest.mark.parametrize("name", OWN)
def test_a_users_own_task_is_a_copy_of_a_published_one_under_another_name(name: str) -> None:
    leaf = own_leaf(Path(__file__).parents[2] / "tasks", name)
    template, named, *rest = leaf.splitlines()
    assert Path(template.removeprefix("include: ")).is_file()
    assert named == f"task: {name}"
    assert rest
