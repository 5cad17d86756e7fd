"""The ``reference`` LM's answers to a row, by policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from lm_eval_ext.families.ifbench.rows import IFBenchRow, Turns
from lm_eval_ext.families.ifbench.witness import break_one, respond
from lm_eval_ext.harness.requests import Composed

Answer = Callable[[IFBenchRow], str | None]


def _oracle(row: IFBenchRow) -> str | None:
    # Of the published rows, one asks for an option of two words, and for each word on a new line.
    return respond(row.instructions) or break_one(row.instructions)


def _drop_one(row: IFBenchRow) -> str | None:
    return break_one(row.instructions)


def _ignore(row: IFBenchRow) -> str | None:
    return respond(row.instructions, range(len(row.instructions)))


POLICIES: Mapping[str, Answer] = {
    "oracle": _oracle,
    "drop_one": _drop_one,
    "ignore": _ignore,
}
"""``oracle`` follows every instruction (if they exclude each other: all but one), ``drop_one`` all but one, ``ignore``
none."""


def known_answers(row: IFBenchRow) -> Composed:
    """Return the answers to a row; after two turns, the first answer ignores the instructions."""
    return _composed(row, {name: partial(_last, row, answer) for name, answer in POLICIES.items()})


def first_answers(row: IFBenchRow) -> Composed:
    """Return the answers to the first of two messages, which does not contain the instructions: they follow none."""
    return _composed(row, dict.fromkeys(POLICIES, partial(_ignore, row)))


def _composed(row: IFBenchRow, answers: Mapping[str, Callable[[], str | None]]) -> Composed:
    ids = ", ".join(instruction.id for instruction in row.instructions)
    return Composed(answers, f"ifbench, key {row.key!r} ({ids})")


def _last(row: IFBenchRow, answer: Answer) -> str | None:
    last = answer(row)
    if last is None or not row.second:
        return last
    first = _ignore(row)
    return None if first is None else Turns(first, last)
