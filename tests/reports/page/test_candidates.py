"""The page of several candidates: the verdicts of ``check`` side by side, and each headline along a training."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.reports.figure import Curves
from lm_eval_ext.reports.gate.findings import Finding, Outcome
from lm_eval_ext.reports.page.candidates import DRAWN, SideBySide, along, since_in_words
from lm_eval_ext.reports.page.verdict import Verdict
from lm_eval_ext.reports.paired import MeanChange
from tests.other_files import MadeUp, write_other_run
from tests.reports.files import SST2, write_models, write_run
from tests.reports.gate.two_runs import SNLI
from tests.reports.page.model_runs import ROWS, rights
from tests.reports.page.reading import Read, report

STEPS = (500, 1000, 1500)


@pytest.fixture
def training(tmp_path: Path) -> Path:
    """Return a folder with a baseline and three checkpoints, each worse than the one before in one of three tasks."""
    for name, shares, perplexity in (
        ("old", (60, 50), 8.0),
        *zip(("500", "1000", "1500"), ((60, 51), (45, 50), (30, 35)), (8.0, 7.9, 9.5), strict=True),
    ):
        model = "owner/old" if name == "old" else f"runs/new/checkpoint-{name}"
        scores = dict(zip((SST2, SNLI), map(rights, shares), strict=True))
        write_run(tmp_path / name, scores, arguments={"pretrained": model})
        text = MadeUp([perplexity] * ROWS, metric="perplexity", higher=False)
        write_other_run(tmp_path / name / "other", {"text": text}, model=model)
    return tmp_path


def page_on(folder: Path, names: Sequence[object], *more: object) -> str:
    """Return the page on candidates."""
    return report(folder, *(folder / str(name) for name in names), "--against", folder / "old", *more)


def test_the_page_has_the_verdicts_of_check_on_each_candidate(training: Path) -> None:
    text, found = page_on(training, STEPS), training / "found.json"
    given = [str(training / str(step)) for step in STEPS]
    assert main(["check", *given, "--against", str(training / "old"), "--max-drop", "0.02", "--json", str(found)]) == 1
    tables = Read(text).tables
    heads, *lines = tables["verdicts"]
    assert [words for _, _, words in heads] == ["headline", *(f"checkpoint-{step}" for step in STEPS)]
    for number, one in enumerate(json.loads(found.read_text(encoding="utf-8"))["candidates"], start=1):
        findings = {each["name"]: each for each in one["findings"]}
        assert {name for (_, _, name), *_ in lines} == findings.keys()
        for (_, _, name), *cells in lines:
            _, given_with, words = cells[number - 1]
            assert given_with["data-column"] == one["name"]
            assert words.startswith(findings[name]["verdict"])
            if "data-value" in given_with:
                assert float(given_with["data-value"]) == pytest.approx(findings[name]["change"], abs=1e-12)
        # Each in full, below.
        assert len(tables[f"verdict-{number}"]) == 1 + len(findings)
    assert "<h1>checkpoint-500, checkpoint-1000 and checkpoint-1500 against old</h1>" in text
    assert (
        "Do not ship (worse than old by more than 2 points in at least one headline): checkpoint-1000, "
        "checkpoint-1500. Cannot be told (no regression is shown, but at least one headline is undecided): "
        "checkpoint-500."
    ) in text
    assert f"<li>{SST2}: worse from checkpoint-1000 on</li>" in text
    assert f"<li>{SNLI}: worse at the last one alone, checkpoint-1500</li>" in text
    # What the last one lost is not only in what is folded.
    assert (
        text.index("Most lost at checkpoint-1500:")
        < text.index('<ul class="lost"')
        < text.index('<table data-figure="verdicts"')
    )


def test_what_was_lost_is_that_of_the_last_candidate_that_is_not_to_be_shipped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shares = {"old": 60, "1": 30, "2": 20, "3": 60, "4": 60}
    write_models(tmp_path, {name: {SST2: rights(share)} for name, share in shares.items()})
    text = page_on(tmp_path, (1, 2, 3, 4))
    assert "Do not ship (worse than old by more than 2 points in at least one headline): 1, 2." in text
    assert "Most lost at 2:" in text
    link = re.search(r'<ul class="lost".*?<li><a href="#([^"]*)">', text, re.DOTALL)
    assert link
    assert f'id="{link[1]}"' in text
    assert "answers are those of the baseline and the last of the worst candidates (old, 2)" in capsys.readouterr().err


def test_each_headline_is_drawn_along_the_candidates_and_exported(training: Path) -> None:
    bounds = training / "bounds.toml"
    bounds.write_text("max_drop = 0.02\n[tasks]\ntext = 0.5", encoding="utf-8")
    text = page_on(training, STEPS, "--export", training / "figures", "--bounds", bounds)
    assert '<figure id="candidates"' in text
    assert 'id="section-candidates"' in text
    names = {path.name for path in (training / "figures").glob("candidates*")}
    assert {"candidates.csv", "candidates_numbers.csv"} < names
    assert len([name for name in names if name.endswith(".png")]) == 2
    with (training / "figures/candidates.csv").open(encoding="utf-8", newline="") as file:
        lines = [
            (line["headline"], line["candidate"], line["verdict"], line["better by"]) for line in csv.DictReader(file)
        ]
    assert [line for line in lines if line[0] == SST2] == [
        (SST2, "checkpoint-500", "NOT WORSE", "0.0"),
        (SST2, "checkpoint-1000", "REGRESSION", "-0.15"),
        (SST2, "checkpoint-1500", "REGRESSION", "-0.3"),
    ]
    # A perplexity is in its own unit, and less of it is better.
    with (training / "figures/candidates_numbers.csv").open(encoding="utf-8", newline="") as file:
        numbers = [float(line["better by"]) for line in csv.DictReader(file)]
    assert numbers == pytest.approx([0.0, 0.1, -1.5])


def test_a_candidate_that_was_the_baseline_at_another_date_has_a_name_of_its_own(tmp_path: Path) -> None:
    for number, (name, model) in enumerate({"old": "owner/one", "new": "owner/one", "other": "owner/other"}.items()):
        write_run(tmp_path / name, {SST2: rights(60)}, arguments={"pretrained": model}, date=1000.0 * number)
    text = page_on(tmp_path, ["new", "other"])
    assert "<h1>one (candidate one) and other (candidate other) against one (the baseline)</h1>" in text


@pytest.mark.parametrize(
    ("verdicts", "words"),
    [
        ("NNNN", ""),
        ("RRRR", "worse from the first one on"),
        ("NRRR", "worse from b on"),
        ("NINR", "worse at the last one alone, d"),
        ("RNRR", "worse from c on; before, also at a"),
        ("RRNI", "worse at a, b, but not shown to be at the last one, d"),
    ],
)
def test_it_is_said_since_when_a_headline_is_worse(verdicts: str, words: str) -> None:
    names = {"N": "NOT WORSE", "R": "REGRESSION", "I": "INCONCLUSIVE"}
    assert since_in_words("abcd", [names[one] for one in verdicts]) == words


def made_up(names: Sequence[str], headlines: int = 1) -> SideBySide:
    """Return verdicts on candidates of these names, each with drops of its own."""
    verdicts = []
    for number, name in enumerate(names):
        drop = MeanChange.of_error(0.01 * number, 0.02, 100, 99)
        findings = [Finding(f"task {task}", "", "NOT WORSE", allowed=0.02, mean_drop=drop) for task in range(headlines)]
        verdicts.append(Verdict(("old", name), Outcome(tuple(findings), requirement="no-regression"), ()))
    return SideBySide(tuple(verdicts))


@pytest.mark.parametrize(
    ("names", "x", "axis", "said"),
    [
        (["checkpoint-500", "checkpoint-1000"], (500.0, 1000.0), "checkpoint-…", ""),
        (["step7-a", "step9-a", "step30-a"], (7.0, 9.0, 30.0), "step…-a", ""),
        # As a shell sorts them.
        (["ckpt-1000", "ckpt-500"], (1.0, 2.0), "candidate, in the order given", "ckpt-1000 comes before ckpt-500"),
        # Neither is a number of steps.
        (["v1-500", "v2-1000"], (1.0, 2.0), "candidate, in the order given", ""),
        (["ckpt-500", "final"], (1.0, 2.0), "candidate, in the order given", ""),
        (["a1", "b2"], (1.0, 2.0), "candidate, in the order given", ""),
    ],
)
def test_candidates_are_where_their_numbers_are_or_in_the_order_given(
    names: Sequence[str], x: tuple[float, ...], axis: str, said: str
) -> None:
    (figure,) = along(made_up(names)).figures
    (panel,) = figure.panels
    assert isinstance(panel.mark, Curves)
    assert (panel.mark.x, panel.mark.x_axis, panel.mark.reference) == (x, axis, -0.02)
    # What is worse is below.
    assert [value.value for value in panel.mark.series[0].values] == [-0.01 * number for number in range(len(x))]
    assert said in "".join(map(str, figure.issues))
    assert bool(said) == bool(figure.issues)


def test_of_many_headlines_the_worst_are_drawn_and_all_are_in_the_table() -> None:
    (figure,) = along(made_up(["a", "b"], headlines=30)).figures
    assert len(figure.panels) == DRAWN
    assert len(figure.table.rows) == 60
    assert [str(issue) for issue in figure.issues] == ["the 12 worst headlines of 30 are drawn; the table has all"]
