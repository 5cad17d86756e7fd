"""What is extracted from an archive of results, and what is refused."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from lm_eval_ext.results import places
from lm_eval_ext.results.places import extract
from lm_eval_ext.sources import RowsError

NAME = "results_2026-01-02T03-04-05.678901.json"
SAMPLES = "samples_group::task_2026-01-02T03-04-05.678901.jsonl"


def tar(path: Path, contents: Mapping[str, bytes], *entries: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as file:
        for name, content in contents.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
        for entry in entries:
            file.addfile(entry)
    return path


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
    made = tar(tmp_path / "a.tar.gz", {}, link("run", str(tmp_path / "outside")))
    with tarfile.open(made, "w:gz") as file:
        file.addfile(link("run", str(tmp_path / "outside")))
        info = tarfile.TarInfo(f"run/{NAME}")
        info.size = 2
        file.addfile(info, io.BytesIO(b"{}"))
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
    monkeypatch.setattr(places, "MOST_MEMBERS", 2)
    with pytest.raises(RowsError, match="more than 2 members"):
        extract(tar(tmp_path / "many.tar.gz", {str(number): b"" for number in range(3)}), tmp_path / "many")


def test_a_name_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tar.gz", {NAME: b"{}"})
    with tarfile.open(path, "w:gz") as file:
        for content in (b"{}", b"[]"):
            info = tarfile.TarInfo(NAME)
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))
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


def test_a_directory_of_a_zip_that_lies_outside_of_it_is_an_error_that_names_the_archive(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {NAME: b"{}"})
    content = bytearray(path.read_bytes())
    # Its place in the last record, which makes that of the first member negative.
    content[content.index(b"PK\x05\x06") + 19] = 0xFF
    path.write_bytes(content)
    with pytest.raises(RowsError, match=r"a\.zip: not a readable archive \(.+\); expected"):
        extract(path, tmp_path / "in")


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


def test_an_encrypted_archive_is_an_error(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {NAME: b"{}"})
    content = bytearray(path.read_bytes())
    # The flag of encryption, in the central directory and in the local header.
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(RowsError, match=r"not a readable archive .*encrypted"):
        extract(path, tmp_path / "in")
