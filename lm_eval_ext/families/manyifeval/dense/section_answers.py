"""The ``reference`` LM's answers to a row, by policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from lm_eval_ext.families.manyifeval.dense.sections import MixedRow, report
from lm_eval_ext.harness.requests import Composed


def _breaking(row: MixedRow, first: int) -> str | None:
    """Return a report that follows the instructions before a place in the list, and breaks those from there on."""
    return report(row.sections, row.instructions, range(first, len(row.instructions)))


def _first_sections(row: MixedRow) -> str:
    half = max(row.sections) // 2
    return row.witness[: row.witness.index(f"\n\nSection {half + 1}\n")]


POLICIES: Mapping[str, Callable[[MixedRow], str | None]] = {
    "oracle": lambda row: row.witness,
    "first_half": lambda row: _breaking(row, len(row.instructions) // 2),
    "drop_one": lambda row: _breaking(row, len(row.instructions) - 1),
    "first_sections": _first_sections,
    "break_all": lambda row: _breaking(row, 0),
    "ignore": lambda _row: "Here it is.",
}
"""``oracle`` follows every instruction, ``first_half`` the first half of the list, ``drop_one`` all but its last one;
``first_sections`` writes only the first half of the sections, ``break_all`` breaks every instruction, ``ignore`` writes
no section."""


def known_answers(row: MixedRow) -> Composed:
    """Return the answers to a row."""
    where = f"manyifeval_dense, report {row.key} with {len(row.instructions)} instructions"
    return Composed({name: partial(answer, row) for name, answer in POLICIES.items()}, where)
