"""The files with results that the harness writes: ``lm_eval --output_path FOLDER``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from lm_eval_ext.results.issue import FEW
from lm_eval_ext.sources import RowsError

LATEST = 1e11
"""A date that no clock has: what is beyond it, or is no number, was not written by the harness."""
GZIP = b"\x1f\x8b"
"""How a compressed file begins; no JSON does."""
DEEPEST = 100
"""So many levels of lists and objects in each other a file may have; the harness writes a dozen at most."""
LONGEST = 80
"""Characters of a value out of a file that a message shows."""
MOST_MEMBERS = 1_000_000
"""So many tasks the groups of a file may have, each counted in every group above it; ours have some thousands."""


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

    def malformed(self) -> Iterator[tuple[str, str]]:
        """Yield the names of tasks of which nothing can be told, not even whose they are, and why."""
        for name, config in self.content["configs"].items():
            if not isinstance(config, dict):
                yield _task(name), f"its config is {shown(config)}; expected an object"
            elif not isinstance(config.get("metadata"), dict | None):
                yield _task(name), f"its metadata is {shown(config['metadata'])}; expected an object"

    def of_task(self, table: str, name: str) -> Any:
        """Return what another table of the file has for a task; ``None`` if nothing.

        Args:
            table: its name, for example ``n-samples``.
            name: of the task, as it stands in the file.
        """
        found = self.content.get(table)
        return found.get(name) if isinstance(found, dict) else None

    @cached_property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The tasks of each group, without groups between.

        Raises:
            RowsError: the file says otherwise than by names of tasks and groups, or a group is in itself.
        """
        tree = self.content.get("group_subtasks")
        if tree is None:
            return {}
        if not isinstance(tree, dict):
            raise self._wrong("group_subtasks", tree, "an object with the tasks of each group")
        for name, parts in tree.items():
            if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
                raise self._wrong(f"group_subtasks, {shown(name)}", parts, "a list of names")
        return self._without_groups_between(tree)

    def _without_groups_between(self, tree: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        members = 0
        try:
            # Parts come before what they are parts of: each group is put together once, however often it is a part.
            for name in TopologicalSorter(tree).static_order():
                # The name of an inline group has the mark in every version: natural_instructions_ablation::prompt.
                tasks = dict.fromkeys(task for part in tree.get(name, ()) for task in found[part])
                found[name] = tuple(tasks) or (_task(name),)
                members += len(found[name])
                if members > MOST_MEMBERS:
                    raise RowsError(f"{self.path}: group_subtasks: more than {MOST_MEMBERS:,} tasks in its groups")
        except CycleError as error:
            circle = " -> ".join(map(shown, error.args[1][:FEW]))
            raise RowsError(f"{self.path}: group_subtasks: a group is in itself ({circle})") from error
        return {name: found[name] for name in tree if tree[name]}

    def _wrong(self, where: str, value: object, expected: str) -> RowsError:
        return RowsError(f"{self.path}: {where} is {shown(value)}; expected {expected}, as `lm_eval` writes it")


def _task(name: str) -> str:
    """Return a task's own name; the harness from 0.5 on puts that of the group before it, ``group::task``."""
    return name.rpartition("::")[2]


def find(paths: Sequence[Path]) -> list[Path]:
    """Return the files of results, each once.

    Args:
        paths: result files, or folders, in which all ``results_*.json`` are found.

    Raises:
        OSError: a folder cannot be listed.
        RowsError: a folder has none.
    """
    found: dict[str, Path] = {}
    for path in paths:
        inside = sorted(_inside(path)) if path.is_dir() else [path]
        if not inside:
            raise RowsError(f"{path}: no results_*.json in this folder; expected what `lm_eval --output_path` writes")
        for file in inside:
            # A file that is named and stands in a named folder as well is one.
            found.setdefault(os.path.realpath(file), file)
    return list(found.values())


def _inside(folder: Path) -> Iterator[Path]:
    def unlisted(error: OSError) -> None:
        # What is in there may be the newest: it is not to be passed over, as Path.rglob does.
        raise error

    for parent, folders, files in os.walk(folder, onerror=unlisted):
        yield from (Path(parent, name) for name in (*folders, *files) if fnmatchcase(name, "results_*.json"))


def read(path: Path) -> ResultFile:
    """Return what a file of results holds.

    Raises:
        OSError: it cannot be opened.
        RowsError: it is not a file of results.
    """
    text = path.read_bytes()
    if text.startswith(GZIP):
        raise RowsError(f"{path}: is compressed; expected a results_*.json of the harness: unpack it and its samples")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RowsError(f"{path}: not JSON ({error}); expected a results_*.json of the harness") from error
    if is_too_deep(content):
        raise RowsError(f"{path}: more than {DEEPEST} levels of lists and objects; expected what the harness writes")
    if not isinstance(content, dict) or not all(isinstance(content.get(key), dict) for key in ("results", "configs")):
        raise RowsError(f"{path}: no 'results' and 'configs'; expected a results_*.json of the harness")
    date = content.get("date")
    when = float(date) if isinstance(date, int | float) and 0 <= date < LATEST else path.stat().st_mtime
    return ResultFile(path, content, when)


def is_too_deep(value: object) -> bool:
    """Return whether lists and objects stand in each other so deep that no file of the harness has them.

    Python reads thousands of levels, and then runs out of stack wherever it says, copies or compares them.
    """
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def shown(value: object) -> str:
    """Return a value out of a file for a message, cut short: whoever wrote the file can have made it any length."""
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
