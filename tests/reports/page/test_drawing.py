"""The drawings of figures, as SVG for the page and as PNG."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from itertools import chain, combinations, pairwise
from math import nan
from typing import Any
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure as Drawing
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from lm_eval_ext.reports.figure import Bars, Curves, Estimate, Figure, Forest, HeatMap, Mark, Panel, Series, Table, Unit
from lm_eval_ext.reports.page.drawing import NARROW, PICTURE, ROOMY_WIDTHS, looks, pngs, svgs
from lm_eval_ext.reports.page.drawing.frame import ELLIPSIS, scales, shortened, told_apart, width, wrapped
from lm_eval_ext.reports.page.drawing.palette import (
    DARK_INK,
    LIGHT,
    LIGHT_INK,
    ROLE_OF,
    ROLES,
    SERIES,
    SHADES,
    contrast,
)
from lm_eval_ext.reports.page.drawing.svg import svg as svg_text
from lm_eval_ext.reports.wording import magnitude
from tests.reports.page import sample_report as sample

SVG = "{http://www.w3.org/2000/svg}"
TABLE = Table(("a",), ())
SURE = Estimate(0.5, 0.4, 0.6, 300, 300)
MANY = 10
"""More models than there are colors; test_browser.py looks at the drawings of twenty."""


@cache
def all_drawn(count: int) -> list[tuple[Figure, list[str]]]:
    """Return the figures and drawings of a report of so many models."""
    figures = sample.report(count).figures
    alike = looks(figures)
    return [(figure, [svg for panel in svgs(figure, alike) for svg in panel]) for figure in figures]


def figure_of(*marks: Mark) -> Figure:
    return Figure("name", "title", "", tuple(Panel("", mark) for mark in marks), TABLE)


def parsed(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 # our own


def drawn(mark: Mark) -> ElementTree.Element:
    """Return the only panel of a figure with this mark, as it is on a phone."""
    ((svg, _),) = svgs(figure_of(mark), {})
    return parsed(svg)


def texts(svg: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in svg.iter(f"{SVG}text")]


def inks(svg: ElementTree.Element) -> list[tuple[str, str]]:
    """Return each text and its color, which it may share with its neighbors."""
    return [
        (text.text or "", parent.get("fill", "var(--ink)"))
        for parent in svg.iter()
        for text in parent.findall(f"{SVG}text")
    ]


def paths(svg: ElementTree.Element, role: str) -> list[str]:
    """Return the lines of what is filled in a color."""
    return [path.get("d", "") for path in svg.iter(f"{SVG}path") if path.get("fill") == f"var(--{role})"]


def spans(lines: str) -> list[tuple[float, float]]:
    """Return from where to where rectangles reach from left to right."""
    found = []
    for rectangle in re.findall(r"M([\d.-]+) [\d.-]+H([\d.-]+)V", lines):
        start, end = sorted(map(float, rectangle))
        found.append((start, end))
    return found


def line_ends(svg: ElementTree.Element, color: str) -> list[str]:
    return [path.get("d", "") for path in svg.iter(f"{SVG}path") if path.get("stroke") == f"var(--{color})"]


def dashed(svg: ElementTree.Element) -> list[str]:
    return [path.get("d", "") for path in svg.iter(f"{SVG}path") if path.get("stroke-dasharray")]


def one(*values: float) -> tuple[Estimate, ...]:
    return tuple(map(Estimate, values))


@pytest.mark.parametrize("count", [1, *(pytest.param(many, marks=pytest.mark.slow) for many in (MANY, 20))])
def test_every_drawing_is_well_formed_small_and_narrow_enough_for_a_phone(count: int) -> None:
    for figure, drawings in all_drawn(count):
        for svg in drawings:
            root = parsed(svg)
            box = [float(number) for number in (root.get("viewBox") or "").split()]
            assert box[:2] == [0, 0]
            assert box[2] in {NARROW, ROOMY_WIDTHS.get(len(figure.panels))}
            assert root.get("role") == "graphics-document document"
            assert (root.get("aria-label") or "").startswith(figure.title)
            inside = [element for element in root.iter() if "x" in element.attrib and "y" in element.attrib]
            assert len(inside) > 4
            for element in inside:
                assert -8 <= float(element.get("x", "")) <= box[2] + 8, ElementTree.tostring(element)
                assert -8 <= float(element.get("y", "")) <= box[3] + 2, ElementTree.tostring(element)
            # Some 50 bytes for a number of a heat map; no metadata, clip paths or six decimals.
            told = sum(len(each.text or "") for each in root.iter(f"{SVG}title"))
            assert len(svg) - told < 3_000 + 60 * len(texts(root)) + 100 * (len(list(root.iter())) - len(texts(root)))
            assert not re.search(r"\d\.\d\d", re.sub(r' (fill-opacity|aria-label)="[^"]*"|>[^<]*<', "", svg))


def test_drawings_share_no_ids_and_refer_only_to_their_own() -> None:
    taken: set[str] = set()
    for svg in [svg for _, drawings in all_drawn(MANY) for svg in drawings]:
        ids = re.findall(r' id="([^"]+)"', svg)
        assert len(ids) == len(set(ids))
        assert not taken & set(ids)
        assert set(re.findall(r'(?:href="|url\()#([^")]+)', svg)) == set(ids)
        taken |= set(ids)
    assert taken


def test_a_path_keeps_its_shape() -> None:
    drawing = Drawing(figsize=(2, 1), dpi=72)
    points = [(100, 0), (105, 0), (105, 20), (125, 30), (130, 40), (120, 50), (105, 60), (100, 50), (90, 40), (100, 0)]
    codes = [Path.MOVETO, *[Path.LINETO] * 3, *[Path.CURVE3] * 2, *[Path.CURVE4] * 3, Path.CLOSEPOLY]
    drawing.add_artist(PathPatch(Path(points, codes), facecolor=LIGHT["ink"], linewidth=0, transform=None))
    # From the top, not the bottom; a line along an axis by its end.
    expected = 'd="M100 72H105V52L125 42Q130 32 120 22C105 12 100 22 90 32Z"'
    assert expected in svg_text(drawing, "name", "label")


def test_drawings_use_the_colors_declared_by_the_page() -> None:
    for svg in [svg for _, drawings in all_drawn(MANY) for svg in drawings]:
        assert set(re.findall(r"var\(--([^)]+)\)", svg)) <= set(ROLES)
        assert not re.search(r"#[0-9a-f]{6}\b|rgb\(", re.sub(r">[^<]*<", "", svg))


def test_the_users_matplotlib_settings_have_no_effect_and_are_kept() -> None:
    import matplotlib  # noqa: PLC0415 # to be set up as a user may have it

    figure = sample.bars(sample.models(2))
    expected, picture = svgs(figure, {}), pngs(figure, {})
    theirs: Any = {
        "font.size": 30,
        "axes.grid": True,
        "text.parse_math": True,
        "savefig.bbox": "tight",
        "axes.facecolor": "k",
    }
    with matplotlib.rc_context(theirs):
        assert (svgs(figure, {}), pngs(figure, {})) == (expected, picture)
        assert matplotlib.rcParams["font.size"] == 30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "absent"),
    [
        # It opens no window and leaves no figure behind.
        (
            "from tests.reports.page import sample_report as s; "
            "from lm_eval_ext.reports.page.drawing import svgs, pngs; "
            "f = s.bars(s.models(1)); svgs(f, {}); pngs(f, {})",
            "matplotlib.pyplot",
        ),
        ("import lm_eval_ext.reports.page.html", "matplotlib"),
    ],
    ids=["drawing", "a description"],
)
def test_matplotlib_is_used_no_more_than_needed(code: str, absent: str) -> None:
    code = f"import sys; {code}; sys.exit({absent!r} in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_length_of_a_bar_is_its_value() -> None:
    svg = drawn(Bars(("a", "b"), (Series("", one(0.5, 1.0)),), "accuracy"))
    (first, second) = spans(paths(svg, "series0")[0])
    assert first[0] == second[0]
    # Half as long, to a tenth of a pixel at either end.
    assert first[1] - first[0] == pytest.approx((second[1] - second[0]) / 2, abs=0.1)
    assert {"50.0", "100.0", "a", "b", "accuracy", "0%", "25%", "100%"} <= set(texts(svg))


def test_bars_of_changes_extend_both_ways_from_zero() -> None:
    svg = drawn(Bars(("worse", "better"), (Series("", one(-0.1, 0.2)),), "gain", unit="change"))
    (worse, better) = spans(paths(svg, "series0")[0])
    assert worse[1] == better[0]
    assert better[1] - better[0] == pytest.approx(2 * (worse[1] - worse[0]), abs=0.2)
    assert {"−10.0", "+20.0", "gain (points)"} <= set(texts(svg))  # noqa: RUF001 # the minus


def test_the_part_of_a_bar_is_drawn_lighter_at_its_end() -> None:
    svg = drawn(Bars(("a",), (Series("mismatch", one(0.4), parts=(0.1,)),), "mismatch", part="refusal"))
    bars = [path for path in svg.iter(f"{SVG}path") if path.get("fill") == "var(--series0)"]
    # The bar and its part; then the two of the legend.
    assert [path.get("fill-opacity") for path in bars] == [None, "0.4"] * 2
    (whole,), (part,) = (spans(path.get("d", "")) for path in bars[:2])
    assert whole[1] == part[0]
    # 0.3 to 0.1
    assert whole[1] - whole[0] == pytest.approx(3 * (part[1] - part[0]), abs=0.4)
    assert {"mismatch", "refusal"} <= set(texts(svg))


@pytest.mark.parametrize(
    ("estimate", "whiskers"),
    [(Estimate(0.5, 0.4, 0.6), 1), (Estimate(0.5), 0), (Estimate(nan), 0)],
    ids=["an interval", "no interval", "no value"],
)
def test_an_interval_is_drawn_if_there_is_one(estimate: Estimate, whiskers: int) -> None:
    bars = drawn(Bars(("a",), (Series("", (estimate,)),), "accuracy"))
    assert len(line_ends(bars, "ink")) == whiskers
    if whiskers:
        (line,) = line_ends(bars, "ink")
        start, end = re.findall(r"[MH]([\d.]+)", line)
        (bar,) = spans(paths(bars, "series0")[0])
        # From 0.4 to 0.6 of an axis of which the bar takes 0.5.
        assert float(start) - bar[0] == pytest.approx(0.8 * (bar[1] - bar[0]), abs=0.2)
        assert float(end) - bar[0] == pytest.approx(1.2 * (bar[1] - bar[0]), abs=0.2)
    curves = drawn(Curves((1,), (Series("a", (estimate,)),), "n", "accuracy"))
    assert len([line for line in line_ends(curves, "series0") if "V" in line]) == whiskers


def test_an_unknown_part_of_a_bar_is_not_drawn() -> None:
    known, unknown = (
        drawn(Bars(("a",), (Series("mismatch", one(0.4), parts=(part,)),), "mismatch")) for part in (0.0, nan)
    )
    assert paths(unknown, "series0") == paths(known, "series0")


@pytest.mark.parametrize(
    "mark",
    [
        Bars((), (), "axis"),
        Bars(("a",), (), "axis"),
        Bars(("",), (Series("", one(nan)),), ""),
        Curves((), (), "n", "axis"),
        Curves((1,), (Series("s", one(nan)),), "n", "axis"),
        HeatMap((), (), (), "axis"),
        HeatMap(("row",), (), ((),), "axis"),
        HeatMap(("row",), ("column",), (one(nan),), "axis", "change"),
    ],
    ids=repr,
)
def test_an_empty_drawing_is_a_drawing(mark: Mark) -> None:
    assert len(list(drawn(mark).iter())) > 1
    (png,) = pngs(figure_of(mark), {})
    assert png.startswith(b"\x89PNG")


def test_a_missing_bar_is_shown_as_a_dash() -> None:
    svg = drawn(Bars(("a",), (Series("", one(nan)),), "accuracy"))
    assert "–" in texts(svg)  # noqa: RUF001 # as it is written
    assert not paths(svg, "series0")


def test_the_reference_line_is_at_its_value_and_labeled() -> None:
    mark = Bars(("a",), (Series("", one(0.25)),), "accuracy", reference=0.25, reference_name="random guessing")
    svg = drawn(mark)
    assert "random guessing (25%)" in texts(svg)
    (bar,) = spans(paths(svg, "series0")[0])
    assert any(line.startswith(f"M{bar[1]:g} ") for line in dashed(svg))


def test_a_curve_rises_with_its_values_and_breaks_where_one_is_missing() -> None:
    svg = drawn(Curves((1, 2, 3, 4), (Series("a", one(0.0, 0.5, nan, 1.0)),), "n", "accuracy"))
    (line,) = [line for line in line_ends(svg, "series0") if line.count("M") == 2]
    (first, second, last) = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", line)]
    assert first - second == pytest.approx(second - last, abs=0.2)
    assert first > second > last
    # A marker for each value, and that of the legend.
    assert len(list(svg.iter(f"{SVG}use"))) in {3, 4}


def test_a_curve_over_magnitudes_is_on_a_logarithmic_axis_and_connects_what_it_has() -> None:
    counts = (80_000_000, 250_000_000, 800_000_000, 8_000_000_000)
    series = (Series("a", one(0.2, nan, 0.4, 0.6)),)
    svg = drawn(Curves(counts, series, "parameters", "accuracy", logarithmic=True))
    assert [text for text in texts(svg) if text[-1] in "MB"] == ["80M", "250M", "800M", "8B"]
    (points,) = [found for line in line_ends(svg, "series0") if len(found := re.findall(r"[ML]([\d.]+) ", line)) == 3]
    first, second, third = map(float, points)
    # From 800M to 8B it is as far as from 80M to 800M.
    assert third - second == pytest.approx(second - first, abs=0.2)


def test_the_reference_line_of_curves_is_at_its_value_and_labeled() -> None:
    mark = Curves((1, 2), (Series("a", one(0.25, 0.5)),), "n", "accuracy", reference=0.25, reference_name="chance")
    svg = drawn(mark)
    assert "chance (25%)" in texts(svg)
    # It begins and ends at the height of the first value.
    heights = [float(y) for line in line_ends(svg, "series0") for y in re.findall(r"[ML][\d.]+ ([\d.]+)", line)]
    assert any(re.fullmatch(rf"M[\d.]+ {max(heights):g}H[\d.]+", line) for line in dashed(svg))


@pytest.mark.parametrize(
    ("count", "name"),
    [
        (70_426_624, "70M"),
        (1_414_647_808, "1.4B"),
        (9_950_000_000, "9.9B"),
        (13_015_864_320, "13B"),
        (405_000_000_000, "405B"),
        (999_600_000, "1B"),
        (1_000_000_000_000, "1T"),
        (124_439_808, "124M"),
        (99_600_000, "100M"),
        (1_500, "1.5K"),
        (999, "999"),
    ],
)
def test_a_magnitude_has_two_or_three_digits(count: int, name: str) -> None:
    assert magnitude(count) == name


def test_predicted_curves_are_dashed_and_have_no_markers() -> None:
    svg = drawn(Curves((1, 2), (Series("predicted", one(0.5, 0.25), dashed=True),), "n", "accuracy"))
    assert dashed(svg)
    assert not list(svg.iter(f"{SVG}use"))


def test_twenty_series_are_distinguishable_without_color() -> None:
    names = [f"m{n}" for n in range(20)]
    curves = drawn(Curves((1, 2), tuple(Series(name, one(0.1, 0.2)) for name in names), "n", "accuracy"))
    markers = [path for path in curves.iter(f"{SVG}path") if path.get("id", "").startswith("name-")]
    assert len({(marker.get("fill"), marker.get("d")) for marker in markers}) == 20
    bars = drawn(Bars(("a",), tuple(Series(name, one(0.5)) for name in names), "accuracy"))
    # A pattern is drawn over the color of its bar.
    fills = [path.get("fill", "") for path in bars.iter(f"{SVG}path")]
    colored = [(fill, over) for fill, over in pairwise(fills) if fill.startswith("var(--series")]
    assert len({(fill, over if over.startswith("url") else "") for fill, over in colored}) == 20


def test_each_number_of_a_heat_map_has_the_color_of_its_value() -> None:
    svg = drawn(HeatMap(("row",), ("low", "high", "none"), (one(0.0, 1.0, nan),), "accuracy"))
    colors = dict(inks(svg))
    assert colors["0"] == "var(--good0-ink)"
    assert colors["100"] == f"var(--good{SHADES - 1}-ink)"
    assert colors["–"] == "var(--muted)"  # noqa: RUF001 # as it is written
    assert paths(svg, "missing")


@pytest.mark.parametrize(
    ("values", "roles"),
    [((-0.2, 0.0, 0.2), ("change8", "change4", "change0")), ((0.0, 0.2, 0.2), ("change4", "change0", "change0"))],
    ids=["both ways", "up only"],
)
def test_the_midpoint_of_a_change_scale_is_zero(values: tuple[float, ...], roles: tuple[str, ...]) -> None:
    svg = drawn(HeatMap(("row",), ("a", "b", "c"), (one(*values),), "gain", "change"))
    colors = [color for _, color in inks(svg) if "change" in color]
    assert colors == sorted(f"var(--{role}-ink)" for role in roles)
    (highest,) = {color for text, color in inks(svg) if text == "+20" and "change" in color}
    assert highest == f"var(--{roles[-1]}-ink)"


@pytest.mark.parametrize(
    ("higher", "unit", "role", "says"),
    [
        (True, "share", "good8", ["higher is better"]),
        (False, "share", "bad8", ["lower is better"]),
        (None, "share", "plain8", []),
        (True, "change", "change0", ["higher is better"]),
        (False, "change", "change8", ["lower is better"]),
    ],
)
def test_good_and_bad_have_other_colors_and_the_legend_says_which(
    higher: bool | None, unit: Unit, role: str, says: list[str]
) -> None:
    svg = drawn(HeatMap(("row",), ("a",), (one(1.0),), "axis", unit, higher))
    assert f"var(--{role}-ink)" in dict(inks(svg)).values()
    assert [text for text in texts(svg) if "better" in text] == says


@pytest.mark.parametrize(
    ("mark", "told"),
    [
        (Curves((3, 4), (Series("m", (SURE, SURE)),), "n", "accuracy"), ["m, n 3: {}", "m, n 4: {}"]),
        (HeatMap(("m",), ("flipped",), ((SURE,),), "accuracy"), ["m, flipped: {}"]),
        # How many rows it is over is said where that tells it from another one; the table says it in any case.
        (
            HeatMap(("m",), ("a", "b"), ((SURE, replace(SURE, rows=7, answers=21)),), "accuracy"),
            ["m, a: {}, rows: 300", "m, b: {}, rows: 7 (21 answers)"],
        ),
        # A number is beside each mark, and its interval is drawn.
        (Bars(("m",), (Series("natural", (SURE,)),), "accuracy"), []),
        (Forest(("m",), (SURE,), "accuracy"), []),
    ],
    ids=["curves", "heat map", "other rows", "bars", "forest"],
)
def test_a_mark_without_its_number_or_interval_beside_it_tells_them(mark: Mark, told: list[str]) -> None:
    ((narrow, wide),) = svgs(figure_of(mark), {})
    titles = [title.text for title in parsed(wide).iter(f"{SVG}title")]
    assert titles == [text.format("50.0% [40.0, 60.0]") for text in told]
    # The narrow one is for a phone, where nothing is pointed at.
    assert "<title>" not in narrow


def test_a_level_has_one_look_in_every_drawing() -> None:
    def of(*names: str) -> Figure:
        return figure_of(Bars(("a",), tuple(Series(name, one(0.5)) for name in names), "accuracy"))

    figures = [of("natural", "unnatural"), of("m1", "m2"), of("natural", "neutral", "unnatural"), of("unnatural")]
    alike = looks(figures)
    assert alike == {"natural": 0, "neutral": 1, "unnatural": 2, "m1": 0, "m2": 1}
    for figure in (figures[0], figures[3]):
        assert 'fill="var(--series2)"' in svgs(figure, alike)[0][0]
        assert 'fill="var(--series1)"' not in svgs(figure, alike)[0][0]


def test_columns_that_do_not_fit_are_stacked() -> None:
    columns = tuple(f"c{number}" for number in range(30))
    svg = drawn(HeatMap(("row",), columns, (one(*[0.5] * 30),), "accuracy"))
    assert texts(svg).count("50") == 30
    places = [(float(e.get("x", "")), float(e.get("y", ""))) for e in svg.iter(f"{SVG}text") if e.text in columns]
    # Three blocks of ten, the row's name at each.
    assert len(places) == 30
    assert len({x for x, _ in places}) == 10
    assert [len({y for _, y in places}), texts(svg).count("row")] == [3, 3]


def test_row_names_are_narrowed_if_that_saves_a_block() -> None:
    rows, columns = ("change case: capital word frequency",), tuple(str(n) for n in range(1, 11))
    svg = drawn(HeatMap(rows, columns, (one(*[1.0] * 10),), "accuracy"))
    assert len({e.get("y") for e in svg.iter(f"{SVG}text") if e.text in columns}) == 1
    assert {"change case:", "capital word", "frequency"} <= set(texts(svg))


@pytest.mark.parametrize(
    ("values", "unit", "expected"),
    [
        ((0.31, 0.9), "share", (0.0, 1.0)),
        ((0.0, 0.1), "share", (0.0, 1.0)),
        ((0.0,), "share", (0.0, 1.0)),
        ((-0.11, 0.35), "change", (-0.2, 0.4)),
        ((0.0,), "change", (-0.1, 0.1)),
        ((nan,), "number", (0.0, 1.0)),
        ((3.0, 41.0), "number", (0.0, 50.0)),
        # The ends of an interval count, too.
        ((Estimate(0.15, 0.1, 0.35),), "change", (0.0, 0.4)),
    ],
)
def test_an_axis_has_room_for_its_values_and_zero(
    values: tuple[float | Estimate, ...], unit: Unit, expected: tuple[float, float]
) -> None:
    estimates = tuple(value if isinstance(value, Estimate) else Estimate(value) for value in values)
    mark = Bars(("a",) * len(values), (Series("", estimates),), "axis", unit=unit)
    (scale,) = scales([mark]).values()
    assert (scale.low, scale.high) == pytest.approx(expected)
    assert scale.ticks[0] == pytest.approx(scale.low)
    assert scale.ticks[-1] == pytest.approx(scale.high)


def test_the_panels_of_a_figure_share_an_axis() -> None:
    marks = (Bars(("a",), (Series("", one(value)),), "accuracy") for value in (0.1, 0.9))
    assert all("100%" in svg for svg in chain.from_iterable(svgs(figure_of(*marks), {})))


def test_math_or_markup_in_a_name_is_shown_literally() -> None:
    svg = drawn(Bars(("$x^2$", '<b> & "c"'), (Series("", one(0.1, 0.2)),), "a_b"))
    assert {"$x^2$", '<b> & "c"', "a_b"} <= set(texts(svg))


def test_a_picture_is_twice_as_wide_as_the_drawing() -> None:
    for png in pngs(sample.parts(sample.models(2)), {}):
        assert png.startswith(b"\x89PNG\r\n\x1a\n")
        assert int.from_bytes(png[16:20], "big") == 2 * (PICTURE + 2 * 12)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("organisation/model-1b-instruct", "model-1b-instruct"),
        ("organisation/model-11b-it-preview-2024", "it-preview-2024"),
        ("a" * 60, "a" * 10),
    ],
    ids=["two parts", "another part would be half of it", "one part only: letters"],
)
def test_an_overlong_name_keeps_its_beginning_and_whole_parts_of_its_end(text: str, end: str) -> None:
    found = shortened(text, 11, 140)
    assert width(found, 11) <= 140
    beginning, kept = found.split(ELLIPSIS)
    assert kept == end
    assert beginning
    assert text.startswith(beginning)


def test_a_name_that_fits_is_not_shortened() -> None:
    assert shortened("oracle", 11, width("oracle", 11)) == "oracle"


def test_names_are_broken_between_their_parts() -> None:
    assert wrapped("organisation/model-3b-instruct", 11, 118, 2) == ["organisation/model-", "3b-instruct"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (4, ["length", "constraints:", "number", "paragraphs"]),
        (3, ["length", "constraints:", "nu…paragraphs"]),
        (2, ["length", "co…paragraphs"]),
        (1, ["le…paragraphs"]),
    ],
)
def test_a_name_with_too_few_lines_keeps_its_beginning_and_end(lines: int, expected: list[str]) -> None:
    assert wrapped("length constraints: number paragraphs", 11, 90, lines) == expected


@pytest.mark.parametrize("lines", [1, 2, 3])
@pytest.mark.parametrize("text", [sample.LONG_NAME, sample.HOSTILE, "word" * 99, "说明" * 99, "", " "])
def test_wrapped_text_fits(text: str, lines: int) -> None:
    found = wrapped(text, 11, 118, lines)
    assert len(found) <= lines
    assert all(width(line, 11) <= 118 for line in found)


def test_equal_shortened_names_are_numbered() -> None:
    names = [f"a-model-of-some-organisation-{n}-{'x' * 30}" for n in range(3)]
    fitted = told_apart([*names, names[0], "short"], lambda name: [shortened(name, 11, 118)])
    assert len({lines[0] for lines in fitted[:3]}) == 3
    # The same name twice is one.
    assert fitted[3] == fitted[0]
    assert fitted[4] == ["short"]
    assert all(width(line, 11) <= 124 for (line,) in fitted)


def contrasts(one: str, other: str) -> list[float]:
    """Return the contrast of the colors of two roles, in light and in dark mode."""
    return [contrast(*colors) for colors in zip(ROLES[one], ROLES[other], strict=True)]


def test_text_is_readable_on_every_background_in_light_and_dark() -> None:
    pairs = [(role, role.removesuffix("-ink")) for role in ROLES if role.endswith("-ink")]
    pairs += [(text, ground) for text in ("ink", "muted", "link") for ground in ("ground", "paper")]
    pairs += [("ink", "notice"), ("muted", "missing")]
    assert len(pairs) == 44
    for text, ground in pairs:
        assert min(contrasts(text, ground)) >= 4.5, (text, ground)


def test_bars_and_curves_contrast_with_the_background_in_light_and_dark() -> None:
    for number in range(SERIES):
        assert min(contrasts(f"series{number}", "paper")) >= 3, number


def test_every_role_but_a_cells_ink_has_its_own_color_and_inks_are_one_of_two() -> None:
    found = [role for role in ROLES if not role.endswith("-ink")]
    assert sorted(ROLE_OF.values()) == sorted(found)
    assert all(ROLES[one][0] != ROLES[other][0] for one, other in combinations(found, 2))
    assert {color for role in ROLES if role not in found for color in ROLES[role]} == {DARK_INK, LIGHT_INK}


def test_heat_map_levels_are_monotonic_in_contrast() -> None:
    upwards = range(SHADES)
    for hue, levels in (
        *((hue, upwards) for hue in ("good", "bad", "plain")),
        *(("change", away) for away in (range(4, -1, -1), range(4, SHADES))),
    ):
        for of_scheme in zip(*(contrasts(f"{hue}{level}", "paper") for level in levels), strict=True):
            assert [*of_scheme] == sorted(of_scheme), hue
