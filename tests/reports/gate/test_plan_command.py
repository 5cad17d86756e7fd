"""``check --plan`` as a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.other_files import MadeUp, write_other_run
from tests.reports.files import SST2, write_run
from tests.reports.gate.test_commands import call
from tests.reports.gate.two_runs import SNLI, right


def test_a_plan_is_printed_for_names_sizes_and_baselines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path, {SST2: right(90), SNLI: right(50)})
    bounds = tmp_path / "bounds.toml"
    bounds.write_text(f"max_drop = 0.05\n[tasks]\n{SST2} = 0.1", encoding="utf-8")
    for words, first in (
        (["--rows", 30, "--answers-per-row", 2], "these rows: 30 rows, 2 answers each; assumed"),
        (["--tasks", f"{SST2},manyifeval"], f"{SST2}: 100 rows, 1 answer each; assumed"),
        (["--against", tmp_path], f"{SNLI}: 100 rows, 1 answer each; of the baseline: acc 0.5000; assumed"),
    ):
        assert call("check", "--plan", *words, "--bounds", bounds) == 0
        assert capsys.readouterr().out.startswith(first)


def test_a_plan_takes_what_changes_from_an_option_or_from_a_second_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "one", {SST2: right(90)})
    write_run(tmp_path / "two", {SST2: right(90, skip=5)})
    for words, said in (
        (["--changed", 0.05], "of the baseline: acc 0.9000; assumed: 5.0% of the answers change (--changed)"),
        ([tmp_path / "two"], "of two runs of the baseline: acc 0.9000 and 0.9000; two runs differ by a standard error"),
    ):
        assert call("check", "--plan", *words, "--against", tmp_path / "one", "--max-drop", 0.05) == 0
        assert said in capsys.readouterr().out
    assert call("check", "--plan", "--rows", 300, "--changed", 0.25, "--max-drop", 0.05) == 0
    assert "assumed: 25.0% of the answers change" in capsys.readouterr().out


def test_a_task_that_cannot_be_planned_for_is_named_and_the_rest_is_planned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    f1 = MadeUp([[1, 1], [0, 1], [1, 0], [0, 0]] * 20, 0.5, "f1", "f1")
    write_other_run(tmp_path, {"pairs": f1, "quiz": MadeUp([1.0, 0.0] * 50)})
    assert call("check", "--plan", "--against", tmp_path, "--max-drop", 0.05) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("quiz: 100 rows, 1 answer each; of the baseline: acc 0.5000; assumed: 10.0%")
    assert "not planned for: pairs: its score is no share of right answers, so one run does not tell" in printed.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--plan"], "expected one of --against BASELINE, --tasks NAMES and --rows N; found none of them"),
        (["--plan", "--rows", "3", "--tasks", SST2], "found --tasks and --rows"),
        (["--plan", "--tasks", SST2, "--answers-per-row", "3"], "--answers-per-row: expected --rows"),
        (["--plan", "--rows", "3", "--junit", "x"], "expected neither --junit nor --markdown"),
        (["--plan", "x", "--rows", "3"], "a run and no baseline; expected --against BASELINE"),
        (["--plan", "x", "y", "--against", "z"], "several runs; expected a second run of the baseline, or none"),
        (["--plan", "x", "--against", "y", "--changed", "0.1"], "expected no --changed with it"),
        (["--plan", "x", "--against", "x"], "x: is both baseline and its second run"),
        (["x", "--against", "y", "--changed", "0.1"], "--changed is only for --plan"),
        (["--plan", "--tasks", "mmlu"], "mmlu: the number of its rows is not known"),
        (["--plan", "--against", "nowhere"], "nowhere"),
        (["x", "--against", "y", "--rows", "3"], "--rows is only for --plan"),
        (["x"], "expected a candidate and --against BASELINE, or --plan"),
    ],
)
def test_what_a_plan_lacks_is_said(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("check", *words, "--max-drop", "0.02") == 2
    assert complaint in capsys.readouterr().err


def test_a_plan_needs_a_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("check", "--plan", "--rows", "3") == 2
    assert "expected --max-drop" in capsys.readouterr().err
    bounds = tmp_path / "bounds.toml"
    bounds.write_text("[tasks]\nmanyifeval = 0.1", encoding="utf-8")
    assert call("check", "--plan", "--tasks", SST2, "--bounds", bounds) == 2
    assert f"{SST2}: {bounds} has no bound for it" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        call("check", "--plan", "--rows", "0", "--max-drop", "0.02")
