"""Files are written completely or not at all, whatever exists at their paths; each case uses a real file system."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.output import is_replaced, make_folder, require_apart, require_writable, write

FULL = Path("/dev/full")


@pytest.mark.parametrize(
    ("outputs", "complaint"),
    [
        pytest.param({"-o": "read"}, "-o: read is a file that is read", id="the file itself"),
        pytest.param({"-o": "link"}, "-o: link is a file that is read", id="a link to it"),
        pytest.param({"-o": "folder/../read"}, "is a file that is read", id="another way to it"),
        pytest.param({"-a": "new", "-b": "new"}, "-a and -b: both name new; expected a file for each", id="twice"),
        pytest.param({"-a": "new", "-b": "./folder/../new"}, "-a and -b: both name", id="twice, in two ways"),
    ],
)
def test_a_file_is_neither_written_over_one_that_is_read_nor_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, outputs: dict[str, str], complaint: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("read").touch()
    Path("link").symlink_to("folder/../read")
    with pytest.raises(ReportError, match=complaint):
        require_apart([(option, Path(name)) for option, name in outputs.items()], [Path("read")])


def test_files_apart_and_streams_can_be_written(tmp_path: Path) -> None:
    inputs, streams = [tmp_path / "read", Path(os.devnull)], [("-c", Path(os.devnull)), ("-d", Path(os.devnull))]
    require_apart([("-a", tmp_path / "one"), ("-b", tmp_path / "two"), *streams], inputs)


@pytest.mark.parametrize("name", ["file", "file/folder"])
def test_a_file_in_the_place_of_a_folder_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ReportError, match=f"{name}: there is a file of this name, or above it; expected a folder"):
        make_folder(tmp_path / name)
    make_folder(tmp_path / "folder" / "below")
    make_folder(tmp_path / "folder" / "below")
    assert names(tmp_path / "folder") == ["below"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every temporary file lie on a disk that takes five bytes and no more."""
    real, written = os.write, [0]

    def fake(descriptor: int, content: bytes) -> int:
        if written[0] + len(content) > 5:
            raise OSError(28, "No space left on device")
        written[0] += len(content)
        return real(descriptor, content)

    monkeypatch.setattr(os, "write", fake)


def test_a_new_file_has_default_permissions(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write({tmp_path / "new": b""})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_file_is_replaced_atomically_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(b"what was there, and longer")
    path.chmod(0o604)
    write({path: b"new"})
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["page.html"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o604


@pytest.mark.parametrize("exists", [True, False], ids=["there", "to be made"])
def test_a_symbolic_link_is_kept_and_its_target_replaced(exists: bool, tmp_path: Path) -> None:
    target, link = tmp_path / "elsewhere" / "target", tmp_path / "link"
    target.parent.mkdir()
    if exists:
        target.write_bytes(b"old")
    (tmp_path / "second").symlink_to("elsewhere/target")
    link.symlink_to(tmp_path / "second")
    write({link: b"new"})
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert names(tmp_path / "elsewhere") == ["target"]


def test_a_link_to_itself_is_replaced(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(link)
    require_writable(link, "the page")
    write({link: b"new"})
    assert (link.is_symlink(), link.read_bytes()) == (False, b"new")


def test_a_planted_link_in_place_of_the_temporary_file_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    (tmp_path / "page.html.part").symlink_to(victim)
    write({tmp_path / "page.html": b"new"})
    assert victim.read_bytes() == b"precious"
    assert (tmp_path / "page.html.part").is_symlink()


def test_a_device_and_a_link_to_it_are_not_replaced(tmp_path: Path) -> None:
    device, link = Path("/dev/null"), tmp_path / "null"
    link.symlink_to(device)
    before = device.stat()
    for path in (device, link):
        write({path: b"gone"})
    assert link.is_symlink()
    assert device.is_char_device()
    assert device.stat().st_ino == before.st_ino


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # More than a pipe holds: it takes it in parts.
    content = b"0123456789" * 20_000
    writer = threading.Thread(target=write, args=({pipe: content},))
    writer.start()
    assert pipe.read_bytes() == content
    writer.join()
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no /dev/stdout")
@pytest.mark.parametrize("name", ["/dev/stdout", "link"])
def test_standard_output_redirected_to_a_log_is_appended_to(name: str, tmp_path: Path) -> None:
    log, link = tmp_path / "log", tmp_path / "link"
    log.write_bytes(b"before\n")
    link.symlink_to("/dev/stdout")
    program = f"from pathlib import Path; from lm_eval_ext.reports.output import *; write({{Path({name!r}): b'new'}})"
    with log.open("ab") as file:
        subprocess.run([sys.executable, "-c", program], stdout=file, cwd=tmp_path, check=True)
    assert log.read_bytes() == b"before\nnew"
    assert names(tmp_path) == ["link", "log"]


@pytest.mark.usefixtures("full_disk")
@pytest.mark.parametrize("contents", [{"a": b"longer than that"}, {"a": b"new", "b": b"too long"}], ids=["one", "two"])
def test_if_a_file_cannot_be_written_none_is_and_no_partial_file_remains(
    contents: dict[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(b"old")
    with pytest.raises(OSError, match="No space left on device") as raised:
        write({tmp_path / name: content for name, content in contents.items()})
    assert raised.value.filename == str(tmp_path / [*contents][-1])
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full, which is always a full disk")
def test_a_full_device_is_reported_and_leaves_the_files_unchanged(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write({tmp_path / "a": b"new", FULL: b"new"})
    assert names(tmp_path) == []
    assert stat.S_ISCHR(FULL.stat().st_mode)


def test_an_interruption_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write({tmp_path / "a": b"new"})
    assert names(tmp_path) == []


@pytest.mark.parametrize(("path", "expected"), [("/dev/null", False), ("/dev/stdout", False), ("new", True)])
def test_only_regular_files_are_replaced(path: str, expected: bool, tmp_path: Path) -> None:
    assert is_replaced(tmp_path / path) is expected


def test_foreseeable_problems_are_reported_in_advance(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="is a folder; expected the name of the page"):
        require_writable(tmp_path, "the page")
    with pytest.raises(ReportError, match="its folder does not exist"):
        require_writable(tmp_path / "nowhere" / "page", "the page")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "page")
    with pytest.raises(ReportError, match="link: its folder does not exist"):
        require_writable(tmp_path / "link", "the page")
    require_writable(tmp_path / "page", "the page")
    require_writable(Path("/dev/null"), "the page")


def test_a_deleted_folder_is_reported_with_the_file_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"findings\.xml"):
        write({tmp_path / "nowhere" / "findings.xml": b""})
