"""The GitHub action: its steps, run as GitHub runs them, on files of results."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import ROOT
from tests.reports.conftest import ResultFolder

pytestmark = pytest.mark.harness

ACTION: Mapping[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[Mapping[str, Any]] = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{ (.*?) \}\}")


@dataclass(frozen=True)
class Finished:
    """What the steps of the action left behind.

    Attributes:
        status: of the first step that failed; 0 if none did.
        output: of all steps.
        summary: the summary of the job.
        uploaded: the inputs of the step that uploads; ``None`` if it was skipped.
        outputs: of the action.
    """

    status: int
    output: str
    summary: str
    uploaded: Mapping[str, str] | None
    outputs: Mapping[str, str]


def value(expression: str, known: Mapping[str, str]) -> str:
    """Return the value of an expression: a context's entry, or the first of several that is not empty."""
    for part in expression.split(" || "):
        found = part.strip("'") if part.startswith("'") else known.get(part, "")
        if found:
            return found
    return ""


def filled(text: str, known: Mapping[str, str]) -> str:
    return EXPRESSION.sub(lambda found: value(found[1], known), text)


def holds(condition: str | None, known: Mapping[str, str]) -> bool:
    if condition is None:
        return True
    name, operator, expected = condition.split(" ")
    return (known.get(name, "") == expected.strip("'")) == {"==": True, "!=": False}[operator]


def run_action(folder: Path, **given: str) -> Finished:
    """Run the steps with the environment that GitHub gives, in an empty working directory.

    Args:
        folder: an empty folder.
        given: the inputs, with underscores for hyphens.
    """
    inputs = {name: str(each.get("default", "")) for name, each in ACTION["inputs"].items()}
    inputs |= {name.replace("_", "-"): text for name, text in given.items()}
    known = {f"inputs.{name}": text for name, text in inputs.items()}
    summary = folder / "summary.md"
    summary.touch()
    (folder / "temp").mkdir()
    (folder / "work").mkdir()
    uploaded, status, output = None, 0, ""
    for number, step in enumerate(STEPS):
        if not holds(step.get("if"), known):
            continue
        if "uses" in step:
            uploaded = {name: filled(text, known) for name, text in step["with"].items()}
            continue
        script, outputs = folder / f"step{number}.sh", folder / f"outputs{number}"
        script.write_text(step["run"], encoding="utf-8")
        outputs.touch()
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_STEP_SUMMARY": str(summary),
            "RUNNER_TEMP": str(folder / "temp"),
            **{name: filled(str(text), known) for name, text in step["env"].items()},
        }
        process = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=folder / "work",
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        output += process.stdout + process.stderr
        if "id" in step:
            named = (line.split("=", 1) for line in outputs.read_text(encoding="utf-8").splitlines())
            known |= {f"steps.{step['id']}.outputs.{name}": text for name, text in named}
        if process.returncode:
            status = process.returncode
            break
    of_action = {name: filled(each["value"], known) for name, each in ACTION["outputs"].items()}
    return Finished(status, output, summary.read_text(encoding="utf-8"), uploaded, of_action)


