"""The places that a user names, and how messages name them."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from lm_eval_ext.results.places import Repository, in_repository, opened
from lm_eval_ext.sources import RowsError
from tests.forks import Forks
from tests.hub import MAIN, Hub, serve
from tests.reports.files import SST2, write_run
from tests.reports.gate.two_runs import right
from tests.test_hub import environment

# Several commands in one interpreter, each with its exit status: the hub's library takes a second to import.
COMMANDS = """
import json, sys
from lm_eval_ext.cli import main
for words in json.loads(sys.argv[1]):
    print("exit status", main(words), flush=True)
"""


@pytest.fixture
def packed(tmp_path: Path) -> str:
    """Return an archive of a run."""
    write_run(tmp_path / "run", {SST2: right(5)})
    return shutil.make_archive(str(tmp_path / "run"), "gztar", tmp_path, "run")


def test_folders_and_files_are_left_where_they_are(tmp_path: Path) -> None:
    given = [str(tmp_path), f"{tmp_path}/", "not/there", str(tmp_path / "results_1.json")]
    with opened(given) as places:
        assert places.paths == tuple(map(Path, given))
        assert places.names == tuple(given)
        assert places.named(f"{tmp_path}/results_1.json") == f"{tmp_path}/results_1.json"


def test_an_archive_is_extracted_once_and_removed_afterwards(packed: str) -> None:
    with opened([packed, packed]) as places:
        first, second = places.paths
        assert first == second
        assert len(list(first.rglob("results_*.json"))) == 1
        assert places.named(f"{first}/run: bad") == f"{packed}/run: bad"
        assert places.names == (packed, packed)
    assert not first.exists()
    assert Path(packed).is_file()


def test_an_error_names_the_archive_and_not_its_temporary_folder(packed: str) -> None:
    with pytest.raises(ValueError, match=rf"^{packed}/run is odd$"), opened([packed]) as places:
        raise ValueError(f"{places.paths[0]}/run is odd")


def test_a_folder_is_no_archive_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "old.zip").mkdir()
    with opened([str(tmp_path / "old.zip")]) as places:
        assert places.paths == (tmp_path / "old.zip",)


# In a repository on the hub: how they are named, and what is downloaded


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("hf://datasets/our-team/baselines", Repository("our-team/baselines", None, "")),
        ("hf://datasets/our-team/baselines@v1.0", Repository("our-team/baselines", "v1.0", "")),
        ("hf://datasets/a/b@refs%2Fpr%2F1/model/x/", Repository("a/b", "refs/pr/1", "model/x")),
        ("hf://datasets/a/b/model", Repository("a/b", None, "model")),
    ],
)
def test_a_place_is_a_repository_a_revision_and_a_path(place: str, expected: Repository) -> None:
    assert in_repository(place) == expected


@pytest.mark.parametrize("place", ["hf://a/b", "hf://datasets/a", "hf://models/a/b", "hf://datasets/a/b/../c"])
def test_a_place_of_another_form_is_an_error_with_an_example(place: str) -> None:
    with pytest.raises(RowsError, match=rf"{place}: expected hf://datasets/OWNER/NAME\[@REVISION\]\[/PATH\], for exam"):
        in_repository(place)


def repository(folder: Path) -> dict[str, bytes]:
    """Return the files of a repository with two runs, one of them in an archive, and what is no result."""
    files = {"README.md": b"# Baselines\n", "weights.safetensors": b"not to be downloaded"}
    for name, score in (("first", 90), ("second", 20)):
        write_run(folder / name, {SST2: right(score)}, arguments={"pretrained": f"owner/{name}"})
    files |= {f"runs/first/{path.name}": path.read_bytes() for path in (folder / "first").iterdir()}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.add(folder / "second", "second")
    return {**files, "second.tar.gz": packed.getvalue()}


def run(forks: Forks, folder: Path, endpoint: str, words: Sequence[Sequence[str]], **variables: str) -> tuple[str, str]:
    """Run commands of ours in one process; return standard output and standard error."""
    environment_of_hub = environment(folder / "home", endpoint, **variables)
    process = forks.run("-c", COMMANDS, json.dumps(words), folder=folder, environment=environment_of_hub)
    assert process.returncode == 0, process.stderr[-3000:]
    return process.stdout, process.stderr


def downloaded(hub: Hub) -> set[str]:
    return {Path(path).name for path in hub.downloads("")}


def test_results_are_read_from_the_hub_if_asked_for_and_then_from_its_cache(forks: Forks, tmp_path: Path) -> None:
    files = repository(tmp_path)
    first, second = "hf://datasets/our-team/baselines/runs", "hf://datasets/our-team/baselines@main/second.tar.gz"
    check = ["check", second, "--against", first, "--max-drop", "0.02"]
    with serve({"our-team/baselines": {MAIN: files}}) as hub:
        words = [
            check,
            ["compare", second, "--against", str(tmp_path / "first")],
            ["compare", "hf://datasets/our-team/baselines@v9", "--against", first],
            ["compare", "hf://datasets/our-team/baselines/other", "--against", first],
        ]
        output, errors = run(forks, tmp_path, hub.endpoint, words)
    assert [line for line in output.splitlines() if line.startswith("exit")] == [
        f"exit status {status}" for status in (1, 0, 1, 1)
    ]
    assert output.startswith("regression: 1 of 1\n")
    # The verdict says which commit was read, and nothing of where it lies on this machine.
    assert "baseline: first (hf://datasets/our-team/baselines@" in output
    assert "(hf://datasets/our-team/baselines@" in output.split("candidate: second ")[1]
    assert str(tmp_path / "home") not in output
    assert "@v9: could not be downloaded from the Hugging Face Hub: " in errors
    assert "If it is private, set HF_TOKEN. Without the hub, give a folder or an archive" in errors
    assert "/other: no results_*.json there" in errors
    assert downloaded(hub) == {"second.tar.gz", *(path.name for path in (tmp_path / "first").iterdir())}

    page = tmp_path / "page.html"
    other = ["report", "hf://datasets/our-team/other", "-o", str(page)]
    offline, errors = run(forks, tmp_path, hub.endpoint, [check, other], HF_HUB_OFFLINE="1")
    assert offline == output[: output.index("exit status 1") + len("exit status 1\n")] + "exit status 1\n"
    # What is not in the cache is an error that says what to do.
    assert "hf://datasets/our-team/other: could not be downloaded from the Hugging Face Hub: " in errors
    assert not page.exists()
