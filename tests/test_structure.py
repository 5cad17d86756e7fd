"""The packages import each other in one direction only."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from lm_eval_ext.families.registry import FAMILIES
from tests.conftest import ROOT

PACKAGE = "lm_eval_ext"

MOST_INNER_IMPORTS = 120


@cache
def modules() -> Mapping[str, Path]:
    """Return the files of the package by module name; verifiers/ is next to it and imported as part of it."""
    found = {}
    for root, prefix in ((ROOT / PACKAGE, ()), (ROOT / "verifiers", (PACKAGE,))):
        for path in root.rglob("*.py"):
            parts = (*prefix, *path.relative_to(ROOT).with_suffix("").parts)
            if parts[:2] != (PACKAGE, "verifiers") or prefix:
                found[".".join(parts).removesuffix(".__init__")] = path
    return found


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> Iterator[str]:
    """Yield what a file imports anywhere, except for annotations of type checkers."""
    tree = parsed(path)
    for_types = {
        id(inside)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inside in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules() else node.module


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """Return what each module imports, from the package and elsewhere."""
    return {name: frozenset(imported(path)) - {name} for name, path in modules().items()}


def is_in(name: str, *packages: str) -> bool:
    """Tell whether a module is one of these, or is in one."""
    return any(name == f"{PACKAGE}.{package}" or name.startswith(f"{PACKAGE}.{package}.") for package in packages)


def imports_between(package: str, to: str) -> list[str]:
    """Return the imports from a package to another, as ``module -> module``."""
    return sorted(
        f"{name} -> {target}"
        for name, targets in imports().items()
        if is_in(name, package)
        for target in targets
        if is_in(target, to)
    )


def test_only_the_harness_package_and_the_autoload_import_lm_eval() -> None:
    importing = {
        name for name, targets in imports().items() if any(each.split(".")[0] == "lm_eval" for each in targets)
    }
    assert {name for name in importing if not is_in(name, "harness", "autoload")} == set()
    assert f"{PACKAGE}.harness.family_task" in importing, "the test sees no imports"


FORBIDDEN: Mapping[str, Sequence[str]] = {
    "classifier": ("harness", "families"),
    # Trainees know the training, but the training knows none of them.
    "training": ("classifier", "families", "harness"),
    "self_refine": ("harness", "families"),
    "families": ("models", "reports", "results", "integrations"),
    "results": ("reports", "harness", "models", "integrations"),
    "reports": ("harness", "models", "integrations"),
    "harness": ("families", "reports", "results", "models", "integrations"),
    "sources": ("harness",),
    "models": ("integrations",),
}
"""What a package does not import."""


@pytest.mark.parametrize(("package", "to"), [(package, to) for package, others in FORBIDDEN.items() for to in others])
def test_imports_go_in_one_direction(package: str, to: str) -> None:
    assert imports_between(package, to) == []


@pytest.mark.parametrize("packages", [("verifiers",), ("integrations", "verifiers", "floors", "trip_wires")])
def test_the_verifiers_import_nothing_else_of_the_package_and_the_integrations_little(packages: list[str]) -> None:
    others = {target for name, targets in imports().items() if is_in(name, packages[0]) for target in targets}
    assert {each for each in others if each in modules() and not is_in(each, *packages)} == set()
    assert f"{PACKAGE}.verifiers.verify" in others, "the test sees no imports"


def test_each_library_is_imported_by_its_integration_alone() -> None:
    of_others = {
        (name, library)
        for name, targets in imports().items()
        for library in {target.split(".")[0] for target in targets}
        & {"trl", "inspect_ai", "lighteval", "nemo_gym", "open_instruct", "verifiers"}
    }
    assert of_others == {
        (f"{PACKAGE}.integrations.inspect_task", "inspect_ai"),
        (f"{PACKAGE}.integrations.lighteval_metrics", "lighteval"),
        (f"{PACKAGE}.integrations.nemo_gym", "nemo_gym"),
        (f"{PACKAGE}.integrations.open_instruct", "open_instruct"),
        (f"{PACKAGE}.integrations.prime_taskset", "verifiers"),
    }


@pytest.mark.parametrize("package", ["reports", "results"])
def test_reports_and_results_import_only_the_schema_of_a_family(package: str) -> None:
    shared = ("families.schema", "families.registry", "families.release_check")
    schemas = tuple(f"families.{name}.schema" for name in FAMILIES)
    others = [one for one in imports_between(package, "families") if not is_in(one.split(" -> ")[1], *shared, *schemas)]
    assert others == []


def test_there_are_no_import_cycles() -> None:
    state: dict[str, str] = {}
    path: list[str] = []

    def visit(name: str) -> None:
        state[name] = "open"
        path.append(name)
        for target in sorted(imports()[name] & modules().keys()):
            assert state.get(target) != "open", " -> ".join([*path[path.index(target) :], target])
            if target not in state:
                visit(target)
        path.pop()
        state[name] = "closed"

    for name in modules():
        if name not in state:
            visit(name)
    assert state.keys() == modules().keys()


def imports_in_functions() -> Iterator[tuple[str, str]]:
    """Yield where an import inside a function is, and its line."""
    for path in modules().values():
        text = path.read_text(encoding="utf-8")
        inside = {
            node.lineno
            for function in ast.walk(parsed(path))
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        lines = text.splitlines()
        yield from ((f"{path.relative_to(ROOT)}:{number}", lines[number - 1]) for number in sorted(inside))


def test_few_imports_are_inside_functions_and_each_says_why() -> None:
    # A command is imported when it is run, so its module may import at its top. What remains is of extras, takes
    # seconds, or would slow down the start of an interpreter.
    found = list(imports_in_functions())
    assert 50 < len(found) <= MOST_INNER_IMPORTS
    assert [where for where, line in found if not re.search(r"# noqa: [A-Z0-9, ]*\bPLC0415 # \w", line)] == []


def test_the_linter_finds_each_file_of_the_verifiers_once() -> None:
    command = (sys.executable, "-m", "ruff", "check", "--show-files", "--no-cache")
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    files = [Path(file).relative_to(ROOT) for file in listed]
    of_ours = [file for file in files if "verifiers" in file.parts and file.parts[0] != "tests"]
    assert sorted(of_ours) == sorted(file.relative_to(ROOT) for file in (ROOT / "verifiers").rglob("*.py"))


def defined(name: str) -> ast.AST:
    """Return the definition of a function, class or method that the package's map names, without ``PACKAGE``."""
    *parts, last = name.split(".")
    within = len(parts)
    while within and ".".join((PACKAGE, *parts[:within])) not in modules():
        within -= 1
    path = modules().get(".".join((PACKAGE, *parts[:within])))
    assert path is not None, f"{name}: no such module"
    node: ast.AST = parsed(path)
    for part in (*parts[within:], last):
        body: list[ast.stmt] = getattr(node, "body", [])
        found = [one for one in body if isinstance(one, ast.FunctionDef | ast.ClassDef) and one.name == part]
        assert found, f"{name}: {path.relative_to(ROOT)} defines no {part!r}"
        node = found[0]
    return node


