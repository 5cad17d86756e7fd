"""Labels, counted by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from lm_eval_ext.annotation.sheet import write_sheet
from lm_eval_ext.reports.error_analysis.tally import OVERALL, Share, Tally, tally
from lm_eval_ext.sources import RowsError

COLUMNS = ("model", "encoding", "subtask", "index", "label")


def sheet(path: Path, subtask: str, labels: Sequence[str], encoding: str = "all", first: int = 0) -> Path:
    rows = [("one", encoding, subtask, number, label) for number, label in enumerate(labels, start=first)]
    write_sheet(path, COLUMNS, [dict(zip(COLUMNS, row, strict=True)) for row in rows])
    return path


def test_labels_are_counted_by_subtask_and_over_all(tmp_path: Path) -> None:
    first = sheet(
        tmp_path / "a.csv", "s1", ["redundant", " Redundant ; ignores  instruction", "", "correct", "correct"]
    )
    second = sheet(tmp_path / "b.jsonl", "s2", ["correct;correct", "REDUNDANT"])
    found = tally([first, second])
    assert list(found) == ["one"]
    assert found["one"]["all"] == {
        # Four of five are labeled, one of them twice.
        "s1": Tally(
            5, 4, {"correct": Share(2, 50.0), "redundant": Share(2, 50.0), "ignores instruction": Share(1, 25.0)}
        ),
        "s2": Tally(2, 2, {"correct": Share(1, 50.0), "redundant": Share(1, 50.0)}),
        OVERALL: Tally(
            7, 6, {"correct": Share(3, 50.0), "redundant": Share(3, 50.0), "ignores instruction": Share(1, 100 / 6)}
        ),
    }
    assert list(found["one"]["all"]["s1"].labels) == ["correct", "redundant", "ignores instruction"]


def test_encodings_are_counted_apart(tmp_path: Path) -> None:
    sheets = [sheet(tmp_path / f"{encoding}.csv", "s1", ["x"], encoding) for encoding in ("prompt", "all")]
    assert {name: of["s1"].answers for name, of in tally(sheets)["one"].items()} == {"prompt": 1, "all": 1}


def test_a_sheet_without_labels_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=r"a\.csv: no row has a label; fill in that column first"):
        tally([sheet(tmp_path / "a.csv", "s1", ["", " ; "])])


def test_an_answer_must_not_be_counted_twice(tmp_path: Path) -> None:
    sheets = [
        sheet(tmp_path / "a.csv", "s1", ["x", "y"]),
        sheet(tmp_path / "b.csv", "s1", ["x"], first=1),
    ]
    with pytest.raises(RowsError, match=r"b\.csv: one, all, s1, 1: a second row of one answer; .* in .*a\.csv"):
        tally(sheets)
