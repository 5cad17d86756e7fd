"""The rows of every task, from the three sources: 100 per number of instructions, with the same task prompts for each.

The task of single instructions has a row for each instruction of each task prompt: 1,000.

* ``"hub"``: reconstructed from ``google/IFEval`` (``reconstruction``);
* ``"embedded"``: task prompts written for this project;
* a file or a folder: the published rows, a copy of IFEval to reconstruct them from, or bare task prompts.

The instructions of the default rows are data (``frozen``). Under a row seed, the task prompts come out of a grammar
(``prompts``), except for a user's own bare ones. Their instructions are composed (``instructions.compose``), and so are
those of a user's own task prompts.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from pathlib import Path

from lm_eval_ext import sources
from lm_eval_ext.families.instructions import check_keys
from lm_eval_ext.families.instructions.compose import INSTRUCTIONS, Composition, Task, compose
from lm_eval_ext.families.instructions.kinds import FIFTEEN, WIDE
from lm_eval_ext.families.manyifeval import published
from lm_eval_ext.families.manyifeval.frozen import composition
from lm_eval_ext.families.manyifeval.instruction_row import InstructionRow, prompt_of
from lm_eval_ext.families.manyifeval.prompts import prompts
from lm_eval_ext.families.manyifeval.reconstruction import IFEVAL, IFEVAL_SPLIT, reconstruct
from lm_eval_ext.metadata import ROW_SEED, digest
from lm_eval_ext.sources import RowsError, Table

NAME = "manyifeval"
IFEVAL_FILES = (f"ifeval_{IFEVAL_SPLIT}.jsonl", f"ifeval_{IFEVAL_SPLIT}.parquet", "ifeval_input_data.jsonl")
"""File names for a copy of IFEval in a folder: with the hub's columns, or under the name of its first publication."""
BARE_FIELDS = ("key", "task_prompt")
TEST, TRAIN, FEWSHOT = "test", "train", "fewshot"
SPLITS = (TEST, TRAIN, FEWSHOT)
PARTS = {TEST: (0, 100), FEWSHOT: (100, 106), TRAIN: (106, 216)}
"""Which task prompts of a draw each split has: as many as ``reconstruction`` has."""


@dataclass(frozen=True)
class Selection:
    """Which rows a task evaluates.

    Attributes:
        source: see the module.
        count: the number of instructions in a row, 1 to 10.
        repeat: whether the first instruction is repeated ``count`` times instead (appendix C).
        single: whether every instruction of a task prompt has a row of its own instead (section 3.1, Table 4).
        keys: the keys of the task prompts; ``None`` for all in the test split.
        row_seed: see ``metadata.chosen_row_seed``; ``None`` for the default rows.
        wide: whether the instructions are of the larger pool (``wide``).
    """

    source: str
    count: int
    repeat: bool = False
    single: bool = False
    keys: tuple[int | str, ...] | None = None
    row_seed: int | None = None
    wide: bool = False


@cache
def evaluated(selection: Selection) -> tuple[InstructionRow, ...]:
    """Return the rows of a selection, in the order of the source.

    Raises:
        RowsError: the rows are not available or not valid, or have no task prompt with one of the keys.
    """
    source, keys = selection.source, selection.keys
    found = single_rows(source, selection.row_seed) if selection.single else rows_of(selection, TEST)
    if keys is None:
        return found
    there = dict.fromkeys(row.key for row in found)
    missing = [key for key in keys if key not in there]
    if missing:
        raise RowsError(
            f"source {source!r}: no task prompt with the key {missing[0]!r}, the first of {len(missing)} missing ones; "
            f"expected keys among its {len(there)}, for example {', '.join(map(repr, list(there)[:3]))}"
        )
    chosen = {*keys}
    return tuple(row for row in found if row.key in chosen)


def single_rows(source: str, row_seed: int | None = None) -> tuple[InstructionRow, ...]:
    """Return a row for each instruction of each task prompt of the test split, in the order of its longest row.

    Raises:
        RowsError: the rows are not available or not valid.
    """
    longest: dict[int | str, InstructionRow] = {}
    for row in all_rows(source, TEST, row_seed):
        longest[row.key] = max(longest.get(row.key, row), row, key=lambda one: len(one.instructions))
    return tuple(
        replace(row, instructions=(instruction,), prompt=prompt_of(row.task_prompt, (instruction,)))
        for row in longest.values()
        for instruction in row.instructions
    )


