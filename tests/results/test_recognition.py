"""Which tasks of a file are ours: those that record it; nothing is guessed."""

from __future__ import annotations

from pathlib import Path

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.results.load import find_runs, load
from lm_eval_ext.sources import RowsError
from tests.reports.files import SST2, edited, samples_of, write_run

# Files of an older version


def old(folder: Path) -> Path:
    """Write a run as it was before tasks recorded what they are."""
    path = write_run(folder, {SST2: [1, 0], "verbalizer_snli_natural_golden": [1, 1]})
    with edited(path) as content:
        for config in content["configs"].values():
            config["metadata"] = {"version": 1.0, "source": "hub", "rows_hash": "rows"}
    return path


OLD = "written by an older version of lm-eval-ext, which did not record its family in the metadata; run them again"


def test_a_file_from_an_older_version_is_named_with_its_tasks(tmp_path: Path) -> None:
    path = old(tmp_path)
    with pytest.raises(RowsError) as error:
        load([tmp_path])
    assert str(error.value).startswith(f"{path}, tasks '{SST2}', 'verbalizer_snli_natural_golden': {OLD}")


@pytest.mark.parametrize(
    "command",
    [
        ["report", "{}", "-o", "{}/page.html"],
        ["compare", "{}", "--against", "{}"],
    ],
)
def test_every_command_reports_results_of_an_older_version(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old(tmp_path)
    assert main([word.format(tmp_path) for word in command]) == 1
    assert OLD in capsys.readouterr().err


def test_a_task_is_recognized_by_its_facts_not_its_name(tmp_path: Path) -> None:
    write_run(tmp_path, {"my_own_task": [1, 0]})
    (run,) = load([tmp_path]).counting
    assert (run.task, run.family.name) == ("my_own_task", "verbalizer")


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
