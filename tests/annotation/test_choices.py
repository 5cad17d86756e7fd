"""From results to a sheet, from a labeled sheet to its distribution and to rows that train and evaluate."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from lm_eval_ext.annotation.choices import COLUMNS, MODES, label_in, mode_in, options_cell, options_in
from lm_eval_ext.annotation.sheet import read_sheet, write_sheet
from lm_eval_ext.classifier.labelled import labelled_file
from lm_eval_ext.cli import main
from tests.reports.conftest import ResultFolder
from tests.tables import tables

TASK, OTHER = "paired_mcq_opinionqa_medium", "paired_mcq_arc_challenge_medium"
CASES = tables(__file__, "choices")
ROW = dict.fromkeys(COLUMNS, "") | {"options": "A. Tea\nB. Coffee", "response": "Tea", "model": "m", "task": "t"}


@pytest.fixture(scope="module")
def folders(result_folder: ResultFolder) -> list[str]:
    """Return the results of two models: six questions of each of two tasks, in ten orders."""
    return [
        str(result_folder(policy, (TASK, OTHER), limit=60, answer_classifier="rules"))
        for policy in ("chatty", "refuser")
    ]


# What an annotator sees and may write


@pytest.mark.parametrize(("cell", "label"), CASES["labels"])
def test_a_label_is_read_as_it_is_written(cell: str, label: object) -> None:
    assert label_in(cell) == label


def test_options_survive_a_cell() -> None:
    shown = options_cell(["Very\nmuch. Really", "=1+1", ""])
    assert shown == "A. Very much. Really\nB. =1+1\nC. "
    assert options_in("row 1", shown + "\r\n") == [
        {"letter": "A", "text": "Very much. Really"},
        {"letter": "B", "text": "=1+1"},
        {"letter": "C", "text": ""},
    ]


def test_modes_are_those_of_table_6() -> None:
    assert len(MODES) == 9
    assert mode_in("row 1", " Single choice,  with explanation\n") == "single choice, with explanation"
    assert mode_in("row 1", "") is None


# From results to labels


def sheet(path: Path, *options: str) -> list[dict[str, str]]:
    assert main(["classifier", "annotate", *options, "--output", str(path)]) == 0
    return read_sheet(path, COLUMNS)


def asked(row: Mapping[str, str]) -> tuple[str, str]:
    return row["task"], row["row"]


def test_a_sheet_has_one_order_of_each_question_and_the_same_rows_for_every_model(
    folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = sheet(tmp_path / "all.csv", *folders)
    assert f"{tmp_path / 'all.csv'}: 24 answers of 2 models to label\n" in capsys.readouterr().out
    assert Counter(row["model"] for row in rows) == {"reference policy=chatty": 12, "reference policy=refuser": 12}
    by_model = {
        model: {asked(row) for row in rows if row["model"] == model} for model in {row["model"] for row in rows}
    }
    assert len(set(map(frozenset, by_model.values()))) == 1
    assert len({(row["model"], row["task"], row["question"]) for row in rows}) == 24
    # The orders are drawn, not always the first, and the models are mixed.
    assert len({int(row["row"]) % 10 for row in rows}) > 3
    assert [row["model"] for row in rows] != sorted(row["model"] for row in rows)
    refusal = next(row for row in rows if row["model"].endswith("refuser"))
    assert "cannot answer" in refusal["response"]
    assert refusal["options"].startswith("A. ")
    assert "\nB. " in refusal["options"]
    assert {row["label"] for row in rows} == {row["mode"] for row in rows} == {""}


def test_the_seed_decides_and_a_smaller_sheet_is_part_of_a_larger_one(folders: list[str], tmp_path: Path) -> None:
    everything = sheet(tmp_path / "all.csv", *folders, "--task", TASK)
    some = sheet(tmp_path / "some.csv", *folders, "--task", TASK, "--samples", "2")
    assert len(some) == 4
    assert {asked(row) for row in some} < {asked(row) for row in everything}
    assert sheet(tmp_path / "again.csv", *folders, "--task", TASK) == everything
    other = sheet(tmp_path / "other.csv", *folders, "--task", TASK, "--seed", "1")
    assert {asked(row) for row in other} != {asked(row) for row in everything}


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--task", "no_such"], f"--task no_such: no results of this task; expected one of {OTHER}, {TASK}"),
        (["--samples", "7"], "--samples 7: "),
    ],
)
def test_what_cannot_be_drawn_is_reported(
    folders: list[str], tmp_path: Path, options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["classifier", "annotate", *folders, *options, "--output", str(tmp_path / "x.csv")]) == 1
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize("options", [[], ["--task", TASK]], ids=["all tasks", "a task"])
def test_results_of_other_tasks_alone_are_an_error(
    result_folder: ResultFolder, tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    folder = result_folder("oracle", ("verbalizer_sst2_natural_golden",), limit=2)
    assert main(["classifier", "annotate", str(folder), *options, "--output", str(tmp_path / "x.csv")]) == 1
    assert "no results of paired_mcq or text_mcq tasks; expected" in capsys.readouterr().err
    assert not (tmp_path / "x.csv").exists()


def test_labels_are_counted_and_become_rows_for_training(
    folders: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = sheet(tmp_path / "empty.csv", *folders, "--task", TASK)
    chatty = [row for row in rows if row["model"].endswith("chatty")]
    refused = [row for row in rows if row["model"].endswith("refuser")]
    for row, label in zip(chatty, ("A", "A", "B", "a, b", "nan", ""), strict=True):
        row |= {"label": label, "mode": "multiple choices" if "," in label else ""}
    for row in refused:
        row |= {"label": "refused", "mode": "refusal"}
    labeled = tmp_path / "labeled.csv"
    write_sheet(labeled, COLUMNS, rows)
    capsys.readouterr()
    out = tmp_path / "rows.jsonl"
    assert main(["classifier", "labels", str(labeled), "--rows", str(out)]) == 0
    said = capsys.readouterr().out
    # The letter of "Refused" differs with the order.
    of_refuser = Counter(
        next(line[0] for line in row["options"].split("\n") if line.endswith(". Refused")) for row in refused
    )
    counts = _counts(said)
    assert counts["reference policy=chatty"].items() >= {"A": 2, "B": 1, "several": 1, "none": 1, "all": 5}.items()
    assert counts["reference policy=refuser"].items() >= of_refuser.items()
    assert "Not labeled yet, and left out: 1 of 12 answers." in said
    header, _, *modes = said.split("\n\n")[3].splitlines()
    assert [" ".join(line.split()) for line in (header, *sorted(modes))] == [
        "| model | multiple choices | refusal | all |",
        "| reference policy=chatty | 1 | 0 | 1 |",
        "| reference policy=refuser | 0 | 6 | 6 |",
    ]
    # The rows have the modes, too.
    assert main(["classifier", "labels", str(out)]) == 0
    assert capsys.readouterr().out.split("\n\n")[:4] == said.split("\n\n")[:4]
    read = labelled_file(out)
    assert Counter(row.label.kind for row in read) == {"option": 9, "several": 1, "none": 1}
    assert main(["classifier", "evaluate", str(out), "--reader", "rules"]) == 0
    # Nothing is overwritten here, either.
    assert main(["classifier", "labels", str(labeled), "--rows", str(out)]) == 1


def _counts(said: str) -> dict[str, dict[str, int]]:
    """Return the first table that is printed, that of the labels: by model, the count in each column."""
    lines = said.split("\n\n")[1].splitlines()
    (_, *labels), _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return {model: dict(zip(labels, map(int, cells), strict=True)) for model, *cells in rows}


@pytest.mark.parametrize(("changed", "complaint"), CASES["wrong"])
def test_a_wrong_cell_is_named(
    changed: dict[str, str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_sheet(tmp_path / "one.csv", COLUMNS, [ROW | changed])
    assert main(["classifier", "labels", str(tmp_path / "one.csv")]) == 1
    assert complaint in capsys.readouterr().err


def _labels(sheet: Path, rows: str, *labels: str) -> str:
    """Write a sheet of answers of one model: each letter of ``rows`` is an answer, with its label."""
    write_sheet(sheet, COLUMNS, [ROW | {"row": n, "label": label} for n, label in zip(rows, labels, strict=True)])
    return str(sheet)


@pytest.mark.parametrize(
    ("second", "labels", "found"),
    [
        (
            "012",
            ("A", "A", ""),
            "two.csv, row 1: labels an answer 'A' that {one}, row 1 labels 'A'; give each sheet once",
        ),
        ("23", ("B", "B"), "two.csv, row 1: labels an answer 'B' that {one}, row 3 labels 'A'; give each sheet once"),
        ("33", ("B", "A"), "two.csv, row 2: labels an answer 'A' that {two}, row 1 labels 'B'; give each sheet once"),
    ],
)
def test_an_answer_with_a_second_label_is_named(
    second: str, labels: tuple[str, ...], found: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = _labels(tmp_path / "one.csv", "012", "A", "B", "A")
    two = _labels(tmp_path / "two.csv", second, *labels)
    assert main(["classifier", "labels", one, two]) == 1
    assert found.format(one=one, two=two) in capsys.readouterr().err


def test_the_rows_for_training_can_be_counted_but_not_beside_their_sheet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Three tasks may ask one question and get one answer.
    sheet, rows = _labels(tmp_path / "sheet.csv", "012", "A", "A", "A"), str(tmp_path / "rows.jsonl")
    assert main(["classifier", "labels", sheet, "--rows", rows]) == 0
    assert main(["classifier", "labels", rows]) == 0
    assert main(["classifier", "labels", sheet, rows]) == 1
    assert f"{rows}, row 1: labels an answer 'A' that {sheet}, row 1 labels 'A'" in capsys.readouterr().err


def test_annotators_may_each_label_a_part_of_a_copy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheets = [
        _labels(tmp_path / "one.csv", "0123", "A", "B", "", ""),
        _labels(tmp_path / "two.csv", "0123", "", "", "A", ""),
    ]
    assert main(["classifier", "labels", *sheets]) == 0
    assert "Not labeled yet, and left out: 1 of 4 answers." in capsys.readouterr().out


def test_the_published_labels_have_their_published_letters(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shared_data / "mcq" / "mismatch_train.jsonl"
    assert main(["classifier", "labels", str(path)]) == 0
    found = _counts(capsys.readouterr().out)
    counts: dict[str, Counter[str]] = {model: Counter() for model in found}
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        counts[row["model"]][row["label_letter"] if row["label_kind"] == "option" else row["label_kind"]] += 1
    # Counted independently from the file's own fields: A, B, C, … and the number of rows of each model.
    for model, of_model in found.items():
        assert [*of_model.items()][:6] == [(letter, counts[model][letter]) for letter in "ABCDEF"]
        assert of_model["all"] == counts[model].total()
