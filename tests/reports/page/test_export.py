"""Figures as files: numbers for a spreadsheet, and pictures."""

from __future__ import annotations

import csv
from io import StringIO
from math import nan

import pytest

from lm_eval_ext.reports.figure import Bars, Estimate, Figure, Panel, Report, Series, Table, TableCell
from lm_eval_ext.reports.page.drawing import contents
from lm_eval_ext.reports.wording import table_as_csv
from tests.reports.page import sample_report as sample


def figure(name: str, *titles: str) -> Figure:
    panels = tuple(Panel(title, Bars(("a",), (Series("", (Estimate(0.5),)),), "axis")) for title in titles)
    return Figure(name, "title", "", panels, Table(("model", "accuracy"), (("m", Estimate(0.5)),)))


def test_each_figure_is_a_csv_file_and_each_panel_a_picture() -> None:
    found = contents(Report("title", figure("summary", ""), [], []))
    assert list(found) == ["summary.csv", "summary.png"]
    assert found["summary.png"].startswith(b"\x89PNG")
    assert found["summary.csv"] == b"model,accuracy,accuracy low,accuracy high\nm,0.5,,\n"


def test_a_complete_report_is_exported() -> None:
    report = sample.report(1)
    found = contents(report)
    assert len(found) == sum(1 + len(figure.panels) for figure in report.figures)
    (row,) = csv.DictReader(StringIO(found["naturalness.csv"].decode()))
    assert row["model"] == sample.LONG_NAME
    # Its interval is 0.04 to both sides.
    assert float(row["natural high"]) - float(row["natural"]) == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("titles", "names"),
    [
        (("",), ["f"]),
        (("Model A", "Model B"), ["f_model-a", "f_model-b"]),
        (("a/b", "a b", "a-b"), ["f_a-b", "f_a-b-2", "f_a-b-3"]),
        (("../../etc/passwd",), ["f_etc-passwd"]),
        (("模型", "型模"), ["f", "f-2"]),
        (("x" * 300,), ["f_" + "x" * 60]),
    ],
    ids=["no title", "titles", "alike", "a path", "no letters that every system has", "long"],
)
def test_the_file_of_a_panel_is_named_after_it(titles: tuple[str, ...], names: list[str]) -> None:
    found = contents(Report("title", figure("f", *titles), [], []))
    assert list(found) == ["f.csv", *(f"{name}.png" for name in names)]


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (Estimate(1 / 3, 0.25, 0.5), "0.3333333333333333,0.25,0.5"),
        (Estimate(-0.1, -0.2, 0.0), "-0.1,-0.2,0.0"),
        (Estimate(nan), ",,"),
        (None, ",,"),
        ("not run", "not run,,"),
        (3, "3,,"),
    ],
    ids=["to the last digit", "signs", "no value", "no such figure", "a remark", "a count"],
)
def test_figures_are_raw_numbers_with_the_bounds_of_their_intervals(cell: TableCell, expected: str) -> None:
    text = table_as_csv(Table(("model", "accuracy"), (("m", cell), ("other", Estimate(1.0)))))
    assert text == f"model,accuracy,accuracy low,accuracy high\nm,{expected}\nother,1.0,,\n"


@pytest.mark.parametrize(
    ("columns", "row", "expected"),
    [
        pytest.param(("model", "rows"), ("m", None), "model,rows\nm,\n", id="columns without estimates are not split"),
        pytest.param(("a,b", "c"), ('say "no"', "\ud800"), '"a,b",c\n"say ""no""",<U+D800>\n', id="quotes"),
        # A task is named by whoever wrote it.
        pytest.param(("=1+1", "a\ud800"), ("m", 1), "'=1+1,a<U+D800>\nm,1\n", id="headings"),
        *(
            pytest.param(
                ("n",) * 2, (f"{begins}1+1", f"a{begins}1"), f"n,n\n'{begins}1+1,a{begins}1\n", id=repr(begins)
            )
            for begins in ("=", "+", "-", "@", "\t")
        ),
    ],
)
def test_text_is_quoted_and_can_be_encoded_and_is_no_formula(
    columns: tuple[str, ...], row: tuple[TableCell, ...], expected: str
) -> None:
    text = table_as_csv(Table(columns, (row,)))
    assert text == expected
    text.encode("utf-8")
