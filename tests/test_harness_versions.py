"""Everything that states the supported versions of the harness agrees."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

from lm_eval_ext.harness.versions import OLDEST, TESTED
from tests.conftest import ROOT
from tests.test_github import PROJECT

TESTS = ROOT / "tests"
# What stays with the default version, and why.
OF_ONE_VERSION = {
    "cli/test_cli.py": "our own command, next to a harness",
    "test_server.py": "a real server is what it needs most; test_chat_apis.py has the harness's side",
    "verifiers/test_checker.py": "IFEval's names",
    "verifiers/ifeval/test_language.py": "IFEval's languages",
    "verifiers/test_wording.py": "IFEval's wordings",
    "verifiers/test_parity.py": "IFEval's verdicts",
}
TOUCHES = re.compile(
    r"^ *(from|import) lm_eval\b|\b(small_harness|across_versions)\b|: (Harness|EvaluateEach)\b",
    re.MULTILINE,
)


def pinned() -> str:
    """Return the version that `make test` installs."""
    (version,) = re.findall(r"^lm-eval==(.+)$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    return str(version)


def test_the_tested_versions_are_listed_oldest_first() -> None:
    assert sorted(TESTED, key=Version) == list(TESTED)
    assert TESTED[0] == OLDEST


def test_the_requirement_covers_the_tested_versions_and_none_before() -> None:
    (harness,) = [line for line in PROJECT["dependencies"] if Requirement(line).name == "lm-eval"]
    allowed = Requirement(harness).specifier
    assert [version for version in TESTED if not allowed.contains(version, prereleases=True)] == []
    assert {each.operator: each.version for each in allowed}[">="] == OLDEST
    # An installation that names no version gets the newest release, and no pre-release.
    assert list(allowed.filter([*TESTED, "0.6.0"])) == [v for v in TESTED if not Version(v).is_prerelease]


def test_the_tests_run_with_each_tested_version() -> None:
    # The Makefile takes them from versions.py, without Python and without a harness.
    printing = ["make", "--no-print-directory", "--eval", "others: ; @echo $(HARNESSES)", "others"]
    others = subprocess.run(printing, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout
    assert sorted([pinned(), *others.split()], key=Version) == list(TESTED)
    assert "make test-harnesses" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_tests_that_use_the_harness_are_marked() -> None:
    texts = {file.relative_to(TESTS).as_posix(): file.read_text(encoding="utf-8") for file in TESTS.rglob("test_*.py")}
    touching = {name for name, text in texts.items() if TOUCHES.search(text)} - {Path(__file__).name}
    marked = {name for name, text in texts.items() if "mark.harness" in text} - {Path(__file__).name}
    assert touching - marked == set(OF_ONE_VERSION)
