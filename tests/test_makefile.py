"""``make`` does all the set-up, NLTK's data included."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

CARRIED = "llama_index/core/_static/nltk_cache"
# What the recipe runs of an environment: its downloads (-c) and its pip, which puts the package into the last folder.
INTERPRETER = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/../log"
test "$1" = -c && exit {download}
while test "$1" != --target; do shift; done
umask 0
mkdir -p "$2/{carried}/tokenizers" && exit {package}
"""


def make(*arguments: str) -> str:
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True).stdout


def environment(folder: Path, *, download: int, package: int) -> Path:
    """Make an environment whose interpreter ends with the given status for a download, and for its pip."""
    interpreter = folder / "environment/bin/python"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text(INTERPRETER.format(download=download, package=package, carried=CARRIED), encoding="utf-8")
    interpreter.chmod(0o755)
    return interpreter.parents[1]


def test_nltks_data_are_downloaded_into_the_environment(tmp_path: Path) -> None:
    folder = environment(tmp_path, download=0, package=0)
    assert make(f"{folder}/nltk_data") == ""
    assert f"nltk.download(data, Path('{folder}/nltk_data'))" in (folder / "log").read_text(encoding="utf-8")
    assert "pip" not in (folder / "log").read_text(encoding="utf-8")


def test_where_nltks_server_is_out_of_reach_its_data_come_from_a_package(tmp_path: Path) -> None:
    folder = environment(tmp_path, download=1, package=0)
    assert make(f"{folder}/nltk_data").startswith("NLTK's server is out of reach: its data come from a package")
    assert (folder / "nltk_data/tokenizers").is_dir()
    # NLTK reads nothing that another account could have written, whatever the umask.
    assert [path for path in (folder / "nltk_data").rglob("*") if path.stat().st_mode & 0o022] == []
    assert not (folder / "carrier").exists()  # not importable, and gone
    installed = (folder / "log").read_text(encoding="utf-8").splitlines()[-1]
    assert installed.split()[-1] in (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert "--no-deps --constraint constraints.txt" in installed


def test_where_no_package_has_them_either_the_set_up_says_so_and_goes_on(tmp_path: Path) -> None:
    folder = environment(tmp_path, download=1, package=1)
    assert make(f"{folder}/nltk_data").endswith("what needs them says so, and tests that do are skipped.\n")
    assert not (folder / "nltk_data").exists()


@pytest.mark.parametrize("target", ["test", "bench", "demo-model", "test-harness"])
def test_every_environment_in_which_sentences_are_counted_gets_nltks_data_by_one_recipe(target: str) -> None:
    printed = make("--dry-run", "--always-make", target)
    (installed,) = set(re.findall(r"^touch (\S+)/\.installed$", printed, re.MULTILINE))
    assert printed.count(f"Path('{installed}/nltk_data')") == 1
    assert "nltk.downloader" not in printed


def test_the_installation_of_a_user_in_ci_gets_them_by_the_same_recipe() -> None:
    steps = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert 'make --no-print-directory "$fresh/venv/nltk_data"' in steps
    assert "nltk" not in (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8").casefold()


def test_ci_runs_the_tests_in_a_clone_with_nothing_beside_it_and_an_empty_home_folder() -> None:
    steps = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert 'git clone --quiet . "$fresh/elsewhere/clone"' in steps
    assert re.search(r'cd "\$fresh/elsewhere/clone" && env -u NLTK_DATA HOME="\$fresh/home" .*make test\)', steps)