@pytest.fixture(scope="module")
def runs(result_folder: ResultFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the harness wrote of a baseline, of the same model again and of a worse one."""
    folder = tmp_path_factory.mktemp("runs")
    for name, policy in (("baseline", "oracle"), ("again", "oracle"), ("worse", "random")):
        shutil.copytree(result_folder(policy, ["verbalizer_sst2"]), folder / name)
    return folder


@pytest.mark.slow
def test_a_release_that_is_not_worse_passes_with_a_summary_and_a_report(runs: Path, tmp_path: Path) -> None:
    finished = run_action(
        tmp_path,
        candidate=str(runs / "again"),
        baseline=str(runs / "baseline"),
        max_drop="0.2",
        resolution="0.2",
        require="no-worse",
        install="false",
    )
    assert finished.status == 0, finished.output
    assert finished.summary.startswith(
        "**Ship:** verbalizer\\_sst2 (100.0 → 100.0) is not worse by more than 20 points.\n"
    )
    assert finished.outputs["status"] == "0"
    assert finished.uploaded is not None
    assert finished.uploaded["name"] == "lm-eval-ext-check"
    assert finished.uploaded["path"] == finished.outputs["folder"]
    written = {path.name: path.read_text(encoding="utf-8") for path in Path(finished.outputs["folder"]).iterdir()}
    assert written.keys() == {"check.md", "check.xml", "report.html"}
    assert "policy=oracle" in written["report.html"]
    assert "::warning::" not in finished.output


def test_a_release_that_regresses_fails_the_job_after_the_upload(runs: Path, tmp_path: Path) -> None:
    bounds = tmp_path / "bounds.toml"
    bounds.write_text("[tasks]\nverbalizer_sst2 = 0.02\n", encoding="utf-8")
    finished = run_action(
        tmp_path,
        candidate=str(runs / "worse"),
        baseline=str(runs / "baseline"),
        bounds=str(bounds),
        install="false",
        report="false",
    )
    assert (finished.status, finished.outputs["status"]) == (1, "1")
    assert finished.summary.startswith("**Do not ship:** regression in verbalizer\\_sst2 (100.0 → ")
    assert finished.uploaded is not None
    # What results say stands between these two lines, so that none of it is a command to the runner.
    (pause,) = re.findall(r"^::stop-commands::(\S+)$", finished.output, re.MULTILINE)
    assert finished.output.index("regression: 1 of 1") < finished.output.index(f"::{pause}::")


def test_inputs_are_text_and_never_commands(runs: Path, tmp_path: Path) -> None:
    hostile = "$(touch pwned); `touch pwned` \"'; touch pwned #"
    finished = run_action(
        tmp_path,
        candidate=f"--help {hostile}",
        baseline=hostile,
        max_drop="0.2",
        artifact="",
        install="false",
        report="false",
    )
    assert (finished.status, finished.outputs["status"]) == (2, "2")
    assert finished.summary.startswith("**Cannot be told:** lm-eval-ext check failed: ")
    assert "touch pwned" in finished.summary
    assert finished.uploaded is None
    assert list((tmp_path / "work").iterdir()) == []


def test_no_step_has_an_expression_in_its_script() -> None:
    assert [step["name"] for step in STEPS if EXPRESSION.search(step.get("run", ""))] == []
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", step["uses"]) for step in STEPS if "uses" in step)


def test_every_input_is_used_and_every_use_is_an_input() -> None:
    text = yaml.safe_dump(ACTION["runs"])
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])


@pytest.mark.slow
def test_the_installation_is_an_environment_of_its_own(tmp_path: Path) -> None:
    # A wheel with nothing but a command, so that nothing has to be downloaded.
    wheel = tmp_path / "lm_eval_ext-0-py3-none-any.whl"
    information = "lm_eval_ext-0.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("stub.py", "import sys\n\ndef main():\n    print('stub', *sys.argv[1:])\n    return 2\n")
        metadata = "Metadata-Version: 2.1\nName: lm-eval-ext\nVersion: 0\nProvides-Extra: report\n"
        file.writestr(f"{information}/METADATA", metadata)
        file.writestr(f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{information}/entry_points.txt", "[console_scripts]\nlm-eval-ext = stub:main\n")
        file.writestr(f"{information}/RECORD", "")
    finished = run_action(tmp_path, candidate="a b", baseline="c", max_drop="0.1", package=str(wheel), artifact="")
    assert re.search(r"^stub check a b --against=c --require=no-regression .* --max-drop=0.1$", finished.output, re.M)
    assert re.search(r"^stub report c a b --output=.*report\.html$", finished.output, re.M)
    assert "::warning::The report could not be written" in finished.output
    # It wrote no verdict.
    assert (finished.status, finished.summary) == (2, "**Cannot be told:** lm-eval-ext check wrote no verdict\n")
