"""The page in a real browser, opened from disk: desktop and phone, light, dark and printed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.figure import Report
from lm_eval_ext.reports.page.build import build
from lm_eval_ext.reports.page.drawing import ROOMY_WIDTHS
from lm_eval_ext.reports.page.html import page, split_constant
from lm_eval_ext.reports.wording import readable
from lm_eval_ext.results.load import load
from tests.reports.files import SST2, write_run
from tests.reports.page import sample_report

sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install playwright")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHROMIUM, reason="needs a browser: chromium or google-chrome on PATH"),
]
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
WIDTHS = (1200, 390)
KNOWN = 8
"""Policies of the reference model, in all families: a report of real files."""
MODELS = (1, KNOWN, 20)
SCHEMES = ("light", "dark")


@dataclass
class Opened:
    """A page in a browser.

    Attributes:
        page: playwright's.
        trouble: errors of the console and of scripts.
        requests: addresses that were asked for.
    """

    page: Any
    trouble: list[str]
    requests: list[str]


@dataclass
class Reader:
    """A browser, the reports, by how many models they are of, and where their pages lie."""

    browser: Any
    reports: dict[int, Report]
    files: dict[int, Path]
    looked_at: dict[tuple[int, int, bool], Opened] = field(default_factory=dict)

    def look(self, models: int, width: int, *, expanded: bool = False) -> Opened:
        """Return a page that other tests look at, too, in light colors when they begin; none changes anything else."""
        key = models, width, expanded
        if key not in self.looked_at:
            self.looked_at[key] = self.open(*key)
        return self.looked_at[key]

    def open(self, models: int, width: int = 1280, expanded: bool = False) -> Opened:
        """Open the report of a number of models in a separate window, in light colors."""
        context = self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme="light")
        context.add_init_script(path=Path(__file__).with_name("seen.js"))
        opened = Opened(context.new_page(), [], [])
        opened.page.on("console", lambda m: opened.trouble.append(m.text) if m.type in {"error", "warning"} else None)
        opened.page.on("pageerror", lambda error: opened.trouble.append(str(error)))
        opened.page.on("request", lambda request: opened.requests.append(request.url))
        opened.page.goto(self.files[models].as_uri())
        if expanded:
            opened.page.evaluate("expand()")
        return opened


@pytest.fixture(scope="module")
def reader(known_runs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder = tmp_path_factory.mktemp("pages")
    reports = {models: sample_report.report(models) for models in (1, 7, 20)} | {
        KNOWN: build(load(known_runs), answers_each=2)
    }
    files = {models: folder / f"report {models}.html" for models in reports}
    for models, file in files.items():
        file.write_text(page(reports[models]), encoding="utf-8")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield Reader(browser, reports, files)
        browser.close()


@pytest.mark.parametrize("models", MODELS)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_opens_from_disk_without_an_error_or_a_request(reader: Reader, width: int, models: int) -> None:
    opened = reader.look(models, width)
    opened.page.wait_for_load_state("networkidle")
    assert opened.trouble == []
    assert [address for address in opened.requests if not address.startswith("data:")] == [
        reader.files[models].as_uri()
    ]
    assert opened.page.title() == readable(reader.reports[models].title)


@pytest.mark.parametrize("models", MODELS)
@pytest.mark.parametrize("width", WIDTHS)
def test_every_drawing_is_fully_visible_and_nothing_scrolls_sideways(reader: Reader, width: int, models: int) -> None:
    opened = reader.look(models, width)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    figures = opened.page.evaluate("drawings()")
    report = reader.reports[models]
    # A leaderboard is a table, in place of the figure that is exported.
    expected = report.figures[1:] if report.leaderboard else report.figures
    assert [(name, len(boxes)) for name, boxes in figures] == [
        (f.name, len(split_constant(f.panels)[0])) for f in expected
    ]
    for name, boxes in figures:
        for left, right, wide, high in boxes:
            assert left >= 0, name
            assert right <= width, name
            # Three small multiples are the narrowest, and a single drawing is as wide as its card.
            assert wide > (
                290 if len(boxes) not in ROOMY_WIDTHS else 0.9 * ROOMY_WIDTHS[len(boxes)] if width == 1200 else 330
            ), name
            assert high > 50, name


@pytest.mark.parametrize("models", MODELS)
def test_a_table_that_fits_its_card_is_not_cut_off(reader: Reader, models: int) -> None:
    tables = reader.look(models, 1200).page.evaluate("widthsOfTables()")
    assert tables
    assert [(name, wide, seen) for name, wide, seen, room in tables if seen < wide <= room] == []


@pytest.mark.parametrize("models", [KNOWN, 20], ids=["leaderboard", "figures"])
def test_on_a_phone_every_number_is_visible_and_named(reader: Reader, models: int) -> None:
    page = reader.look(models, 390, expanded=True).page
    assert page.evaluate("cellsOutside()") == []
    # Without the heading of its column a number says nothing.
    named = page.evaluate("all('td').map(e => style(e, '::before').content)")
    assert {f'"{text}"' for text in page.evaluate("all('th').map(e => e.textContent)")} >= {*named}


@pytest.mark.parametrize(("width", "columns"), [(1200, 3), (390, 1)])
def test_drawings_are_side_by_side_if_there_is_room(reader: Reader, width: int, columns: int) -> None:
    assert max(reader.look(20, width).page.evaluate("columnsOfDrawings()")) == columns


@pytest.mark.parametrize("width", WIDTHS)
def test_all_text_of_drawings_is_large_enough_to_read(reader: Reader, width: int) -> None:
    sizes = reader.look(20, width).page.evaluate("sizesOfTexts()")
    assert len(sizes) > 1000
    assert [(text, size) for text, size in sizes if size < 10] == []


@pytest.mark.parametrize("models", MODELS)
@pytest.mark.parametrize("texts", ["overlaps()", "beyondDrawings()"])
def test_no_two_texts_of_a_drawing_overlap_and_none_extends_beyond_it(reader: Reader, texts: str, models: int) -> None:
    assert reader.look(models, 390).page.evaluate(texts) == []


@contextmanager
def preferring(scheme: str, page: Any) -> Iterator[None]:
    """Show a page of playwright's as a reader sees it who prefers light, or dark, colors."""
    page.emulate_media(color_scheme=scheme)
    try:
        yield
    finally:
        page.emulate_media(color_scheme="light")


