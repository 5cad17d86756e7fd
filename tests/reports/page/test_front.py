"""The verdict on a candidate that the page begins with, which is that of ``check``."""

from __future__ import annotations

import json
import re
from math import inf, nan
from pathlib import Path

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.reports.gate.findings import Finding
from lm_eval_ext.reports.page.verdict import Line
from lm_eval_ext.results.issue import warning
from tests.reports.files import SST2, write_models, write_run
from tests.reports.gate.two_runs import SNLI, right
from tests.reports.page.model_runs import GOLDEN, rights, write_model
from tests.reports.page.reading import Read, report

LEVEL = "manyifeval, 2 instructions"


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Return a candidate and a baseline, with a regression, something undecided, and something not worse."""
    old = write_model(tmp_path / "old", "owner/old", {SST2: 60, SNLI: 50, GOLDEN: 100})
    return write_model(tmp_path / "new", "owner/new", {SST2: 30, SNLI: 49, GOLDEN: 100}, (85, 52)), old


def lines_of(page: str) -> dict[str, dict[str, tuple[dict[str, str], list[str]]]]:
    """Return attributes and words of the verdict's table by headline; a level's headline is the group and the level."""
    tables = Read(page).tables
    lines = [*tables["verdict"][1:], *tables["levels"][1:]]
    return {
        # The metric and its arrow follow the name of a headline.
        re.sub(r" \S+\xa0\S$", "", name): {given["data-column"]: (given, text.split()) for _, given, text in cells}
        for (_, _, name), *cells in lines
    }


def test_the_verdict_has_the_figures_of_check(sides: tuple[Path, Path], tmp_path: Path) -> None:
    findings, both = tmp_path / "findings.json", [str(sides[0]), "--against", str(sides[1])]
    lines = lines_of(report(tmp_path, *both))
    assert main(["check", *both, "--max-drop", "0.02", "--json", str(findings)]) == 1
    expected = {one["name"]: one for one in json.loads(findings.read_text(encoding="utf-8"))["findings"]}
    assert expected.keys() == lines.keys() - {"manyifeval, 1 instruction", LEVEL}
    assert {one["verdict"] for one in expected.values()} >= {"REGRESSION", "INCONCLUSIVE", "NOT WORSE"}
    for name, one in expected.items():
        line = lines[name]
        assert " ".join(line["verdict"][1]).startswith(one["verdict"])
        values = [float(line[column][0]["data-value"]) for column in ("old", "new", "change")]
        assert values == pytest.approx([one["baseline"], one["candidate"], one["change"]], abs=1e-12), name
        # A drop is a change in the other direction, as higher is better here.
        limits = [float(line["change"][0][f"data-{end}"]) for end in ("low", "high")]
        assert limits == pytest.approx([-one["drop_high"], -one["drop_low"]], abs=1e-12), name
        changed = line["answers changed"][1]
        assert [changed[2], changed[4]] == [str(one["got_better"]), str(one["got_worse"])], name
        assert line["rows"][1][0] == str(one["rows"])
        if one["verdict"] == "INCONCLUSIVE":
            assert one["rows_to_decide"] > one["rows"]
            assert "would decide" in " ".join(line["verdict"][1])
    # A group's levels are shown, not judged.
    assert lines[LEVEL]["verdict"][1] == []
    assert [float(lines[LEVEL][side][0]["data-value"]) for side in ("old", "new")] == [0.5, 0.52]


def test_the_page_begins_with_the_verdict_and_shows_both_models(sides: tuple[Path, Path], tmp_path: Path) -> None:
    text = report(tmp_path, sides[0], "--against", sides[1], "--name", f"{sides[0]}=mine")
    assert "<h1>mine against old</h1>" in text
    assert text.index('<section id="verdict"') < text.index("<figure")
    assert 'id="leaderboard"' not in text
    assert f"Do not ship: regression in {SST2} (60.0 → 30.0)." in text
    # The task that lost most leads to its answers.
    first = re.search(r'<ul class="lost".*?<li><a href="#([^"]*)">(.*?)</a>', text, re.DOTALL)
    assert first
    assert first[2].replace("<wbr>", "") == SST2
    assert f'id="{first[1]}"' in text
    assert text.count("<summary>old</summary>") == text.count("<summary>mine</summary>") == 1


def test_one_model_at_two_dates_is_two_models_of_the_page(tmp_path: Path) -> None:
    for number, count in enumerate((60, 30)):
        write_run(tmp_path / str(number), {SST2: right(count)}, date=1000.0 * number)
    text = report(tmp_path, tmp_path / "1", "--against", tmp_path / "0", "--max-drop", "0.4")
    assert "<h1>one (the candidate) against one (the baseline)</h1>" in text
    assert "NOT WORSE" in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("{new} --against {old} {new}", "is both candidate and baseline; expected two runs"),
        ("{both} --against {old}", "results of 2 models or settings"),
        ("{alone} --against {quiz}", "nothing to compare"),
        ("{new} --against {old} --upper-bound {quiz}", "--against and --upper-bound: expected one of them"),
        ("{new} --max-drop 0.02", "expected --against with them"),
        ("{new} --against {old} --max-drop 0.02 --bounds {bounds}", "expected only one of them"),
    ],
)
def test_sides_that_cannot_be_compared_are_an_error_and_no_page(
    words: str, said: str, sides: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new, old = sides
    (tmp_path / "bounds.toml").write_text("max_drop = 0.1", encoding="utf-8")
    places = {"new": new, "old": old, "both": tmp_path, "quiz": old / "other", "alone": new / "labels"}
    given = words.format(**places, bounds=tmp_path / "bounds.toml").split()
    assert main(["report", *given, "-o", str(tmp_path / "page.html")]) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("verdict", "rows", "issue", "remark"),
    [
        ("INCONCLUSIVE", 224.0, "", "about 220 rows would decide"),
        # Not only that 60 rows are too few.
        ("CANNOT TELL", 224.0, "60 rows could not have shown it; more would", "about 220 rows would decide"),
        ("CANNOT TELL", inf, "a score is the bound", "no practical number of rows would decide"),
        # A reason without what to do: the notes have both.
        ("CANNOT TELL", nan, "no bound: give one", "no bound"),
        ("REGRESSION", nan, "", ""),
    ],
)
def test_a_line_says_what_would_decide_or_why_nothing_does(verdict: str, rows: float, issue: str, remark: str) -> None:
    issues = (warning(issue),) if issue else ()
    assert Line(Finding("a", "", verdict, rows_to_decide=rows, issues=issues)).remark == remark


def test_what_both_sides_are_warned_of_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = {SST2: rights(60)}
    old, new = write_models(tmp_path, {"old": scores, "new": scores}, call={"limit": 400})
    report(tmp_path, new, "--against", old)
    said = [line for line in capsys.readouterr().err.splitlines() if "--limit" in line]
    assert said == [f"lm-eval-ext: warning: old, new: evaluated with --limit 400: {SST2}"]


def test_against_a_baseline_a_heat_map_is_of_what_changed(tmp_path: Path) -> None:
    old, new = write_models(tmp_path, {"old": {SST2: right(60)}, "new": {SST2: right(59)}})
    exported = tmp_path / "figures"
    page = report(tmp_path, new, "--against", old, "--export", exported)
    figure = re.search(r'<figure[^>]*id="verbalizer_words".*?</figure>', page, re.DOTALL)
    assert figure
    assert "<title>new minus old, flipped: \N{MINUS SIGN}1.0 points</title>" in figure[0]
    # The numbers are those of both sides.
    _, *lines = (exported / "verbalizer_words.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[::2][:2] for line in lines] == [["old", "0.6"], ["new", "0.59"]]
