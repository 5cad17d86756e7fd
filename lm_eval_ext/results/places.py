"""The places of results that a user names: a folder, a file, an archive, or a repository on the hub."""

from __future__ import annotations

import re
import stat
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from errno import EINVAL
from fnmatch import fnmatchcase
from functools import partial
from glob import escape
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import unquote

from lm_eval_ext.results.files import RESULTS, SAMPLES, short_repr
from lm_eval_ext.sources import RowsError, reason

SCHEME = "hf://"
"""What starts a place on the Hugging Face Hub, where ``lm_eval --hf_hub_log_args`` can put results."""
FORM = "hf://datasets/OWNER/NAME[@REVISION][/PATH]"
SUFFIXES = (".zip", ".tar.gz", ".tgz")
MOST_BYTES = 16 * 2**30
"""The most that is extracted; the samples of a hundred tasks by twenty models are a few gigabytes."""
BLOCK = 2**20
_FORM = re.compile(r"hf://datasets/(?P<name>[\w.-]+/[\w.-]+)(?:@(?P<revision>[^/]+))?(?:/(?P<path>.*))?")


@dataclass(frozen=True)
class Opened:
    """Places whose results can be read.

    Attributes:
        paths: a local folder or file for each place, in the order given.
        names: what to call each place, in the same order; a repository's name has the commit.
        moved: maps a local path that the user does not know to the name of its place.
    """

    paths: tuple[Path, ...]
    names: tuple[str, ...]
    moved: Mapping[Path, str]

    def split(self, count: int) -> tuple[Opened, Opened]:
        """Return the first so many places, and the others; both know all names."""
        return self.only(range(count)), self.only(range(count, len(self.paths)))

    def only(self, numbers: Iterable[int]) -> Opened:
        """Return some of the places, which know all names.

        Args:
            numbers: which, counted from 0.
        """
        chosen = [*numbers]
        return replace(
            self,
            paths=tuple(self.paths[number] for number in chosen),
            names=tuple(self.names[number] for number in chosen),
        )

    def called(self, path: Path) -> str:
        """Return what the user calls a file at any of the places."""
        for place, name in self.moved.items():
            if path.is_relative_to(place):
                return name + str(path).removeprefix(str(place))
        return str(path)


@contextmanager
def opened(places: Sequence[str]) -> Iterator[Opened]:
    """Extract archives and download from the hub, for as long as the results are needed.

    Only a place that starts with ``hf://`` is looked for on the hub. Errors raised meanwhile name the places, not the
    local paths that the user does not know.

    Args:
        places: as the user named them; one that is named twice is opened once.

    Raises:
        OSError: a file cannot be read or written.
        RowsError: an archive or a repository cannot be used.
    """
    local: dict[str, tuple[Path, str]] = {}
    with ExitStack() as temporary:
        for place in dict.fromkeys(places):
            path, name = download(place) if place.startswith(SCHEME) else (Path(place), place)
            if path.name.lower().endswith(SUFFIXES) and path.is_file():
                folder = temporary.enter_context(tempfile.TemporaryDirectory(prefix="lm-eval-ext-"))
                # Resolved, because messages about files of both sides resolve their paths.
                extracted = Path(folder).resolve() / path.name
                extract(path, extracted)
                path = extracted
            local[place] = path, name
        every = [local[place] for place in places]
        moved = {path: name for place, (path, name) in local.items() if path != Path(place)}
        try:
            yield Opened(tuple(path for path, _ in every), tuple(name for _, name in every), moved)
        except Exception as error:
            if len(error.args) == 1 and isinstance(error.args[0], str):
                for path, name in moved.items():
                    error.args = (error.args[0].replace(str(path), name),)
            raise


