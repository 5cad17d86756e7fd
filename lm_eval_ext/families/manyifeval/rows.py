"""The rows of every task, from the three sources: 100 per number of instructions, with the same task prompts for each.

The task of single instructions has a row for each instruction of each task prompt: 1,000.

* ``"hub"``: reconstructed from ``google/IFEval`` (``prompts.reconstruct``);
* ``"embedded"``: task prompts written for this project;
* a file or a folder: the published rows, a copy of IFEval to reconstruct them from, or bare task prompts.

The instructions of the default rows, and the answers that documents contain, are data (``frozen``). They were composed
once: a change to what composes rows, or to what writes answers, changes neither these rows nor their documents, by
whose hashes the results tell whether two runs were asked the same. ``tasks/_default_rows.py`` writes the files. Under a
row seed, the task prompts come out of a grammar (``prompts``), except for a user's own bare ones. Their instructions
are composed (``instructions.compose``), and so are those of a user's own task prompts.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from lm_eval_ext import sources
from lm_eval_ext.families.instructions import check_keys, instructions_of_row, require_fields, text_in
from lm_eval_ext.families.instructions.compose import INSTRUCTIONS, Composition, Task, compose
from lm_eval_ext.families.instructions.kinds import FIFTEEN, LARGER_POOL, Pool
from lm_eval_ext.families.instructions.writer import respond
from lm_eval_ext.families.manyifeval.prompts import IFEVAL, IFEVAL_SPLIT, prompts, reconstruct
from lm_eval_ext.metadata import ROW_SEED, digest
from lm_eval_ext.sources import RowsError, Table
from lm_eval_ext.verifiers import Checker, instruction

NAME = "manyifeval"
IFEVAL_FILES = (f"ifeval_{IFEVAL_SPLIT}.jsonl", f"ifeval_{IFEVAL_SPLIT}.parquet", "ifeval_input_data.jsonl")
"""File names for a copy of IFEval in a folder: with the hub's columns, or under the name of its first publication."""
BARE_FIELDS = ("key", "task_prompt")
FURTHER_FIELDS = ("task_prompt", "not_conflict_rules_list", "rules")
FIELDS = ("key", "prompt", "instruction_id_list", "kwargs", *FURTHER_FIELDS)
"""Those of the published rows: IFEval's, the bare task, and the wording of all its instructions and of the row's."""
TEST, TRAIN, FEWSHOT = "test", "train", "fewshot"
SPLITS = (TEST, TRAIN, FEWSHOT)
PARTS = {TEST: (0, 100), FEWSHOT: (100, 106), TRAIN: (106, 216)}
"""Which task prompts each split has, by place among those of a row seed: in all, as many as the recipe has lines."""
LEAD = "Your response should follow the instructions below:"

Part = Literal["fifteen", "wide", "cousins", "sections"]
"""A file of frozen rows. ``fifteen`` and ``wide``: by task prompt, the ``instructions`` out of ManyIFEval's 15, or out
of the larger pool, each as its id and arguments, or as its place among those that the task prompt came with (their
arguments are IFEval's); the ``witness`` that follows all ten; of few-shot examples also ``answers``, to the first
instruction, to the first two, and so on. ``cousins``: by prompt, of each variant the number of draws before it and its
witness. ``sections``: by prompt, the witness of a report in sections."""


