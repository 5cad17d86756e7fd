"""The results files that the harness writes: ``lm_eval --output_path FOLDER``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from errno import ENOENT
from fnmatch import fnmatchcase
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from lm_eval_ext.results.issue import MOST_NAMED
from lm_eval_ext.sources import RowsError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LATEST = 1e11
"""The upper limit of a plausible date, in seconds since 1970; the harness writes no later one."""
RESULTS, SAMPLES = "results_*.json", "samples_*.jsonl"
"""What the harness calls its files."""
DEEPEST = 100
"""The deepest nesting of lists and objects that a file may have; the harness writes a dozen levels at most."""
LONGEST = 80
"""The most characters of a value from a file that a message shows."""


@dataclass(frozen=True)
class ResultFile:
    """A results file.

    Attributes:
        path: the file.
        name: what the user calls it.
        content: its parsed JSON; ``results`` and ``configs`` are mappings.
        date: the date of the run, in seconds since 1970; the file's modification time if none is recorded.
    """

    path: Path
    name: str
    content: Mapping[str, Any]
    date: float

    @property
    def config(self) -> Mapping[str, Any]:
        """How the harness was called; empty if this is not recorded."""
        config = self.content.get("config")
        return config if isinstance(config, dict) else {}

    @property
    def order(self) -> tuple[float, str]:
        """The sort key that puts newer files later: by date, then by name."""
        return self.date, str(self.path)

    def of_task(self, table: str, name: str) -> Any:
        """Return a task's entry in another table of the file; ``None`` if there is none.

        Args:
            table: the table's name, for example ``n-samples``.
            name: the task's name in the file.
        """
        entries = self.content.get(table)
        return entries.get(name) if isinstance(entries, dict) else None

    @cached_property
    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """The tasks of each group, with nested groups expanded.

        Raises:
            RowsError: the table is not made of task and group names, or a group contains itself.
        """
        tree = self.content.get("group_subtasks")
        if tree is None:
            return {}
        where = f"{self.name}: group_subtasks"
        if not isinstance(tree, dict):
            expected = "an object with the tasks of each group, as `lm_eval` writes it"
            raise RowsError(f"{where} is {short_repr(tree)}; expected {expected}")
        for name, parts in tree.items():
            if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
                expected = "a list of names, as `lm_eval` writes it"
                raise RowsError(f"{where}, {short_repr(name)} is {short_repr(parts)}; expected {expected}")
        expanded: dict[str, tuple[str, ...]] = {}
        try:
            # Members come before the groups that contain them, so each group is expanded only once.
            for name in TopologicalSorter(tree).static_order():
                # The name of an inline group contains "::" in every version: natural_instructions_ablation::prompt.
                tasks = dict.fromkeys(task for part in tree.get(name, ()) for task in expanded[part])
                expanded[name] = tuple(tasks) or (bare_name(name),)
        except CycleError as error:
            circle = " -> ".join(map(short_repr, error.args[1][:MOST_NAMED]))
            raise RowsError(f"{where}: a group contains itself ({circle})") from error
        return {name: expanded[name] for name in tree if tree[name]}


def bare_name(name: str) -> str:
    """Return a task's own name; from 0.5 on, the harness prefixes it with the group's: ``group::task``."""
    return name.rpartition("::")[2]


def metric_and_filter(field: str) -> tuple[str, str] | None:
    """Return what a figure is of, from its name ``METRIC,FILTER``; ``None`` for other entries, such as ``alias``.

    A metric's name may contain commas; the harness's own filters have none in theirs.
    """
    metric, comma, reader = field.rpartition(",")
    return (metric, reader) if comma else None


def find(paths: Sequence[Path]) -> list[Path]:
    """Return the results files, each once.

    Args:
        paths: results files, or folders that are searched for ``results_*.json``.

    Raises:
        OSError: there is no such file or folder, or a folder cannot be listed.
        RowsError: a folder contains none.
    """

    def unlisted(error: OSError) -> None:
        # The newest results may be in there, so it must not be skipped silently, as Path.rglob would.
        raise error

    files_by_path: dict[str, Path] = {}
    for path in paths:
        inside = [path]
        if path.is_dir():
            names = (
                Path(parent, name)
                for parent, folders, files in os.walk(path, onerror=unlisted)
                for name in (*folders, *files)
                if fnmatchcase(name, RESULTS)
            )
            inside = sorted(names)
        elif not path.exists():
            problem = f"{os.strerror(ENOENT)}; expected results that `lm_eval --output_path` wrote"
            raise FileNotFoundError(ENOENT, problem, str(path))
        if not inside:
            raise RowsError(f"{path}: no results_*.json in this folder; expected what `lm_eval --output_path` writes")
        for file in inside:
            # A file may be given both by name and by its folder.
            files_by_path.setdefault(os.path.realpath(file), file)
    return list(files_by_path.values())


def files_at(places: Iterable[str | Path]) -> Iterator[Path]:
    """Yield the files that results can be read from: results and samples in folders, and files given by name.

    Args:
        places: as a user named them; what is not on this machine has none.
    """
    for place in map(Path, places):
        for parent, _, names in os.walk(place):
            yield from (
                Path(parent, name) for name in names if fnmatchcase(name, RESULTS) or fnmatchcase(name, SAMPLES)
            )
        # Path.is_file raises if a name is too long for the file system; this does not.
        if os.path.isfile(place):  # noqa: PTH113 # as above
            yield place
            yield from place.parent.glob(SAMPLES)


def read(path: Path, name: str = "") -> ResultFile:
    """Read a results file.

    Args:
        path: the file.
        name: what the user calls it; empty: its path.

    Raises:
        OSError: it cannot be opened.
        RowsError: it is not a results file.
    """
    name = name or str(path)
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise RowsError(
            f"{name}: not JSON ({error}); expected a results_*.json of the harness, or an archive (.zip, .tar.gz, .tgz)"
        ) from error
    if is_too_deep(content):
        raise RowsError(f"{name}: more than {DEEPEST} levels of lists and objects; expected what the harness writes")
    if not isinstance(content, dict) or not all(isinstance(content.get(key), dict) for key in ("results", "configs")):
        raise RowsError(f"{name}: no 'results' and 'configs'; expected a results_*.json of the harness")
    date = content.get("date")
    when = float(date) if isinstance(date, int | float) and 0 <= date < LATEST else path.stat().st_mtime
    return ResultFile(path, name, content, when)


def read_toml(path: Path, expected: str) -> dict[str, Any]:
    """Read a TOML file that a user wrote.

    Args:
        path: the file.
        expected: what should be in it, for the message.

    Raises:
        OSError: it cannot be opened.
        RowsError: it is not TOML, or nested deeper than anything that is expected.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        # Python also rejects numbers that are too long.
        raise RowsError(f"{path}: not TOML ({error}); expected {expected}") from error
    if is_too_deep(content):
        raise RowsError(f"{path}: more than {DEEPEST} levels of tables; expected {expected}")
    return content


def is_too_deep(value: object) -> bool:
    """Return whether lists and objects are nested deeper than in any file that the harness writes.

    Python parses thousands of levels, but then exhausts the stack when it prints, copies or compares them.
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


def short_repr(value: object) -> str:
    """Return a value from a file as text for a message, truncated because it can be of any length."""
    try:
        text = repr(value)
    except ValueError:
        # Python writes no number of more than 4,300 digits.
        return f"{type(value).__name__} with a number that is too long to be shown"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
