"""The rows of every task: 100 per number of instructions, with the same task prompts for each.

The task of single instructions has a row for each instruction of each task prompt: 1,000.

``prompts`` has the bare task prompts of each source. Their instructions are data where the rows are default ones
(``frozen``). Under a row seed, and for a user's own task prompts, they are composed (``instructions.compose``).
Published rows have instructions of their own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain

from lm_eval_ext.families.instructions import check_keys, instructions_of_row, require_fields, require_unique, text_in
from lm_eval_ext.families.instructions.compose import INSTRUCTIONS, Composition, TaskPrompt, compose
from lm_eval_ext.families.instructions.kinds import FIFTEEN, Pool
from lm_eval_ext.families.instructions.writer import respond
from lm_eval_ext.families.manyifeval.frozen import frozen, row_id
from lm_eval_ext.families.manyifeval.prompts import (
    BARE_FIELDS,
    FEWSHOT,
    FURTHER_FIELDS,
    TEST,
    Content,
    content_of,
    table_of,
    task_prompts,
)
from lm_eval_ext.metadata import digest
from lm_eval_ext.sources import RowsError, Table
from lm_eval_ext.verifiers import Checker, instruction

FIELDS = ("key", "prompt", "instruction_id_list", "kwargs", *FURTHER_FIELDS)
"""Those of the published rows: IFEval's, the bare task, and the wording of all its instructions and of the row's."""
LEAD = "Your response should follow the instructions below:"


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
        source: ``"hub"``, ``"embedded"``, a folder or a file; see ``prompts``.
        count: the number of instructions in a row, 1 to 10.
        repeat: whether the first instruction is repeated ``count`` times instead (appendix C).
        single: whether every instruction of a task prompt has a row of its own instead (section 3.1, Table 4).
        keys: the keys of the task prompts; ``None`` for all in the test split.
        row_seed: see ``metadata.chosen_row_seed``; ``None`` for the default rows.
        pool: the types of the instructions.
    """

    source: str
    count: int
    repeat: bool = False
    single: bool = False
    keys: tuple[int | str, ...] | None = None
    row_seed: int | None = None
    pool: Pool = FIFTEEN


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
        for row in all_rows(source, TEST, selection.row_seed, selection.pool):
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
    split_rows = all_rows(source, split, selection.row_seed, selection.pool)
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
    records = frozen(selection.pool.name) if selection.row_seed is None else {}
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


# To the cache, an argument that is left out is another one than its default: the tasks pass all four.
@cache
def all_rows(source: str, split: str, row_seed: int | None = None, pool: Pool = FIFTEEN) -> tuple[InstructionRow, ...]:
    """Return the rows of one split, grouped by task prompt.

    Args:
        source: ``"hub"``, ``"embedded"``, a folder or a file; see ``prompts``.
        split: ``"test"``, ``"train"`` or ``"fewshot"``.
        row_seed: see ``metadata.chosen_row_seed``; ``None`` for the default rows.
        pool: the types of the instructions, unless the rows are finished.

    Raises:
        RowsError: the rows are not available or not valid, or a row seed or the larger pool was asked for, and the rows
            are finished.
    """
    if row_seed is not None:
        drawn = task_prompts(source, split, row_seed)
        # The splits of a row seed are told apart by their sizes, but a user's own may be of one size.
        of_one_size = split != TEST and content_of(source, split, row_seed) == Content.BARE
        draw = f"{split}/{len(drawn)}" if of_one_size else len(drawn)
        compositions = compose(drawn, pool, row_seed, draw)
        return tuple(chain.from_iterable(map(nested, drawn, compositions)))
    if content_of(source, split) != Content.FINISHED:
        return tuple(
            row
            for prompt in task_prompts(source, split)
            for row in nested(prompt, frozen_or_composed(pool, prompt, split))
        )
    table = table_of(source, split)
    if pool is not FIFTEEN:
        raise RowsError(
            f"{table.origin}: its rows are finished, with instructions of their own, and none are drawn; use bare task "
            f"prompts ({', '.join(BARE_FIELDS)} only) or another source"
        )
    return _finished(table)


def nested(task_prompt: TaskPrompt, composed: Composition) -> tuple[InstructionRow, ...]:
    """Return a task prompt's rows: with the first instruction, the first two, and so on up to all ten."""
    prefixes = (composed.instructions[:count] for count in range(1, INSTRUCTIONS + 1))
    return tuple(
        InstructionRow(task_prompt.key, task_prompt.text, prompt_of(task_prompt.text, prefix), prefix, composed.witness)
        for prefix in prefixes
    )


def frozen_or_composed(pool: Pool, task_prompt: TaskPrompt, split: str) -> Composition:
    """Return the ten instructions of a task prompt: frozen for a prompt of ours, composed for any other.

    Args:
        pool: the instruction types.
        task_prompt: the task prompt.
        split: of the prompt. In another one, the same key may name another prompt, whose instructions differ.
    """
    record = frozen(pool.name).get(row_id(task_prompt.key, task_prompt.text))
    if record is None:
        draw = task_prompt.key if split == TEST else f"{split}/{task_prompt.key}"
        return compose([task_prompt], pool, None, draw)[0]
    own = task_prompt.own
    chosen = tuple(own[item] if isinstance(item, int) else instruction(*item) for item in record["instructions"])
    # No document contains the witness of a row of the training split.
    return Composition(chosen, record.get("witness") or respond(chosen))


def bare_task_prompts(source: str, row_seed: int | None) -> tuple[TaskPrompt, ...]:
    """Return the task prompts of the test split, bare even where the rows are finished.

    Raises:
        RowsError: as ``all_rows``.
    """
    if content_of(source, TEST, row_seed) == Content.FINISHED:
        bare = {row.key: row.task_prompt for row in all_rows(source, TEST, None, FIFTEEN)}
        return tuple(TaskPrompt(key, task_prompt) for key, task_prompt in bare.items())
    return task_prompts(source, TEST, row_seed)


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
    identities = {number: (row.key, len(row.instructions)) for number, row in enumerate(rows, start=1)}
    require_unique(table.origin, identities, "one row per key and number of instructions")
    keys, pairs = {row.key: number for number, row in enumerate(rows, start=1)}, {*identities.values()}
    for count in sorted({count for _, count in pairs}):
        for key, number in keys.items():
            if (key, count) not in pairs:
                raise RowsError(
                    f"{table.origin}, row {number}, field 'key': {key!r} has no row with {count} instructions, but "
                    "other keys have one; expected the same task prompts for every number of instructions"
                )
    return tuple(rows)
