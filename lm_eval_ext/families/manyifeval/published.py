"""The schema of ManyIFEval's published rows: reads and validates them, and writes our rows in the same schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lm_eval_ext.families.instructions import check_keys, instructions_of_row
from lm_eval_ext.families.instructions.compose import INSTRUCTIONS
from lm_eval_ext.families.manyifeval.instruction_row import InstructionRow
from lm_eval_ext.sources import RowsError, Table
from lm_eval_ext.verifiers import Checker

FURTHER_FIELDS = ("task_prompt", "not_conflict_rules_list", "rules")
FIELDS = ("key", "prompt", "instruction_id_list", "kwargs", *FURTHER_FIELDS)
"""IFEval's fields, the bare task, and the wording of all its instructions and of the row's, which is not read."""


def rows_of(table: Table) -> tuple[InstructionRow, ...]:
    """Return the rows of a published file, in file order.

    Raises:
        RowsError: a row lacks a field or has an invalid one, or the task prompts are not the same for every number of
            instructions; the message names file, row and field.
    """
    rows = tuple(_row(f"{table.origin}, row {number}", row) for number, row in enumerate(table.rows, start=1))
    check_keys(table.origin, [row.key for row in rows])
    seen: dict[tuple[object, int], int] = {}
    for number, row in enumerate(rows, start=1):
        first = seen.setdefault((row.key, len(row.instructions)), number)
        if first != number:
            raise RowsError(
                f"{table.origin}, row {number}: key {row.key!r} with {len(row.instructions)} instructions is already "
                f"row {first}; expected one row per key and number of instructions"
            )
    keys = {row.key: number for number, row in enumerate(rows, start=1)}
    for count in sorted({count for _, count in seen}):
        for key, number in keys.items():
            if (key, count) not in seen:
                raise RowsError(
                    f"{table.origin}, row {number}, field 'key': {key!r} has no row with {count} instructions, but "
                    "other keys have one; expected the same task prompts for every number of instructions"
                )
    return rows


def _row(where: str, row: Mapping[str, Any]) -> InstructionRow:
    for field in FIELDS:
        if field not in row:
            raise RowsError(f"{where}: no field {field!r}; expected {', '.join(FIELDS)}; found {', '.join(row)}")
    for field in ("prompt", "task_prompt"):
        if not isinstance(row[field], str) or not row[field].strip():
            raise RowsError(f"{where}, field {field!r}: expected text, found {row[field]!r}")
    ids = row["instruction_id_list"]
    if not isinstance(ids, Sequence) or isinstance(ids, str) or not ids:
        raise RowsError(f"{where}, field 'instruction_id_list': expected a list of instruction ids, found {ids!r}")
    if len(ids) > INSTRUCTIONS:
        raise RowsError(f"{where}, field 'instruction_id_list': {len(ids)} instructions; expected 1 to {INSTRUCTIONS}")
    return InstructionRow(row["key"], row["task_prompt"], row["prompt"], instructions_of_row(where, row))


def as_published(rows: Sequence[InstructionRow]) -> Iterator[dict[str, Any]]:
    """Yield rows in the published schema, ready for JSON.

    Args:
        rows: all rows of their task prompts; ``not_conflict_rules_list`` is taken from each one's longest row.
    """
    most: dict[int | str, tuple[Checker, ...]] = {}
    for row in rows:
        most[row.key] = max(most.get(row.key, ()), row.instructions, key=len)
    return (_as_published(row, most[row.key]) for row in rows)


def _as_published(row: InstructionRow, together: Sequence[Checker]) -> dict[str, Any]:
    return {
        "key": row.key,
        "prompt": row.prompt,
        "instruction_id_list": [instruction.id for instruction in row.instructions],
        "kwargs": [instruction.arguments() for instruction in row.instructions],
        "task_prompt": row.task_prompt,
        "not_conflict_rules_list": [instruction.describe() for instruction in together],
        "rules": [instruction.describe() for instruction in row.instructions],
    }
