"""Which answers are drawn for an error analysis, and what the sheet says about them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from lm_eval_ext.reports.error_analysis import COLUMNS, SUBTASKS, Chosen, Sample, sample
from lm_eval_ext.results.issue import note
from lm_eval_ext.sources import RowsError
from tests.reports.conftest import ResultFolder

NI = "natural_instructions"
ECHO = "reference policy=echo"
TASKS = tuple(f"{NI}_{subtask}_{encoding}" for subtask in SUBTASKS for encoding in ("prompt", "all"))


@pytest.fixture(scope="module")
def echo(result_folder: ResultFolder) -> Path:
    """Return runs of the paper's three subtasks, with 24 instances each."""
    return result_folder("echo", TASKS)


@pytest.fixture(scope="module")
def oracle(result_folder: ResultFolder) -> Path:
    return result_folder("oracle", TASKS[:2])


def instances(found: Sample, subtask: str) -> list[int]:
    return [int(row["index"]) for row in found.rows if row["subtask"] == subtask]


def test_a_row_has_all_that_labeling_needs_and_no_label(echo: Path) -> None:
    found = sample([echo], Chosen(each=5))
    assert len(found.rows) == 15
    assert [str(row["subtask"]) for row in found.rows] == [subtask for subtask in SUBTASKS for _ in range(5)]
    for row in found.rows:
        assert tuple(row) == COLUMNS
        assert (row["model"], row["encoding"], row["label"]) == (ECHO, "all", "")
        assert row["answer"] == row["input"] != ""
        assert str(row["prompt"]).startswith("Definition: ")
        assert str(row["prompt"]).endswith(f"input: {row['input']}\noutput:")
        assert 0 <= float(row["rouge_l"]) < 1
        assert row["references"]


def test_the_sample_depends_on_the_seed_and_is_the_same_for_every_model_and_encoding(echo: Path, oracle: Path) -> None:
    chosen = Chosen(SUBTASKS[:1], ("prompt", "all"), 5)
    one, both = sample([echo], chosen), sample([echo, oracle], chosen)
    assert sample([echo], chosen) == one
    drawn = list(dict.fromkeys(instances(one, SUBTASKS[0])))
    assert len(drawn) == 5
    # Four answers to an instance, next to each other.
    assert instances(both, SUBTASKS[0]) == [index for index in drawn for _ in range(4)]
    assert {(row["model"], row["encoding"]) for row in both.rows[:4]} == {
        (model, encoding) for model in (ECHO, "reference policy=oracle") for encoding in ("prompt", "all")
    }
    others = [instances(sample([echo], Chosen(SUBTASKS[:1], each=5, seed=seed)), SUBTASKS[0]) for seed in range(1, 9)]
    assert len({tuple(of) for of in [drawn, *others]}) > 5
    # More instances contain the fewer ones.
    assert set(drawn) < set(instances(sample([echo], Chosen(SUBTASKS[:1], each=10)), SUBTASKS[0]))


def test_subtasks_may_be_numbers(echo: Path) -> None:
    assert {row["subtask"] for row in sample([echo], Chosen(("040",), each=2)).rows} == {SUBTASKS[2]}


def test_fewer_instances_than_asked_for_are_said(echo: Path) -> None:
    found = sample([echo], Chosen(SUBTASKS[:1]))
    assert len(found.rows) == 24
    assert found.issues[-1] == note(f"{SUBTASKS[0]}: 24 instances, fewer than the 30 asked for")


@pytest.mark.parametrize(
    ("chosen", "complaint"),
    [
        (Chosen(("001",)), "no run of the subtask '001'; found subtask005_.*, subtask033_.*, subtask040_.*--subtasks"),
        (Chosen(encodings=("positive",)), "no run of the encoding 'positive' .* found all, prompt.*--encodings"),
    ],
)
def test_what_was_not_run_is_named(chosen: Chosen, complaint: str, echo: Path) -> None:
    with pytest.raises(RowsError, match=complaint):
        sample([echo], chosen)


def test_runs_without_samples_are_named(echo: Path, tmp_path: Path) -> None:
    (results,) = echo.rglob("results_*.json")
    folder = shutil.copytree(results.parent, tmp_path / "copy")
    (samples,) = folder.glob(f"samples_{NI}_{SUBTASKS[0]}_all_*.jsonl")
    samples.unlink()
    found = sample([folder], Chosen(each=2))
    assert len(found.rows) == 4
    assert any(f"{NI}_{SUBTASKS[0]}_all: no samples" in issue.text for issue in found.issues)
    with pytest.raises(RowsError, match=r"no samples, so none of its answers is drawn; run it with --log_samples"):
        sample([folder], Chosen(SUBTASKS[:1]))


def test_samples_without_answers_are_named(echo: Path, tmp_path: Path) -> None:
    (results,) = echo.rglob("results_*.json")
    folder = shutil.copytree(results.parent, tmp_path / "copy")
    (samples,) = folder.glob(f"samples_{NI}_{SUBTASKS[0]}_all_*.jsonl")
    lines = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    samples.write_text("".join(json.dumps(line | {"resps": []}) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(RowsError, match=r"samples_.*: expected the samples that the harness writes of our tasks"):
        sample([folder], Chosen(each=2))
