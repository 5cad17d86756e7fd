"""The row seed: read from the metadata, marked in the version, and end to end through the harness."""

from __future__ import annotations

from typing import Any

import pytest

from lm_eval_ext.row_seed import chosen_row_seed, generator_name
from tests.conftest import Harness, Run

TASKS = (
    "verbalizer_sst2_neutral_foo_bar,verbalizer_sst2_unnatural_flipped,manyifeval_n03,paired_mcq_arc_challenge_low,"
    "natural_instructions_subtask002_quoref_answer_generation_positive"
)


def test_without_a_row_seed_version_and_draws_are_the_published_ones() -> None:
    metadata: dict[str, Any] = {"version": 1.1}
    assert chosen_row_seed("a_task", metadata) is None
    assert metadata == {"version": 1.1}
    assert generator_name(20241001, None, "key") == "20241001/key"


def test_a_row_seed_marks_the_version_and_changes_every_draw() -> None:
    metadata: dict[str, Any] = {"version": "1.1+embedded", "row_seed": 7}
    assert chosen_row_seed("a_task", metadata) == 7
    assert metadata["version"] == "1.1+embedded+seed7"
    assert chosen_row_seed("a_task", later := {"version": "1.1", "row_seed": 7}, edition=2) == 7
    assert later["version"] == "1.1+seed7.2"
    names = {generator_name(20241001, row_seed, "key") for row_seed in (None, 0, 1, 7, 17)}
    assert len(names) == 5


@pytest.mark.parametrize("row_seed", [-1, 1.5, "7", True, [1]])
def test_a_row_seed_that_is_no_whole_number_is_an_error_that_names_task_and_key(row_seed: object) -> None:
    with pytest.raises(ValueError, match=r"task 'a_task': metadata row_seed .*expected a whole number, 0 or more"):
        chosen_row_seed("a_task", {"version": 1.1, "row_seed": row_seed})


def versions(run: Run) -> dict[str, str]:
    return {task: str(version) for task, version in run.results["versions"].items()}


@pytest.mark.harness
@pytest.mark.usefixtures("sentence_data")
@pytest.mark.parametrize("row_seed", [0, 7])
def test_the_oracle_is_right_on_fresh_rows_of_every_family(harness: Harness, row_seed: int) -> None:
    metadata = f'{{"source": "embedded", "row_seed": {row_seed}}}'
    # The model's own seed is among the metadata, too, and must not choose the rows.
    run = harness(
        *("--model", "reference", "--model_args", "policy=oracle,seed=3", "--tasks", TASKS, "--metadata", metadata)
    )
    assert run.status == 0, run.output[-3000:]
    found = run.results["results"]
    assert found["verbalizer_sst2_neutral_foo_bar"]["acc,answer"] == 1.0
    assert found["verbalizer_sst2_unnatural_flipped"]["acc,answer"] == 1.0
    assert found["manyifeval_n03"]["prompt_level_strict_acc,none"] == 1.0
    assert found["paired_mcq_arc_challenge_low"]["mismatch,rules"] == 0.0
    assert found["natural_instructions_subtask002_quoref_answer_generation_positive"]["rouge_l,none"] == 1.0
    # What draws the rows of manyifeval has changed once.
    assert {task: version.partition("+")[2] for task, version in versions(run).items()} == {
        task: f"embedded+seed{row_seed}{'.2' * task.startswith('manyifeval')}" for task in TASKS.split(",")
    }
    for config in run.results["configs"].values():
        assert config["metadata"]["row_seed"] == row_seed


@pytest.mark.harness
def test_the_seed_of_the_model_chooses_no_rows(harness: Harness) -> None:
    options = ("--model", "reference", "--tasks", "verbalizer_sst2_neutral_foo_bar")
    runs = [harness(*options, "--model_args", f"seed={seed}", source="embedded") for seed in (1, 2)]
    hashes = {run.results["configs"]["verbalizer_sst2_neutral_foo_bar"]["metadata"]["rows_hash"] for run in runs}
    assert len(hashes) == 1
    assert all("seed" not in version for run in runs for version in versions(run).values())