def without_contrast(found: Sequence[tuple[str, str, float]]) -> list[tuple[str, str, float]]:
    """Return the texts that are hard to read, of what ``contrasts`` found."""
    return [(kind, text, contrast) for kind, text, contrast in found if contrast < 4.5]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_with_everything_expanded_all_text_has_contrast_and_nothing_scrolls_sideways(
    reader: Reader, scheme: str
) -> None:
    page = reader.look(20, 390, expanded=True).page
    with preferring(scheme, page):
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        found = page.evaluate("contrasts()")
    kinds = {kind for kind, _, _ in found}
    assert {"h1", "p", "li", "a", "td", "th", "i", "pre", "dt", "dd", "caption", "summary", "svg", "cell"} <= kinds
    assert without_contrast(found) == []


def test_a_link_opens_the_answers_that_it_leads_to(reader: Reader) -> None:
    page = reader.open(KNOWN, 390).page
    (name, *_) = [one.anchor for section in reader.reports[KNOWN].sections for one in section.answers if one.shown]
    shown = f"all('pre', document.getElementById({name!r}).parentElement).map(e => e.checkVisibility())"
    assert not any(page.evaluate(shown))
    page.evaluate(f"location.hash = {name!r}")
    page.wait_for_function(f"{shown}.every(Boolean)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for scheme in SCHEMES:
        with preferring(scheme, page):
            assert without_contrast(page.evaluate("contrasts()")) == []
    # On paper are the answers that a reader has opened, and no others: there may be thousands.
    page.emulate_media(media="print")
    page.wait_for_function(f"{shown}.every(Boolean)")
    assert page.evaluate("counts('.answers article')") == [2]


def test_light_and_dark_mode_look_different(reader: Reader) -> None:
    page = reader.look(1, 1200).page
    colors = []
    for scheme in SCHEMES:
        with preferring(scheme, page):
            colors += page.evaluate("['body', '.card'].map(selector => style(all(selector)[0]).backgroundColor)")
            colors.append(page.evaluate("style(all('svg path[fill^=\"var(--good\"]')[0]).fill"))
    assert not {*colors[:3]} & {*colors[3:]}


def test_collapsed_tables_are_printed_in_light_colors(reader: Reader) -> None:
    page = reader.open(20, 794).page
    assert max(page.evaluate("heightsOfFolded()")) == 0
    for scheme in SCHEMES:
        page.emulate_media(media="print", color_scheme=scheme)
        # What was skipped is laid out with the next frame.
        page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        printed = page.evaluate("heightsOfFolded()")
        assert len(printed) > 500
        assert min(printed) > 5
        assert page.evaluate("style(all('h1')[0]).color") == "rgb(27, 32, 38)"
        # Nothing sticks out to the right, where the paper ends.
        assert page.evaluate("document.documentElement.scrollWidth") <= 794


def test_the_printed_length_does_not_depend_on_what_is_collapsed(reader: Reader) -> None:
    page = reader.open(7).page

    def length() -> int:
        return len(re.findall(rb"/Type ?/Page\b", page.pdf()))

    closed = length()
    page.evaluate("expand()")
    with_answers = length()
    page.evaluate("all('.examples').forEach(d => d.open = false)")
    assert with_answers > length() == closed > 10


def test_collapsed_tables_and_links_are_operable_by_keyboard(reader: Reader) -> None:
    page = reader.open(7).page
    reached = []
    for _ in range(400):
        page.keyboard.press("Tab")
        tag, text = page.evaluate(
            "[document.activeElement.tagName, document.activeElement.textContent.trim().slice(0, 30)]"
        )
        if tag == "BODY":
            break
        reached.append(tag)
        if tag == "SUMMARY" and text.startswith("Instructive"):
            page.keyboard.press("Enter")
            assert page.evaluate("document.activeElement.parentElement.open")
    # Tables that scroll are reached, too.
    assert [reached.count(tag) for tag in ("SUMMARY", "A", "DIV")] == page.evaluate("counts('summary', 'a', '.scroll')")
    assert reached.count("A") > 12


def test_the_contents_stay_in_sight_and_say_what_was_jumped_to(reader: Reader) -> None:
    page = reader.open(7, 1200).page
    page.click("nav a[href='#sizes']")
    page.wait_for_timeout(700)
    assert page.evaluate("all('nav').map(box).map(b => [b.top, b.left, b.right])") == [[0, 0, 200]]
    assert page.evaluate("all('nav a').filter(e => style(e).borderLeftColor != 'rgba(0, 0, 0, 0)').length") == 1
    # Folded on a phone, and not printed.
    page = reader.open(7, 390).page
    assert not page.is_visible("nav a")
    page.click("nav summary")
    assert page.is_visible("nav a")
    page.emulate_media(media="print")
    assert not page.is_visible("nav")


def test_a_mark_says_its_value_where_it_is_pointed_at(reader: Reader) -> None:
    page = reader.look(7, 1200).page
    told = page.evaluate("told(':is(#by_verbalizer, #rounds) svg:last-of-type :has(> title)')")
    # A cell of each model and verbalizer; a point of each model and round, of which those that are close overlap.
    cells, points = told[:42], told[42:]
    assert len(points) == 42
    assert all(own == pointed_at and "positive/negative: " in own for own, pointed_at, _ in cells[:1])
    assert all(own == pointed_at for own, pointed_at, _ in cells)
    # A marker's radius is 3 pixels, and what is around it belongs to it.
    for place in (1, 2):
        assert sum(point[0] == point[place] for point in points) > 21


def test_what_marks_say_is_read_by_keyboard_at_one_stop_for_each_figure(reader: Reader) -> None:
    page = reader.open(7, 1200).page
    told, said = ":is(#by_verbalizer, #rounds) svg :has(> title)", "document.querySelector('.said')?.textContent"
    assert page.evaluate(f"all('{told}').filter(e => e.tabIndex === 0).length") == 2
    page.focus("#by_verbalizer svg [tabindex='0']")
    cells = [page.evaluate(said)]
    for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp"):
        page.keyboard.press(key)
        cells.append(page.evaluate(said))
    # Around a square, and back.
    assert cells[0] == cells[4]
    assert len({*cells}) == 4
    assert all("positive/negative: " in cell for cell in (cells[0], cells[3]))
    # It is within the window, below its mark, and Escape takes it away.
    box = page.locator(".said").bounding_box()
    assert 0 < box["x"] < box["x"] + box["width"] <= 1200
    page.keyboard.press("Escape")
    assert page.evaluate(said) is None
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('svg')") is None


# On a phone, tables are lists and answers scroll; in a wide window, large tables do.
@pytest.mark.parametrize(("models", "width"), [*((models, 390) for models in MODELS), (20, 1200)])
def test_what_scrolls_is_reached_by_keyboard(reader: Reader, models: int, width: int) -> None:
    assert reader.look(models, width, expanded=True).page.evaluate("outOfReach()") == []


@pytest.mark.parametrize("models", MODELS)
def test_no_level_of_headings_is_left_out(reader: Reader, models: int) -> None:
    page = reader.look(models, 390, expanded=True).page
    levels = page.evaluate("all('h1, h2, h3, h4, h5').map(e => Number(e.tagName[1]))")
    assert levels[0] == 1
    assert all(deeper <= level + 1 for level, deeper in pairwise(levels))


def test_the_heads_of_tables_break_between_words_only(reader: Reader) -> None:
    page = reader.look(20, 1200, expanded=True).page
    heads = page.evaluate("heads()")
    # A letter is some half as wide as it is high.
    cut = [
        (text, width)
        for text, width, size in heads
        if text and width < 0.4 * size * max(map(len, re.split(r"(?<=_)|[\s-]", text)))
    ]
    assert cut == []


def test_the_only_script_sorts_the_leaderboard_and_hides_models_and_no_other_runs(
    reader: Reader, tmp_path: Path
) -> None:
    # 9 of 10 rows right, 1 of 10, and so on.
    for name, count in {"a": 3, "b": 9, "c": 1, "d": 5, "e": 7}.items():
        write_run(tmp_path / name, {SST2: [1] * count + [0] * (10 - count)}, arguments={"pretrained": f"owner/{name}"})
    file = tmp_path / "page.html"
    file.write_text(page(build(load([tmp_path]))), encoding="utf-8")
    opened = reader.browser.new_page()
    opened.goto(file.as_uri())
    shown = (
        "[...document.querySelectorAll('#leaderboard tbody tr:not([data-reference])')]"
        ".filter(row => row.checkVisibility()).map(row => row.cells[0].textContent).join('')"
    )
    assert opened.evaluate(shown) == "bedac"
    orders = []
    for _ in range(2):
        opened.click("#leaderboard th:nth-child(2) button")
        orders.append(opened.evaluate(shown))
    assert orders == ["bedac", "cadeb"]
    opened.fill("#shown-models", "D")
    assert opened.evaluate(shown) == "d"
    opened.evaluate(
        "const other = document.createElement('script'); other.textContent = 'document.title = 0';"
        "document.body.append(other)"
    )
    assert opened.title() == "a, b and 3 more models"
    opened.close()
