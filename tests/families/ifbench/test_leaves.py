"""What only these leaves have: rows with witnesses, a second turn; and what is wrong with a wrong one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.ifbench.rows import published_rows, rows_hash
from lm_eval_ext.families.ifbench.task import IFBenchTask, row_of
from lm_eval_ext.sources import EMBEDDED_FOLDER
from tests.harness.tasks import make, make_own
from tests.leaves import WRONG_LEAVES

pytestmark = pytest.mark.harness

LEAVES = {"ifbench": "ifbench", "ifbench_two_turns": "ifbench_two_turns", "ifeval_published": "ifeval"}
"""Each with its dataset."""
LEAF = {"include": f"{tasks_dir()}/ifbench/_ifbench", "task": "mine", "dataset_path": "allenai/IFBench_test"}


@pytest.mark.parametrize("name", LEAVES)
def test_a_leaf_shows_each_row_with_its_witness(name: str) -> None:
    task = make(name)
    found = published_rows("embedded", LEAVES[name]).rows
    assert task.config.metadata["rows_hash"] == rows_hash(found)
    for doc, row in zip(task.eval_docs, found, strict=True):
        # The nulls with which a table pads its rows do not matter.
        assert row_of(doc) == row
        assert task.doc_to_text(doc) == row.prompt
        assert task.doc_to_target(doc) == doc["witness"] != ""


@pytest.mark.parametrize("name", LEAVES)
def test_generation_leaves_room_for_the_longest_witness(name: str) -> None:
    assert max(len(doc["witness"].split()) for doc in make(name).eval_docs) < 2048 / 2


@pytest.mark.parametrize(("keys", "message"), WRONG_LEAVES["ifbench"])
def test_a_wrong_leaf_says_what_is_wrong(keys: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        make_own(tmp_path, {**LEAF, **keys}, source="embedded")


def test_rows_that_are_left_out_are_counted_in_the_results(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    lines = (EMBEDDED_FOLDER / "ifbench_two_turns_test.jsonl").read_text(encoding="utf-8").splitlines()
    numbers = next(row for row in map(json.loads, lines) if row["instruction_id_list"] == ["count:numbers"])
    drawn = json.dumps(numbers | {"key": 99, "kwargs": [{"N": None}]})
    (tmp_path / "ifbench_two_turns_test.jsonl").write_text("\n".join([*lines, drawn]), encoding="utf-8")
    task = make("ifbench_two_turns", {"source": str(tmp_path)})
    assert (len(task.eval_docs), task.config.metadata["rows_left_out"]) == (44, 1)
    assert "ifbench_two_turns: rows left out: 1; an argument" in caplog.text
    assert "rows_left_out" not in make("ifbench_two_turns").config.metadata


def test_a_row_seed_is_an_error_because_the_rows_are_finished() -> None:
    with pytest.raises(ValueError, match=r"task 'ifbench': metadata row_seed 7; the rows of IFBench and IFEval are"):
        make("ifbench", {"row_seed": 7})


def test_two_turns_need_the_lm_that_takes_them() -> None:
    task = make("ifbench_two_turns")
    with pytest.raises(ValueError, match=r"'ifbench_two_turns' asks for the instructions in a second message"):
        task.build_all_requests()
    with pytest.raises(ValueError, match=r"'ifbench_two_turns': a response without its first answer"):
        task.process_results(task.eval_docs[0], ["Yes."])


def test_there_are_no_demonstrations() -> None:
    task = make("ifbench")
    task.set_config("num_fewshot", 2)
    with pytest.raises(ValueError, match="IFBench and IFEval are zero-shot"):
        task.build_all_requests()


def test_a_source_has_the_datasets_whose_files_it_has(tmp_path: Path) -> None:
    assert IFBenchTask.datasets_at("embedded") == ["ifbench", "ifbench_two_turns", "ifeval"]
    assert IFBenchTask.datasets_at(str(tmp_path)) == []
    (tmp_path / "ifbench_two_turns_test.jsonl").write_text("{}", encoding="utf-8")
    # Another file whose name begins so.
    (tmp_path / "ifbench_verdicts.jsonl").write_text("{}", encoding="utf-8")
    assert IFBenchTask.datasets_at(str(tmp_path)) == ["ifbench_two_turns"]
    # Google's own name for it.
    (tmp_path / "ifeval_input_data.jsonl").write_text("{}", encoding="utf-8")
    assert IFBenchTask.datasets_at(str(tmp_path)) == ["ifbench_two_turns", "ifeval"]