def test_the_maps_of_calls_are_those_of_the_code() -> None:
    _, rest = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("## Follow a call\n")
    maps = re.split(r"^### ", rest.split("\n## ")[0], flags=re.MULTILINE)[1:]
    assert len(maps) == 13
    for calls in maps:
        items = re.split(r"^- ", calls, flags=re.MULTILINE)[1:]
        assert items
        for chain in items:
            steps = re.findall(r"`([\w.]+)`", chain.split("`:")[0] + "`")
            assert len(steps) > 1, chain
            for caller, called in pairwise(steps):
                names = {getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(defined(caller))}
                defined(called)
                assert called.rpartition(".")[2] in names, f"{caller} does not call {called}"


def test_every_path_that_contributing_names_exists() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"`((?:lm_eval_ext|verifiers|tasks|docs|tests|benchmarks|\.github)/[\w./-]+)`", text))
    assert len(paths) > 30
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_the_code_that_contributing_quotes_is_in_the_files() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    quoted = re.findall(r"^ *```\w+\n *# ([\w/.]+)\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    assert len(quoted) == 5
    for path, block in quoted:
        lines = [line.strip() for line in (ROOT / path).read_text(encoding="utf-8").splitlines()]
        assert "\n".join(map(str.strip, block.splitlines())) in "\n".join(lines), path
