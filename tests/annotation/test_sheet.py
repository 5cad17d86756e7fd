"""Sheets: nothing that a model wrote becomes a formula, and everything is read back as it was written."""

from __future__ import annotations

import csv
import io
import random
from pathlib import Path

import pytest

from lm_eval_ext.annotation.sheet import Cell, read_sheet, require_new_sheet, write_sheet
from lm_eval_ext.sources import RowsError

TEXTS = (
    # Formulas.
    "=1+1",
    "+1",
    "-1+cmd|' /C calc'!A0",
    "@SUM(A1)",
    "\t=1+1",
    "\r=1+1",
    "\uff1d1+1",
    "\uff0b1",
    "\uff0d1",
    "\uff201",
    # Other texts.
    "plain",
    "",
    "'=1+1",
    "'quoted'",
    'say "=1+1", then; go',
    "a;=1+1",
    "- one\n- two",
    "first\r\n=1+1",
    "\t\t=;'",
    "007",
    "é ✓ 漢",
    "on and on " * 20_000,
)


def test_every_text_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    rows: list[dict[str, Cell]] = [{"id": n, "text": text, "score": 0.5, "label": ""} for n, text in enumerate(TEXTS)]
    write_sheet(path, ("id", "text", "score", "label"), rows)
    found = read_sheet(path, ("id", "label"))
    assert [row["text"] for row in found] == list(TEXTS)
    assert found[2] == {"id": "2", "text": TEXTS[2], "score": "0.5", "label": ""}


def test_any_text_of_dangerous_characters_is_read_back_and_starts_no_cell(tmp_path: Path) -> None:
    draw = random.Random(0)  # noqa: S311 # reproducible by design
    texts = ["".join(draw.choices("=+-@';,\t\r\n\"a ", k=draw.randrange(9))) for _ in range(3000)]
    write_sheet(tmp_path / "sheet.csv", ("id", "text"), [{"id": n, "text": text} for n, text in enumerate(texts)])
    assert [row["text"] for row in read_sheet(tmp_path / "sheet.csv", ("text",))] == texts
    content = (tmp_path / "sheet.csv").read_bytes().decode("utf-8-sig")
    for separator in ",;\t":
        cells = (cell for line in csv.reader(io.StringIO(content, newline=""), delimiter=separator) for cell in line)
        # With another separator, a comma no longer ends a cell, and a quote in its middle does not quote.
        assert [cell for cell in cells if cell.lstrip("\t\r\n").startswith(("=", "+", "-", "@"))] == [], separator


def test_a_csv_file_quotes_texts_and_says_that_it_is_utf_8(tmp_path: Path) -> None:
    write_sheet(tmp_path / "sheet.csv", ("id", "text"), [{"id": 7, "text": "=1+1"}])
    assert (tmp_path / "sheet.csv").read_bytes() == b'\xef\xbb\xbf"id","text"\r\n7,"\'=1+1"\r\n'


def test_half_a_surrogate_pair_is_written_as_its_escape(tmp_path: Path) -> None:
    write_sheet(tmp_path / "sheet.csv", ("text",), [{"text": "a\ud800"}])
    assert read_sheet(tmp_path / "sheet.csv", ("text",)) == [{"text": "a\\ud800"}]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_a_spreadsheet_may_rearrange_the_sheet_and_use_another_separator(separator: str, tmp_path: Path) -> None:
    rows = [
        ["label", "note", "text", "id"],
        ["good, I think", "x", "'=1+1", "1"],
        [""] * 4,
        ["bad", "", "b", "0"],
        ["ok"],
    ]
    text = "\n".join(separator.join(row) for row in rows)
    (tmp_path / "sheet.csv").write_text(text, encoding="utf-8")
    assert read_sheet(tmp_path / "sheet.csv", ("id", "label")) == [
        {"label": "good, I think", "note": "x", "text": "=1+1", "id": "1"},
        {"label": "bad", "note": "", "text": "b", "id": "0"},
        {"label": "ok", "note": "", "text": "", "id": ""},
    ]


def test_a_sheet_is_never_overwritten(tmp_path: Path) -> None:
    write_sheet(tmp_path / "sheet.csv", ("id",), [{"id": 1}])
    with pytest.raises(RowsError, match=r"sheet\.csv: exists, and may have labels; choose another name"):
        write_sheet(tmp_path / "sheet.csv", ("id",), [{"id": 2}])
    assert read_sheet(tmp_path / "sheet.csv", ("id",)) == [{"id": "1"}]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("sheet.xlsx", r"ends in \.csv"), ("nowhere/sheet.csv", "its folder does not exist")],
)
def test_a_sheet_that_cannot_be_written_is_named(name: str, complaint: str, tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=complaint):
        require_new_sheet(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.csv", b"", "no column 'id'; expected id, label; found "),
        ("a.csv", b"id,label\n", "no rows"),
        ("a.csv", b"id,text\n1,x\n", "no column 'label'; expected id, label; found id, text"),
        ("a.csv", b"id,label,label\n1,x,y\n", "two columns 'label'"),
        ("a.csv", b"id,label\n1,x,y\n", "row 1: 3 cells under 2 columns"),
        ("a.csv", "id,label\n1,é\n".encode("latin-1"), "not in UTF-8; save it as “CSV UTF-8”"),
        ("a.csv", b'id,label\n1,"x"y\n', "line 2: not CSV: ',' expected after"),
        ("a.csv", b'id,label\n1,x\n2,"first\nsecond', "line 3: not CSV: unexpected end of data; correct the quotation"),
        ("a.csv", b'id,label\n1,x\n2,"y"z\n', "line 3: not CSV: ',' expected after '\"'; correct the quotation marks"),
        ("a.txt", b"", r"expected a file that ends in \.csv"),
    ],
)
def test_a_file_that_is_no_sheet_is_named(name: str, content: bytes, complaint: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(RowsError, match=complaint) as failure:
        read_sheet(tmp_path / name, ("id", "label"))
    assert name in str(failure.value)
