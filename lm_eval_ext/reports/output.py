"""Writes files atomically: existing files stay until everything that replaces them is complete."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from lm_eval_ext.reports.errors import ReportError

OPEN_FILES = ("/proc", "/dev/fd", "/dev/stdout", "/dev/stderr")
"""These paths, and those below them, are the open files of a process, which may be regular files."""


def write(contents: Mapping[Path, bytes]) -> None:
    """Write several files: all of them, or none if one cannot be written.

    The new contents go to temporary files next to their targets, which then replace the targets. Symbolic links are
    followed and kept. Devices, pipes and the open files of a process are written to directly.

    Args:
        contents: the content of each path; the folders must exist.

    Raises:
        OSError: a file cannot be written; it names the file.
    """
    streams = []
    with ExitStack() as unfinished:
        completed = []
        for path, content in contents.items():
            if not is_replaced(path):
                streams.append((path, content))
                continue
            with _named(path):
                target = Path(os.path.realpath(path))
                completed.append((_beside(target, content, unfinished), target, path))
        for path, content in streams:
            # In append mode: standard output may be a log that others also write to.
            with _named(path), path.open("ab", buffering=0) as stream:
                _write_all(stream.fileno(), content)
        for part, target, path in completed:
            with _named(path):
                part.replace(target)


def is_replaced(path: Path) -> bool:
    """Return whether a path is, or will be, a regular file; otherwise it is a stream to write to."""
    # Behind the name of an open file is the file itself, so a link is asked where it leads, not where it ends.
    names = [path, path.parent / path.readlink()] if path.is_symlink() else [path]
    is_open_file = any(name.absolute().is_relative_to(place) for name in names for place in OPEN_FILES)
    return not is_open_file and (path.is_file() or not path.exists())


def require_writable(path: Path, description: str) -> None:
    """Raise if a file cannot be written, as far as that can be known in advance.

    Args:
        path: the file.
        description: a description with an example: ``the page to write, for example report.html``.

    Raises:
        ReportError: it is a folder, or its folder does not exist.
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise ReportError(f"{path}: is a folder; expected the name of {description}")
    if not target.parent.is_dir():
        raise ReportError(f"{path}: its folder does not exist; create it first")


def make_folder(folder: Path) -> None:
    """Make a folder to write to, and those above it, unless they exist.

    Raises:
        ReportError: one of them is a file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise ReportError(f"{folder}: there is a file of this name, or above it; expected a folder") from error


def require_apart(outputs: Iterable[tuple[str, Path]], inputs: Iterable[Path]) -> None:
    """Raise if a file would be written over one that is read, or over another one that is written.

    Args:
        outputs: the files to write, each with the option that names it.
        inputs: the files that are read.

    Raises:
        ReportError: two of these files are the same.
    """
    read = {os.path.realpath(path) for path in inputs}
    written: dict[str, str] = {}
    for option, path in outputs:
        if not is_replaced(path):
            continue
        place = os.path.realpath(path)
        if place in read:
            raise ReportError(f"{option}: {path} is a file that is read; expected the name of another file")
        if place in written:
            raise ReportError(f"{written[place]} and {option}: both name {path}; expected a file for each")
        written[place] = option


def _beside(target: Path, content: bytes, unfinished: ExitStack) -> Path:
    """Write a temporary file in the target's folder; it is removed unless it is renamed."""
    descriptor, name = tempfile.mkstemp(prefix=".lm-eval-ext-", suffix=".part", dir=target.parent)
    unfinished.callback(Path(name).unlink, missing_ok=True)
    try:
        _write_all(descriptor, content)
        # Some file systems report only now that they are full.
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    # The umask can be read only by setting it.
    os.umask(umask := os.umask(0))
    # Temporary files are private to their owner; the target keeps its permissions, or gets those of a new file.
    Path(name).chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~umask)
    return Path(name)


def _write_all(descriptor: int, content: bytes) -> None:
    remaining = memoryview(content)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]


@contextmanager
def _named(path: Path) -> Iterator[None]:
    """Make an error name the requested path, not the temporary file or a link's target."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
