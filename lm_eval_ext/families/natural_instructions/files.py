"""The sources of task files: the public repository, the files that ship with this package, or the user's own folder."""

from __future__ import annotations

import textwrap
from functools import cache
from pathlib import Path

from lm_eval_ext.families.natural_instructions.instruction import Instruction
from lm_eval_ext.families.natural_instructions.read import read
from lm_eval_ext.families.natural_instructions.subtasks import SUBTASKS
from lm_eval_ext.sources import EMBEDDED, EMBEDDED_FOLDER, EMBEDDED_NOTE, HUB, RowsError, no_folder, reason

REPOSITORY = "allenai/natural-instructions"
COMMIT = "e0fd31052b21acea5bd95fb00253e1ee1f5d8259"
"""A commit rather than a branch, so that the scores of one version of our tasks rest on one version of the files."""
ADDRESS = f"https://raw.githubusercontent.com/{REPOSITORY}/{COMMIT}/tasks"
"""The location of the version-2 files. Version 1 was available for download from a site that is now offline.

The subtasks are the same but were revised: in some, the wording or the order of the instances has changed.
"""
FOLDER = EMBEDDED_FOLDER / "natural_instructions"
"""The embedded files, in version 1."""


def instruction(task: str, source: str) -> Instruction:
    """Return a subtask's instruction and instances; each file is read once per process.

    Args:
        task: the name of a subtask, or of any task file without its suffix.
        source: ``"hub"``, ``"embedded"`` or the path of a folder with task files of version 1 or 2.

    Raises:
        RowsError: the file is not available, or is not a task file.
    """
    if source == HUB:
        return _downloaded(task)
    folder = _folder(source)
    if not folder.is_dir():
        raise no_folder(source, f"task files, such as {task}.json")
    path = _file(task, folder)
    if path is None:
        found = ", ".join(sorted(entry.stem for entry in folder.glob("*.json"))) or "no task files"
        raise RowsError(
            f"no file for {task!r} in {'the embedded files' if source == EMBEDDED else folder}: expected "
            f"{_expected(task)}; found "
            f"{textwrap.shorten(found, 1500, placeholder=' …')}"
        )
    return _read(path.resolve(), task)


def is_there(task: str, source: str) -> bool:
    """Tell whether a folder (or the embedded files) has a subtask's file; always false for the hub."""
    return source != HUB and _file(task, _folder(source)) is not None


def address(task: str) -> str:
    """Return the URL of a subtask's version-2 file in the public repository."""
    return f"{ADDRESS}/{_names(task)[-1]}.json"


def _names(task: str) -> tuple[str, ...]:
    """Return the possible names of a task's file, without the suffix: the version-1 name and the version-2 name."""
    known = SUBTASKS.get(task)
    return (task, known.version_2) if known else (task,)


def _expected(task: str) -> str:
    return " or ".join(f"{name}.json" for name in _names(task))


def _folder(source: str) -> Path:
    return FOLDER if source == EMBEDDED else Path(source).expanduser()


def _file(task: str, folder: Path) -> Path | None:
    # Version 1 is preferred, because it has all fields.
    return next((path for name in _names(task) if (path := folder / f"{name}.json").is_file()), None)


@cache
def _read(path: Path, task: str) -> Instruction:
    return read(path, task)


def _downloaded(task: str) -> Instruction:
    path = _from_hub(task)
    try:
        return _read(path, task)
    except RowsError as error:
        # Proxies and sign-in portals may answer any request with a page of their own.
        raise RowsError(
            f"{error}\nThis is the cached copy of {address(task)}; delete it to download it again"
        ) from error


@cache
def _from_hub(task: str) -> Path:
    import datasets  # noqa: PLC0415 # takes two seconds, and only the hub needs it

    # Without the ETag, a cached copy is used immediately, even when offline.
    manager = datasets.DownloadManager(download_config=datasets.DownloadConfig(use_etag=False))
    try:
        return Path(manager.download(address(task)))
    except Exception as error:
        # The library raises many types, but the user's remedy is always the same. Only the cause says whether there is
        # no connection or no such file.
        cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
        raise RowsError(
            f"the task file of {task!r} could not be loaded from {address(task)}: {reason(cause)}\n"
            "Two other sources work without it:\n"
            f'  --metadata \'{{"source": "/path/to/folder"}}\'  your own copy: {_expected(task)}. '
            "Version 1 has the fields that most encodings need; for the twelve evaluation subtasks it is in the "
            "folder dataset_jsons of the repository allenai/reframing\n"
            f'  --metadata \'{{"source": "{EMBEDDED}"}}\'  {EMBEDDED_NOTE}'
        ) from error
