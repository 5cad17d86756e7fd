"""``plan`` as a command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.sources import RowsError
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
        (["--against", tmp_path], f"{SNLI}: 100 rows, 1 answer each; of the baseline: acc 50.00 %; assumed"),
    ):
        assert call("plan", *words, "--bounds", bounds) == 0
        assert capsys.readouterr().out.startswith(first)


def test_a_plan_takes_what_changes_from_an_option_or_from_a_second_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(tmp_path / "one", {SST2: right(90)})
    write_run(tmp_path / "two", {SST2: right(90, skip=5)})
    for words, said in (
        (["--changed", 0.05], "of the baseline: acc 90.00 %; assumed: 5.0% of the answers change (--changed)"),
        (
            [tmp_path / "two"],
            "of two runs of the baseline: acc 90.00 % and 90.00 %; two runs differ by ",
        ),
    ):
        assert call("plan", *words, "--against", tmp_path / "one", "--max-drop", 0.05) == 0
        assert said in capsys.readouterr().out
    assert call("plan", "--rows", 300, "--changed", 0.25, "--max-drop", 0.05) == 0
    assert "assumed: 25.0% of the answers change" in capsys.readouterr().out


def test_a_task_that_cannot_be_planned_for_is_named_and_the_rest_is_planned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    f1 = MadeUp([[1, 1], [0, 1], [1, 0], [0, 0]] * 20, 0.5, "f1", "f1")
    write_other_run(tmp_path, {"pairs": f1, "quiz": MadeUp([1.0, 0.0] * 50)})
    assert call("plan", "--against", tmp_path, "--max-drop", 0.05) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("quiz: 100 rows, 1 answer each; of the baseline: acc 50.00 %; assumed: 10.0%")
    assert "not planned for: pairs: its score is not a share of right answers, so one run does not show" in printed.err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "expected one of --against BASELINE, --tasks NAMES and --rows N; found none of them"),
        (["--rows", "3", "--tasks", SST2], "found --tasks and --rows"),
        (["--tasks", SST2, "--answers-per-row", "3"], "--answers-per-row: expected --rows"),
        (["x", "--rows", "3"], "a run and no baseline; expected --against BASELINE"),
        (["x", "--against", "y", "--changed", "0.1"], "expected no --changed with it"),
        (["x", "--against", "x"], "x: is both baseline and its second run"),
        (["--tasks", "mmlu"], "mmlu: the number of its rows is not known"),
        (["--against", "nowhere"], "nowhere"),
    ],
)
def test_what_a_plan_lacks_is_said(words: list[str], complaint: str) -> None:
    with pytest.raises((ReportError, RowsError, OSError), match=re.escape(complaint)):
        call("plan", *words, "--max-drop", "0.02")


def test_a_plan_needs_a_bound(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="expected --max-drop"):
        call("plan", "--rows", "3")
    bounds = tmp_path / "bounds.toml"
    bounds.write_text("[tasks]\nmanyifeval = 0.1", encoding="utf-8")
    with pytest.raises(ReportError, match=f"{SST2}: {bounds} has no bound for it"):
        call("plan", "--tasks", SST2, "--bounds", bounds)
    with pytest.raises(SystemExit):
        call("plan", "--rows", "0", "--max-drop", "0.02")
