"""The files for GitHub agree with the project: workflows, the citation, the security policy, the issue forms."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from lm_eval_ext import __version__
from lm_eval_ext.harness.versions import TESTED
from tests.conftest import ROOT, completed

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WORKFLOWS = ROOT / ".github/workflows"
FORMS = ROOT / ".github/ISSUE_TEMPLATE"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PINNED = re.compile(r"[\w./-]+@[0-9a-f]{40}")


def read(path: Path) -> dict[str, Any]:
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    # YAML 1.1 reads the key `on` as true.
    return {"on" if key is True else key: value for key, value in content.items()}


def jobs() -> Iterator[tuple[str, Mapping[str, Any]]]:
    for path in sorted(WORKFLOWS.glob("*.yml")):
        for name, job in read(path)["jobs"].items():
            yield f"{path.stem}: {name}", job


def steps() -> Iterator[Mapping[str, Any]]:
    for _, job in jobs():
        yield from job.get("steps", ())


MATRIX = read(WORKFLOWS / "tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
SCHEMAS = [
    ("vendor.github-workflows", sorted(WORKFLOWS.glob("*.yml"))),
    ("vendor.github-actions", [ROOT / "action.yml"]),
    ("vendor.github-issue-forms", sorted(FORMS.glob("[!c]*.yml"))),
    ("vendor.github-issue-config", [FORMS / "config.yml"]),
    ("vendor.citation-file-format", [ROOT / "CITATION.cff"]),
]


def require_form(schema: str, *files: Path) -> None:
    """Fail if files do not have the form that their reader expects."""
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed; make test installs it")
    checked = completed(sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *files, folder=ROOT)
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("schema", "files"), SCHEMAS, ids=[schema for schema, _ in SCHEMAS])
def test_every_file_has_the_form_that_its_reader_expects(schema: str, files: Sequence[Path]) -> None:
    assert files
    require_form(schema, *files)


# Workflows


def test_the_tests_run_with_every_supported_harness_and_python() -> None:
    assert MATRIX["harness"] == list(TESTED)
    classified = [line.rpartition(" :: ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    assert MATRIX["python"] == classified
    supported = SpecifierSet(PROJECT["requires-python"])
    assert [version for version in classified if version not in supported] == []
    assert "3.9" not in supported


def test_only_a_pre_release_may_fail() -> None:
    assert [version for version in TESTED if "dev" in version] == [v for v in TESTED if Version(v).is_prerelease]
    allowed = {name: job["continue-on-error"] for name, job in jobs() if "continue-on-error" in job}
    assert allowed == {"tests: tests": "${{ contains(matrix.harness, 'dev') }}"}
    assert not any("continue-on-error" in step for step in steps())


def test_every_target_of_make_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {name for step in steps() for name in re.findall(r"\bmake ([a-z-]+)", step.get("run", ""))}
    assert named == {"test", "test-slow", "test-harness", "lint", "docs"}
    assert named <= targets


def test_every_action_is_pinned_to_a_commit_with_its_version_beside_it() -> None:
    used = [step["uses"] for step in steps() if "uses" in step]
    assert used
    assert [name for name in used if not PINNED.fullmatch(name)] == []
    texts = [path.read_text(encoding="utf-8") for path in (*WORKFLOWS.glob("*.yml"), ROOT / "action.yml")]
    lines = [line for text in texts for line in re.findall(r"uses: (.*@.*)", text)]
    assert [line for line in lines if not re.fullmatch(rf"{PINNED.pattern} # v\d+\.\d+\.\d+", line)] == []
    # One action has one version everywhere.
    assert len({line.partition("@")[0] for line in lines}) == len(set(lines))


def test_no_script_of_a_workflow_contains_an_expression() -> None:
    assert [step["run"] for step in steps() if "${{" in step.get("run", "")] == []


def test_no_job_may_write_and_only_the_upload_has_an_identity() -> None:
    assert read(WORKFLOWS / "tests.yml")["permissions"] == {"contents": "read"}
    assert read(WORKFLOWS / "release.yml")["permissions"] == {}
    given = {name: job["permissions"] for name, job in jobs() if "permissions" in job}
    assert given == {
        "release: tests": {"contents": "read"},
        "release: build": {"contents": "read"},
        "release: publish": {"id-token": "write"},
    }
    publish = dict(jobs())["release: publish"]
    assert publish["environment"] == "pypi"
    assert [step["uses"].partition("@")[0] for step in publish["steps"]] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]
    # There is no token to give.
    assert "with" not in publish["steps"][1]
    assert not any("secrets." in path.read_text(encoding="utf-8") for path in WORKFLOWS.glob("*.yml"))


def test_nothing_is_released_untested() -> None:
    of_release = read(WORKFLOWS / "release.yml")["jobs"]
    assert of_release["tests"]["uses"] == "./.github/workflows/tests.yml"
    assert "workflow_call" in read(WORKFLOWS / "tests.yml")["on"]
    assert (of_release["build"]["needs"], of_release["publish"]["needs"]) == ("tests", "build")


@pytest.mark.parametrize(("tag", "status"), [(f"v{__version__}", 0), (__version__, 1), ("v9.9", 1)])
def test_a_tag_that_is_not_the_version_stops_the_release(tag: str, status: int) -> None:
    build = read(WORKFLOWS / "release.yml")["jobs"]["build"]
    (script,) = (step["run"] for step in build["steps"] if step.get("name") == "The tag is the version")
    environment = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "TAG": tag}
    words = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
    done = completed(*words, folder=ROOT, environment=environment)
    assert done.returncode == status, done.stdout + done.stderr
    assert (f"expected v{__version__}" in done.stdout) == bool(status)


# For people


def test_the_citation_is_of_this_version_and_names_the_papers_of_the_families() -> None:
    citation = read(ROOT / "CITATION.cff")
    assert citation["version"] == __version__
    assert citation["license"] == PROJECT["license"]
    pages = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "tasks").glob("*/README.md"))]
    for paper in citation["references"]:
        (page,) = (page for page in pages if paper["title"] in page)
        place = paper["url"] if "url" in paper else paper["doi"]
        assert place in page
        names = [author["family-names"] for author in paper["authors"] if "family-names" in author]
        assert [name for name in names if name not in page.replace('{\\"o}', "ö")] == []
    assert len(citation["references"]) == 4


def test_whoever_reports_a_fault_is_asked_for_the_doctor() -> None:
    forms = {path.stem: read(path)["body"] for path in FORMS.glob("[!c]*.yml")}
    assert forms.keys() == {"bug", "score", "idea"}
    for name in ("bug", "score"):
        (asked,) = (field for field in forms[name] if field.get("id") == "doctor")
        assert "lm-eval-ext doctor" in asked["attributes"]["label"]
        assert asked["validations"] == {"required": True}


def test_the_security_policy_says_where_to_report() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "**Report a vulnerability**" in text
    assert "lm-eval-ext doctor" in text
