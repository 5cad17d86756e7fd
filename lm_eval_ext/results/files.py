"""The files with results that the harness writes: ``lm_eval --output_path FOLDER``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lm_eval_ext.sources import RowsError

LATEST = 1e11
"""A date that no clock has: what is beyond it, or is no number, was not written by the harness."""


@dataclass(frozen=True)
class TaskEntry:
    """What stands in a file of results of one task.

    Attributes:
        task: its name.
        name_in_file: under which it stands there, and which its file of samples bears.
        config: of the task; ``metadata`` is a mapping.
        figures: its results: ``{"metric,filter": value}``; empty if there are none.
    """

    task: str
    name_in_file: str
    config: Mapping[str, Any]
    figures: Mapping[str, Any]

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The facts that the task records of itself, and what was given with ``--metadata``."""
        metadata: Mapping[str, Any] = self.config["metadata"]
        return metadata


@dataclass(frozen=True)
class ResultFile:
    """One of them.

    Attributes:
        path: the file.
        content: what it holds; ``results`` and ``configs`` are mappings.
        date: of the run, in seconds since 1970; of the file, if it does not say.
    """

    path: Path
    content: Mapping[str, Any]
    date: float

    @property
    def config(self) -> Mapping[str, Any]:
        """How the harness was called; empty if the file does not say."""
        config = self.content.get("config")
        return config if isinstance(config, dict) else {}

    @property
    def order(self) -> tuple[float, str]:
        """Of two files the newer comes later in this order: by date, at the same moment by name."""
        return self.date, str(self.path)

    def tasks(self) -> Iterator[TaskEntry]:
        """Yield what stands there of each task, each once; a task without any metadata is left out."""
        seen = set()
        for name, config in self.content["configs"].items():
            task = _task(name)
            if task not in seen and isinstance(config, dict) and isinstance(config.get("metadata"), dict):
                seen.add(task)
                figures = self.content["results"].get(name)
                yield TaskEntry(task, name, config, figures if isinstance(figures, dict) else {})

    def of_task(self, table: str, name: str) -> Any:
        """Return what another table of the file has for a task; ``None`` if nothing.

        Args:
            table: its name, for example ``n-samples``.
            name: of the task, as it stands in the file.
        """
        found = self.content.get(table)
        return found.get(name) if isinstance(found, dict) else None

    def groups(self) -> dict[str, tuple[str, ...]]:
        """Return the tasks of each group, without groups between."""
        tree = self.content.get("group_subtasks")
        if not isinstance(tree, dict):
            return {}

        def leaves(name: str, above: frozenset[str] = frozenset()) -> list[str]:
            parts = tree.get(name)
            if not parts or name in above:
                return [_task(name)]
            return [leaf for part in parts for leaf in leaves(str(part), above | {name})]

        # The name of an inline group has the mark in every version: natural_instructions_ablation::prompt.
        return {name: tuple(dict.fromkeys(leaves(name))) for name in tree if tree[name]}


def _task(name: str) -> str:
    """Return a task's own name; the harness from 0.5 on puts that of the group before it, ``group::task``."""
    return name.rpartition("::")[2]


def find(paths: Sequence[Path]) -> list[Path]:
    """Return the files of results, each once.

    Args:
        paths: result files, or folders, in which all ``results_*.json`` are found.

    Raises:
        RowsError: a folder has none.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        inside = sorted(path.rglob("results_*.json")) if path.is_dir() else [path]
        if not inside:
            raise RowsError(f"{path}: no results_*.json in this folder; expected what `lm_eval --output_path` writes")
        # A file that is named and stands in a named folder as well is one.
        found |= {file.resolve(): file for file in inside if file.resolve() not in found}
    return list(found.values())


def read(path: Path) -> ResultFile:
    """Return what a file of results holds.

    Raises:
        OSError: it cannot be opened.
        RowsError: it is not a file of results.
    """
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise RowsError(f"{path}: not JSON ({error}); expected a results_*.json of the harness") from error
    if not isinstance(content, dict) or not all(isinstance(content.get(key), dict) for key in ("results", "configs")):
        raise RowsError(f"{path}: no 'results' and 'configs'; expected a results_*.json of the harness")
    date = content.get("date")
    when = float(date) if isinstance(date, int | float) and 0 <= date < LATEST else path.stat().st_mtime
    return ResultFile(path, content, when)
