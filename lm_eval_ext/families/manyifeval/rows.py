"""The rows of every task, from the three sources: 100 per number of instructions, the same task prompts under each.

* ``"hub"``: reconstructed from ``google/IFEval`` (``reconstruction``);
* ``"embedded"``: task prompts written for this project;
* a file or a folder: the published rows, or a copy of IFEval's to reconstruct them from.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

from lm_eval_ext import sources
from lm_eval_ext.families.manyifeval import published
from lm_eval_ext.families.manyifeval.compose import INSTRUCTIONS, Composition, Task, compose
from lm_eval_ext.families.manyifeval.prompt import prompt_of
from lm_eval_ext.families.manyifeval.reconstruction import IFEVAL, IFEVAL_SPLIT, reconstruct
from lm_eval_ext.families.manyifeval.row import Row
from lm_eval_ext.sources import RowsError, Table

NAME = "manyifeval"
IFEVAL_FILES = (f"ifeval_{IFEVAL_SPLIT}.jsonl", f"ifeval_{IFEVAL_SPLIT}.parquet", "ifeval_input_data.jsonl")
"""A copy of IFEval in a folder: in the hub's columns, or under the name of its first publication."""
TEST, TRAIN, FEWSHOT = "test", "train", "fewshot"
SPLITS = (TEST, TRAIN, FEWSHOT)


def rows(source: str, split: str, count: int, repeat: bool = False) -> tuple[Row, ...]:
    """Return the rows of one split that have ``count`` instructions.

    Args:
        source: see the module.
        split: ``"test"``, ``"train"`` or ``"fewshot"``.
        count: 1 to 10.
        repeat: whether the first instruction stands ``count`` times instead (appendix C).

    Raises:
        RowsError: the rows cannot be had, or are not what they should be.
    """
    found = [row for row in all_rows(source, split) if len(row.instructions) == (1 if repeat else count)]
    if not found:
        raise RowsError(f"source {source!r}, split {split!r}: no rows with {count} instructions")
    if not repeat:
        return tuple(found)
    return tuple(_repeated(row, count) for row in found)


def _repeated(row: Row, count: int) -> Row:
    instructions = row.instructions * count
    return replace(row, instructions=instructions, prompt=prompt_of(row.task_prompt, instructions))


@cache
def all_rows(source: str, split: str) -> tuple[Row, ...]:
    """Return the rows of one split, those of a task prompt one after the other.

    Raises:
        RowsError: as ``rows``.
    """
    table = _published(source, split)
    if table is not None:
        return published.rows_of(table)
    return tuple(row for task in tasks(source, split) for row in nested(task, composition(task)))


def nested(task: Task, composed: Composition) -> tuple[Row, ...]:
    """Return a task prompt's rows: the first instruction, the first two, and so on to all ten."""
    prefixes = (composed.instructions[:count] for count in range(1, INSTRUCTIONS + 1))
    return tuple(
        Row(task.key, task.task_prompt, prompt_of(task.task_prompt, prefix), prefix, composed.witness)
        for prefix in prefixes
    )


@cache
def composition(task: Task) -> Composition:
    """Return the ten instructions of a task prompt; see ``compose``."""
    return compose(task)


@cache
def tasks(source: str, split: str) -> tuple[Task, ...]:
    """Return the bare task prompts of one split of a source that has no finished rows.

    Raises:
        RowsError: as ``rows``.
    """
    if source == sources.EMBEDDED:
        return tuple(_embedded(sources.load(NAME, split, IFEVAL, source)))
    return reconstruct(_ifeval(source), split)


def origin(source: str) -> str:
    """Return, for the record, what the rows of a source are."""
    if source == sources.EMBEDDED:
        return "task prompts written for this project, instructions composed"
    if _published(source, TEST) is not None:
        return "finished rows in the published schema"
    return "task prompts cut out of google/IFEval, instructions composed"


@cache
def rows_hash(source: str, split: str, count: int, repeat: bool = False) -> str:
    """Return 16 hexadecimal digits that are equal where prompts, instructions and their order are."""
    shown = [(row.key, row.prompt, list(map(repr, row.instructions))) for row in rows(source, split, count, repeat)]
    return hashlib.sha256(json.dumps(shown, ensure_ascii=False).encode()).hexdigest()[:16]


def _embedded(table: Table) -> list[Task]:
    texts = table.text("task_prompt", ("key", "task_prompt"))
    return [Task(key, text) for key, text in zip(table.column("key"), texts, strict=True)]


def _path(source: str) -> Path | None:
    return None if source in (sources.HUB, sources.EMBEDDED) else Path(source).expanduser().resolve()


def _published(source: str, split: str) -> Table | None:
    """Return the table of finished rows that a file or folder holds for the split, if it holds any."""
    path = _path(source)
    if path is None:
        return None
    if path.is_file():
        table = sources.from_file(path)
        if not is_published(table):
            return None
        if split != TEST:
            raise RowsError(
                f"{path}: a file of finished rows has no {split} split; give a folder with {NAME}_{split}.jsonl"
            )
        return table
    if not path.is_dir():
        raise RowsError(_neither(source))
    return sources.load(NAME, split, IFEVAL, source) if sources.has_split(NAME, split, source) else None


def is_published(table: Table) -> bool:
    """Tell finished rows, which have fields besides IFEval's, from IFEval's."""
    return any(field in table.columns for field in published.FURTHER_FIELDS)


def _ifeval(source: str) -> Table:
    path = _path(source)
    if path is None:
        return sources.load("ifeval", IFEVAL_SPLIT, IFEVAL, sources.HUB)
    if path.is_file():
        return sources.from_file(path)
    copy = next((path / name for name in IFEVAL_FILES if (path / name).is_file()), None)
    if copy is None:
        found = sorted(entry.name for entry in path.iterdir() if entry.suffix in sources.SUFFIXES)
        raise RowsError(
            f"no rows of {NAME!r} in {path}: expected {NAME}_{TEST}.jsonl (or .parquet; the published schema) or a "
            f"copy of google/IFEval named {' or '.join(IFEVAL_FILES)}; found {', '.join(found) or 'no such files'}"
        )
    return sources.from_file(copy)


def _neither(source: str) -> str:
    return (
        f'source {source!r} is neither a file nor a folder; expected "{sources.HUB}", "{sources.EMBEDDED}", the path '
        f"of the published file, or the path of a folder with {NAME}_{TEST}.jsonl or a copy of google/IFEval "
        f"({IFEVAL_FILES[0]})"
    )
