"""The ``reference`` LM's answers, by policy, to rows and to later questions about its answer, and who may ask these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from lm_eval_ext.families.instructions.writer import break_one, respond
from lm_eval_ext.families.manyifeval.rows import InstructionRow
from lm_eval_ext.families.manyifeval.schema import PUBLISHED, Placement
from lm_eval_ext.harness.requests import KnownAnswers, KnownInstance
from lm_eval_ext.verifiers import Response

POLICIES = ("oracle", "drop_one", "ignore")
"""``oracle`` follows every instruction, ``drop_one`` all but one, ``ignore`` none."""
IGNORE_SYSTEM = "ignore_system"
"""A policy that follows all instructions outside the system message: the accuracy at every placement is known."""


@dataclass
class RowInstance(KnownInstance):
    """A request that carries its row, so that an LM can ask further questions about it (``models/self_refine.py``).

    Attributes:
        row: the row of the request.
        system: the system prompt: the user's system instruction and the task's description; empty if there are none.
        chat: whether the model's chat template is applied.
        placement: where the instructions are stated.
    """

    row: InstructionRow = field(kw_only=True)
    system: str = field(default="", kw_only=True)
    chat: bool = field(default=False, kw_only=True)
    placement: Placement = field(default=PUBLISHED, kw_only=True)


def heard(placement: Placement) -> str:
    """Return the policy that a model follows which ignores the system message."""
    return "ignore" if placement == "system" else "oracle"


def known_answers(row: InstructionRow, placement: Placement = PUBLISHED) -> KnownAnswers:
    """Return the answers to a row whose instructions are stated at some place."""
    answers = {policy: partial(_answer, row, policy) for policy in POLICIES}
    return {**answers, IGNORE_SYSTEM: answers[heard(placement)]}


def repaired_answers(row: InstructionRow, indices: Sequence[int]) -> KnownAnswers:
    """Return the answers to a row after some of its instructions were reported as broken.

    ``drop_one`` repairs what was reported. ``ignore`` keeps ignoring.

    Args:
        row: the row.
        indices: the indices of the instructions reported as broken.
    """
    return {policy: partial(_repaired, row, policy, indices) for policy in POLICIES}


def judgments(
    row: InstructionRow, answer: str, indices: Sequence[int], reply: Callable[[Sequence[bool]], str]
) -> KnownAnswers:
    """Return the replies to the question of which instructions an answer follows.

    Every policy tells the truth except ``ignore``, which finds nothing wrong.

    Args:
        row: the row.
        answer: the answer to judge.
        indices: the indices of the instructions in question.
        reply: turns one verdict per instruction into a text.
    """

    def truth() -> str:
        instructions = [row.instructions[index] for index in indices]
        return reply(Response(answer).follows(instructions).follow_instruction_list)

    return {**dict.fromkeys(POLICIES, truth), "ignore": partial(reply, [True] * len(indices))}


def _answer(row: InstructionRow, policy: str) -> str | None:
    if policy == "oracle":
        return row.witness or respond(row.instructions)
    if policy == "drop_one":
        return break_one(row.instructions)
    return respond(row.instructions, range(len(row.instructions)))


def _repaired(row: InstructionRow, policy: str, indices: Sequence[int]) -> str | None:
    first = _answer(row, policy)
    if policy == "ignore" or first is None:
        return first
    verdicts = Response(first).follows(row.instructions).follow_instruction_list
    broken = {index for index, follows in enumerate(verdicts) if not follows}
    return _answer(row, "oracle") if broken <= set(indices) else first
