"""Writes files so that nobody ever sees half of one: what is there stays until all that replaces it is complete."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from errno import ELOOP
from pathlib import Path

from lm_eval_ext.reports.errors import ReportError

OPEN_FILES = ("/proc", "/dev/fd")
"""A name below these stands for what a process has open: ``/dev/stdout`` leads there."""
MOST_LINKS = 40
"""The most symbolic links in a row that are followed; Linux has the same limit."""


def write(contents: Mapping[Path, bytes]) -> None:
    """Write several files: all of them, or none if one cannot be written.

    The new contents are completed in temporary files beside their targets, which then take the targets' places. A
    symbolic link is followed, and stays. A device, a pipe or what a process has open is written to directly.

    Args:
        contents: by path; the folders must exist.

    Raises:
        OSError: a file cannot be written; it names the file.
    """
    streams = []
    with ExitStack() as unfinished:
        completed = []
        for path, content in contents.items():
            with _named(path):
                target = _target(path)
                if is_replaced(target):
                    completed.append((_beside(target, content, unfinished), target, path))
                else:
                    streams.append((path, content))
        for path, content in streams:
            # In append mode: standard output may be a log that others write to, too.
            with _named(path), path.open("ab", buffering=0) as stream:
                _write_all(stream.fileno(), content)
        for part, target, path in completed:
            with _named(path):
                part.replace(target)


def is_replaced(path: Path) -> bool:
    """Return whether a path is, or will be, a file of its own; else it stands for something to write into."""
    target = _target(path)
    return not _is_open_file(target) and (target.is_file() or not target.exists())


def require_writable(path: Path, what: str) -> None:
    """Raise if a file cannot be written for a reason that is known before there is anything to write.

    Args:
        path: of the file.
        what: it is, with an example of a name: ``the page to write, for example report.html``.

    Raises:
        OSError: it is a symbolic link that leads to itself.
        ReportError: it is a folder, or its folder does not exist.
    """
    with _named(path):
        target = _target(path)
    if target.is_dir():
        raise ReportError(f"{path}: is a folder; expected the name of {what}")
    if not target.absolute().parent.is_dir():
        raise ReportError(f"{path}: its folder does not exist; create it first")


def _target(path: Path) -> Path:
    """Return what symbolic links lead to; one that stands for an open file is not followed."""
    for _ in range(MOST_LINKS):
        if not path.is_symlink() or _is_open_file(path):
            return path
        path = path.parent / path.readlink()
    raise OSError(ELOOP, os.strerror(ELOOP), str(path))


def _is_open_file(path: Path) -> bool:
    folder = os.path.realpath(path.parent)
    return any(Path(folder).is_relative_to(place) for place in OPEN_FILES)


def _beside(target: Path, content: bytes, unfinished: ExitStack) -> Path:
    """Write a temporary file in a target's folder, which is removed unless it is given another name."""
    descriptor, name = tempfile.mkstemp(prefix=".lm-eval-ext-", suffix=".part", dir=target.parent)
    unfinished.callback(_remove, Path(name))
    try:
        _write_all(descriptor, content)
        # Some file systems say only now that they are full.
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    # A temporary file is its maker's alone; the target is as open as it was, or as any new file.
    Path(name).chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask())
    return Path(name)


def _remove(path: Path) -> None:
    with suppress(FileNotFoundError):
        path.unlink()


def _umask() -> int:
    # It can be read only by setting it.
    found = os.umask(0)
    os.umask(found)
    return found


def _write_all(descriptor: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Say of an error which of the files that were asked for it is about."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
