"""The package as pip installs it: contents of the wheel, the harness without extras, and what an uninstall leaves."""

from __future__ import annotations

import configparser
import email
import importlib.metadata
import inspect
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pip
import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from lm_eval_ext import __version__
from lm_eval_ext.autoload import FILTERS, MODELS
from tests.conftest import ROOT, completed, offline_environment
from tests.forks import forking
from tests.small_harness import HARNESS_TASK, copy_small_harness
from tests.tables import tables
from tests.task_files import parse_task_files_once
from tests.test_autoload import TASK

pytestmark = [pytest.mark.harness, pytest.mark.slow]

TABLES = tables(__file__)
METADATA = f"lm_eval_ext-{__version__}.dist-info"
WHEEL = ("lm_eval_ext", "lm_eval_ext.pth", METADATA)
# An editable install names a folder of the checkout and contains no file of the package.
EDITABLE = ("_lm_eval_ext.pth", "lm_eval_ext.pth", METADATA)
REQUIRED: Sequence[str] = TABLES["required"]
"""What we require; what these require comes with them."""
# What a checkout contains besides the package, which must not become importable by installing us.
NOT_TO_INSTALL = ("tasks", "tests", "benchmarks", "verifiers", "hatch_build")


def variables_of(folder: Path, **variables: str) -> dict[str, str]:
    # Neither modules nor settings of the test's own environment reach the new ones.
    inherited = {name: value for name, value in offline_environment().items() if not name.startswith(("PYTHON", "PIP"))}
    settings = {"HF_HOME": str(folder.parent / "hf"), "PIP_CONFIG_FILE": os.devnull, "LM_EVAL_EXT_AUTOLOAD": "1"}
    return {**inherited, **settings, **variables}


def run(*command: str | Path, folder: Path, **variables: str) -> str:
    return printed(completed(*command, folder=folder, environment=variables_of(folder, **variables)))


def printed(process: subprocess.CompletedProcess[str]) -> str:
    status = process.returncode
    assert status == 0, (process.stdout + process.stderr)[-4000:]
    return process.stdout


@dataclass(frozen=True)
class Environment:
    """A virtual environment with links to some distributions of the test's own.

    Attributes:
        scripts: the folder of its interpreter and console scripts.
        site: its own ``site-packages``; what is linked lies elsewhere.
        empty: an empty folder to run in.
    """

    scripts: Path
    site: Path
    empty: Path

    def run(self, command: str, *arguments: str, **variables: str) -> str:
        return run(self.scripts / command, *arguments, folder=self.empty, **variables)

    def pip(self, *arguments: str | Path) -> None:
        # As `pip --python` does after it has started itself a first time.
        runner = Path(pip.__file__).with_name("__pip-runner__.py")
        run(self.scripts / "python", runner, "--disable-pip-version-check", *arguments, folder=self.empty)

    def install(self, *arguments: str | Path) -> None:
        # Without an index: what is not linked is an error. Without compiling: what is not used need not be, and what is
        # used leaves more behind than pip knows of.
        options = ("--no-index", "--no-cache-dir", "--no-build-isolation", "--no-compile")
        self.pip("install", *options, *arguments)

    def content(self) -> set[str]:
        return {path.name for path in self.site.iterdir()} - {"__pycache__"}

    def files(self) -> dict[Path, bytes]:
        """Return what each file contains, and nothing of a folder."""
        paths = [path for folder in (self.site, self.scripts) for path in folder.rglob("*")]
        return {path: path.read_bytes() if path.is_file() else b"" for path in paths}

    def importable(self, *names: str) -> list[str]:
        script = "import importlib.util, json, sys\n"
        script += "print(json.dumps([name for name in sys.argv[1:] if importlib.util.find_spec(name)]))"
        found: list[str] = json.loads(self.run("python", "-c", script, *names))
        return found

    def listed(self, *command: str) -> set[str]:
        """Return the cells of the harness's list of tasks."""
        return cells(self.run(*(command or ("python", "-m", "lm_eval")), "ls", "tasks"))


def cells(table: str) -> set[str]:
    return {cell.strip() for line in table.splitlines() for cell in line.split("|")}


