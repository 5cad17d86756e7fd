"""The documentation can be followed: its links work, and its commands name what exists."""

from __future__ import annotations

import fnmatch
import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from lm_eval_ext import cli
from lm_eval_ext.harness.versions import TESTED
from lm_eval_ext.reports.gate.formats import failed
from tests.conftest import ROOT

README = ROOT / "README.md"
INDEX = ROOT / "docs/README.md"
PAGES = [
    README,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "tasks").glob("*/README.md")),
    *sorted((ROOT / "lm_eval_ext/classifier/encoder/adapters").glob("*/README.md")),
]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEREDOC = re.compile(r"<<(\w+)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"")
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """Return a page without its fenced blocks and code spans."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text_of(page)))


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the words of each command in a page's fenced blocks: those of a shell, and the steps of a pipeline."""
    for language, block in FENCE.findall(text_of(page)):
        if language == "bash":
            # The contents of a here-document are a file.
            lines = HEREDOC.sub("", block)
        elif language == "yaml":
            lines = "\n".join(re.findall(r"^ *- (?:run: )?(.*)$", block, re.MULTILINE))
        else:
            continue
        for line in lines.replace("\\\n", " ").splitlines():
            # What runs inside a command is a command as well.
            for inner in re.findall(r"\$\(([^)]*)\)", line):
                yield shlex.split(inner)
            for part in shlex.join(shlex.split(line, comments=True)).split(" '|' "):
                words = shlex.split(part)
                redirected = [number for number, word in enumerate(words) if word in (">", ">>", "<", "||")]
                yield words[: min(redirected, default=len(words))]


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives a page's headings."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def option(words: list[str], name: str) -> str | None:
    """Return what follows an option in a command; ``None`` if it has no such option."""
    return words[words.index(name) + 1] if name in words else None


@cache
def task_names() -> frozenset[str]:
    """Return the names of all tasks, groups and tags."""
    names: set[str] = set()
    for path in (ROOT / "tasks").rglob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        names.update(re.findall(r"^(?:task|group): (\w+)$", text, re.MULTILINE))
        for tags in re.findall(r"^tag: \[(.*)\]$", text, re.MULTILINE):
            names.update(tags.split(", "))
    return frozenset(names)


def test_the_readme_is_short() -> None:
    assert len(text_of(README).splitlines()) <= 120


@EVERY_PAGE
def test_every_link_and_picture_in_the_checkout_exists(page: Path) -> None:
    for match in LINK.finditer(prose(page)):
        target = match[1] or match[2]
        if re.match(r"\w+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{target}: no such file"
        assert file.is_relative_to(ROOT), f"{target}: outside the checkout"
        if anchor:
            assert anchor in anchors(file), f"{target}: no such heading; found {', '.join(sorted(anchors(file)))}"


@EVERY_PAGE
def test_every_command_of_ours_parses(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in commands(page):
        if words[:1] == ["lm-eval-ext"]:
            try:
                cli.parser_for(words[1:]).parse_args(words[1:])
            except SystemExit as stop:
                if stop.code:
                    pytest.fail(f"{shlex.join(words)}: {capsys.readouterr().err}")


@EVERY_PAGE
def test_every_task_in_a_command_exists(page: Path) -> None:
    own = set(re.findall(r"^task: (\w+)$", text_of(page), re.MULTILINE))
    for words in commands(page):
        if "lm_eval" not in words:
            continue
        tasks = option(words, "--tasks")
        assert tasks, f"{shlex.join(words)}: no --tasks"
        unknown = [name for name in tasks.split(",") if not fnmatch.filter(task_names() | own, name)]
        assert unknown == [], shlex.join(words)
        metadata = option(words, "--metadata")
        assert metadata is None or isinstance(json.loads(metadata), dict)


@EVERY_PAGE
def test_every_target_of_make_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = re.findall(r"(?:^|`)make ([a-z-]+)", text_of(page), re.MULTILINE)
    assert set(named) - targets == set()


@pytest.mark.parametrize("command", ["report", "compare", "check", "plan"])
def test_the_reference_has_every_option(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        cli.parser_for([command]).parse_args([command, "--help"])
    lines = re.findall(r"^  (-.*)", capsys.readouterr().out, re.MULTILINE)
    options = {option for line in lines for option in re.findall(r"--[\w-]+", line)} - {"--help"}
    assert options
    assert options - {*re.findall(r"--[\w-]+", chapter_of_reference(f"`{command}`"))} == set()


def test_the_reference_has_every_key_of_the_json() -> None:
    content = json.loads(failed("json", "said"))
    (finding,) = content["findings"]
    assert content.keys() | finding.keys() <= {*re.findall(r"`(\w+)`", chapter_of_reference("Files"))}


def chapter_of_reference(title: str) -> str:
    chapters = text_of(ROOT / "docs/reports-reference.md").split("\n## ")
    (found,) = [chapter for chapter in chapters if chapter.startswith(title)]
    return found


def test_the_index_lists_every_page() -> None:
    listed = {(INDEX.parent / match[1]).resolve() for match in LINK.finditer(text_of(INDEX))}
    assert {page for page in PAGES if page.parent in (INDEX.parent, ROOT / "tasks")} - {INDEX} <= listed


def test_the_site_has_every_page_in_its_navigation() -> None:
    listed = {ROOT / name for name in re.findall(r"[\w/-]+\.md", text_of(ROOT / "mkdocs.yml").partition("\nnav:")[2])}
    of_models = {page for page in PAGES if "adapters" in page.parts}
    assert listed == {*PAGES} - of_models - {INDEX}


@pytest.mark.parametrize("page", [README, ROOT / "docs/harness-versions.md"], ids=lambda page: page.name)
def test_every_supported_harness_is_named(page: Path) -> None:
    assert [version for version in TESTED if version not in text_of(page)] == []
