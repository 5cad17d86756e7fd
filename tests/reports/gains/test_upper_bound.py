"""The gap of every encoding to models trained on the subtasks themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.cli import main
from tests.reports.gains.test_results import ANSWERS, QUESTIONS, leaf, results


def runs(folder: Path) -> Path:
    """Write the results of one model under two encodings."""
    leaves = [leaf("s1", "prompt", 0.2), leaf("s1", "all", 0.3), leaf("s3", "prompt", 0.4), leaf("s2", "prompt", 0.1)]
    return results(folder / "runs" / "results_1.json", *leaves)


def bound(folder: Path, subtask: str, rouge_l: float, encoding: str = "instance", **metadata: Any) -> Path:
    """Write the results of the model trained on one subtask."""
    path = folder / "bounds" / f"of {subtask}" / encoding / "results_1.json"
    return results(path, leaf(subtask, encoding, rouge_l, **metadata), model=f"bart-{subtask}")


def gains(tmp_path: Path, *options: str) -> int:
    given = [str(tmp_path / "runs"), "--upper-bound", str(tmp_path / "bounds")]
    return main(["natural-instructions", "gains", *given, *options])


def test_the_gap_is_over_the_subtasks_that_have_an_upper_bound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs(tmp_path)
    # Another budget: the task-specific model has another tokenizer.
    bound(tmp_path, "s1", 0.5, prompt_budget={"limit": 1008})
    bound(tmp_path, "s3", 0.8)
    assert gains(tmp_path) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert found["average"]["prompt"]["subtasks"] == 3
    assert found["upper_bound"] == {
        "models": {"s1": "hf pretrained=bart-s1, instance", "s3": "hf pretrained=bart-s3, instance"},
        "rouge_l": pytest.approx(0.65),
        "subtasks": 2,
        "average": {
            # (0.5 + 0.8) / 2 - (0.2 + 0.4) / 2 = 0.35, of 0.65: 53.8 %; s2 has no upper bound.
            "prompt": gap(0.3, 0.65, 0.35, 3500 / 65, 2),
            "all": gap(0.3, 0.5, 0.2, 40.0, 1),
        },
        "categories": {
            QUESTIONS: {"prompt": gap(0.2, 0.5, 0.3, 60.0, 1), "all": gap(0.3, 0.5, 0.2, 40.0, 1)},
            ANSWERS: {"prompt": gap(0.4, 0.8, 0.4, 50.0, 1)},
        },
        "without_upper_bound": ["s2"],
    }
    assert "s2 is left out of the gaps: no upper bound" in printed.err.splitlines()


def gap(rouge_l: float, upper_bound: float, distance: float, percent: float, subtasks: int) -> dict[str, Any]:
    return {
        "rouge_l": pytest.approx(rouge_l),
        "upper_bound": pytest.approx(upper_bound),
        "gap": pytest.approx(distance),
        "gap_percent": pytest.approx(percent),
        "subtasks": subtasks,
    }


def test_an_upper_bound_of_zero_has_no_relative_gap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs(tmp_path)
    bound(tmp_path, "s1", 0.0)
    assert gains(tmp_path) == 0
    found = json.loads(capsys.readouterr().out)["upper_bound"]["average"]["prompt"]
    assert (found["gap"], found["gap_percent"]) == (-0.2, None)


@pytest.mark.parametrize(
    ("difference", "complaint"),
    [
        ({"instances_hash": "another"}, "instances_hash is 'another' for the upper bound"),
        ({"n": 12}, "number of rows is 12 for the upper bound"),
        ({"source": "hub"}, "source is 'hub' for the upper bound"),
    ],
)
def test_an_upper_bound_on_other_rows_is_an_error(
    difference: dict[str, Any], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs(tmp_path)
    bound(tmp_path, "s1", 0.5, **difference)
    assert gains(tmp_path) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "s1: the upper bound was run differently, so a gap would be meaningless: " in printed.err
    assert complaint in printed.err


def test_two_upper_bounds_of_a_subtask_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs(tmp_path)
    bound(tmp_path, "s1", 0.5)
    bound(tmp_path, "s1", 0.6, encoding="all")
    assert gains(tmp_path) == 1
    assert "s1: two runs as an upper bound, hf pretrained=bart-s1, " in capsys.readouterr().err


def test_an_upper_bound_of_other_subtasks_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results(tmp_path / "runs" / "results_1.json", leaf("s1", "prompt", 0.2))
    bound(tmp_path, "s3", 0.5)
    assert gains(tmp_path) == 1
    assert "the upper bound is of other subtasks (s3) than the scores (s1); expected" in capsys.readouterr().err
