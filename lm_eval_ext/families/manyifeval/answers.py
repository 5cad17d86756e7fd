"""The ``reference`` LM's answers, by policy, to rows and to later questions about its answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from lm_eval_ext.families.instructions.writer import break_one, respond
from lm_eval_ext.families.manyifeval.instruction_row import InstructionRow
from lm_eval_ext.families.manyifeval.placement import PUBLISHED, Placement
from lm_eval_ext.harness.requests import Composed
from lm_eval_ext.verifiers import Response


def _oracle(row: InstructionRow) -> str | None:
    return row.witness or respond(row.instructions)


def _drop_one(row: InstructionRow) -> str | None:
    return break_one(row.instructions)


def _ignore(row: InstructionRow) -> str | None:
    return respond(row.instructions, range(len(row.instructions)))


POLICIES: Mapping[str, Callable[[InstructionRow], str | None]] = {
    "oracle": _oracle,
    "drop_one": _drop_one,
    "ignore": _ignore,
}
"""``oracle`` follows every instruction, ``drop_one`` all but one, ``ignore`` none."""


IGNORE_SYSTEM = "ignore_system"
"""A policy that follows all instructions outside the system message: the accuracy at every placement is known."""


def heard(placement: Placement) -> str:
    """Return the policy that a model follows which ignores the system message."""
    return "ignore" if placement == "system" else "oracle"


def known_answers(row: InstructionRow, placement: Placement = PUBLISHED) -> Composed:
    """Return the answers to a row whose instructions are stated at some place."""
    return _composed(row, {name: partial(answer, row) for name, answer in POLICIES.items()}).also(
        IGNORE_SYSTEM, heard(placement)
    )


def repaired_answers(row: InstructionRow, named: Sequence[int]) -> Composed:
    """Return the answers to a row after some of its instructions were reported as broken.

    ``drop_one`` repairs what was reported. ``ignore`` keeps ignoring.

    Args:
        row: the row.
        named: the indices of the instructions reported as broken.
    """
    return _composed(row, {name: partial(_repaired, row, name, named) for name in POLICIES})


def judgments(
    row: InstructionRow, answer: str, asked: Sequence[int], reply: Callable[[Sequence[bool]], str]
) -> Composed:
    """Return the replies to the question of which instructions an answer follows.

    Every policy tells the truth except ``ignore``, which finds nothing wrong.

    Args:
        row: the row.
        answer: the answer to judge.
        asked: the indices of the instructions in question.
        reply: turns one verdict per instruction into a text.
    """
    return _composed(row, {name: partial(_judged, row, name, answer, asked, reply) for name in POLICIES})


def _composed(row: InstructionRow, answers: Mapping[str, Callable[[], str | None]]) -> Composed:
    return Composed(
        answers,
        f"manyifeval, key {row.key}, {len(row.instructions)} instructions",
        "Rows composed by this package have one for every policy; finished rows from other origins may not",
    )


def _repaired(row: InstructionRow, policy: str, named: Sequence[int]) -> str | None:
    first = POLICIES[policy](row)
    if policy == "ignore" or first is None:
        return first
    verdicts = Response(first).follows(row.instructions).follow_instruction_list
    broken = {index for index, follows in enumerate(verdicts) if not follows}
    return _oracle(row) if broken <= set(named) else first


def _judged(
    row: InstructionRow, policy: str, answer: str, asked: Sequence[int], reply: Callable[[Sequence[bool]], str]
) -> str:
    if policy == "ignore":
        return reply([True] * len(asked))
    instructions = [row.instructions[index] for index in asked]
    return reply(Response(answer).follows(instructions).follow_instruction_list)
