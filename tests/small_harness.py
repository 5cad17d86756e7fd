"""A copy of the harness that starts quickly."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import lm_eval

HARNESS_TASK = "hellaswag"


def copy_small_harness(folder: Path) -> Path:
    """Copy the installed harness with one of its task folders into a folder for ``PYTHONPATH``.

    The code is the harness's own; indexing its other fourteen thousand files would cost five seconds per start.
    """
    source = Path(lm_eval.__file__).parent

    def left_out(place: str, names: Iterable[str]) -> set[str]:
        in_tasks = Path(place) == source / "tasks"
        folders = {name for name in names if (Path(place) / name).is_dir()} if in_tasks else set()
        return folders - {HARNESS_TASK, "__pycache__"}

    shutil.copytree(source, folder / "lm_eval", ignore=left_out)
    return folder
