"""``compare`` and ``check`` as commands: their exit statuses, and their errors for invalid input."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from lm_eval_ext.cli import parser_for
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.formats import escaped
from lm_eval_ext.sources import RowsError
from tests.reports.files import SST2, edited, edited_lines, results_in, samples_of, write_run
from tests.reports.gate.two_runs import SNLI, right, write_draws
from tests.reports.planted import without_samples
from tests.tables import tables

TABLES = tables(__file__)
Output = pytest.CaptureFixture[str]


def call(words: str, *more: object) -> int:
    """Run a command as it is typed, with what may contain spaces after it."""
    given = [*words.split(), *map(str, more)]
    options = parser_for(given).parse_args(given)
    status: int = options.run(options)
    return status


def found_in(xml: str) -> ElementTree.Element:
    return ElementTree.parse(xml).getroot()  # noqa: S314 # our own


@pytest.fixture(autouse=True)
def runs(folder: Path) -> Path:
    """Return the working directory, with a baseline, a worse run and one that lacks a task."""
    for name, scores in (
        ("baseline", {SST2: right(50), SNLI: right(50)}),
        ("worse", {SST2: right(30), SNLI: right(50)}),
        ("less", {SST2: right(50)}),
    ):
        write_run(Path(name), scores, arguments={"pretrained": f"owner/{name}"})
    return folder


# compare


def test_compare_prints_what_changed(capsys: Output) -> None:
    assert call("compare worse --against baseline") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["baseline: baseline (baseline)", "candidate: worse (worse)", ""]
    assert [line.split()[0] for line in lines[4:6]] == [SST2, SNLI]
    assert " worse " in lines[4]
    assert " equal " in lines[5]


def test_any_metric_of_a_family_can_be_compared_and_checked_in_its_better_direction(capsys: Output) -> None:
    for folder in ("baseline", "worse"):
        for task in (SST2, SNLI):
            # Only the samples have a detail, here 30 answers of the worse run that were cut off.
            with edited_lines(samples_of(results_in(Path(folder)), task)) as lines:
                for row, line in enumerate(lines):
                    line["truncated_rate"] = float(folder == "worse" and row < 30)
    assert call("compare worse --against baseline --metric prior_rate") == 0
    first = capsys.readouterr().out.splitlines()[4]
    assert first.split()[:5] == [SST2, "prior_rate", "↓", "50.0", "70.0"]
    for metric, better in (("acc", "↑"), ("prior_rate", "↓"), ("truncated_rate", "↓")):
        assert call(f"check worse --against baseline --max-drop 0.02 --metric {metric}") == 1
        assert f"{metric} {better} " in capsys.readouterr().out
        assert call(f"check baseline --against worse --max-drop 0.02 --metric {metric}") != 1
    with pytest.raises(
        RowsError, match=r"no task has the metric 'nothing'; expected one of acc, empty_rate, invalid_echo"
    ):
        call("compare worse --against baseline --metric nothing")


def test_compare_accepts_one_model_at_two_dates(capsys: Output) -> None:
    for name, score in (("1", 50), ("2", 80)):
        write_run(Path(name), {SST2: right(score)}, date=1000.0 * int(name))
    # The newest does not replace the other, whichever is named first.
    for words, scores in (("2 --against 1", ["50.0", "80.0"]), ("1 --against 2", ["80.0", "50.0"])):
        assert call(f"compare {words}") == 0
        assert capsys.readouterr().out.splitlines()[4].split()[3:5] == scores


def test_problems_with_files_go_to_standard_error(runs: Path, capsys: Output) -> None:
    without_samples(runs / "worse")
    assert call("compare worse --against baseline") == 0
    output = capsys.readouterr()
    assert "lm-eval-ext: the candidate: " in output.err
    assert "no samples of verbalizer_" in output.err
    assert "No pairs of answers:" in output.out


@pytest.mark.parametrize(
    ("words", "said"), TABLES["wrong comparisons"].values(), ids=TABLES["wrong comparisons"].keys()
)
def test_what_cannot_be_compared_is_an_error_that_says_why(words: str, said: str) -> None:
    write_run(Path("other"), {"verbalizer_rte_natural_golden": right(5)}, arguments={"pretrained": "owner/other"})
    with pytest.raises(ReportError, match=said):
        call(f"compare {words}")


def test_a_file_without_results_is_named() -> None:
    Path("results_x.json").write_text("[]", encoding="utf-8")
    with pytest.raises(RowsError, match=r"results_x\.json: no 'results' and 'configs'"):
        call("compare baseline --against results_x.json")


def test_findings_are_written_as_json_and_csv_with_all_digits(capsys: Output) -> None:
    for words, status in (("compare", 0), ("check --max-drop 0.02", 2)):
        assert call(f"{words} less --against baseline --json found.json --csv found.csv") == status
        content = json.loads(Path("found.json").read_text(encoding="utf-8"))
        with Path("found.csv").open(encoding="utf-8", newline="") as file:
            lines = {line["name"]: line for line in csv.DictReader(file)}
        one = next(each for each in content["findings"] if each["name"] == SST2)
        assert (one["baseline"], one["candidate"], one["change"], one["rows"]) == (0.5, 0.5, 0.0, 100)
        assert float(lines[SST2]["change_high"]) == one["change_high"]
        # What is missing is in both, too.
        assert "missing from the candidate" in lines[SNLI]["issues"]
        assert "missing from the candidate" in str(content)
    assert content["verdict"] == "CANNOT TELL"
    capsys.readouterr()
    assert call("compare less --against baseline --json -") == 0
    assert json.loads(capsys.readouterr().out)["findings"][0]["name"] == SST2


@pytest.mark.parametrize("kind", ["zip", "gztar"])
def test_a_side_may_be_an_archive_and_is_named_as_such(runs: Path, capsys: Output, kind: str) -> None:
    packed = shutil.make_archive(str(runs / "packed"), kind, runs, "worse")
    assert call("compare --against baseline --", packed) == 0
    assert capsys.readouterr().out.splitlines()[1] == f"candidate: worse ({packed})"
    without_samples(runs / "worse", SST2)
    packed = shutil.make_archive(str(runs / "packed"), kind, runs, "worse")
    assert call("check --max-drop 0.02 --junit check.xml --markdown check.md --against baseline --", packed) == 2
    said = capsys.readouterr()
    assert f"no samples of {SST2}" in said.err
    for text in (said.out, said.err, Path("check.xml").read_text("utf-8"), Path("check.md").read_text("utf-8")):
        assert "/lm-eval-ext-" not in text, "the temporary folder"


# check


@pytest.mark.parametrize(("words", "status", "first"), TABLES["statuses"])
def test_the_exit_status_gives_the_verdict(capsys: Output, words: str, status: int, first: str) -> None:
    Path("snli.toml").write_text(f"[tasks]\n{SNLI} = 0.0", encoding="utf-8")
    Path("both.toml").write_text(f"max_drop = 0.1\n[tasks]\n{SST2} = 0.5", encoding="utf-8")
    assert call(f"check {words} --against baseline") == status
    assert capsys.readouterr().out.splitlines()[0] == first


@pytest.mark.parametrize(
    ("name", "most", "status", "verdict"),
    [("worse", 0.02, 1, "DIFFERENT"), ("worse", 0.5, 0, "SAME"), ("less", 0.5, 2, "CANNOT TELL")],
)
def test_a_model_served_otherwise_is_the_same_different_or_cannot_be_told(
    capsys: Output, name: str, most: float, status: int, verdict: str
) -> None:
    assert call(f"check {name} --against baseline --same --max-drop {most} --json a.json --junit a.xml") == status
    printed = capsys.readouterr().out
    assert printed.startswith(f"{verdict.lower()}: ")
    assert "The same: both limits are within what is allowed in either direction" in printed
    content = json.loads(Path("a.json").read_text(encoding="utf-8"))
    assert (content["verdict"], content["required"], content["status"]) == (verdict, "same", status)
    one = next(each for each in content["findings"] if each["name"] == SST2)
    assert (one["got_better"], one["got_worse"], one["changed"]) == ((0, 20, 20) if name == "worse" else (0, 0, 0))
    root = found_in("a.xml")
    # A hundred equal answers are not shown to be the same within two points.
    assert (root.get("failures"), root.get("errors")) == {0: ("0", "0"), 1: ("1", "1"), 2: ("0", "1")}[status]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("markdown", f"**Do not ship:** regression in {escaped(SST2)} (50.0 → 30.0)."),
        ("markdown", "<details><summary>lm-eval-ext check: regression: 1 of 2</summary>\n\n| verdict |"),
        ("junit", '<failure message="acc ↑ 50.00 → 30.00, drop 20.00 ['),
        ("json", '"verdict": "REGRESSION",'),
        ("csv", f"\n{SST2},verbalizer,False,acc,True,True,REGRESSION,0.5,0.3,"),
    ],
    ids=["markdown says the decision", "markdown folds the numbers", "junit", "json", "csv"],
)
def test_what_was_found_goes_to_a_file_or_takes_the_place_of_the_text(kind: str, said: str, capsys: Output) -> None:
    words = f"check worse --against baseline --max-drop 0.02 --{kind}"
    assert call(f"{words} verdict") == 1
    assert capsys.readouterr().out.startswith("regression: 1 of 2\n")
    assert call(f"{words} -") == 1
    written = Path("verdict").read_text(encoding="utf-8")
    assert capsys.readouterr().out == written
    assert said in written


def test_the_files_of_a_check_that_fails_say_why_instead_of_what_an_earlier_one_found(capsys: Output) -> None:
    words, kinds = "check nowhere --against baseline --max-drop 0", ("junit", "markdown", "json", "csv")
    for kind in kinds:
        Path(kind).write_text("of an earlier check", encoding="utf-8")
    assert call(" ".join((words, *(f"--{kind} {kind}" for kind in kinds)))) == 2
    (error,) = found_in("junit").iter("error")
    markdown, *others = (Path(kind).read_text(encoding="utf-8") for kind in kinds[1:])
    assert markdown.startswith("**Cannot be told:** lm-eval-ext check failed: ")
    assert all("CANNOT TELL" in text for text in others)
    for text in (error.get("message") or "", markdown, *others):
        assert re.search(r"nowhere: No such file", text)
    capsys.readouterr()
    assert call(f"{words} --markdown -") == 2
    assert capsys.readouterr().out == markdown


@pytest.mark.parametrize(("words", "complaint"), TABLES["wrong checks"].values(), ids=TABLES["wrong checks"].keys())
def test_an_error_of_check_cannot_tell(capsys: Output, words: str, complaint: str) -> None:
    if "/dev/full" in words and not Path("/dev/full").exists():
        pytest.skip("no /dev/full, which is always a full disk")
    Path("empty").mkdir()
    for name, text in (("b", "?"), ("d", "max_drop = 0"), ("e", ""), ("n", f"[tasks]\n{SST2}s = 0")):
        Path(f"{name}.toml").write_text(text, encoding="utf-8")
    if "bad" in words:
        Path("empty/bad.json").write_text("{", encoding="utf-8")
    assert call(f"check {words} --against baseline") == 2
    error = capsys.readouterr().err
    assert "lm-eval-ext: cannot tell: " in error
    assert complaint in error
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        *(
            (f"check a --against b --max-drop={share}", "expected a share from 0 to 1")
            for share in ("2", "-0.01", "nan", "x")
        ),
        ("check a --against b --same --require no-worse", "--require: not allowed with argument --same"),
        *((f"{command} a b", "are required: --against") for command in ("compare", "check")),
        *((f"{command} --against a", "are required: CANDIDATE") for command in ("compare", "check")),
    ],
)
def test_wrong_or_missing_options_are_rejected(capsys: Output, words: str, complaint: str) -> None:
    with pytest.raises(SystemExit, match="2"):
        call(words)
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize("step", ["_require_apart", "check"])
def test_an_internal_error_cannot_tell(step: str, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr(f"lm_eval_ext.reports.gate.commands.{step}", broken)
    assert call("check worse --against baseline --max-drop 0.02") == 2
    assert "ZeroDivisionError: a defect" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("encoding", "closed"), [("ascii", False), ("utf-8", True)], ids=["a plain terminal", "a reader that has left"]
)
def test_output_options_do_not_change_the_verdict(encoding: str, closed: bool) -> None:
    command = "from lm_eval_ext.cli import main; raise SystemExit(main())"
    words = ["check", "worse", "--against", "baseline", "--max-drop", "0.02"]
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as output:
        if closed:
            output.close()
        process = subprocess.run(
            [sys.executable, "-c", command, *words],
            stdout=writing,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            check=False,
        )
        os.close(writing)
        assert (process.returncode, process.stderr) == (1, b"")
        if not closed:
            assert output.read().startswith(b"regression: 1 of 2\n")


# What is held against itself, or is of two runs


def test_a_file_on_both_sides_is_rejected_even_if_a_newer_one_replaces_it(capsys: Output) -> None:
    for number in (1, 2):
        write_run(Path(f"two/{number}"), {SST2: right(50)}, date=1000.0 * number)
    for side in ("two/1", "two/2"):
        assert call(f"check {side} --against two --max-drop 0.2") == 2
        error = capsys.readouterr().err
        assert f"{Path(side).resolve() / 'results_'}" in error
        assert "is part of both runs; expected two separate runs" in error
    # Two folders next to each other are two runs.
    assert call("check two/2 --against two/1 --max-drop 0.2") == 0


@pytest.mark.parametrize(("side", "status"), [("candidate", 2), ("baseline", 0)])
def test_tasks_from_an_older_run_than_the_rest_of_their_group_are_named(capsys: Output, side: str, status: int) -> None:
    for name in ("candidate", "baseline"):
        write_run(Path(name), {SST2: right(50), SNLI: right(50)}, group_subtasks={"level": [SST2, SNLI]})
    words = "check candidate --against baseline --max-drop 0.2"
    assert call(words) == 0
    assert "older run" not in capsys.readouterr().out
    # The newer run has one of the two tasks.
    newer = write_run(Path(side), {SST2: right(50)}, date=2000.0, stamp="2026-01-03T03-04-05.678901")
    assert call(words) == status
    said = f"the {side}: from an older run than the newest one in the folder ({newer}): {SNLI}"
    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "pattern"),
    [
        ("--junit", "less/results_*"),
        ("--markdown", "less/samples_*"),
        ("--json", "baseline/samples_*"),
        ("--csv", "bounds.toml"),
    ],
)
def test_nothing_is_written_over_what_it_is_computed_from(
    runs: Path, option: str, pattern: str, capsys: Output
) -> None:
    (runs / "bounds.toml").write_text("max_drop = 0.02", encoding="utf-8")
    path = next(runs.glob(pattern))
    content, said = path.read_bytes(), f"{option}: {path} is a file that is read"
    # Nor is the error of a check that would fail.
    for further in ("", "--k 9"):
        assert call(f"check less --against baseline --bounds bounds.toml {further} {option}", path) == 2
        assert f"cannot tell: {said}" in capsys.readouterr().err
    if option == "--json":
        with pytest.raises(ReportError, match=re.escape(said)):
            call(f"compare less --against baseline {option}", path)
    assert path.read_bytes() == content


# What the files say about themselves


def test_signs_that_a_run_went_wrong_are_reported_and_change_no_verdict(capsys: Output) -> None:
    for name in ("old", "new"):
        write_run(Path(name), {SST2: right(50)}, arguments={"pretrained": f"owner/{name}-instruct"})
    assert call("check new --against old --max-drop 0.2 --junit findings.xml") == 0
    told = "-instruct: was run without a chat template, but may be a chat model (by its name)"
    error = capsys.readouterr().err.splitlines()
    assert [line.partition(told)[0] for line in error] == [
        "lm-eval-ext: the baseline: old",
        "lm-eval-ext: the candidate: new",
    ]
    (suite,) = found_in("findings.xml")
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    (output,) = suite.findall("system-out")
    assert (output.text or "").splitlines() == [line.removeprefix("lm-eval-ext: ") for line in error]


def test_the_settings_of_a_model_follow_its_name(capsys: Output) -> None:
    asked: dict[str, Any] = {
        "chat_template": "t",
        "chat_template_sha": "0123456789abcdef",
        "config": {"num_fewshot": 4},
    }
    for name, changed in (("a", {}), ("b", asked)):
        write_run(Path(name), {SST2: right(50)}, lm_eval_version="0.4.13", **changed)
    assert call("check b --against a --max-drop 0.2 --junit findings.xml") == 2
    setting = "chat template: 01234567, few-shot examples: 4"
    assert f"baseline: one (a); candidate: one, {setting} (b)" in capsys.readouterr().out
    properties = {each.get("name"): each.get("value") for each in found_in("findings.xml").iter("property")}
    assert properties == {"baseline": "one (a)", "candidate": f"one, {setting} (b)"}


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (20, 20, "--limit 20 in the baseline and the candidate"),
        (None, 0.5, "--limit 0.5 in the candidate"),
        (100.0, 20, "--limit 100 in the baseline, --limit 20 in the candidate"),
        (None, None, ""),
    ],
)
def test_a_limit_stands_in_the_verdict_the_xml_and_the_comparison(
    before: float | None, after: float | None, said: str, capsys: Output
) -> None:
    for side, limit in (("a", before), ("b", after)):
        write_run(Path(side), {SST2: right(90)}, arguments={"pretrained": f"owner/{side}"}, call={"limit": limit})
    assert call("check b --against a --max-drop 0.1 --junit check.xml") == 0
    verdict, finding, *_ = capsys.readouterr().out.splitlines()
    assert verdict == f"not worse: 1 of 1 ({said})".removesuffix(" ()")
    (case,) = found_in("check.xml").iter("testcase")
    assert call("compare b --against a") == 0
    for text in (finding, case.findtext("system-out") or "", capsys.readouterr().out):
        assert ("not all rows were evaluated" in text) == bool(said)
        assert said in text


EVIL = "\x1b[2J\r\n## PASS\n\u202eevil\u2028pass: 1 of 1"


def test_names_cannot_clear_the_screen_or_forge_lines(capsys: Output) -> None:
    task = f"verbalizer_{EVIL}"
    for name, count in (("a", 50), ("b", 30)):
        write_run(Path(name), {SST2: right(count)}, arguments={"policy": EVIL}, system_instruction_sha=EVIL)
        with edited(Path(name)) as content:
            for part in ("results", "configs", "n-samples"):
                content[part][task] = content[part][SST2]
    assert call("compare b --against a") == 0
    assert call("check b --against a --max-drop 0.02 --junit findings.xml") == 1
    shutil.copytree("a", "b/more")
    without_samples(Path("b/more"), SST2)
    write_run(Path("b/other"), {SST2: right(3)}, arguments={"policy": f"other {EVIL}"})
    assert call("check b --against a --max-drop 0.02") == 2
    with pytest.raises(ReportError) as found:
        call("compare b --against a")
    output, xml = capsys.readouterr(), Path("findings.xml").read_text(encoding="utf-8")
    said = [*output.out.split("\n"), *output.err.split("\n"), str(found.value), xml]
    assert sum("<U+001B>[2J ## PASS <U+202E>evil" in line for line in said) > 5
    assert not any(line.startswith(("##", "pass")) for text in said for line in text.splitlines())
    assert not any(mark in text for text in said for mark in ("\x1b", "\u202e", "\u2028"))


# Several draws per row

OLD, NEW, LOST = ([f"{name}-{seed}" for seed in (1, 2, 3)] for name in ("old", "new", "lost"))


@pytest.fixture
def draws() -> None:
    """Write three runs of each of three models, which differ in the seed."""
    # Of the rows, some are always right, some in one draw of three; the worse model has none of the former.
    sometimes = [[float(row % 3 == draw) for row in range(60)] for draw in range(3)]
    for name, always in (("old", 1.0), ("new", 1.0), ("lost", 0.0)):
        write_draws(Path(), {SST2: [[always] * 40 + of_draw for of_draw in sometimes]}, name)


@pytest.mark.usefixtures("draws")
def test_compare_takes_several_draws_of_each_side(capsys: Output) -> None:
    assert call("compare --against", *OLD, "--", *LOST) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"candidate: lost ({', '.join(LOST)})"
    # 40 rows of 100 are always right; of the others, one draw in three is.
    (compared, _, reliable, varies) = (line.split() for line in lines if line.startswith(SST2))
    assert compared[3:6] == ["60.0", "20.0", "−40.0"]  # noqa: RUF001 # as printed
    assert reliable[1:8] == ["3", "/", "3", "3", "40.0", "0.0", "−40.0"]  # noqa: RUF001 # as printed
    assert reliable[10:12] == ["100.0", "60.0"]
    # Draws 1, 0, 0 in 60 rows of 100: 0.6 * 1/3.
    assert varies[1:3] == ["0.200", "0.200"]
    # How many draws must be right can be chosen.
    assert call("compare --k 1 --against", *OLD, "--", *LOST) == 0
    (*_, reliable, _) = (line.split() for line in capsys.readouterr().out.splitlines() if line.startswith(SST2))
    assert reliable[4:7] == ["1", "60.0", "20.0"]


@pytest.mark.usefixtures("draws")
@pytest.mark.parametrize(
    ("sides", "words", "status", "said"),
    [
        ((LOST, OLD), "--max-drop 0.1", 1, "reliable@k baseline"),
        ((LOST, OLD[:1]), "--max-drop 0.1", 1, "Where the sides have different numbers of draws, the p-value"),
        ((NEW, OLD), "--max-drop 0.001", 0, "rows would decide (more draws of these rows would not) if the true drop"),
        ((NEW, OLD[:1]), "--max-drop 0.05 --resolution 0.3", 0, " rows would decide if the true drop is the "),
        (
            (NEW, OLD[:1]),
            "--max-drop 0.02 --resolution 0.05",
            2,
            "100 rows could not have shown even a drop of 5 points; about ",
        ),
        (([*NEW, "old-1"], OLD), "--max-drop 0.1", 2, "is both candidate and baseline"),
        ((NEW, ["old-1", "lost-1"]), "--max-drop 0.1", 2, "model argument pretrained owner/old and owner/lost"),
        # Not draws of one model, so each is a candidate.
        ((["new-1", "lost-1"], OLD), "--max-drop 0.1 --resolution 0.3", 1, "regression: 1 of 2 candidates (lost)"),
    ],
)
def test_check_takes_several_draws_of_each_side(
    sides: tuple[Sequence[str], Sequence[str]], words: str, status: int, said: str, capsys: Output
) -> None:
    candidate, baseline = sides
    assert call(f"check {words} --against", *baseline, "--", *candidate) == status
    printed = capsys.readouterr()
    assert said in printed.out + printed.err
