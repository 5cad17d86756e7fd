"""Results in an archive: what is extracted, and what is refused."""

from __future__ import annotations

import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from lm_eval_ext.results.files import shown
from lm_eval_ext.sources import RowsError

SUFFIXES = (".zip", ".tar.gz", ".tgz")
RESULTS, SAMPLES = "results_*.json", "samples_*.jsonl"
"""The names of the files that are extracted; nothing else is read."""
MOST_MEMBERS = 100_000
MOST_BYTES = 16 * 2**30
"""The most that is extracted; the samples of a hundred tasks by twenty models are a few gigabytes."""
BLOCK = 2**20


@dataclass(frozen=True)
class _Member:
    """A member of an archive.

    Attributes:
        name: its path in the archive.
        is_file: whether it is a regular file, neither a folder nor a link nor a device.
        open: opens its content.
    """

    name: str
    is_file: bool
    open: Callable[[], IO[bytes] | None]


def is_archive(path: Path) -> bool:
    """Return whether a path names an archive, by its suffix."""
    return path.name.lower().endswith(SUFFIXES) and path.is_file()


def extract(archive: Path, folder: Path) -> None:
    """Extract the results and samples in an archive.

    The archive may come from anybody: nothing is written outside the folder, links are not followed, and what its
    headers say about sizes is not believed.

    Args:
        archive: a ``.zip``, ``.tar.gz`` or ``.tgz`` file.
        folder: where to; it is made.

    Raises:
        OSError: the archive cannot be opened, or a file cannot be written.
        RowsError: it is damaged, has no results, is too large, or has a member that leads outside of it.
    """
    folder.mkdir(parents=True)
    left = MOST_BYTES
    found = False
    try:
        for number, member in enumerate(_members(archive), start=1):
            if number > MOST_MEMBERS:
                raise _RefusedError(f"more than {MOST_MEMBERS:,} members")
            name = PurePosixPath(member.name).name
            if fnmatchcase(name, RESULTS) or fnmatchcase(name, SAMPLES):
                left -= _write(member, folder, left)
                found = found or fnmatchcase(name, RESULTS)
    except _RefusedError as refused:
        raise RowsError(f"{archive}: {refused}; expected an archive of what `lm_eval --output_path` writes") from None
    except _DamagedError as damage:
        raise RowsError(f"{archive}: not a readable archive ({damage}); expected {' or '.join(SUFFIXES)}") from damage
    if not found:
        raise RowsError(f"{archive}: no {RESULTS} in this archive; expected what `lm_eval --output_path` writes")


class _RefusedError(Exception):
    """What is not extracted, and why."""


class _DamagedError(Exception):
    """What cannot be read, and why."""


@contextmanager
def _reading() -> Iterator[None]:
    """Raise ``_DamagedError`` where the standard library cannot read an archive."""
    try:
        yield
    except MemoryError as error:
        raise _DamagedError("a header claims more than fits into memory") from error
    except Exception as error:
        # It raises a dozen types about damage, of every format its own: LZMAError, OSError of bzip2, OverflowError, ….
        # Where the archive itself cannot be opened, the error names it.
        if isinstance(error, OSError) and error.filename is not None:
            raise
        raise _DamagedError(str(error) or type(error).__name__) from error


def _members(archive: Path) -> Iterator[_Member]:
    # What the receiver of a member raises does not come through here.
    with _reading():
        yield from _in_zip(archive) if archive.name.lower().endswith(".zip") else _in_tar(archive)


def _in_zip(archive: Path) -> Iterator[_Member]:
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            # Zero where the archive was not made on Unix, which has no links there.
            kind = stat.S_IFMT(info.external_attr >> 16)
            regular = not info.is_dir() and kind in (0, stat.S_IFREG)
            yield _Member(info.filename, regular, partial(file.open, info))


def _in_tar(archive: Path) -> Iterator[_Member]:
    with tarfile.open(archive, "r:gz") as tar:
        for entry in tar:
            yield _Member(entry.name, entry.isreg(), partial(tar.extractfile, entry))


def _write(member: _Member, folder: Path, most: int) -> int:
    """Write a member to the folder and return its size."""
    target = _target(member.name, folder)
    with _reading():
        content = member.open() if member.is_file else None
    if content is None:
        raise _RefusedError(f"{shown(member.name)} is not a regular file")
    size = 0
    with content:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            written = target.open("xb")
        except FileExistsError:
            raise _RefusedError(f"{shown(member.name)} is there twice") from None
        with written:
            while block := _block(content):
                size += len(block)
                if size > most:
                    raise _RefusedError(f"more than {MOST_BYTES / 2**30:g} GiB of results and samples")
                written.write(block)
    return size


def _block(content: IO[bytes]) -> bytes:
    with _reading():
        return content.read(BLOCK)


def _target(name: str, folder: Path) -> Path:
    path = PurePosixPath(name)
    target = folder / path
    # The last condition is for systems that know other ways out of a folder, such as drives.
    outside = path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name
    if outside or not target.resolve().is_relative_to(folder.resolve()):
        raise _RefusedError(f"{shown(name)} leads outside of it")
    return target