def rows(
    source: str, split: str, count: int, repeat: bool = False, row_seed: int | None = None
) -> tuple[InstructionRow, ...]:
    """Return the rows of one split that have ``count`` of ManyIFEval's 15 instructions; see ``rows_of``."""
    return rows_of(Selection(source, count, repeat, row_seed=row_seed), split)


def rows_of(selection: Selection, split: str) -> tuple[InstructionRow, ...]:
    """Return the rows of one split with the number of instructions of a selection, whatever its keys.

    Args:
        selection: not of single instructions.
        split: ``"test"``, ``"train"`` or ``"fewshot"``.

    Raises:
        RowsError: the rows are not available or not valid.
    """
    source, count, repeat = selection.source, selection.count, selection.repeat
    everything = all_rows(source, split, selection.row_seed, selection.wide)
    found = [row for row in everything if len(row.instructions) == (1 if repeat else count)]
    if not found:
        raise RowsError(f"source {source!r}, split {split!r}: no rows with {count} instructions")
    if not repeat:
        return tuple(found)
    return tuple(_repeated(row, count) for row in found)


def _repeated(row: InstructionRow, count: int) -> InstructionRow:
    instructions = row.instructions * count
    return replace(row, instructions=instructions, prompt=prompt_of(row.task_prompt, instructions))


def all_rows(source: str, split: str, row_seed: int | None = None, wide: bool = False) -> tuple[InstructionRow, ...]:
    """Return the rows of one split, grouped by task prompt.

    Raises:
        RowsError: as ``rows``, or a row seed or the larger pool was asked for, and the rows are finished.
    """
    return _all_rows(source, split, row_seed, wide)


# Apart from all_rows, whose callers leave arguments out: the cache would take them for others and compose again.
@cache
def _all_rows(source: str, split: str, row_seed: int | None, wide: bool) -> tuple[InstructionRow, ...]:
    pool = WIDE if wide else FIFTEEN
    if row_seed is not None:
        of_draw = _drawn(source, split, row_seed)
        composed = compose(of_draw, pool, row_seed, len(of_draw))
        return tuple(row for task, each in zip(of_draw, composed, strict=True) for row in nested(task, each))
    table = _table(source, split)
    if _content(table) != Content.FINISHED:
        return tuple(
            row
            for task in tasks(source, split)
            for row in nested(task, composition(pool.name, task) or compose([task], pool, None, task.key)[0])
        )
    if wide:
        raise RowsError(
            f"{table.origin}: its rows are finished, with instructions of their own, and none are drawn; use bare task "
            f"prompts ({', '.join(BARE_FIELDS)} only) or another source"
        )
    return published.rows_of(table)


def task_prompts(source: str, row_seed: int | None) -> tuple[Task, ...]:
    """Return the task prompts of the test split, bare even where the rows are finished.

    Raises:
        RowsError: as ``rows``.
    """
    if row_seed is not None:
        return _drawn(source, TEST, row_seed)
    if _content(_table(source, TEST)) == Content.FINISHED:
        bare = {row.key: row.task_prompt for row in all_rows(source, TEST)}
        return tuple(Task(key, task_prompt) for key, task_prompt in bare.items())
    return tasks(source, TEST)


def _drawn(source: str, split: str, row_seed: int) -> tuple[Task, ...]:
    """Return the task prompts of a row seed: a user's own bare ones, or those out of the grammar."""
    return _own_tasks(source, split, row_seed) or tuple(
        Task(key, prompt) for key, prompt in enumerate(prompts(row_seed, *PARTS[split]), start=PARTS[split][0] + 1)
    )


def _own_tasks(source: str, split: str, row_seed: int) -> tuple[Task, ...]:
    """Return the bare task prompts that a user gives; none if a row seed draws them, too.

    Raises:
        RowsError: the rows are finished.
    """
    if source in (sources.HUB, sources.EMBEDDED):
        return ()
    table = _table(source, split)
    content = _content(table)
    if content == Content.FINISHED:
        raise RowsError(
            f"{table.origin}: {ROW_SEED} {row_seed}, but its rows are finished, and nothing is drawn; "
            f"remove {ROW_SEED}, or use bare task prompts ({', '.join(BARE_FIELDS)} only) or another source"
        )
    return _bare(table) if content == Content.BARE else ()


def tasks(source: str, split: str) -> tuple[Task, ...]:
    """Return the bare task prompts of one split of a source whose rows are not finished.

    Raises:
        RowsError: as ``rows``.
    """
    table = _table(source, split)
    return _bare(table) if _content(table) == Content.BARE else reconstruct(table, split)


