"""The page: its contents, and that no input becomes markup."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.resources import files
from itertools import chain
from math import nan
from pathlib import Path

import pytest

from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.reports.figure import (
    Bars,
    Estimate,
    Example,
    Figure,
    HeatMap,
    Panel,
    Report,
    Section,
    Series,
    Table,
    TableCell,
    Unit,
)
from lm_eval_ext.reports.page.build import build
from lm_eval_ext.reports.page.html import head_columns, page, split_constant
from lm_eval_ext.reports.wording import LONGEST_TEXT, figure, interval, readable
from lm_eval_ext.results.issue import error, note, warning
from lm_eval_ext.results.load import load
from tests.reports.page import sample_report as sample
from tests.reports.page.reading import Cell, Read


def answered(answer: str) -> str:
    """Return a page with an answer as an example."""
    one = Example("why", "model", "task", "prompt", answer, ())
    return page(report_with(Table(("a",), ()), sections=[Section("s", "S", "?", [], [one])]))


def report_with(table: Table, **changes: object) -> Report:
    """Return a report whose only figure has this table."""
    only = Figure(
        "only", "title", "reading", (Panel("", Bars(("a",), (Series("", (Estimate(0.5),)),), "axis")),), table
    )
    return replace(Report("title", only, [], []), **changes)  # type: ignore[arg-type] # as the caller says


def cells(table: Table) -> list[list[Cell]]:
    return Read(page(report_with(table))).tables["only"]


@pytest.fixture(scope="module")
def whole() -> str:
    return page(sample.report(2))


def test_the_page_is_well_formed_with_unique_ids(whole: str) -> None:
    read = Read(whole)
    assert whole.startswith("<!DOCTYPE html>")
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for tag, attributes in read.elements if tag == "a"]
    papers = {family.paper for family in FAMILIES.values()}
    assert {link.removeprefix("#") for link in links} - papers <= set(ids)


def test_the_page_has_no_scripts_but_ours_and_no_external_resources(whole: str) -> None:
    read = Read(whole)
    assert not {"iframe", "object", "embed", "base", "form", "img"} & {tag for tag, _ in read.elements}
    # Of a leaderboard, there would be another one.
    ours = files("lm_eval_ext.reports.page").joinpath("marks.js").read_text(encoding="utf-8")
    assert [tag for tag, _ in read.elements].count("script") == whole.count(f"<script>{ours}</script>") == 1
    for tag, attributes in read.elements:
        assert not [name for name in attributes if name.startswith("on")], (tag, attributes)
        for name in ("src", "href", "xlink:href", "action", "srcset"):
            if (tag, name) == ("a", "href"):
                continue  # a link loads nothing before it is followed
            assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)
    assert not re.search(r"@import|url\(\s*[\"']?(?!#)|@font-face", whole)
    assert "default-src 'none'" in whole


def test_every_color_is_declared(whole: str) -> None:
    used = set(re.findall(r"var\((--[\w-]+)\)", whole))
    assert len(used) > 20
    # What a cell draws states its own places.
    places = {f"--{name}" for name in ("value", "floor", "guess", "bound", "from", "to", "at", "letters")}
    assert used - places <= set(re.findall(r"(--[\w-]+):", whole))


def test_hostile_text_is_displayed_but_inert(whole: str) -> None:
    read = Read(whole)
    shown = "<script>document.title = 'taken'</script> & \"quoted\" $x^2$ <U+0000><U+001B>[31m <U+D800> "
    assert f"Instruction following {shown}<U+202E>right to left<U+202C>" in read.text
    # The title of the page, issues, headings of tables, examples and commands.
    assert read.text.count(shown) > 20
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", whole)
    whole.encode("utf-8")


@pytest.mark.parametrize(
    ("cell", "unit", "attributes", "text"),
    [
        (Estimate(0.12345678912, 0.101, 0.145), "share", {}, "12.3 [10.1, 14.5]"),
        (Estimate(0.5), "share", {}, "50.0"),
        (Estimate(0.0, 0.0, 0.0), "share", {}, "0.0 [0.0, 0.0]"),
        (Estimate(-0.034, -0.05, 0.01), "change", {}, "−3.4 [−5.0, +1.0]"),  # noqa: RUF001 # the minus
        (Estimate(41.26), "number", {}, "41.3"),
        (1234, "share", {}, "1,234"),
        ("a text", "share", {"class": "t"}, "a text"),
        (Estimate(nan), "share", {"class": "no"}, "–"),  # noqa: RUF001 # as it is written
        (None, "share", {"class": "no"}, "–"),  # noqa: RUF001 # as it is written
    ],
    ids=["interval", "no interval", "certain", "change", "number", "count", "text", "no value", "no such figure"],
)
def test_a_figure_is_written_with_its_interval(
    cell: TableCell, unit: Unit, attributes: dict[str, str], text: str
) -> None:
    # The second row shows that the column contains estimates.
    rows = (("model", cell), ("other", Estimate(0.5)))
    (_, (tag, found, words)) = cells(Table(("model", "accuracy"), rows, unit))[1]
    assert (tag, found, words) == ("td", attributes, text)


@pytest.mark.parametrize(
    ("column", "written"),
    [
        ("prompt level, n = 2", '"prompt level, n \\3d  2"'),
        ('"}</style>\\a', '"\\22 \\7d \\3c /style\\3e \\5c a"'),
        ("größer\n\x07", '"gr\\f6 \\df er\\a \\3c U\\2b 0007\\3e "'),
    ],
    ids=["a heading", "what would end the style", "other letters"],
)
def test_a_column_says_its_heading_once_for_all_cells_and_no_heading_becomes_a_style(column: str, written: str) -> None:
    rows = (("a", Estimate(0.5)), ("b", Estimate(0.25)))
    found = page(report_with(Table(("model", column), rows)))
    assert found.count(f"#only tr > :nth-child(2) {{ --column: {written}; }}") == found.count("nth-child(2)") == 1


def test_headings_have_a_scope() -> None:
    columns, rows = ("model", "n", "accuracy", "rows"), (("model", 3, Estimate(0.5), 100),)
    head, first = (
        [(tag, given.get("scope"), text) for tag, given, text in line] for line in cells(Table(columns, rows))
    )
    assert head == [("th", "col", name) for name in columns]
    assert first == [("th", "row", "model"), ("th", "row", "3"), ("td", None, "50.0"), ("td", None, "100")]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("a", 1, Estimate(0.5))], 2),
        ([("a", None, Estimate(0.5)), ("b", Estimate(0.5), None)], 1),
        ([("a", 1, 2)], 1),
        ([], 1),
    ],
    ids=["two headings", "an estimate in another row", "no estimates", "no rows"],
)
def test_columns_before_the_first_estimate_are_headings(rows: list[tuple[TableCell, ...]], expected: int) -> None:
    assert head_columns(Table(("a", "b", "c"), tuple(rows))) == expected


def test_numbers_are_folded_unless_they_are_the_figure() -> None:
    table = Table(("a", "b"), (("x", Estimate(0.5)),))
    bare = Figure("only", "title", "reading", (), table)
    assert '<details class="numbers">' in page(report_with(table))
    assert '<details class="numbers" open>' in page(replace(report_with(table), summary=bare))


def test_the_navigation_leads_to_every_section_and_figure(whole: str) -> None:
    nav = whole[whole.index("<nav") : whole.index("</nav>")]
    expected = sample.report(2)
    names = [[f"section-{each.name}", *(figure.name for figure in each.figures)] for each in expected.sections]
    wanted = [f"#{name}" for name in ("summary", *chain.from_iterable(names), "reading", "runs")]
    assert re.findall(r'href="([^"]+)"', nav) == wanted
    # Each can be the one that is jumped to.
    assert all(f'{link}:target) .contents a[href="{link}"]' in whole for link in wanted)


SURE = Estimate(0.0, 0.0, 0.1)


def heat(*row: Estimate) -> HeatMap:
    return HeatMap(("m0",), tuple("abc"[: len(row)]), (row,), "share")


@pytest.mark.parametrize(
    ("panels", "columns", "said"),
    [
        ((Panel("share", heat(SURE, SURE)),), [], ["share 0.0% [0.0, 10.0] everywhere"]),
        (
            (
                Panel("one", heat(SURE, SURE)),
                Panel("two", heat(Estimate(0.0, 0.0, 0.3), SURE)),
                Panel("three", heat(Estimate(0.4), Estimate(0.5))),
            ),
            [("a", "b")],
            ["one; two: share 0.0% [0.0, 30.0] everywhere"],
        ),
        # A column alone is drawn.
        ((Panel("", heat(SURE, Estimate(0.5))),), [("a", "b")], []),
        # A single value is the same as nothing.
        ((Panel("", heat(Estimate(0.5))),), [("a",)], []),
    ],
    ids=["a panel", "two panels", "a column", "a single value"],
)
def test_what_is_the_same_everywhere_is_said_and_not_drawn(
    panels: tuple[Panel, ...], columns: list[tuple[str, ...]], said: list[str]
) -> None:
    drawn, words = split_constant(panels)
    assert [panel.mark.columns for panel in drawn if isinstance(panel.mark, HeatMap)] == columns
    assert words == said


@pytest.mark.parametrize(
    ("value", "parts", "is_drawn"),
    [(1.0, (0.2, 0.9), True), (1.0, (), False), (0.0, (0.0, 0.0), False)],
    ids=["parts differ", "no parts", "nothing"],
)
def test_equal_bars_are_drawn_if_their_parts_can_differ(value: float, parts: tuple[float, ...], is_drawn: bool) -> None:
    series = Series("mismatch", (Estimate(value),) * 2, parts)
    drawn, _ = split_constant([Panel("", Bars(("a", "b"), (series,), "mismatch", part="refusal" if parts else ""))])
    assert bool(drawn) == is_drawn


@pytest.mark.parametrize(
    ("length", "remark"),
    [
        (LONGEST_TEXT, None),
        (LONGEST_TEXT + 1, "… 1 more character left out"),
        (LONGEST_TEXT + 1234, "… 1,234 more characters left out"),
    ],
)
def test_a_long_answer_is_shortened_and_says_by_how_much(length: int, remark: str | None) -> None:
    text = Read(answered("x" * length)).text
    assert max(map(len, re.findall("x+", text))) == LONGEST_TEXT
    assert re.findall(r"… .* left out", text) == ([remark] if remark else [])


def test_the_first_line_break_of_an_answer_is_kept() -> None:
    # A browser drops one line break at the beginning of <pre>.
    assert '<pre dir="auto">\n\n\nanswer</pre>' in answered("\n\nanswer")


def test_an_empty_answer_is_labeled_as_empty() -> None:
    assert Read(answered("")).text.count("(empty)") == 1


def test_issues_are_ordered_by_severity_and_serious_ones_are_labeled() -> None:
    issues = (note("one"), warning("two"), error("three"), note("four"))
    text = page(report_with(Table(("a",), ()), issues=issues))
    assert re.findall(r'<li class="(\w+)">(.*?)</li>', text) == [
        ("error", "<strong>Error:</strong> three"),
        ("warning", "<strong>Warning:</strong> two"),
        ("note", "one"),
        ("note", "four"),
    ]


def test_an_empty_report_is_a_page() -> None:
    read = Read(page(report_with(Table(("a",), ()))))
    assert not [tag for tag, _ in read.elements if tag == "article"]
    assert "Before you read" not in read.text


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (0.5, "share", "50.0"),
        (1.0, "share", "100.0"),
        (0.0004, "share", "0.0"),
        (0.012, "change", "+1.2"),
        (-0.012, "change", "−1.2"),  # noqa: RUF001 # the minus
        (-0.0004, "change", "0.0"),
        (0.0, "change", "0.0"),
        (0.012345, "number", "0.0123"),
        (123.45, "number", "123"),
        (12345.6, "number", "12346"),
        (-2.5, "number", "−2.5"),  # noqa: RUF001 # the minus
        (nan, "share", "–"),  # noqa: RUF001 # as it is written
    ],
)
def test_a_figure_is_written_in_its_unit(value: float, unit: Unit, expected: str) -> None:
    assert figure(value, unit) == expected


def test_an_interval_with_an_unknown_bound_is_not_shown() -> None:
    assert interval(Estimate(0.5, 0.4), "share") == ""
    assert interval(Estimate(0.5, 0.4, 0.6), "share") == "[40.0, 60.0]"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("\x07", "<U+0007>"),
        ("\x7f\x85", "<U+007F><U+0085>"),
        ("\udcff", "<U+DCFF>"),
        ("\u202e", "<U+202E>"),
        ("\u200f שלום 😀 é", "\u200f שלום 😀 é"),
    ],
    ids=["tab and line break", "other line breaks", "bell", "controls", "half a pair", "override", "other scripts"],
)
def test_content_that_cannot_be_shown_is_named(text: str, expected: str) -> None:
    assert readable(text) == expected


@pytest.mark.parametrize(("models", "tells"), [(8, True), (9, False)])
def test_marks_tell_their_values_unless_there_are_many_models(models: int, tells: bool) -> None:
    runs = [(f"model {number}", ()) for number in range(models)]
    heat_map = HeatMap(("a",), ("b", "c"), ((Estimate(0.5), Estimate(0.25)),), "accuracy")
    figure = Figure("f", "title", "", (Panel("", heat_map),), Table(("model",), ()))
    text = page(Report("title", figure, [], runs))
    assert (text.count("<title>") > 1, "Point at" in text) == (tells, tells)


def test_a_caption_has_two_sentences_at_most_and_leaves_the_statistics_to_the_page(known_runs: list[Path]) -> None:
    figures = build(load(known_runs)).figures
    assert len(figures) > 15
    for drawn in figures:
        sentences = re.findall(r"[.?!]”?(?=\s|$)", drawn.reading)
        assert 1 <= len(sentences) <= 2, drawn.reading
        assert not re.search("95 ?%|bootstrap|resampl|confidence interval", drawn.reading), drawn.reading