def download(place: str) -> tuple[Path, str]:
    """Download the results and samples at a place in a repository, if they are not in the hub's cache already.

    Returns:
        The local folder or file, and the place with the commit that was downloaded.

    Raises:
        RowsError: the place has the wrong form, cannot be reached, or has no results.
    """
    import huggingface_hub  # noqa: PLC0415 # takes a second, and only these places need it

    form = _FORM.fullmatch(place)
    if form is None or ".." in (form["path"] or "").split("/"):
        raise RowsError(f"{place}: expected {FORM}, for example hf://datasets/our-team/baselines@v1/model")
    name, path = form["name"], (form["path"] or "").strip("/")
    # A slash in the revision is written %2F.
    revision = None if form["revision"] is None else unquote(form["revision"])
    try:
        folder = Path(
            huggingface_hub.snapshot_download(
                name, repo_type="dataset", revision=revision, allow_patterns=_patterns(path)
            )
        )
    except Exception as error:
        # The library raises many types (a dozen for "offline" alone), but the user's remedy is always the same.
        raise RowsError(
            f"{place}: could not be downloaded from the Hugging Face Hub: {reason(error)}\n"
            "If it is private, set HF_TOKEN. Without the hub, give a folder or an archive with these results."
        ) from error
    if not (folder / path).exists():
        raise RowsError(f"{place}: no results_*.json there; expected what `lm_eval --output_path` writes")
    return folder / path, f"{SCHEME}datasets/{name}@{folder.name}{f'/{path}' if path else ''}"


def _patterns(path: str) -> list[str]:
    """Return patterns of what is downloaded; an asterisk also matches slashes."""
    if path.lower().endswith(SUFFIXES):
        return [escape(path)]
    if path.endswith(".json"):
        # One results file: its samples are next to it.
        folder, _, _ = path.rpartition("/")
        return [escape(path), f"{escape(folder)}/{SAMPLES}" if folder else SAMPLES]
    inside = f"{escape(path)}/" if path else ""
    return [f"{inside}{between}{name}" for between in ("", "*/") for name in (RESULTS, SAMPLES)]


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
    bytes_left = MOST_BYTES
    has_results = False
    try:
        for member, open_member in _members(archive):
            name = PurePosixPath(member).name
            if fnmatchcase(name, RESULTS) or fnmatchcase(name, SAMPLES):
                bytes_left -= _write(archive, member, open_member, folder, bytes_left)
                has_results = has_results or fnmatchcase(name, RESULTS)
    except RowsError:
        raise
    except Exception as error:
        # The standard library raises a dozen types about damage, of every format its own: LZMAError, OSError of bzip2,
        # OverflowError, …. What the system says has a number, but for that of a place before the file it is no damage.
        if isinstance(error, OSError) and error.errno not in (None, EINVAL):
            raise
        damage = str(error) or type(error).__name__
        raise RowsError(f"{archive}: not a readable archive ({damage}); expected {' or '.join(SUFFIXES)}") from error
    if not has_results:
        raise RowsError(f"{archive}: no {RESULTS} in this archive; expected what `lm_eval --output_path` writes")


def _refused(archive: Path, reason: str) -> RowsError:
    return RowsError(f"{archive}: {reason}; expected an archive of what `lm_eval --output_path` writes")


def _members(archive: Path) -> Iterator[tuple[str, Callable[[], IO[bytes] | None] | None]]:
    """Yield the path of each member of an archive, and what opens it; ``None`` for a folder, a link or a device."""
    if archive.name.lower().endswith(".zip"):
        with zipfile.ZipFile(archive) as zipped:
            for info in zipped.infolist():
                # Zero where the archive was not made on Unix, which has no links there.
                kind = stat.S_IFMT(info.external_attr >> 16)
                regular = not info.is_dir() and kind in (0, stat.S_IFREG)
                yield info.filename, partial(zipped.open, info) if regular else None
    else:
        with tarfile.open(archive, "r:gz") as tar:
            for entry in tar:
                yield entry.name, partial(tar.extractfile, entry) if entry.isreg() else None


def _write(
    archive: Path, member: str, open_member: Callable[[], IO[bytes] | None] | None, folder: Path, most: int
) -> int:
    """Write a member to the folder and return its size."""
    path = PurePosixPath(member)
    target = folder / path
    # The last condition is for systems that know other ways out of a folder, such as drives.
    outside = path.is_absolute() or ".." in path.parts or "\\" in member or "\0" in member
    if outside or not target.resolve().is_relative_to(folder.resolve()):
        raise _refused(archive, f"{short_repr(member)} leads outside of it")
    content = open_member() if open_member else None
    if content is None:
        raise _refused(archive, f"{short_repr(member)} is not a regular file")
    size = 0
    with content:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            written = target.open("xb")
        except FileExistsError:
            raise _refused(archive, f"{short_repr(member)} is there twice") from None
        with written:
            while block := content.read(BLOCK):
                size += len(block)
                if size > most:
                    raise _refused(archive, f"more than {MOST_BYTES / 2**30:g} GiB of results and samples")
                written.write(block)
    return size
