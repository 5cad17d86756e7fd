"""Inspects the installed harness: its version, and which of our tasks and models it finds."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import lm_eval
import lm_eval.models  # fills the registry of models
from lm_eval.api.registry import model_registry
from lm_eval.tasks import TaskManager
from packaging.version import Version

import lm_eval_ext
from lm_eval_ext import tasks_dir
from lm_eval_ext.harness.family_task import FamilyTask
from lm_eval_ext.harness.versions import task_index

VERSION = Version(lm_eval.__version__)
"""The harness's version."""
FOLDER = Path(lm_eval.__file__).parent
"""The harness's folder."""


def task_files() -> tuple[set[Path], set[Path]]:
    """Return the YAML files of our tasks and groups, and the subset that the harness has indexed."""
    ours = set(Path(tasks_dir()).resolve().rglob("*.yaml"))
    entries = task_index(TaskManager()).values()
    return ours, ours & {Path(entry.yaml_path).resolve() for entry in entries if entry.yaml_path}


def missing_models(names: Iterable[str]) -> list[str]:
    """Return which models the harness does not know by name."""
    return [name for name in names if name not in model_registry]


def task_class(path: str) -> type[FamilyTask]:
    """Return a task class by its ``module:name``."""
    module, _, name = path.partition(":")
    named: type[FamilyTask] = getattr(import_module(module), name)
    return named


class OurTasks:
    """A task manager for tasks of this package, and for a user's own with its classes, which loads them one by one.

    Args:
        metadata: as passed with ``--metadata``.
        include_path: a folder with the YAML files of a user's own tasks.

    Raises:
        ValueError: there is no such folder.
    """

    def __init__(self, metadata: Mapping[str, Any], include_path: str | None = None) -> None:
        if include_path is not None and not Path(include_path).expanduser().is_dir():
            raise ValueError(f"--include_path {include_path}: no such folder; expected one with YAML files of tasks")
        self._own = None if include_path is None else Path(include_path).expanduser().resolve()
        paths = [tasks_dir(), *([] if self._own is None else [str(self._own)])]
        self._manager = TaskManager(include_path=paths, include_defaults=False, metadata=dict(metadata))

    def own(self) -> list[str]:
        """Return the names of the user's own tasks with classes of this package."""
        return [
            name
            for name, entry in task_index(self._manager).items()
            if entry.yaml_path
            and self._own in Path(entry.yaml_path).resolve().parents
            # Unresolved: a path that ends with the name of the class.
            and f"{lm_eval_ext.__name__}." in str((entry.cfg or {}).get("class"))
        ]

    def unread(self) -> list[Path]:
        """Return the user's YAML files that the harness skips without a word, because it cannot read them."""
        read = {Path(entry.yaml_path).resolve() for entry in task_index(self._manager).values() if entry.yaml_path}
        return [] if self._own is None else sorted(set(self._own.rglob("*.yaml")) - read)

    def load(self, task: str) -> Mapping[str, FamilyTask]:
        """Load a task, or the tasks of a group or tag, with their rows.

        Returns:
            The tasks by name.

        Raises:
            ValueError: none of our tasks, groups and tags has this name, or the metadata are invalid for it.
            RowsError: its rows cannot be loaded or are invalid.
            MissingDataError: its verdicts need data that are not installed.
        """
        if task not in self._manager.all_tasks:
            near = difflib.get_close_matches(task, self._manager.all_tasks, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else "lm_eval ls tasks lists them"
            raise ValueError(
                f"no task, group or tag {task!r} of this package or in a folder given with --include_path; {hint}"
            )
        loaded: Mapping[str, FamilyTask] = self._manager.load([task])["tasks"]
        if others := [name for name, task_of_name in loaded.items() if not isinstance(task_of_name, FamilyTask)]:
            raise ValueError(
                f"task {others[0]!r} has no class of this package, so no right answers to its rows are known"
            )
        # 0.5 puts the group's name before that of its task.
        return {name.rpartition("::")[2]: task_of_name for name, task_of_name in loaded.items()}
