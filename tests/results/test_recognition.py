"""Which tasks of a file are ours: those that record it; nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.results.load import find_runs, load
from lm_eval_ext.sources import RowsError
from tests.reports.files import SST2, edited, samples_of, write_run


def test_tasks_with_the_same_fault_are_named_together(tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [1, 0], "verbalizer_snli_natural_golden": [1, 1]})
    with edited(path) as content:
        for config in content["configs"].values():
            config["metadata"]["family"] = "later"
    with pytest.raises(RowsError) as error:
        load([tmp_path])
    assert str(error.value).startswith(
        f"{path}, task '{SST2}', 'verbalizer_snli_natural_golden': unknown family 'later'"
    )


def test_a_task_is_recognized_by_its_facts_not_its_name(tmp_path: Path) -> None:
    write_run(tmp_path, {"my_own_task": [1, 0]})
    (run,) = load([tmp_path]).counting
    assert (run.task, run.family.name) == ("my_own_task", "verbalizer")


def test_a_task_of_somebody_else_may_have_a_family_of_its_own(tmp_path: Path) -> None:
    path = write_run(tmp_path, {SST2: [1, 0]})
    with edited(path) as content:
        del content["configs"][SST2]["metadata"]["rows_hash"]
        content["configs"][SST2]["metadata"]["family"] = "llama"
    (run,) = find_runs([tmp_path], other_tasks=True).counting
    assert (run.task, run.is_ours) == (SST2, False)


# As later versions of the harness write


def test_a_task_whose_name_includes_its_groups_is_recognized(tmp_path: Path) -> None:
    path = write_run(tmp_path / "new", {SST2: [1, 0]}, group_subtasks={"level": [f"level::{SST2}"]})
    path.write_text(path.read_text().replace(f'"{SST2}":', f'"level::{SST2}":'))
    with edited(path) as content:
        del content["configs"][f"level::{SST2}"]["num_fewshot"]
        content["n-shot"] = {f"level::{SST2}": 4}
    samples = samples_of(path)
    samples.rename(samples.with_name(samples.name.replace("samples_", "samples_level::")))
    runs = load([tmp_path])
    (run,) = runs.counting
    assert (run.task, run.shots, run.rows is not None) == (SST2, 4, True)
    assert dict(run.model.setting)["few-shot examples"] == "4"
    assert runs.groups == {"level": (SST2,)}
    assert find_runs([tmp_path]).counting[0].count == 2
