"""Error analysis by hand: the sheet of answers, and the count of their labels."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.annotation.errors import OVERALL, SUBTASKS, sample, tally
from lm_eval_ext.annotation.sheet import Cell, read_sheet, write_sheet
from lm_eval_ext.cli import main
from lm_eval_ext.results.issue import note
from lm_eval_ext.results.load import load
from lm_eval_ext.sources import RowsError
from tests.reports.conftest import ResultFolder
from tests.reports.files import edited_lines, results_in

NI = "natural_instructions"
ECHO = "reference policy=echo"
COLUMNS = (
    *("model", "subtask", "encoding", "index", "input"),
    *("references", "answer", "rouge_l", "label", "prompt"),
)
TASKS = tuple(f"{NI}_{subtask}_{encoding}" for subtask in SUBTASKS for encoding in ("prompt", "all"))


@pytest.fixture(scope="module")
def echo(result_folder: ResultFolder) -> Path:
    """Return runs of the paper's three subtasks, with 24 instances each."""
    return result_folder("echo", TASKS)


@pytest.fixture(scope="module")
def oracle(result_folder: ResultFolder) -> Path:
    return result_folder("oracle", TASKS[:2])


def instances(rows: Sequence[Mapping[str, Cell]], subtask: str) -> list[int]:
    return [int(row["index"]) for row in rows if row["subtask"] == subtask]


def test_a_row_has_all_that_labeling_needs_and_no_label(echo: Path) -> None:
    rows, _ = sample(load([echo]), instances=5)
    assert [str(row["subtask"]) for row in rows] == [subtask for subtask in SUBTASKS for _ in range(5)]
    for row in rows:
        assert tuple(row) == COLUMNS
        assert (row["model"], row["encoding"], row["label"]) == (ECHO, "all", "")
        assert row["answer"] == row["input"] != ""
        assert str(row["prompt"]).startswith("Definition: ")
        assert str(row["prompt"]).endswith(f"input: {row['input']}\noutput:")
        assert 0 <= float(row["rouge_l"]) < 1
        assert row["references"]


def test_the_sample_depends_on_the_seed_and_is_the_same_for_every_model_and_encoding(echo: Path, oracle: Path) -> None:
    alone, chosen = load([echo]), (SUBTASKS[:1], ("prompt", "all"), 5)
    (one, _), (both, _) = sample(alone, *chosen), sample(load([echo, oracle]), *chosen)
    assert sample(alone, *chosen)[0] == one
    drawn = list(dict.fromkeys(instances(one, SUBTASKS[0])))
    assert len(drawn) == 5
    # Four answers to an instance, next to each other.
    assert instances(both, SUBTASKS[0]) == [index for index in drawn for _ in range(4)]
    assert {(row["model"], row["encoding"]) for row in both[:4]} == {
        (model, encoding) for model in (ECHO, "reference policy=oracle") for encoding in ("prompt", "all")
    }
    others = [instances(sample(alone, SUBTASKS[:1], instances=5, seed=seed)[0], SUBTASKS[0]) for seed in range(1, 9)]
    assert len({tuple(of) for of in [drawn, *others]}) > 5
    # More instances contain the fewer ones.
    assert set(drawn) < set(instances(sample(alone, SUBTASKS[:1], instances=10)[0], SUBTASKS[0]))


def test_subtasks_may_be_numbers(echo: Path) -> None:
    assert {row["subtask"] for row in sample(load([echo]), ("040",), instances=2)[0]} == {SUBTASKS[2]}


def test_fewer_instances_than_asked_for_are_said(echo: Path) -> None:
    rows, issues = sample(load([echo]), SUBTASKS[:1])
    assert (len(rows), issues[-1]) == (24, note(f"{SUBTASKS[0]}: 24 instances, fewer than the 30 asked for"))


@pytest.mark.parametrize(
    ("chosen", "complaint"),
    [
        ((("001",),), "no run of the subtask '001'; found subtask005_.*, subtask033_.*, subtask040_.*--subtasks"),
        ((SUBTASKS, ("positive",)), "no run of the encoding 'positive' .* found all, prompt.*--encodings"),
    ],
)
def test_what_was_not_run_is_named(chosen: tuple[Any, ...], complaint: str, echo: Path) -> None:
    with pytest.raises(RowsError, match=complaint):
        sample(load([echo]), *chosen)