def nested(task: Task, composed: Composition) -> tuple[InstructionRow, ...]:
    """Return a task prompt's rows: with the first instruction, the first two, and so on up to all ten."""
    prefixes = (composed.instructions[:count] for count in range(1, INSTRUCTIONS + 1))
    return tuple(
        InstructionRow(task.key, task.task_prompt, prompt_of(task.task_prompt, prefix), prefix, composed.witness)
        for prefix in prefixes
    )


@cache
def rows_hash(selection: Selection) -> str:
    """Return 16 hexadecimal digits that are equal if the prompts, the instructions and their order are equal."""
    return hash_of(evaluated(selection))


def hash_of(rows: Sequence[InstructionRow]) -> str:
    """Return 16 hexadecimal digits that are equal if the prompts, the instructions and their order are equal."""
    shown = [(row.key, row.prompt, list(map(repr, row.instructions))) for row in rows]
    return digest(json.dumps(shown, ensure_ascii=False))


class Content(Enum):
    """The content of a table of rows; the value is recorded in the results."""

    FINISHED = "finished rows in the published schema"
    BARE = "bare task prompts, instructions composed"
    IFEVAL = "task prompts cut out of google/IFEval, instructions composed"
    FRESH = "task prompts and instructions composed under the row seed"


def origin(source: str, row_seed: int | None = None) -> str:
    """Return a description of a source's test rows, to be recorded in the results.

    Raises:
        RowsError: as ``rows``.
    """
    if row_seed is not None and not _own_tasks(source, TEST, row_seed):
        return Content.FRESH.value
    return _content(_table(source, TEST)).value


def _content(table: Table) -> Content:
    if set(table.columns) <= set(BARE_FIELDS):
        return Content.BARE
    return Content.FINISHED if set(table.columns) & set(published.FURTHER_FIELDS) else Content.IFEVAL


def _bare(table: Table) -> tuple[Task, ...]:
    texts, keys = table.text("task_prompt", BARE_FIELDS), table.column("key", BARE_FIELDS)
    check_keys(table.origin, keys)
    seen: set[int | str] = set()
    for number, (key, text) in enumerate(zip(keys, texts, strict=True), start=1):
        if key in seen:
            raise RowsError(f"{table.origin}, row {number}, field 'key': expected a unique key, found {key!r} again")
        if not text.strip():
            raise RowsError(f"{table.origin}, row {number}, field 'task_prompt': expected text, found {text!r}")
        seen.add(key)
    return tuple(Task(key, text) for key, text in zip(keys, texts, strict=True))


def _table(source: str, split: str) -> Table:
    if source == sources.HUB:
        return sources.load("ifeval", IFEVAL_SPLIT, IFEVAL, source)
    if source == sources.EMBEDDED:
        return sources.load(NAME, split, IFEVAL, source)
    path = Path(source).expanduser().resolve()
    if path.is_file():
        return _of_file(path, split)
    if not path.is_dir():
        raise RowsError(
            f'source {source!r} is neither a file nor a folder; expected "{sources.HUB}", "{sources.EMBEDDED}", the '
            f"path of a file of rows, or the path of a folder with {NAME}_{split}.jsonl or a copy of google/IFEval "
            f"({IFEVAL_FILES[0]})"
        )
    # All splits come from one origin: a copy of IFEval next to a test file could demonstrate the rows under evaluation.
    if any(sources.has_split(NAME, other, source) for other in SPLITS):
        return sources.load(NAME, split, IFEVAL, source)
    copy = next((path / name for name in IFEVAL_FILES if (path / name).is_file()), None)
    if copy is None:
        found = sorted(entry.name for entry in path.iterdir() if entry.suffix in sources.SUFFIXES)
        raise RowsError(
            f"no rows of {NAME!r} in {path}: expected {NAME}_{split}.jsonl (or .parquet; the published schema) or a "
            f"copy of google/IFEval named {' or '.join(IFEVAL_FILES)}; found {', '.join(found) or 'no such files'}"
        )
    return sources.from_file(copy)


def _of_file(path: Path, split: str) -> Table:
    table = sources.from_file(path)
    if split != TEST and _content(table) != Content.IFEVAL:
        raise RowsError(f"{path}: a single file has no {split} split; give a folder with {NAME}_{split}.jsonl")
    return table