@dataclass(frozen=True)
class InstructionRow:
    """A task prompt with n instructions.

    Attributes:
        key: the key of the task prompt; the same for every n.
        task_prompt: the bare task.
        prompt: the prompt for the model.
        instructions: the n instructions, in the prompt's order.
        witness: a response that follows all of them, if one is known.
    """

    key: int | str
    task_prompt: str
    prompt: str
    instructions: tuple[Checker, ...]
    witness: str | None = None


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
        wide: whether the instructions are of the larger pool.
    """

    source: str
    count: int
    repeat: bool = False
    single: bool = False
    keys: tuple[int | str, ...] | None = None
    row_seed: int | None = None
    wide: bool = False


class Content(Enum):
    """The content of a table of rows; the value is recorded in the results."""

    FINISHED = "finished rows in the published schema"
    BARE = "bare task prompts, instructions composed"
    IFEVAL = "task prompts cut out of google/IFEval, instructions composed"
    FRESH = "task prompts and instructions composed under the row seed"


def prompt_of(task_prompt: str, instructions: Sequence[Checker], lines: Sequence[str] | None = None) -> str:
    """Return the task prompt followed by one line per instruction (Tables 6 and 7).

    Args:
        task_prompt: the bare task.
        instructions: the instructions.
        lines: the instructions in other words than the published ones.
    """
    lines = [instruction.describe() for instruction in instructions] if lines is None else lines
    return "\n".join([task_prompt, "", LEAD, *(f"- {line}" for line in lines)])


@cache
def evaluated(selection: Selection) -> tuple[InstructionRow, ...]:
    """Return the rows of a selection, in the order of the source; single instructions in that of their longest row.

    Raises:
        RowsError: the rows are not available or not valid, or have no task prompt with one of the keys.
    """
    source, keys = selection.source, selection.keys
    if selection.single:
        longest: dict[int | str, InstructionRow] = {}
        for row in all_rows(source, TEST, selection.row_seed):
            longest[row.key] = max(longest.get(row.key, row), row, key=lambda row: len(row.instructions))
        selected = tuple(_with(row, (checker,)) for row in longest.values() for checker in row.instructions)
    else:
        selected = rows_with_count(selection)
    if keys is None:
        return selected
    known_keys = dict.fromkeys(row.key for row in selected)
    missing = [key for key in keys if key not in known_keys]
    if missing:
        raise RowsError(
            f"source {source!r}: no task prompt with the key {missing[0]!r}, the first of {len(missing)} missing ones; "
            f"expected keys among its {len(known_keys)}, for example {', '.join(map(repr, list(known_keys)[:3]))}"
        )
    chosen = {*keys}
    return tuple(row for row in selected if row.key in chosen)


def rows_with_count(selection: Selection, split: str = TEST) -> tuple[InstructionRow, ...]:
    """Return the rows of one split with the number of instructions of a selection, whatever its keys.

    Args:
        selection: as if it were not of single instructions.
        split: ``"test"``, ``"train"`` or ``"fewshot"``.

    Raises:
        RowsError: the rows are not available or not valid.
    """
    source, count, repeat = selection.source, selection.count, selection.repeat
    split_rows = all_rows(source, split, selection.row_seed, selection.wide)
    matching = [row for row in split_rows if len(row.instructions) == (1 if repeat else count)]
    if not matching:
        raise RowsError(f"source {source!r}, split {split!r}: no rows with {count} instructions")
    return tuple(_with(row, row.instructions * count) if repeat else row for row in matching)


def _with(row: InstructionRow, instructions: tuple[Checker, ...]) -> InstructionRow:
    return replace(row, instructions=instructions, prompt=prompt_of(row.task_prompt, instructions))


def demonstrated(selection: Selection, n: int) -> Iterator[InstructionRow]:
    """Yield the first ``n`` few-shot rows of a selection, each with an answer.

    Raises:
        RowsError: there are fewer than ``n``.
    """
    fewshot_rows = rows_with_count(selection, FEWSHOT)
    if n > len(fewshot_rows) or not all(row.witness for row in fewshot_rows):
        raise RowsError(
            f"source {selection.source!r}: --num_fewshot {n} asks for more few-shot examples than the "
            f"{sum(bool(row.witness) for row in fewshot_rows)} task prompts with a known answer in the {FEWSHOT} split"
        )
    records = frozen("wide" if selection.wide else "fifteen") if selection.row_seed is None else {}
    for row in fewshot_rows[:n]:
        answers = records.get(row_id(row.key, row.task_prompt), {}).get("answers")
        # A repeated instruction is one instruction.
        known_answer = answers[len(set(row.instructions)) - 1] if answers else None
        # Not the row's own witness: it follows all ten instructions, even those that the prompt does not ask for.
        # In the larger pool, it may be the only answer that is known.
        yield replace(row, witness=known_answer or respond(row.instructions) or row.witness)


def rows_hash(rows: Sequence[InstructionRow]) -> str:
    """Return 16 hexadecimal digits that are equal if the prompts, the instructions and their order are equal."""
    content = [(row.key, row.prompt, list(map(repr, row.instructions))) for row in rows]
    return digest(json.dumps(content, ensure_ascii=False))


def all_rows(source: str, split: str, row_seed: int | None = None, wide: bool = False) -> tuple[InstructionRow, ...]:
    """Return the rows of one split, grouped by task prompt.

    Raises:
        RowsError: the rows are not available or not valid, or a row seed or the larger pool was asked for, and the rows
            are finished.
    """
    return _cached_rows(source, split, row_seed, wide)


# Apart from all_rows, whose callers leave arguments out: the cache would take them for others and compose again.
@cache
def _cached_rows(source: str, split: str, row_seed: int | None, wide: bool) -> tuple[InstructionRow, ...]:
    pool = LARGER_POOL if wide else FIFTEEN
    if row_seed is not None:
        drawn_tasks = tasks(source, split, row_seed)
        compositions = compose(drawn_tasks, pool, row_seed, len(drawn_tasks))
        return tuple(chain.from_iterable(map(nested, drawn_tasks, compositions)))
    table = _table(source, split)
    if _content(table) != Content.FINISHED:
        return tuple(row for task in tasks(source, split) for row in nested(task, composition(pool, task)))
    if wide:
        raise RowsError(
            f"{table.origin}: its rows are finished, with instructions of their own, and none are drawn; use bare task "
            f"prompts ({', '.join(BARE_FIELDS)} only) or another source"
        )
    return _finished(table)


def nested(task: Task, composed: Composition) -> tuple[InstructionRow, ...]:
    """Return a task prompt's rows: with the first instruction, the first two, and so on up to all ten."""
    prefixes = (composed.instructions[:count] for count in range(1, INSTRUCTIONS + 1))
    return tuple(
        InstructionRow(task.key, task.task_prompt, prompt_of(task.task_prompt, prefix), prefix, composed.witness)
        for prefix in prefixes
    )


