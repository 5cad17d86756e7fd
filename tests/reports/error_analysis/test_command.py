"""``lm-eval-ext natural-instructions errors``: from results to a sheet, and from a labeled sheet to a tally."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from lm_eval_ext.annotation.sheet import read_sheet
from lm_eval_ext.cli import main
from lm_eval_ext.reports.error_analysis.sample import COLUMNS, SUBTASKS
from tests.reports.conftest import ResultFolder
from tests.reports.error_analysis.test_sample import ECHO, TASKS

ERRORS = ("natural-instructions", "errors")


def test_a_sheet_is_written_labeled_and_counted(
    result_folder: ResultFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = tmp_path / "sheet.csv"
    options = ["--each", "4", "--encodings", "prompt,all", "-o", str(sheet)]
    assert main([*ERRORS, "sample", str(result_folder("echo", TASKS)), *options]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == f"{sheet}: 24 answers; fill in the column 'label'"
    rows = read_sheet(sheet, COLUMNS)
    assert main([*ERRORS, "tally", str(sheet)]) == 1
    assert "no row has a label" in capsys.readouterr().err

    # As a spreadsheet would save it: one label in four is missing.
    for number, row in enumerate(rows):
        row["label"] = "repeats the input" if number % 4 else ""
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    assert main([*ERRORS, "tally", str(sheet)]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)[ECHO]
    assert set(found) == {"prompt", "all"}
    assert set(found["all"]) == {*SUBTASKS, "all subtasks"}
    labeled = sum(of["all subtasks"]["labeled"] for of in found.values())
    assert (labeled, printed.err) == (18, "18 of 24 answers are labeled\n")
    assert found["all"]["all subtasks"]["labels"]["repeats the input"]["percent"] == 100.0


def test_labels_are_not_overwritten(
    result_folder: ResultFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("label\nmine\n", encoding="utf-8")
    assert main([*ERRORS, "sample", str(result_folder("echo", TASKS)), "-o", str(sheet)]) == 1
    assert "exists, and may have labels" in capsys.readouterr().err
    assert sheet.read_text(encoding="utf-8") == "label\nmine\n"


@pytest.mark.parametrize(
    "arguments", [[], ["sample", "x"], ["sample", "x", "-o", "a.csv", "--each", "0"], ["tally"], ["talley"]]
)
def test_wrong_arguments_print_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*ERRORS, *arguments])
    assert stop.value.code == 2
    assert "usage: lm-eval-ext natural-instructions errors" in capsys.readouterr().err
