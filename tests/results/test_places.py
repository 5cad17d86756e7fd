"""Results in archives and in repositories on the hub."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import huggingface_hub
import pytest

from lm_eval_ext.results import places
from lm_eval_ext.results.places import extract, opened
from lm_eval_ext.sources import RowsError
from tests.forks import Forks
from tests.hub import MAIN, serve
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
        assert places.called(tmp_path / "results_1.json") == f"{tmp_path}/results_1.json"


def test_an_archive_is_extracted_once_and_removed_afterwards(packed: str) -> None:
    with opened([packed, packed]) as places:
        first, second = places.paths
        assert first == second
        assert len(list(first.rglob("results_*.json"))) == 1
        assert places.called(first / "run") == f"{packed}/run"
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
    ("place", "asked", "samples"),
    [
        ("our-team/baselines", ("our-team/baselines", None, ""), "samples_*.jsonl"),
        ("our-team/baselines@v1.0", ("our-team/baselines", "v1.0", ""), "samples_*.jsonl"),
        ("a/b@refs%2Fpr%2F1/model/x/", ("a/b", "refs/pr/1", "model/x"), "model/x/samples_*.jsonl"),
        ("a/b/model", ("a/b", None, "model"), "model/samples_*.jsonl"),
        # Those of a file are beside it.
        ("a/b/model/results_1.json", ("a/b", None, "model/results_1.json"), "model/samples_*.jsonl"),
    ],
)
def test_a_place_is_a_repository_a_revision_and_a_path(
    place: str, asked: tuple[str, str | None, str], samples: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, _, path = asked
    local = tmp_path / "abc123" / path
    local.mkdir(parents=True)

    def downloaded(name: str, *, repo_type: str, revision: str | None, allow_patterns: list[str]) -> str:
        assert (repo_type, name, revision) == ("dataset", *asked[:2])
        assert samples in allow_patterns
        return str(tmp_path / "abc123")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", downloaded)
    # The name has the commit that was downloaded.
    with opened([f"hf://datasets/{place}"]) as places:
        assert (places.paths, places.names) == ((local,), (f"hf://datasets/{name}@abc123/{path}".rstrip("/"),))


@pytest.mark.parametrize("place", ["hf://a/b", "hf://datasets/a", "hf://models/a/b", "hf://datasets/a/b/../c"])
def test_a_place_of_another_form_is_an_error_with_an_example(place: str) -> None:
    expected = rf"{place}: expected hf://datasets/OWNER/NAME\[@REVISION\]\[/PATH\], for exam"
    with pytest.raises(RowsError, match=expected), opened([place]):
        pass


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
    downloaded = {Path(path).name for path in hub.downloads("")}
    assert downloaded == {"second.tar.gz", *(path.name for path in (tmp_path / "first").iterdir())}

    page = tmp_path / "page.html"
    other = ["report", "hf://datasets/our-team/other", "-o", str(page)]
    offline, errors = run(forks, tmp_path, hub.endpoint, [check, other], HF_HUB_OFFLINE="1")
    assert offline == output[: output.index("exit status 1") + len("exit status 1\n")] + "exit status 1\n"
    # What is not in the cache is an error that says what to do.
    assert "hf://datasets/our-team/other: could not be downloaded from the Hugging Face Hub: " in errors
    assert not page.exists()


NAME = "results_2026-01-02T03-04-05.678901.json"
SAMPLES = "samples_group::task_2026-01-02T03-04-05.678901.jsonl"


def tar(path: Path, contents: Mapping[str, bytes], *entries: tarfile.TarInfo) -> Path:
    """Write an archive of special entries and, after them, of files."""
    with tarfile.open(path, "w:gz") as file:
        for entry in entries:
            file.addfile(entry)
        for name, content in contents.items():
            file.addfile(member(name, len(content)), io.BytesIO(content))
    return path


def member(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size = size
    return info


def zipped(path: Path, contents: Mapping[str, bytes], *links: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in contents.items():
            file.writestr(name, content)
        for link in links:
            info = zipfile.ZipInfo(link)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            file.writestr(info, "/etc/passwd")
    return path


def link(name: str, to: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, to
    return info


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def each_kind(folder: Path, contents: Mapping[str, bytes]) -> Iterator[Path]:
    yield tar(folder / "a.tar.gz", contents)
    yield tar(folder / "b.tgz", contents)
    yield zipped(folder / "c.ZIP", contents)


def test_results_and_samples_are_extracted_and_nothing_else(tmp_path: Path) -> None:
    wanted = {f"run/model/{NAME}": b"{}", f"run/model/{SAMPLES}": b"[]" * 10**6}
    others = {"run/weights.safetensors": b"x", f"run/old_{NAME}": b"x", "run/.netrc": b"x"}
    for number, path in enumerate(each_kind(tmp_path, {**others, **wanted})):
        extract(path, tmp_path / str(number))
        assert files(tmp_path / str(number)) == wanted


@pytest.mark.parametrize("name", [f"../{NAME}", f"/tmp/{NAME}", f"a/../../{NAME}", "results_\\..\\x.json"])  # noqa: S108 # refused
def test_a_member_that_leads_outside_is_refused(tmp_path: Path, name: str) -> None:
    for number, path in enumerate(each_kind(tmp_path, {name: b"{}"})):
        with pytest.raises(RowsError, match=r"leads outside of it; expected an archive of what `lm_eval"):
            extract(path, tmp_path / "in" / str(number))
    assert list(tmp_path.rglob("*.json")) == []


def test_links_and_devices_are_refused(tmp_path: Path) -> None:
    archives = [
        tar(tmp_path / "a.tar.gz", {}, link(NAME, "/etc/passwd")),
        tar(tmp_path / "b.tar.gz", {"x.json": b"{}"}, link(NAME, "x.json", tarfile.LNKTYPE)),
        tar(tmp_path / "c.tar.gz", {}, link(NAME, "", tarfile.FIFOTYPE)),
        zipped(tmp_path / "d.zip", {}, NAME),
    ]
    for number, path in enumerate(archives):
        with pytest.raises(RowsError, match=rf"'{NAME}' is not a regular file"):
            extract(path, tmp_path / str(number))


def test_nothing_is_written_through_a_link_to_a_folder(tmp_path: Path) -> None:
    # The link itself has no results' name, so it is left out, and the file lies in a real folder.
    (tmp_path / "outside").mkdir()
    made = tar(tmp_path / "a.tar.gz", {f"run/{NAME}": b"{}"}, link("run", str(tmp_path / "outside")))
    extract(made, tmp_path / "in")
    assert files(tmp_path / "in") == {f"run/{NAME}": b"{}"}
    assert list((tmp_path / "outside").iterdir()) == []


def test_an_archive_that_is_too_large_is_refused_before_it_fills_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "MOST_BYTES", 2**20)
    for number, path in enumerate(each_kind(tmp_path, {NAME: b"{}", SAMPLES: bytes(2**22)})):
        with pytest.raises(RowsError, match=r"more than 0\.000976562 GiB of results and samples"):
            extract(path, tmp_path / str(number))
        # What is read at once is at most a block.
        assert sum(map(len, files(tmp_path / str(number)).values())) <= 2**20 + places.BLOCK


def test_a_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tar.gz", {NAME: b""}, member(NAME, 0))
    with pytest.raises(RowsError, match=f"'{NAME}' is there twice"):
        extract(path, tmp_path / "in")


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_a_damaged_archive_and_one_without_results_are_errors_that_name_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    make = zipped if name.endswith("zip") else tar
    whole = make(path, {NAME: os.urandom(3000)}).read_bytes()
    for number, content in enumerate((b"", b"{}", whole[:1500])):
        path.write_bytes(content)
        with pytest.raises(RowsError, match=rf"{name}: not a readable archive \(.*\); expected \.zip or \.tar\.gz"):
            extract(path, tmp_path / str(number))
    make(path, {"notes.txt": b""})
    with pytest.raises(RowsError, match=rf"{name}: no results_\*\.json in this archive"):
        extract(path, tmp_path / "none")


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_with_a_damaged_byte_is_an_error_that_names_the_archive(tmp_path: Path, method: int) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr(NAME, os.urandom(3000))
    whole = path.read_bytes()
    # The header of the compressed data, and the data: each format has its own exception.
    for number, place in enumerate((30 + len(NAME) + 9, 1500)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with pytest.raises(RowsError, match=r"a\.zip: not a readable archive \(.+\); expected"):
            extract(path, tmp_path / str(number))


def test_a_zip_that_is_encrypted_or_whose_directory_lies_outside_is_an_error_that_names_it(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {NAME: b"{}"})
    whole = path.read_bytes()
    directory, end = whole.index(b"PK\x01\x02"), whole.index(b"PK\x05\x06")
    # The flag of encryption, in the central directory and in the local header; and the place of the directory in the
    # last record, which makes that of the first member negative.
    for number, (changed, said) in enumerate(
        (({6: 1, directory + 8: 1}, ".*encrypted.*"), ({end + 19: 0xFF}, ".+")),
    ):
        path.write_bytes(bytes(byte | changed.get(place, 0) for place, byte in enumerate(whole)))
        with pytest.raises(RowsError, match=rf"a\.zip: not a readable archive \({said}\); expected"):
            extract(path, tmp_path / str(number))


@pytest.mark.parametrize("size", [2**62, 2**70])
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_header_that_claims_more_than_there_can_be_is_an_error_that_names_the_archive(
    tmp_path: Path, size: int, kind: bytes
) -> None:
    path = tmp_path / "a.tar.gz"
    header = tarfile.TarInfo(NAME)
    header.size, header.type = size, kind
    path.write_bytes(gzip.compress(header.tobuf(format=tarfile.GNU_FORMAT) + bytes(1024)))
    with pytest.raises(RowsError, match=r"a\.tar\.gz: not a readable archive \(.+\); expected"):
        extract(path, tmp_path / "in")


def test_an_archive_that_cannot_be_opened_and_a_file_that_cannot_be_written_are_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.zip", "a.tar.gz"):
        with pytest.raises(FileNotFoundError, match=name):
            extract(tmp_path / name, tmp_path / f"out of {name}")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    path = zipped(tmp_path / "whole.zip", {NAME: b"{}"})
    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OSError, match="No space left"):
        extract(path, tmp_path / "in")
