"""The examples of docs/continuous-integration.md work as written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from lm_eval_ext.cli import main
from tests.conftest import ROOT, completed
from tests.reports.files import SST2, write_run
from tests.reports.gate.two_runs import SNLI, right
from tests.test_documentation import FENCE
from tests.test_github import require_form

PAGE = (ROOT / "docs/continuous-integration.md").read_text(encoding="utf-8")
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


def example(language: str, first: str) -> str:
    """Return the block in a language that has a certain beginning."""
    (block,) = (block for name, block in FENCE.findall(PAGE) if name == language and block.startswith(first))
    return str(block)


def gitlab() -> Mapping[str, Any]:
    content = yaml.safe_load(example("yaml", "release-gate:"))
    assert isinstance(content, dict)
    return content


def shell(folder: Path, lines: Sequence[str], **variables: str) -> subprocess.CompletedProcess[str]:
    """Run lines in a folder, with our command on the path and a pip that installs nothing."""
    tools = folder / "tools"
    tools.mkdir(exist_ok=True)
    (tools / "pip").write_text("#!/bin/sh\n", encoding="utf-8")
    (tools / "pip").chmod(0o755)
    path = os.pathsep.join([str(tools), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, **variables}
    return completed("bash", "-e", "-c", "\n".join(lines), folder=folder, environment=environment)


@pytest.fixture
def releases(tmp_path: Path) -> Path:
    """Return a folder with a baseline, also as an archive, and a candidate."""
    write_run(tmp_path / "baseline", {SST2: right(60)}, arguments={"pretrained": "owner/old"})
    write_run(tmp_path / "new", {SST2: right(60)}, arguments={"pretrained": "owner/new"})
    shutil.make_archive(str(tmp_path / "baseline"), "gztar", tmp_path, "baseline")
    return tmp_path


def test_the_shell_script_tells_the_three_outcomes_apart(releases: Path) -> None:
    script = example("bash", "status=0").splitlines()
    passed = shell(releases, script)
    assert (passed.returncode, passed.stdout.splitlines()[-1]) == (0, "release"), passed.stderr
    write_run(releases / "new", {SST2: right(30)}, arguments={"pretrained": "owner/new"})
    worse = shell(releases, script)
    assert (worse.returncode, worse.stdout.splitlines()[-1]) == (1, "worse than allowed"), worse.stderr
    (releases / "baseline.tar.gz").unlink()
    unknown = shell(releases, script)
    assert (unknown.returncode, unknown.stdout.splitlines()[-1]) == (2, "cannot tell"), unknown.stderr


def exit_statuses() -> dict[str, list[str]]:
    """Return the other cells of the table of exit statuses, by what the check finds."""
    section = PAGE[PAGE.index("| what the check finds |") : PAGE.index("Release at 0")]
    _, _, *lines = ([cell.strip() for cell in line.strip("|").split("|")] for line in section.strip().splitlines())
    return {found: cells for found, *cells in lines}


def candidate(folder: Path, found: str) -> Path:
    """Write a baseline of two tasks and a candidate of which a check finds what a row of the table says."""
    case = found.partition(":")[0].partition(",")[0]
    all_right = {SST2: right(400, of=400), SNLI: right(400, of=400)}
    few = {SST2: right(5, of=5), SNLI: right(5, of=5)}
    baseline, scores = {
        "a regression": (all_right, {SST2: right(300, of=400)}),
        "a task": (all_right, {SNLI: right(400, of=400)}),
        "too few rows": (few, {**few, SST2: right(4, of=5)}),
        "a gain larger than the bound": ({**all_right, SST2: right(300, of=400)}, all_right),
        "inconclusive": (all_right, {**all_right, SST2: right(392, of=400)}),
    }.get(case, (all_right, all_right))
    changed: dict[str, Any] = {"config": {"num_fewshot": 4}} if case == "something was asked otherwise" else {}
    write_run(folder / "baseline", baseline, arguments={"pretrained": "owner/old"})
    results = write_run(folder / "new", scores, arguments={"pretrained": "owner/new"}, **changed)
    if case == "the command itself failed":
        results.write_text("{", encoding="utf-8")
    return folder / "new"


def elements(xml: Path) -> set[str]:
    """Return what is in the test cases of a JUnit report: nothing in those that have passed."""
    suite = ElementTree.parse(xml).getroot()  # noqa: S314 # our own
    return {child.tag for case in suite.iter("testcase") for child in case} - {"system-out"}


@pytest.mark.parametrize("found", exit_statuses())
def test_every_exit_status_is_as_in_the_table(tmp_path: Path, found: str) -> None:
    new, xml = candidate(tmp_path, found), tmp_path / "check.xml"
    words = ["check", str(new), "--against", str(tmp_path / "baseline"), "--max-drop", "0.02", "--junit", str(xml)]
    *statuses, junit = exit_statuses()[found]
    expected = [{word.strip(" `")} - {"passed"} for word in junit.split(", or ")]
    for required, status in zip(("--require=no-regression", "--require=no-worse", "--same"), statuses, strict=True):
        assert main([*words, required]) == int(status), required
        inside = {"1": {"failure"}, "2": {"error"}}.get(status, expected[0])
        assert inside in expected
        # Of the worst; a task that is missing besides a regression is an error, too.
        assert inside <= elements(xml) <= inside | {"error"} if inside == {"failure"} else elements(xml) == inside


def test_the_gitlab_job_writes_the_report_that_it_names(releases: Path) -> None:
    job = gitlab()["release-gate"]
    done = shell(releases, job["script"])
    assert done.returncode == 0, done.stderr
    suite = ElementTree.parse(releases / job["artifacts"]["reports"]["junit"]).getroot()  # noqa: S314 # our own
    assert [case.get("name") for case in suite.iter("testcase")] == [SST2]
    assert all((releases / name).is_file() for name in job["artifacts"]["paths"])


def test_the_summary_of_a_github_job_is_the_markdown(releases: Path) -> None:
    summary = releases / "summary.md"
    line = example("bash", "lm-eval-ext check new --against baseline --max-drop 0.02 --markdown -")
    done = shell(releases, [line], GITHUB_STEP_SUMMARY=str(summary))
    assert done.returncode == 0, done.stderr
    assert summary.read_text(encoding="utf-8").startswith("**Ship:** no regression is shown")


def test_the_github_example_uses_inputs_that_the_action_has() -> None:
    steps = yaml.safe_load(example("yaml", "name: release gate"))["jobs"]["gate"]["steps"]
    (ours,) = (step for step in steps if "lm-eval-ext@" in step["uses"])
    assert set(ours["with"]) <= set(ACTION["inputs"])
    required = {name for name, given in ACTION["inputs"].items() if given.get("required")}
    assert required <= set(ours["with"])


def test_the_tables_list_every_input_and_output_of_the_action() -> None:
    section = PAGE[PAGE.index("| input |") : PAGE.index("For a private repository")]
    listed = {
        name for cell in re.findall(r"^\| (`[^|]*) \|", section, re.MULTILINE) for name in cell.strip("`").split("`, `")
    }
    assert listed == {*ACTION["inputs"], *ACTION["outputs"]}
    for name, given in ACTION["inputs"].items():
        if given.get("default") and given["default"] not in ("", None):
            assert re.search(rf"`{name}` \| `{re.escape(given['default'])}` \|", section), name


@pytest.mark.parametrize(
    ("schema", "first"), [("vendor.gitlab-ci", "release-gate:"), ("vendor.github-workflows", "name: release gate")]
)
def test_the_examples_have_the_form_that_their_systems_expect(tmp_path: Path, schema: str, first: str) -> None:
    file = tmp_path / "example.yml"
    file.write_text(example("yaml", first), encoding="utf-8")
    require_form(schema, file)
