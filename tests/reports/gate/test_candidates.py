"""``check A B C --against OLD``: each candidate is checked as if it were alone, and what is found is put together."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.gate.candidates import worse_from
from tests.other_files import MadeUp, write_other_run
from tests.reports.files import SST2, edited, write_run
from tests.reports.gate.test_commands import Output, call
from tests.reports.gate.test_formats import HOSTILE, parsed, rows
from tests.reports.gate.two_runs import SNLI, right, write_draws
from tests.sampling import sampled

ROWS = 400
CHECK = "check --max-drop 0.02"


def write(name: str, sst2: float, snli: float | None = None, **changed: Any) -> None:
    """Write a run; the shares are those of the right rows of each task."""
    scores = {SST2: sst2} if snli is None else {SST2: sst2, SNLI: snli}
    write_run(
        Path(name),
        {task: right(round(ROWS * share), of=ROWS) for task, share in scores.items()},
        **{"arguments": {"pretrained": f"owner/{name}"}, **changed},
    )


@pytest.fixture(autouse=True)
def _runs(folder: Path) -> None:
    """Write a baseline, a second run of it, and candidates, the last of which lacks a task."""
    write("old", 0.5, 0.5)
    write("old-again", 0.52, 0.5, arguments={"pretrained": "owner/old"})
    write("fine", 0.5, 0.5)
    write("worse", 0.3, 0.5)
    write("less", 0.5)


def read(name: str = "all.json") -> Any:
    return json.loads(Path(name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("words", sampled(["", " --same", " --same --again old-again", " --require no-worse"], 2))
def test_what_is_found_of_a_candidate_does_not_depend_on_the_others(words: str, capsys: Output) -> None:
    # Of the harness's own tasks, the metric and the rows that all have would depend on the others, too.
    quiz = {"acc": 0.25, "f1": 0.25}
    for name in ("old", "old-again", "fine", "worse"):
        further = {f"{metric},none": value for metric, value in quiz.items()}
        values = [*right(ROWS // 2, of=ROWS)]
        folder = write_other_run(Path(name, "more"), {"quiz": MadeUp(values, further=further)}, model=f"owner/{name}")
        if name == "old-again":
            with edited(folder) as content:
                content["config"]["model_args"] = {"pretrained": "owner/old"}
    write_other_run(Path("less/more"), {"quiz": MadeUp([0.25] * 50, metric="f1")}, model="owner/less")
    candidates = ("less", "fine", "worse")
    statuses = []
    for name in candidates:
        statuses.append(call(f"{CHECK} --json {name}.json --against old{words} --", name))
    assert sorted({*statuses}) == [1, 2] if "same" in words or "worse" in words else [0, 1, 2]
    assert call(f"{CHECK} --json all.json --against old{words} --", *candidates) == 1
    content = read()
    assert (content["status"], content["verdict"]) == (1, "DIFFERENT" if "same" in words else "REGRESSION")
    assert [one.pop("name") for one in content["candidates"]] == [*candidates]
    assert content["candidates"] == [read(f"{name}.json") for name in candidates]
    if "again" in words:
        assert content["candidates"][1]["findings"][0]["changed_again"] is not None
    capsys.readouterr()


@pytest.mark.parametrize(
    ("names", "words", "status", "first"),
    [
        (["fine", "worse"], "", 1, "regression: 1 of 2 candidates (worse)"),
        (["less", "worse", "fine"], "", 1, "regression: 1 of 3 candidates (worse)"),
        (["less", "fine"], "", 2, "cannot tell: 1 of 2 candidates (less)"),
        (["fine", "also"], "", 0, "not worse: 2 of 2 candidates"),
        (["fine", "slightly"], "", 0, "inconclusive: 1 of 2 candidates (slightly)"),
        (["fine", "slightly"], " --require no-worse", 2, "inconclusive: 1 of 2 candidates (slightly)"),
    ],
)
def test_the_exit_status_is_that_of_the_worst(
    names: Sequence[str], words: str, status: int, first: str, capsys: Output
) -> None:
    write("also", 0.5, 0.5)
    write("slightly", 0.49, 0.5)
    assert call(f"{CHECK}{words} --against old --", *names) == status
    assert capsys.readouterr().out.splitlines()[0] == first


def test_runs_of_one_model_that_differ_in_the_seed_are_one_candidate(capsys: Output) -> None:
    for model, share in (("base", 0.5), ("one", 0.5), ("two", 0.3)):
        draw = right(round(ROWS * share), of=ROWS)
        write_draws(Path(), {SST2: [draw, draw[::-1]]}, model)
    # In any order; the order of the candidates is that of their first paths.
    given = ["two-1", "one-1", "two-2", "one-2"]
    assert call(f"{CHECK} --json all.json --against base-1 base-2 --", *given) == 1
    found = read()["candidates"]
    assert [(one["name"], one["candidate"], one["verdict"]) for one in found] == [
        ("two", "two (two-1, two-2)", "REGRESSION"),
        ("one", "one (one-1, one-2)", "NOT WORSE"),
    ]
    assert capsys.readouterr().out.count("reliable@k baseline") == 2
    # All of one model: a single candidate, as without this.
    assert call(f"{CHECK} --json all.json --against base-1 base-2 --", "one-1", "one-2") == 0
    assert "candidates" not in read()


def test_the_text_has_a_column_for_each_candidate_and_the_findings_to_read(capsys: Output) -> None:
    assert call(f"{CHECK} --against old --", "fine", "worse", "less") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == ""
    assert lines[2].split() == ["fine", "worse", "less"]
    # The worst first: a regression, then what is missing.
    assert [re.split(r"\s{2,}", line) for line in lines[3:5]] == [
        [SST2, "NOT WORSE 0.00", "REGRESSION 20.00", "NOT WORSE 0.00"],
        [SNLI, "NOT WORSE 0.00", "NOT WORSE 0.00", "CANNOT TELL"],
    ]
    parts = "\n".join(lines).split("\n\n")
    assert [part.splitlines()[0] for part in parts[2:5]] == [
        "fine: not worse: 2 of 2",
        "worse: regression: 1 of 2",
        "less: cannot tell: 1 of 2",
    ]
    (fine, worse, less) = (part.splitlines()[1:] for part in parts[2:5])
    assert fine == ["candidate: fine (fine)"]
    assert [line.split()[0] for line in worse] == ["REGRESSION", "candidate:"]
    assert less == [f"CANNOT TELL   {SNLI}  missing from the candidate", "candidate: less (less)"]
    assert parts[-1].startswith("baseline: old (old)\n")
    assert "Each candidate is checked by itself" in parts[-1]


def test_of_many_headlines_all_are_listed_if_asked_for(capsys: Output) -> None:
    tasks = {f"task{number:02}": MadeUp(right(20, of=40)) for number in range(21)}
    for name in ("many", "many-one", "many-two"):
        write_other_run(Path(name), tasks, model=f"owner/{name}")
    words, more = f"{CHECK} --against many --", "and 11 more (11 inconclusive): all are in --json, --csv and --markdown"
    for option, listed, remarks in (("", 10, 2), ("--all ", 21, 0)):
        call(words.replace("--against", f"{option}--against"), "many-one", "many-two")
        lines = capsys.readouterr().out.splitlines()
        # In the table, and for each candidate, none of whose headlines is decided.
        assert sum(line.startswith("task") for line in lines) == listed
        assert sum(line.startswith("INCONCLUSIVE  task") for line in lines) == 2 * listed
        assert lines.count(more) == remarks


def test_what_is_known_of_the_baseline_is_told_once(capsys: Output) -> None:
    for name in ("old", "fine", "less"):
        with edited(Path(name)) as content:
            content["config"]["limit"] = ROWS
            for counts in content["n-samples"].values():
                counts["original"] += 1
    call(f"{CHECK} --against old --", "fine", "worse", "less")
    said = [line for line in capsys.readouterr().err.splitlines() if "--limit" in line]
    assert [line.partition(" evaluated")[0] for line in said] == [
        "lm-eval-ext: the baseline: old:",
        "lm-eval-ext: fine: the candidate: fine:",
        "lm-eval-ext: less: the candidate: less:",
    ]


def test_each_file_says_which_candidate_it_is_about(capsys: Output) -> None:
    assert call(f"{CHECK} --csv all.csv --junit all.xml --markdown all.md --against old --", "worse", "less") == 1
    with Path("all.csv").open(encoding="utf-8", newline="") as file:
        lines = [(line["candidate_name"], line["name"], line["verdict"]) for line in csv.DictReader(file)]
    assert lines == [
        ("worse", SST2, "REGRESSION"),
        ("worse", SNLI, "NOT WORSE"),
        ("less", SNLI, "CANNOT TELL"),
        ("less", SST2, "NOT WORSE"),
    ]
    root = parsed(Path("all.xml").read_bytes())
    assert root.attrib == {"tests": "4", "failures": "1", "errors": "1"}
    assert [suite.get("name") for suite in root] == ["lm-eval-ext check: worse", "lm-eval-ext check: less"]
    assert [(suite.get("failures"), suite.get("errors")) for suite in root] == [("1", "0"), ("0", "1")]
    # No two test cases have the same class and name.
    cases = {(case.get("classname"), case.get("name")) for case in root.iter("testcase")}
    assert cases == {(f"{name}.verbalizer", task) for name in ("worse", "less") for task in (SST2, SNLI)}
    text = Path("all.md").read_text(encoding="utf-8")
    assert text.startswith("**Do not ship:** worse. Cannot be told: less.\n\n| task or group | worse | less |\n")
    assert "| REGRESSION 20.00 | NOT WORSE 0.00 |" in text
    assert text.count("<details>") == text.count("</details>") == 2
    (worse, less) = re.findall(r"<details><summary>(.+)</summary>\n\n\| verdict \|", text)
    assert worse == f"worse: Do not ship: regression in {SST2} (50.0 → 30.0). One headline is not worse."
    assert less == f"less: Cannot be told: {SNLI} (missing from the candidate). One headline is not worse."
    capsys.readouterr()
    assert call(f"{CHECK} --markdown - --against old --", "worse", "less") == 1
    assert capsys.readouterr().out == text


def test_names_are_shown_in_markdown_as_they_are(capsys: Output) -> None:
    write("hostile", 0.5, 0.5, arguments={"pretrained": re.sub(r"[/\\]", "|", HOSTILE)})
    assert call(f"{CHECK} --markdown all.md --against old --", "hostile", "fine") == 0
    text = Path("all.md").read_text(encoding="utf-8")
    heads = rows(text)[0]
    assert heads[1].startswith("<script>alert(1)<|script> & | **a** _b_")
    # Nothing of it is HTML.
    assert "<script" not in text
    capsys.readouterr()


def test_a_path_with_several_models_is_an_error_that_says_what_to_give(capsys: Output) -> None:
    write("both/one", 0.5)
    write("both/two", 0.5)
    assert call(f"{CHECK} --json all.json --against old --", "fine", "both") == 2
    assert "both: results of 2 models or settings (one; two)" in capsys.readouterr().err
    assert "of several candidates each by itself" in read()["findings"][0]["issues"][0]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ("....", (None, ())),
        ("R...", (None, (0,))),
        ("..RR", (2, ())),
        ("...R", (3, ())),
        ("RRRR", (0, ())),
        ("R.RR", (2, (0,))),
        ("RRR.", (None, (0, 1, 2))),
    ],
)
def test_it_is_worse_from_the_first_candidate_on_after_which_all_are(
    verdicts: str, expected: tuple[int | None, tuple[int, ...]]
) -> None:
    assert worse_from(["REGRESSION" if one == "R" else "INCONCLUSIVE" for one in verdicts]) == expected