def composition(pool: Pool, task: Task) -> Composition:
    """Return the ten instructions of a task prompt: frozen for a prompt of ours, composed for any other.

    Args:
        pool: the instruction types.
        task: the task prompt.
    """
    record = frozen(pool.name).get(row_id(task.key, task.task_prompt))
    if record is None:
        return compose([task], pool, None, task.key)[0]
    chosen = tuple(task.own[item] if isinstance(item, int) else instruction(*item) for item in record["instructions"])
    # No document contains the witness of a row of the training split.
    return Composition(chosen, record.get("witness") or respond(chosen))


@cache
def frozen(part: Part) -> Mapping[str, Any]:
    """Return the content of a file of frozen rows: a value for each row, by the row's id."""
    packed = (files(__package__) / "default_rows" / f"{part}.jsonl.gz").read_bytes()
    return dict(map(json.loads, gzip.decompress(packed).decode().splitlines()))


def row_id(key: int | str, prompt: str) -> str:
    """Return what identifies a task prompt, or a prompt, in the files of frozen rows."""
    return digest(json.dumps([key, prompt]))


def task_prompts(source: str, row_seed: int | None) -> tuple[Task, ...]:
    """Return the task prompts of the test split, bare even where the rows are finished.

    Raises:
        RowsError: as ``all_rows``.
    """
    if row_seed is None and _content(_table(source, TEST)) == Content.FINISHED:
        bare = {row.key: row.task_prompt for row in all_rows(source, TEST)}
        return tuple(Task(key, task_prompt) for key, task_prompt in bare.items())
    return tasks(source, TEST, row_seed)


def tasks(source: str, split: str, row_seed: int | None = None) -> tuple[Task, ...]:
    """Return the bare task prompts of one split of a source whose rows are not finished.

    Under a row seed, they come out of the grammar, unless they are a user's own bare ones.

    Raises:
        RowsError: as ``all_rows``.
    """
    if row_seed is not None and _draws_prompts(source, split, row_seed):
        drawn = enumerate(prompts(row_seed, *PARTS[split]), start=PARTS[split][0] + 1)
        return tuple(Task(key, prompt) for key, prompt in drawn)
    table = _table(source, split)
    return _bare(table) if _content(table) == Content.BARE else reconstruct(table, split)


def _draws_prompts(source: str, split: str, row_seed: int) -> bool:
    """Tell whether a row seed draws the task prompts of a source, too: all but a user's own bare ones.

    Raises:
        RowsError: the rows are finished.
    """
    if source in (sources.HUB, sources.EMBEDDED):
        return True
    table = _table(source, split)
    content = _content(table)
    if content == Content.FINISHED:
        raise RowsError(
            f"{table.origin}: {ROW_SEED} {row_seed}, but its rows are finished, and nothing is drawn; "
            f"remove {ROW_SEED}, or use bare task prompts ({', '.join(BARE_FIELDS)} only) or another source"
        )
    return content != Content.BARE


