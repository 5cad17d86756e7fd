"""The places of results that a user names: a folder, a file, an archive, or a repository on the hub."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from glob import escape
from pathlib import Path
from urllib.parse import unquote

from lm_eval_ext.results.archive import RESULTS, SAMPLES, SUFFIXES, extract, is_archive
from lm_eval_ext.sources import RowsError, reason

SCHEME = "hf://"
"""What starts a place on the Hugging Face Hub, where ``lm_eval --hf_hub_log_args`` can put results."""
FORM = "hf://datasets/OWNER/NAME[@REVISION][/PATH]"
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
    moved: Mapping[str, str]

    def split(self, count: int) -> tuple[Opened, Opened]:
        """Return the first so many places, and the others; both know all names."""
        first, second = (slice(None, count), slice(count, None))
        return (
            replace(self, paths=self.paths[first], names=self.names[first]),
            replace(self, paths=self.paths[second], names=self.names[second]),
        )

    def named(self, text: str) -> str:
        """Return a text in which local paths that the user does not know are replaced by the names of their places."""
        for path, name in self.moved.items():
            text = text.replace(path, name)
        return text


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
    found: dict[str, tuple[Path, str]] = {}
    with ExitStack() as temporary:
        for place in places:
            if place not in found:
                found[place] = _local(place, temporary)
        every = [found[place] for place in places]
        moved = {str(path): name for place, (path, name) in found.items() if path != Path(place)}
        all_opened = Opened(tuple(path for path, _ in every), tuple(name for _, name in every), moved)
        try:
            yield all_opened
        except Exception as error:
            if len(error.args) == 1 and isinstance(error.args[0], str):
                error.args = (all_opened.named(error.args[0]),)
            raise


def _local(place: str, temporary: ExitStack) -> tuple[Path, str]:
    """Return where a place's results are on this machine, and what to call it."""
    path, name = download(place) if place.startswith(SCHEME) else (Path(place), place)
    if not is_archive(path):
        return path, name
    # Resolved, because messages about files of both sides resolve their paths.
    root = Path(temporary.enter_context(tempfile.TemporaryDirectory(prefix="lm-eval-ext-"))).resolve()
    extract(path, root / path.name)
    return root / path.name, name


@dataclass(frozen=True)
class Repository:
    """A place in a dataset repository.

    Attributes:
        name: ``owner/name``.
        revision: a branch, tag or commit; ``None`` for the default branch.
        path: a folder or file in it; empty for all of it.
    """

    name: str
    revision: str | None
    path: str


def in_repository(place: str) -> Repository:
    """Return the place in a repository that the user named.

    Args:
        place: in the form ``FORM``; a slash in the revision is written ``%2F``.

    Raises:
        RowsError: it has another form.
    """
    found = _FORM.fullmatch(place)
    path = found["path"] or "" if found else ".."
    if found is None or ".." in path.split("/"):
        raise RowsError(f"{place}: expected {FORM}, for example hf://datasets/our-team/baselines@v1/model")
    revision = found["revision"]
    return Repository(found["name"], None if revision is None else unquote(revision), path.strip("/"))


def download(place: str) -> tuple[Path, str]:
    """Download the results and samples at a place in a repository, if they are not in the hub's cache already.

    Returns:
        The local folder or file, and the place with the commit that was downloaded.

    Raises:
        RowsError: the place has the wrong form, cannot be reached, or has no results.
    """
    import huggingface_hub  # noqa: PLC0415 # takes a second, and only these places need it

    repository = in_repository(place)
    try:
        folder = Path(
            huggingface_hub.snapshot_download(
                repository.name,
                repo_type="dataset",
                revision=repository.revision,
                allow_patterns=_patterns(repository.path),
            )
        )
    except Exception as error:
        # The library raises many types (a dozen for "offline" alone), but the user's remedy is always the same.
        raise RowsError(
            f"{place}: could not be downloaded from the Hugging Face Hub: {reason(error)}\n"
            "If it is private, set HF_TOKEN. Without the hub, give a folder or an archive with these results."
        ) from error
    found = folder / repository.path
    if not found.exists():
        raise RowsError(f"{place}: no results_*.json there; expected what `lm_eval --output_path` writes")
    path = f"/{repository.path}" if repository.path else ""
    return found, f"{SCHEME}datasets/{repository.name}@{folder.name}{path}"


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