@pytest.fixture
def copied(echo: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Return a copy of the runs, and the samples of the first of them."""
    folder = Path(shutil.copytree(results_in(echo).parent, tmp_path / "copy"))
    (samples,) = folder.glob(f"samples_{NI}_{SUBTASKS[0]}_all_*.jsonl")
    return folder, samples


def test_runs_without_samples_are_named(copied: tuple[Path, Path]) -> None:
    folder, samples = copied
    samples.unlink()
    rows, issues = sample(load([folder]), instances=2)
    assert len(rows) == 4
    assert any(f"{NI}_{SUBTASKS[0]}_all: no samples" in issue.text for issue in issues)
    with pytest.raises(RowsError, match=r"no samples, so none of its answers can be drawn; run it with --log_samples"):
        sample(load([folder]), SUBTASKS[:1])


def test_samples_without_answers_are_named(copied: tuple[Path, Path]) -> None:
    folder, samples = copied
    with edited_lines(samples) as lines:
        lines[:] = [line | {"resps": []} for line in lines]
    with pytest.raises(RowsError, match=r"samples_.*: expected the samples that the harness writes of our tasks"):
        sample(load([folder]), instances=2)


LABELED = ("model", "encoding", "subtask", "index", "label")


def sheet(path: Path, subtask: str, labels: Sequence[str], encoding: str = "all", first: int = 0) -> Path:
    rows = [("one", encoding, subtask, number, label) for number, label in enumerate(labels, start=first)]
    write_sheet(path, LABELED, [dict(zip(LABELED, row, strict=True)) for row in rows])
    return path


def counts(answers: int, labeled: int, **percent: tuple[int, float]) -> dict[str, Any]:
    labels = {
        name.replace("_", " "): dict(zip(("count", "percent"), share, strict=True)) for name, share in percent.items()
    }
    return {"answers": answers, "labeled": labeled, "labels": labels}


def test_labels_are_counted_by_encoding_and_subtask_and_over_all(tmp_path: Path) -> None:
    labels = ["redundant", " Redundant ; ignores  instruction", "", "correct", "correct"]
    sheets = [
        sheet(tmp_path / "a.csv", "s1", labels),
        sheet(tmp_path / "b.csv", "s2", ["correct;correct", "REDUNDANT"]),
        sheet(tmp_path / "c.csv", "s1", ["x"], "prompt"),
    ]
    found = tally(sheets)
    one = counts(1, 1, x=(1, 100.0))
    assert found == {
        "one": {
            "all": {
                # Four of five are labeled, one of them twice.
                "s1": counts(5, 4, correct=(2, 50.0), redundant=(2, 50.0), ignores_instruction=(1, 25.0)),
                "s2": counts(2, 2, correct=(1, 50.0), redundant=(1, 50.0)),
                OVERALL: counts(7, 6, correct=(3, 50.0), redundant=(3, 50.0), ignores_instruction=(1, 100 / 6)),
            },
            "prompt": {"s1": one, OVERALL: one},
        }
    }
    assert list(found["one"]["all"]["s1"]["labels"]) == ["correct", "redundant", "ignores instruction"]


def test_an_answer_must_not_be_counted_twice(tmp_path: Path) -> None:
    sheets = [
        sheet(tmp_path / "a.csv", "s1", ["x", "y"]),
        sheet(tmp_path / "b.csv", "s1", ["x"], first=1),
    ]
    with pytest.raises(RowsError, match=r"b\.csv: one, all, s1, 1: a second row of one answer; .* in .*a\.csv"):
        tally(sheets)


ERRORS = ("natural-instructions", "errors")


def test_a_sheet_is_written_once_labeled_and_counted(
    result_folder: ResultFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = tmp_path / "sheet.csv"
    options = ["--each", "4", "--encodings", "prompt,all", "-o", str(sheet)]
    assert main([*ERRORS, "sample", str(result_folder("echo", TASKS)), *options]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == f"{sheet}: 24 answers; fill in the column 'label'"
    rows, written = read_sheet(sheet, COLUMNS), sheet.read_bytes()
    assert main([*ERRORS, "sample", str(result_folder("echo", TASKS)), *options]) == 1
    assert "exists, and may have labels" in capsys.readouterr().err
    assert sheet.read_bytes() == written
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


@pytest.mark.parametrize(
    "arguments", [[], ["sample", "x"], ["sample", "x", "-o", "a.csv", "--each", "0"], ["tally"], ["talley"]]
)
def test_wrong_arguments_print_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([*ERRORS, *arguments])
    assert stop.value.code == 2
    assert "usage: lm-eval-ext natural-instructions errors" in capsys.readouterr().err