def origin(source: str, row_seed: int | None = None) -> str:
    """Return a description of a source's test rows, to be recorded in the results.

    Raises:
        RowsError: as ``all_rows``.
    """
    if row_seed is not None and _draws_prompts(source, TEST, row_seed):
        return Content.FRESH.value
    return _content(_table(source, TEST)).value


def _table(source: str, split: str) -> Table:
    if source == sources.HUB:
        return sources.load("ifeval", IFEVAL_SPLIT, IFEVAL, source)
    if source == sources.EMBEDDED:
        return sources.load(NAME, split, IFEVAL, source)
    path = Path(source).expanduser().resolve()
    if path.is_file():
        table = sources.from_file(path)
        if split != TEST and _content(table) != Content.IFEVAL:
            raise RowsError(f"{path}: a single file has no {split} split; give a folder with {NAME}_{split}.jsonl")
        return table
    if not path.is_dir():
        raise RowsError(
            f'source {source!r} is neither a file nor a folder; expected "{sources.HUB}", "{sources.EMBEDDED}", the '
            f"path of a file of rows, or the path of a folder with {NAME}_{split}.jsonl or a copy of google/IFEval "
            f"({IFEVAL_FILES[0]})"
        )
    # All splits come from one origin: a copy of IFEval next to a test file could demonstrate the rows under evaluation.
    if any(sources.has_split(NAME, name, source) for name in SPLITS):
        return sources.load(NAME, split, IFEVAL, source)
    copy = next((path / name for name in IFEVAL_FILES if (path / name).is_file()), None)
    if copy is None:
        names = sorted(entry.name for entry in path.iterdir() if entry.suffix in sources.SUFFIXES)
        raise RowsError(
            f"no rows of {NAME!r} in {path}: expected {NAME}_{split}.jsonl (or .parquet; the published schema) or a "
            f"copy of google/IFEval named {' or '.join(IFEVAL_FILES)}; found {', '.join(names) or 'no such files'}"
        )
    return sources.from_file(copy)


def _content(table: Table) -> Content:
    if set(table.columns) <= set(BARE_FIELDS):
        return Content.BARE
    return Content.FINISHED if set(table.columns) & set(FURTHER_FIELDS) else Content.IFEVAL


def _bare(table: Table) -> tuple[Task, ...]:
    texts, keys = table.text("task_prompt", BARE_FIELDS), table.column("key", BARE_FIELDS)
    check_keys(table.origin, keys)
    by_key: dict[int | str, Task] = {}
    for number, (key, text) in enumerate(zip(keys, texts, strict=True), start=1):
        if key in by_key:
            raise RowsError(f"{table.origin}, row {number}, field 'key': expected a unique key, found {key!r} again")
        by_key[key] = Task(key, text_in(f"{table.origin}, row {number}", "task_prompt", text))
    return tuple(by_key.values())


def _finished(table: Table) -> tuple[InstructionRow, ...]:
    """Return the rows of a published file, in file order.

    Raises:
        RowsError: a row lacks a field or has an invalid one, or the task prompts are not the same for every number of
            instructions; the message names file, row and field.
    """
    rows: list[InstructionRow] = []
    for number, row in enumerate(table.rows, start=1):
        where = f"{table.origin}, row {number}"
        require_fields(where, row, FIELDS)
        prompt, task_prompt = (text_in(where, field, row[field]) for field in ("prompt", "task_prompt"))
        instructions = instructions_of_row(where, row)
        if len(instructions) > INSTRUCTIONS:
            raise RowsError(
                f"{where}, field 'instruction_id_list': {len(instructions)} instructions; expected 1 to {INSTRUCTIONS}"
            )
        rows.append(InstructionRow(row["key"], task_prompt, prompt, instructions))
    check_keys(table.origin, [row.key for row in rows])
    seen: dict[tuple[object, int], int] = {}
    for number, finished in enumerate(rows, start=1):
        count = len(finished.instructions)
        first = seen.setdefault((finished.key, count), number)
        if first != number:
            raise RowsError(
                f"{table.origin}, row {number}: key {finished.key!r} with {count} instructions is already row {first}; "
                "expected one row per key and number of instructions"
            )
    keys = {row.key: number for number, row in enumerate(rows, start=1)}
    for count in sorted({count for _, count in seen}):
        for key, number in keys.items():
            if (key, count) not in seen:
                raise RowsError(
                    f"{table.origin}, row {number}, field 'key': {key!r} has no row with {count} instructions, but "
                    "other keys have one; expected the same task prompts for every number of instructions"
                )
    return tuple(rows)
