"""``compare`` and ``check`` as commands: their exit statuses, and their errors for invalid input."""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.commands import add_check_to, add_compare_to, add_plan_to
from lm_eval_ext.sources import RowsError
from tests.reports.conftest import ResultFolder
from tests.reports.files import SST2, samples_of, write_run
from tests.reports.gate.draws import write_draws
from tests.reports.gate.two_runs import SNLI, right
from tests.reports.planted import plant, without_samples


def call(*words: object) -> int:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers()
    add_compare_to(commands.add_parser("compare"))
    add_check_to(commands.add_parser("check"))
    add_plan_to(commands.add_parser("plan"))
    options = parser.parse_args([str(word) for word in words])
    status: int = options.run(options)
    return status


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Return a folder with a baseline, a worse run and one that lacks a task."""
    for name, scores in (
        ("baseline", {SST2: right(50), SNLI: right(50)}),
        ("worse", {SST2: right(30), SNLI: right(50)}),
        ("less", {SST2: right(50)}),
    ):
        write_run(tmp_path / name, scores, arguments={"pretrained": f"owner/{name}"})
    return tmp_path


# compare


def test_compare_prints_what_changed(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("compare", runs / "worse", "--against", runs / "baseline") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [f"baseline: baseline ({runs / 'baseline'})", f"candidate: worse ({runs / 'worse'})", ""]
    assert [line.split()[0] for line in lines[4:6]] == [SST2, SNLI]
    assert " worse " in lines[4]
    assert " the same " in lines[5]


def test_compare_accepts_one_model_at_two_dates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (
        write_run(tmp_path / str(number), {SST2: right(score)}, date=1000.0 * number)
        for number, score in ((1, 50), (2, 80))
    )
    assert call("compare", after, "--against", before) == 0
    assert capsys.readouterr().out.splitlines()[4].split()[3:5] == ["50.0", "80.0"]
    # The newest does not replace the other, whichever is named first.
    assert call("compare", before, "--against", after) == 0
    assert capsys.readouterr().out.splitlines()[4].split()[3:5] == ["80.0", "50.0"]


def test_problems_with_files_go_to_standard_error(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    without_samples(runs / "worse")
    assert call("compare", runs / "worse", "--against", runs / "baseline") == 0
    output = capsys.readouterr()
    assert "lm-eval-ext: the candidate: " in output.err
    assert "no samples of verbalizer_" in output.err
    assert "No confidence interval and no test:" in output.out


def test_nothing_in_common_is_an_error_that_says_why(runs: Path) -> None:
    write_run(runs / "other", {"verbalizer_rte_natural_golden": right(5)})
    with pytest.raises(
        ReportError, match=r"nothing to compare\n.*: missing from the baseline\n.*: missing from the candidate"
    ):
        call("compare", runs / "other", "--against", runs / "baseline")


def test_several_models_on_one_side_are_an_error_that_names_them(runs: Path) -> None:
    with pytest.raises(ReportError, match=r"results of 3 models or settings \(.*baseline.*\); expected one"):
        call("compare", runs, "--against", runs / "baseline")


def test_input_that_is_not_a_result_is_an_error_of_compare(runs: Path) -> None:
    (runs / "results_x.json").write_text("[]", encoding="utf-8")
    with pytest.raises(RowsError, match=r"results_x\.json: no 'results' and 'configs'"):
        call("compare", runs / "baseline", "--against", runs / "results_x.json")


def test_findings_are_written_as_json_and_csv_with_all_digits(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = runs / "found.json", runs / "found.csv"
    sides = runs / "less", "--against", runs / "baseline"
    for words, status in ((["compare"], 0), (["check", "--max-drop", 0.02], 2)):
        assert call(words[0], *sides, *words[1:], "--json", files[0], "--csv", files[1]) == status
        content = json.loads(files[0].read_text(encoding="utf-8"))
        with files[1].open(encoding="utf-8", newline="") as file:
            lines = {line["name"]: line for line in csv.DictReader(file)}
        one = next(each for each in content["findings"] if each["name"] == SST2)
        assert (one["baseline"], one["candidate"], one["change"], one["rows"]) == (0.5, 0.5, 0.0, 100)
        assert float(lines[SST2]["change_high"]) == one["change_high"]
        # What is missing is in both, too.
        assert "missing from the candidate" in lines[SNLI]["issues"]
        assert "missing from the candidate" in str(content)
    assert content["verdict"] == "CANNOT TELL"
    capsys.readouterr()
    assert call("compare", *sides, "--json", "-") == 0
    assert json.loads(capsys.readouterr().out)["findings"][0]["name"] == SST2
    with pytest.raises(ReportError, match="--json and --csv: both to standard output"):
        call("compare", *sides, "--json", "-", "--csv", "-")


def test_a_check_that_failed_leaves_no_findings_of_an_earlier_one(runs: Path) -> None:
    files = runs / "found.json", runs / "found.csv"
    for file in files:
        file.write_text("of an earlier check", encoding="utf-8")
    words = ("--max-drop", 0, "--json", files[0], "--csv", files[1])
    assert call("check", runs / "nowhere", "--against", runs / "baseline", *words) == 2
    for file in files:
        assert "CANNOT TELL" in file.read_text(encoding="utf-8")
        assert "No such file" in file.read_text(encoding="utf-8")


def test_compare_does_not_write_over_what_it_reads(runs: Path) -> None:
    given = next((runs / "worse").glob("results_*"))
    with pytest.raises(ReportError, match="--json"):
        call("compare", given, "--against", runs / "baseline", "--json", given)
    assert given.read_text(encoding="utf-8").startswith("{")


@pytest.mark.parametrize("command", ["compare", "check"])
def test_a_candidate_and_a_baseline_are_both_needed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words, lacking in ((["a", "b"], "--against"), (["--against", "a"], "CANDIDATE")):
        with pytest.raises(SystemExit, match="2"):
            call(command, *words)
        assert f"the following arguments are required: {lacking}" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["zip", "gztar"])
def test_a_side_may_be_an_archive_and_is_named_as_such(
    runs: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    packed = shutil.make_archive(str(runs / "packed"), kind, runs, "worse")
    assert call("compare", packed, "--against", runs / "baseline") == 0
    assert capsys.readouterr().out.splitlines()[1] == f"candidate: worse ({packed})"
    (runs / "worse" / samples_of(next((runs / "worse").glob("results_*"))).name).unlink()
    packed = shutil.make_archive(str(runs / "packed"), kind, runs, "worse")
    xml, markdown = runs / "check.xml", runs / "check.md"
    words = ["--against", runs / "baseline", "--max-drop", 0.02, "--junit", xml, "--markdown", markdown]
    assert call("check", packed, *words) == 2
    said = capsys.readouterr()
    assert f"no samples of {SST2}" in said.err
    for text in (said.out, said.err, xml.read_text(encoding="utf-8"), markdown.read_text(encoding="utf-8")):
        assert "/lm-eval-ext-" not in text, "the temporary folder"


# check


@pytest.mark.parametrize(
    ("candidate", "words", "expected"),
    [
        ("worse", "0.02", (1, "regression: 1 of 2")),
        ("worse", "0.2", (0, "inconclusive: 1 of 2; passes, because nothing is a regression")),
        ("worse", "0.2 --require no-worse", (2, "inconclusive: 1 of 2; does not pass with --require no-worse")),
        ("worse", "0.5 --require no-worse", (0, "not worse: 2 of 2")),
        ("less", "0.02", (2, "cannot tell: 1 of 2")),
    ],
)
def test_the_exit_status_gives_the_verdict(
    runs: Path, capsys: pytest.CaptureFixture[str], candidate: str, words: str, expected: tuple[int, str]
) -> None:
    status = call("check", runs / candidate, "--against", runs / "baseline", "--max-drop", *words.split())
    assert (status, capsys.readouterr().out.splitlines()[0]) == expected


def test_a_model_served_otherwise_is_the_same_different_or_cannot_be_told(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    against = ["--against", runs / "baseline", "--same", "--max-drop"]
    file, xml = runs / "same.json", runs / "same.xml"
    for name, most, status, verdict in (
        ("worse", 0.02, 1, "DIFFERENT"),
        ("worse", 0.5, 0, "SAME"),
        ("less", 0.5, 2, "CANNOT TELL"),
    ):
        assert call("check", runs / name, *against, most, "--json", file, "--junit", xml) == status
        assert capsys.readouterr().out.startswith(f"{verdict.lower()}: ")
        content = json.loads(file.read_text(encoding="utf-8"))
        assert (content["verdict"], content["required"], content["status"]) == (verdict, "same", status)
        one = next(each for each in content["findings"] if each["name"] == SST2)
        assert (one["got_better"], one["got_worse"], one["changed"]) == ((0, 20, 20) if name == "worse" else (0, 0, 0))
        root = ElementTree.parse(xml).getroot()  # noqa: S314 # our own
        # A hundred equal answers are not shown to be the same within two points.
        assert (root.get("failures"), root.get("errors")) == {0: ("0", "0"), 1: ("1", "1"), 2: ("0", "1")}[status]
    with pytest.raises(SystemExit, match="2"):
        call("check", runs / "worse", *against, 0.02, "--require", "no-worse")
    assert "--require: not allowed with argument --same" in capsys.readouterr().err


def test_markdown_goes_to_a_file_or_takes_the_place_of_the_text(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["check", runs / "worse", "--against", runs / "baseline", "--max-drop", 0.02, "--markdown"]
    written = runs / "verdict.md"
    assert call(*words, written) == 1
    assert capsys.readouterr().out.startswith("regression: 1 of 2\n")
    assert call(*words, "-") == 1
    assert capsys.readouterr().out == written.read_text(encoding="utf-8")
    assert written.read_text(encoding="utf-8").startswith("## lm-eval-ext check: regression: 1 of 2\n\n| verdict |")


def test_the_markdown_of_a_check_that_fails_says_why(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = runs / "verdict.md"
    written.write_text("of an earlier check", encoding="utf-8")
    words = ["check", runs / "worse", "--against", runs / "absent", "--max-drop", 0.02, "--markdown"]
    assert call(*words, written) == 2
    assert written.read_text(encoding="utf-8").startswith("## lm-eval-ext check: cannot tell\n\nThe command failed: ")
    capsys.readouterr()
    assert call(*words, "-") == 2
    assert capsys.readouterr().out == written.read_text(encoding="utf-8")


def test_bounds_from_a_file_are_applied(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bounds = runs / "bounds.toml"
    for text, extra, status, first in (
        (f"[tasks]\n{SNLI} = 0.0", [], 0, "inconclusive: 1 of 1; passes, because nothing is a regression"),
        (f"[tasks]\n{SNLI} = 0.0", ["--max-drop", "0.02"], 1, "regression: 1 of 2"),
        (f"max_drop = 0.1\n[tasks]\n{SST2} = 0.5", [], 0, "not worse: 2 of 2"),
    ):
        bounds.write_text(text, encoding="utf-8")
        found = call("check", runs / "worse", "--against", runs / "baseline", "--bounds", bounds, *extra)
        assert (found, capsys.readouterr().out.splitlines()[0]) == (status, first)


def test_a_check_that_fails_replaces_the_xml_by_an_error(runs: Path) -> None:
    xml = runs / "failed.xml"
    xml.write_text("that of an earlier check", encoding="utf-8")
    assert call("check", runs / "nowhere", "--against", runs / "baseline", "--max-drop", 0.02, "--junit", xml) == 2
    (error,) = ElementTree.parse(xml).getroot().iter("error")  # noqa: S314 # our own
    assert "nowhere" in (error.get("message") or "")


def test_a_planted_regression_in_a_real_run_is_in_the_xml(result_folder: ResultFolder, tmp_path: Path) -> None:
    task = "verbalizer_sst2_natural_golden"
    baseline = result_folder("oracle", [task])
    candidate = plant(baseline, tmp_path / "planted", "acc", {task: dict.fromkeys(range(12), 0.0)}, "policy=planted")
    xml = tmp_path / "findings.xml"
    assert call("check", candidate, "--against", baseline, "--max-drop", "0.02", "--junit", xml) == 1
    root = ElementTree.parse(xml).getroot()  # noqa: S314 # our own
    (failure,) = root.iter("failure")
    # Twelve of a hundred: a lower limit of about 0.12 - 1.66 * 0.035.
    assert "acc ↑ 100.00 → 88.00, drop 12.00" in (failure.get("message") or "")
    assert "drop 12.00 [5.97, 17.79], 2 allowed" in (failure.get("message") or "")
    properties = {each.get("name"): each.get("value") for each in root.iter("property")}
    assert properties["candidate"] == f"reference policy=planted, rows: embedded ({candidate})"
    assert properties["baseline: task versions"] == "1.1+embedded"
    assert {"baseline", "lm-eval-ext", "candidate: lm-eval"} <= properties.keys()


def test_the_xml_cannot_go_to_the_stream_of_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        call("check", "x", "--against", "y", "--max-drop", "0", "--junit", "-")
    assert exit_.value.code == 2
    assert "the verdict goes to standard output" in capsys.readouterr().err


def test_xml_that_cannot_be_written_cannot_tell(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full, which is always a full disk")
    assert call("check", runs / "worse", "--against", runs / "baseline", "--max-drop", "0", "--junit", "/dev/full") == 2
    assert "cannot tell: [Errno 28] No space left on device: '/dev/full'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(["{}/nowhere", "--against", "{}/baseline", "--max-drop", "0"], "nowhere", id="no such file"),
        pytest.param(["{}/empty", "--against", "{}/baseline", "--max-drop", "0"], "no results_*.json", id="no results"),
        pytest.param(["{}", "--against", "{}/baseline", "--max-drop", "0"], "expected one", id="several models"),
        pytest.param(["{}/bad.json", "--against", "{}/worse", "--max-drop", "0"], "not JSON", id="not JSON"),
        pytest.param(
            ["{}/worse", "--against", "{}/worse", "--max-drop", "0"], "is both candidate and baseline", id="itself"
        ),
        pytest.param(["{}/worse", "--against", "{}/baseline"], "expected --max-drop", id="no bound"),
        pytest.param(["{}/worse", "--against", "{}/baseline", "--bounds", "{}/b.toml"], "not TOML", id="not TOML"),
        pytest.param(["{}/worse", "--against", "{}/baseline", "--bounds", "{}/c.toml"], "c.toml", id="no bounds file"),
        pytest.param(["{}/worse", "--against", "{}/baseline", "--bounds", "{}/e.toml"], "no bound", id="empty bounds"),
        pytest.param(["{}/worse", "--against", "{}/baseline", "--bounds", "{}/n.toml"], "Did you mean", id="a name"),
        pytest.param(
            ["{}/worse", "--against", "{}/baseline", "--bounds", "{}/d.toml", "--max-drop", "0"],
            "expected only one of them",
            id="two",
        ),
        pytest.param(
            ["{}/worse", "--against", "{}/baseline", "--max-drop", "0", "--junit", "{}/nowhere/x.xml"],
            "its folder does not exist",
            id="no folder",
        ),
        pytest.param(
            ["{}/worse", "--against", "{}/baseline", "--max-drop", "0", "--junit", "{}/empty"], "empty", id="a folder"
        ),
    ],
)
def test_an_error_of_check_cannot_tell(
    runs: Path, capsys: pytest.CaptureFixture[str], words: Sequence[str], complaint: str
) -> None:
    (runs / "empty").mkdir()
    for name, text in (
        ("bad.json", "{"),
        ("b.toml", "?"),
        ("d.toml", "max_drop = 0"),
        ("e.toml", ""),
        ("n.toml", f"[tasks]\n{SST2}s = 0"),
    ):
        (runs / name).write_text(text, encoding="utf-8")
    assert call("check", *(word.format(runs) for word in words)) == 2
    error = capsys.readouterr().err
    assert "lm-eval-ext: cannot tell: " in error
    assert complaint in error


@pytest.mark.parametrize("share", ["2", "-0.01", "nan", "two"])
def test_a_bound_that_is_not_a_share_is_rejected(runs: Path, capsys: pytest.CaptureFixture[str], share: str) -> None:
    with pytest.raises(SystemExit) as found:
        call("check", runs / "worse", "--against", runs / "baseline", f"--max-drop={share}")
    assert found.value.code == 2
    assert "expected a share from 0 to 1" in capsys.readouterr().err


def test_an_internal_error_cannot_tell(
    runs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a defect")

    monkeypatch.setattr("lm_eval_ext.reports.gate.commands.check", broken)
    assert call("check", runs / "worse", "--against", runs / "baseline", "--max-drop", "0.02") == 2
    assert "ZeroDivisionError: a defect" in capsys.readouterr().err


PROGRAM = (
    "import sys, argparse; from lm_eval_ext.reports.gate.commands import *; p = argparse.ArgumentParser(); c = "
    "p.add_subparsers(); add_check_to(c.add_parser('check')); o = p.parse_args(); sys.exit(o.run(o))"
)


@pytest.mark.parametrize(
    ("encoding", "closed"), [("ascii", False), ("utf-8", True)], ids=["a plain terminal", "a reader that has left"]
)
def test_output_options_do_not_change_the_verdict(runs: Path, encoding: str, closed: bool) -> None:
    words = ["check", str(runs / "worse"), "--against", str(runs / "baseline"), "--max-drop", "0.02"]
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as output:
        if closed:
            output.close()
        process = subprocess.run(
            [sys.executable, "-c", PROGRAM, *words],
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


def test_a_file_on_both_sides_is_rejected_even_if_a_newer_one_replaces_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in (1, 2):
        write_run(tmp_path / str(number), {SST2: right(50)}, date=1000.0 * number)
    for side in (tmp_path / "1", tmp_path / "2"):
        assert call("check", side, "--against", tmp_path, "--max-drop", "0.2") == 2
        assert f"{side / 'results_'}" in (error := capsys.readouterr().err)
        assert "is part of both runs; expected two separate runs" in error
    # Two folders next to each other are two runs.
    assert call("check", tmp_path / "2", "--against", tmp_path / "1", "--max-drop", "0.2") == 0


@pytest.mark.parametrize(("side", "status"), [("candidate", 2), ("baseline", 0)])
def test_tasks_from_an_older_run_than_the_rest_of_their_group_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], side: str, status: int
) -> None:
    both, groups = {SST2: right(50), SNLI: right(50)}, {"level": [SST2, SNLI]}
    for name in ("candidate", "baseline"):
        write_run(tmp_path / name, both, group_subtasks=groups)
    words = ["check", tmp_path / "candidate", "--against", tmp_path / "baseline", "--max-drop", "0.2"]
    assert call(*words) == 0
    assert "older run" not in capsys.readouterr().out
    # The newer run has one of the two tasks.
    newer = write_run(tmp_path / side, {SST2: right(50)}, date=2000.0, stamp="2026-01-03T03-04-05.678901")
    assert call(*words) == status
    assert (
        f"the {side}: from an older run than the newest one in the folder ({newer}): {SNLI}" in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("option", "pattern"),
    [
        ("--junit", "less/results_*"),
        ("--markdown", "less/samples_*"),
        ("--junit", "baseline/samples_*"),
        ("--markdown", "bounds.toml"),
    ],
)
def test_no_verdict_is_written_over_what_it_is_computed_from(
    runs: Path, option: str, pattern: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (runs / "bounds.toml").write_text("max_drop = 0.02", encoding="utf-8")
    path = next(runs.glob(pattern))
    content = path.read_bytes()
    # Nor is the error of a check that would fail.
    for further in ([], ["--k", 9]):
        words = ["--against", runs / "baseline", "--bounds", runs / "bounds.toml", *further, option, path]
        assert call("check", runs / "less", *words) == 2
        assert f"cannot tell: {option}: {path} is a file that is read" in capsys.readouterr().err
        assert path.read_bytes() == content


def test_two_verdicts_do_not_share_a_file(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = runs / "verdict"
    words = ["--against", runs / "baseline", "--max-drop", 0.02, "--junit", out, "--markdown", out]
    assert call("check", runs / "worse", *words) == 2
    assert f"--junit and --markdown: both name {out}" in capsys.readouterr().err
    assert not out.exists()


# What the files say about themselves


def test_warnings_about_a_file_are_in_the_list_and_in_the_xml(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    samples = next((runs / "less").glob(f"samples_{SST2}_*"))
    samples.write_text(samples.read_text(encoding="utf-8").replace('"acc": 0.0', '"acc": 1.0'), encoding="utf-8")
    warning = "acc is 1 over its rows but 0.5 in the results"
    assert call("compare", runs / "less", "--against", runs / "baseline") == 0
    assert warning in capsys.readouterr().out
    (runs / "bounds.toml").write_text(f"[tasks]\n{SST2} = 0.2", encoding="utf-8")
    bounded = ["--against", runs / "baseline", "--bounds", runs / "bounds.toml", "--junit", runs / "findings.xml"]
    assert call("check", runs / "less", *bounded) == 2
    assert warning in capsys.readouterr().out
    root = ElementTree.parse(runs / "findings.xml").getroot()  # noqa: S314 # our own
    (error,) = root.iter("error")
    assert warning in (error.get("message") or "")


def test_signs_that_a_run_went_wrong_are_reported_and_change_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("baseline", "candidate"):
        write_run(tmp_path / name, {SST2: right(50)}, arguments={"pretrained": f"owner/{name}-instruct"})
    xml = tmp_path / "findings.xml"
    words = ("check", tmp_path / "candidate", "--against", tmp_path / "baseline", "--max-drop", "0.2", "--junit", xml)
    assert call(*words) == 0
    told = "-instruct: was run without a chat template, but may be a chat model (by its name)"
    error = capsys.readouterr().err.splitlines()
    assert [line.partition(told)[0] for line in error] == [
        "lm-eval-ext: the baseline: baseline",
        "lm-eval-ext: the candidate: candidate",
    ]
    (suite,) = ElementTree.parse(xml).getroot()  # noqa: S314 # our own
    assert (suite.get("failures"), suite.get("errors")) == ("0", "0")
    (output,) = suite.findall("system-out")
    assert (output.text or "").splitlines() == [line.removeprefix("lm-eval-ext: ") for line in error]


def test_the_settings_of_a_model_follow_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "a", {SST2: right(50)})
    asked: dict[str, Any] = {
        "chat_template": "t",
        "chat_template_sha": "0123456789abcdef",
        "config": {"num_fewshot": 4},
    }
    write_run(tmp_path / "b", {SST2: right(50)}, **asked)
    xml = tmp_path / "findings.xml"
    words = ["check", tmp_path / "b", "--against", tmp_path / "a", "--max-drop", "0.2", "--junit", xml]
    assert call(*words) == 2
    setting = "chat template: 01234567, few-shot examples: 4"
    assert f"baseline: one ({tmp_path / 'a'}); candidate: one, {setting} ({tmp_path / 'b'})" in capsys.readouterr().out
    root = ElementTree.parse(xml).getroot()  # noqa: S314 # our own
    properties = {each.get("name"): each.get("value") for each in root.iter("property")}
    assert (properties["baseline: setting"], properties["candidate: setting"]) == ("default", setting)


EVIL = "\x1b[2J\r\n## PASS\n\u202eevil\u2028pass: 1 of 1"


def test_names_cannot_clear_the_screen_or_forge_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = f"verbalizer_{EVIL}"
    for name, count in (("a", 50), ("b", 30)):
        path = write_run(tmp_path / name, {SST2: right(count)}, arguments={"policy": EVIL}, system_instruction_sha=EVIL)
        content = json.loads(path.read_text(encoding="utf-8"))
        for part in ("results", "configs", "n-samples"):
            content[part][task] = content[part][SST2]
        path.write_text(json.dumps(content), encoding="utf-8")
    xml = tmp_path / "findings.xml"
    against = ["--against", tmp_path / "a", "--max-drop", "0.02"]
    assert call("compare", tmp_path / "b", "--against", tmp_path / "a") == 0
    assert call("check", tmp_path / "b", *against, "--junit", xml) == 1
    shutil.copytree(tmp_path / "a", tmp_path / "b" / "more")
    samples_of(next((tmp_path / "b" / "more").glob("results_*"))).unlink()
    write_run(tmp_path / "b" / "other", {SST2: right(3)}, arguments={"policy": f"other {EVIL}"})
    assert call("check", tmp_path / "b", *against) == 2
    with pytest.raises(ReportError) as found:
        call("compare", tmp_path / "b", "--against", tmp_path / "a")
    output = capsys.readouterr()
    said = [*output.out.split("\n"), *output.err.split("\n"), str(found.value), xml.read_text(encoding="utf-8")]
    assert sum("<U+001B>[2J ## PASS <U+202E>evil" in line for line in said) > 5
    assert not any(line.startswith(("##", "pass")) for text in said for line in text.splitlines())
    assert not any(mark in text for text in said for mark in ("\x1b", "\u202e", "\u2028"))


# Several draws per row


@pytest.fixture
def draws(tmp_path: Path) -> dict[str, list[Path]]:
    """Return the folders of three runs of each of three models, which differ in the seed."""
    # Of the rows, some are always right, some in one draw of three; the worse model has none of the former.
    sometimes = [[float(row % 3 == draw) for row in range(60)] for draw in range(3)]
    steady = [[1.0] * 40 + of_draw for of_draw in sometimes]
    worse = [[0.0] * 40 + of_draw for of_draw in sometimes]
    return {
        name: write_draws(tmp_path, {SST2: of_model}, name)
        for name, of_model in (("old", steady), ("new", steady), ("worse", worse))
    }


def test_compare_takes_several_draws_of_each_side(
    draws: dict[str, list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("compare", *draws["worse"], "--against", *draws["old"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"candidate: worse ({', '.join(map(str, draws['worse']))})"
    # 40 rows of 100 are always right; of the others, one draw in three is.
    (compared, _, reliable, varies) = (line.split() for line in lines if line.startswith(SST2))
    assert compared[3:6] == ["60.0", "20.0", "−40.0"]  # noqa: RUF001 # as printed
    assert reliable[1:8] == ["3", "/", "3", "3", "40.0", "0.0", "−40.0"]  # noqa: RUF001 # as printed
    assert reliable[10:12] == ["100.0", "60.0"]
    # Draws 1, 0, 0 in 60 rows of 100: 0.6 * 1/3.
    assert varies[1:3] == ["0.200", "0.200"]


def test_k_chooses_how_many_draws_must_be_right(
    draws: dict[str, list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("compare", *draws["worse"], "--against", *draws["old"], "--k", 1) == 0
    (*_, reliable, _) = (line.split() for line in capsys.readouterr().out.splitlines() if line.startswith(SST2))
    assert reliable[4:7] == ["1", "60.0", "20.0"]


def test_k_needs_several_draws(runs: Path) -> None:
    with pytest.raises(ReportError, match="--k 2: nothing has several draws per row"):
        call("compare", runs / "worse", "--against", runs / "baseline", "--k", 2)


def test_check_takes_several_draws_of_each_side(
    draws: dict[str, list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("check", *draws["worse"], "--max-drop", 0.1, "--against", *draws["old"]) == 1
    assert "reliable@k baseline" in capsys.readouterr().out
    assert call("check", *draws["worse"], "--against", draws["old"][0], "--max-drop", 0.1) == 1


def test_what_is_inconclusive_says_how_many_draws_would_decide(
    draws: dict[str, list[Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("check", *draws["new"], "--max-drop", 0.001, "--against", *draws["old"]) == 0
    said = capsys.readouterr().out
    assert "rows would decide (more draws of these rows would not) if the true drop is the measured one" in said
    words = [*draws["new"], "--against", draws["old"][0], "--max-drop", 0.05, "--resolution"]
    assert call("check", *words, 0.3) == 0
    assert "(a side has a single draw, so it is not known how many draws would)" in capsys.readouterr().out
    assert call("check", *words, 0.1) == 2
    assert "100 rows could not have shown even a drop of 10 points; about " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["new", "--max-drop", "0.1", "--against", "new", "old"], "is both candidate and baseline"),
        (
            ["new", "worse", "--max-drop", "0.1", "--against", "old"],
            "model argument pretrained owner/new and owner/worse",
        ),
    ],
)
def test_sides_that_cannot_be_told_cannot_be_checked(
    draws: dict[str, list[Path]], capsys: pytest.CaptureFixture[str], words: Sequence[str], complaint: str
) -> None:
    places = {name: str(folders[0]) for name, folders in draws.items()}
    assert call("check", *(places.get(word, word) for word in words)) == 2
    assert complaint in capsys.readouterr().err