def new_environment(folder: Path, *requirements: str, harness: Path | None) -> Environment:
    """Make an environment with what the requirements need, and nothing else.

    Args:
        folder: where it will lie.
        requirements: distributions of the test's own environment.
        harness: the folder with the harness's code; ``None`` leaves the harness out, but not what it needs.
    """
    venv.EnvBuilder(symlinks=True, with_pip=False).create(folder / "venv")
    # Under the environment's prefix: elsewhere, dill takes a library for the user's own code.
    linked, empty = folder / "venv/linked", folder / "empty"
    linked.mkdir()
    empty.mkdir()
    for distribution in needed(requirements):
        is_harness = canonicalize_name(distribution.name) == "lm-eval"
        if is_harness and harness is None:
            continue
        for name in {Path(file).parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            source = Path(str(distribution.locate_file(name)))
            source = harness / name if harness and is_harness and name == "lm_eval" else source
            # Two distributions can share a folder.
            if not (linked / name).exists():
                (linked / name).symlink_to(source)
    site = next((folder / "venv").glob("lib/python*/site-packages"))
    # .pth files are read in the order of their names, and that of an editable install imports a linked library.
    (site / "0.pth").write_text(f"{linked}\n", encoding="utf-8")
    return Environment(folder / "venv/bin", site, empty)


def needed(requirements: Iterable[str]) -> list[importlib.metadata.Distribution]:
    """Return the installed distributions that satisfy the requirements, and what these require in turn."""
    waiting = [Requirement(requirement) for requirement in requirements]
    seen: set[tuple[str, str]] = set()
    found: dict[str, importlib.metadata.Distribution] = {}
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in sorted({"", *requirement.extras} - {extra for known, extra in seen if known == name}):
            seen.add((name, extra))
            found[name] = importlib.metadata.distribution(name)
            assert requirement.specifier.contains(found[name].version, prereleases=True), requirement
            for line in found[name].requires or ():
                further = Requirement(line)
                if further.marker is None or further.marker.evaluate({"extra": extra}):
                    waiting.append(further)
    return list(found.values())


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy the repository: builds may leave traces in it."""
    folder = tmp_path_factory.mktemp("repository") / "checkout"
    left_out = shutil.ignore_patterns(".git", ".venv*", "__pycache__", ".*_cache", ".demo", "dist")
    shutil.copytree(ROOT, folder, symlinks=True, ignore=left_out)
    # What Python leaves in a checkout that was used.
    (folder / "tasks/verbalizer/__pycache__").mkdir()
    (folder / "tasks/verbalizer/__pycache__/left.cpython-310.pyc").touch()
    return folder


@pytest.fixture(scope="module")
def built(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source distribution, and the wheel from it: what the one lacks, the other lacks too."""
    folder = tmp_path_factory.mktemp("wheel")
    build("sdist", checkout, folder / "dist")
    (source,) = (folder / "dist").glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(folder / "source", filter="data")
    (unpacked,) = (folder / "source").iterdir()
    return build("wheel", unpacked, folder / "dist")


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    """Return the wheel that was built out of the source distribution."""
    (wheel,) = built.glob("*.whl")
    return wheel


def build(kind: str, checkout: Path, folder: Path) -> Path:
    """Build as a frontend has the backend do it, without the interpreters that a frontend starts first."""
    folder.mkdir(exist_ok=True)
    script = f"import sys, hatchling.build; hatchling.build.build_{kind}(sys.argv[1])"
    run(sys.executable, "-c", script, folder, folder=checkout)
    return folder


@dataclass(frozen=True)
class Life:
    """What was seen of a package from its installation to its removal.

    Attributes:
        environment: where, by now without it.
        added: what the installation added to ``site-packages``.
        importable: which modules could be imported with it.
        script: whether its command was there.
        tasks_path: what the command printed.
        seen: what was seen of its use: ``listed`` is what the harness listed with it.
        left: the files that its removal left, and those that were missing or changed after it.
    """

    environment: Environment
    added: set[str]
    importable: list[str]
    script: bool
    tasks_path: str
    seen: Mapping[str, Any]
    left: set[Path]


# What each command imports and reads, once.
LISTING = f"""
import lm_eval.evaluator, lm_eval.tasks
{inspect.getsource(parse_task_files_once)}
parse_task_files_once()
lm_eval.tasks.TaskManager()
"""


def listed(environment: Environment) -> Mapping[str, Any]:
    return {"listed": environment.listed()}


def used_without_extras(environment: Environment) -> Mapping[str, Any]:
    """Return also which libraries could be imported, and what a run and the doctor printed."""
    variables = variables_of(environment.empty)
    options = ("--model", "reference", "--tasks", TASK, "--limit", "2", "--metadata", '{"source": "embedded"}')
    with forking(variables, environment.scripts / "python", imports=LISTING) as forks:

        def of(*arguments: str) -> str:
            return printed(forks.run("-m", *arguments, folder=environment.empty, environment=variables))

        return {
            "libraries": environment.importable("torch", "transformers", "accelerate", "lm_eval", "datasets"),
            "evaluation": of("lm_eval", *options),
            "doctor": of("lm_eval_ext", "doctor"),
            "listed": cells(of("lm_eval", "ls", "tasks")),
        }


def lived(
    environment: Environment, *arguments: str | Path, use: Callable[[Environment], Mapping[str, Any]] = listed
) -> Life:
    """Install the package, use it and remove it.

    Args:
        environment: where.
        arguments: how pip is told to install it.
        use: what is done with it; returns what was seen.
    """
    files, content = environment.files(), environment.content()
    environment.install(*arguments)
    added = environment.content() - content
    importable = environment.importable("lm_eval_ext", *NOT_TO_INSTALL)
    script = (environment.scripts / "lm-eval-ext").is_file()
    # Used, so that whatever Python writes at run time is there too.
    tasks_path = environment.run("lm-eval-ext", "tasks-path").strip()
    seen = use(environment)
    environment.pip("uninstall", "--yes", "lm-eval-ext")
    after = environment.files()
    left = {path for path in files.keys() | after.keys() if files.get(path) != after.get(path)}
    return Life(environment, added, importable, script, tasks_path, seen, left)


@pytest.fixture(scope="module")
def of_wheel(wheel: Path, small_harness: str, tmp_path_factory: pytest.TempPathFactory) -> Life:
    """Install the wheel with the harness and what the harness requires, without any extra of either, and use it."""
    environment = new_environment(tmp_path_factory.mktemp("installed"), *REQUIRED, harness=Path(small_harness))
    return lived(environment, wheel, use=used_without_extras)


# What is in the wheel


def test_the_wheel_contains_exactly_the_package_the_tasks_the_docs_and_the_pth_file(
    wheel: Path, checkout: Path
) -> None:
    def files(folder: str, installed_as: str) -> set[str]:
        paths = (path for path in (checkout / folder).rglob("*") if path.is_file() and path.suffix != ".pyc")
        return {f"{installed_as}/{path.relative_to(checkout / folder).as_posix()}" for path in paths}

    with zipfile.ZipFile(wheel) as archive:
        content = {name for name in archive.namelist() if not name.startswith(f"{METADATA}/")}
        line = archive.read("lm_eval_ext.pth")
    package = {name for name in files("lm_eval_ext", "lm_eval_ext") if not name.startswith("lm_eval_ext/verifiers")}
    expected = package | files("verifiers", "lm_eval_ext/verifiers") | files("tasks", "lm_eval_ext/tasks")
    assert content == {*expected, *files("docs", "lm_eval_ext/docs"), "lm_eval_ext.pth"}
    # So the expectation itself knows what build tools like to lose.
    assert content >= {*TABLES["easily lost"]}
    assert line == (ROOT / "lm_eval_ext.pth").read_bytes()
    # The line must reach site-packages, which only a pure wheel unpacks to.
    assert wheel.name == f"lm_eval_ext-{__version__}-py3-none-any.whl"


def test_every_link_between_the_pages_of_a_wheel_works(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        content = set(archive.namelist())
        pages = {name: archive.read(name).decode() for name in content if name.endswith(".md")}
    links = {
        (page, link) for page, text in pages.items() for link in re.findall(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)", text)
    }
    assert ("lm_eval_ext/tasks/manyifeval/README.md", "../../docs/verifiers.md") in links
    dead = [(page, link) for page, link in links if os.path.normpath(f"{page}/../{link}") not in content]
    assert dead == []


def test_wheels_from_checkout_and_source_distribution_are_the_same(
    built: Path, wheel: Path, checkout: Path, tmp_path: Path
) -> None:
    (direct,) = build("wheel", checkout, tmp_path).glob("*.whl")
    with zipfile.ZipFile(wheel) as archive, zipfile.ZipFile(direct) as other:
        content = {name: archive.read(name) for name in archive.namelist()}
        assert {name: other.read(name) for name in other.namelist()} == content
    (source,) = built.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        # The first folder is the distribution's own.
        files = {name.partition("/")[2]: archive.extractfile(name) for name in archive.getnames()}
        kept = {name: file.read() for name, file in files.items() if file}
    package = {name: data for name, data in content.items() if not name.startswith(f"{METADATA}/")}
    places = {name: re.sub(r"^lm_eval_ext/(?=docs/|tasks/)", "", name) for name in package}
    assert {name: kept.get(place) for name, place in places.items()} == package


@pytest.mark.parametrize(
    ("build", "link", "target"),
    [
        ("build_wheel", "lm_eval_ext/verifiers", "../verifiers"),
        ("build_editable", "lm_eval_ext/verifiers", "../verifiers"),
        ("build_editable", "editable/lm_eval_ext", "../lm_eval_ext"),
    ],
)
def test_a_checkout_without_symbolic_links_is_an_error_that_names_the_link(
    checkout: Path, tmp_path: Path, build: str, link: str, target: str
) -> None:
    # As git makes it where links are switched off.
    without = tmp_path / "checkout"
    shutil.copytree(checkout, without, symlinks=True, copy_function=os.link)
    (without / link).unlink()
    (without / link).write_text(target, encoding="utf-8")
    script = f"import hatchling.build; hatchling.build.{build}({str(tmp_path)!r})"
    process = completed(sys.executable, "-c", script, folder=without)
    assert process.returncode != 0
    assert f"{link} is not a link to {target}: " in process.stdout + process.stderr


def test_the_wheel_requires_the_harness_and_the_libraries_of_the_verifiers(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = email.message_from_bytes(archive.read(f"{METADATA}/METADATA"))
    requirements = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    always = [str(requirement) for requirement in requirements if requirement.marker is None]
    assert always == REQUIRED


def test_the_entry_points_name_what_the_autoload_registers(wheel: Path) -> None:
    declared = configparser.ConfigParser()
    with zipfile.ZipFile(wheel) as archive:
        declared.read_string(archive.read(f"{METADATA}/entry_points.txt").decode())
    assert dict(declared["lm_eval.models"]) == MODELS
    assert dict(declared["lm_eval.filters"]) == FILTERS


# What works with only the harness


def test_the_harness_lists_and_runs_our_task_without_torch(of_wheel: Life) -> None:
    assert of_wheel.seen["libraries"] == ["lm_eval", "datasets"]
    assert of_wheel.seen["listed"] >= {TASK, "verbalizer", HARNESS_TASK}
    rows = [[cell.strip() for cell in line.split("|")] for line in of_wheel.seen["evaluation"].splitlines()]
    scores = {row[5]: row[7] for row in rows if len(row) > 7}
    assert scores["acc"] == "1"


def test_the_doctor_passes_with_a_wheel(of_wheel: Life) -> None:
    findings = of_wheel.seen["doctor"].splitlines()
    marks = {finding.split()[1]: finding.split()[0] for finding in findings if not finding.startswith(" ")}
    assert {subject for subject, mark in marks.items() if mark == "ok"} == {
        *("harness", "autoload", "tasks", "models", "nltk", "embedded")
    }


# Installed, used and uninstalled


@pytest.fixture(scope="module")
def of_editable(checkout: Path, small_harness: str, tmp_path_factory: pytest.TempPathFactory) -> Life:
    """Install the checkout editable, use it and remove it."""
    folder = tmp_path_factory.mktemp("editable")
    environment = new_environment(folder, *REQUIRED, "hatchling", harness=Path(small_harness))
    return lived(environment, "-e", checkout)


@pytest.mark.parametrize("kind", ["wheel", "editable"])
def test_uninstalling_leaves_nothing_behind_and_a_working_harness(
    kind: str, checkout: Path, request: pytest.FixtureRequest
) -> None:
    life: Life = request.getfixturevalue(f"of_{kind}")
    assert life.added == set(WHEEL if kind == "wheel" else EDITABLE)
    assert life.importable == ["lm_eval_ext"]
    assert life.script
    assert life.seen["listed"] >= {TASK, HARNESS_TASK}
    tasks = checkout / "tasks" if kind == "editable" else life.environment.site / "lm_eval_ext/tasks"
    assert life.tasks_path == str(tasks.resolve())

    assert life.left == set()
    # The environment is what it was, file by file; that it works without us is seen of one.
    if kind == "wheel":
        listed = life.environment.listed()
        assert HARNESS_TASK in listed
        assert TASK not in listed


# Beside a harness that is itself an editable install


@pytest.mark.parametrize("order", ["the harness first", "the harness last"])
def test_an_editable_harness_works_and_finds_our_tasks(wheel: Path, tmp_path: Path, order: str) -> None:
    harness = tmp_path / "lm-evaluation-harness"
    harness.mkdir()
    copy_small_harness(harness)
    # As upstream's: a flat layout, so that setuptools maps the package with its own finder.
    (harness / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        f'[project]\nname = "lm_eval"\nversion = "{importlib.metadata.version("lm_eval")}"\n'
        '[project.scripts]\nlm_eval = "lm_eval.__main__:cli_evaluate"\n'
        '[tool.setuptools.packages.find]\ninclude = ["lm_eval*"]\n',
        encoding="utf-8",
    )
    # The first setuptools that builds a wheel by itself.
    environment = new_environment(tmp_path, *REQUIRED, "setuptools>=70.1", harness=None)
    steps = [("--no-deps", "-e", harness), ("--no-deps", wheel)]
    for step in steps if order == "the harness first" else reversed(steps):
        environment.install(*step)

    script = "import json, lm_eval; print(json.dumps(lm_eval.__file__))"
    assert Path(json.loads(environment.run("python", "-c", script))) == (harness / "lm_eval/__init__.py").resolve()
    # A folder of this name, were it ours, would win over the checkout.
    assert not (environment.site / "lm_eval").exists()
    assert environment.listed("lm_eval") >= {TASK, HARNESS_TASK}

    environment.pip("uninstall", "--yes", "lm-eval-ext")
    listed = environment.listed("lm_eval")
    assert HARNESS_TASK in listed
    assert TASK not in listed
