"""The ``reference`` LM's answers, by policy, to rows and to later questions about its answer; built on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lm_eval_ext.families.instructions.writer import break_one, respond
from lm_eval_ext.families.manyifeval.instruction_row import InstructionRow
from lm_eval_ext.families.manyifeval.placement import Placement
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
"""A policy under which the accuracy at every placement is known."""


def heard(placement: Placement) -> str:
    """Return the policy that a model follows which ignores the system message."""
    return "ignore" if placement == "system" else "oracle"


@dataclass(frozen=True)
class PolicyAnswers(Mapping[str, str]):
    """The answers to one row, keyed by policy."""

    row: InstructionRow

    def __getitem__(self, policy: str) -> str:
        """Return a policy's answer.

        Raises:
            KeyError: there is no such policy.
            ValueError: no response is known that does what the policy says for this row.
        """
        answer = POLICIES[policy](self.row)
        if answer is None:
            raise ValueError(
                f"manyifeval, key {self.row.key}, {len(self.row.instructions)} instructions: no answer is known for "
                f"policy {policy!r}. Rows composed by this package have one for every policy; finished rows from other "
                "origins may not"
            )
        return answer

    def __contains__(self, policy: object) -> bool:
        """Tell whether there is such a policy, without building its answer."""
        return policy in POLICIES

    def __iter__(self) -> Iterator[str]:
        return iter(POLICIES)

    def __len__(self) -> int:
        return len(POLICIES)


@dataclass(frozen=True)
class PlacedAnswers(PolicyAnswers):
    """The answers to one row, keyed by policy; ``ignore_system`` follows all instructions outside the system message.

    Attributes:
        placement: where the row's instructions are stated.
    """

    placement: Placement

    def __getitem__(self, policy: str) -> str:
        """Return a policy's answer; see the base class."""
        return super().__getitem__(heard(self.placement) if policy == IGNORE_SYSTEM else policy)

    def __contains__(self, policy: object) -> bool:
        """Tell whether there is such a policy."""
        return policy == IGNORE_SYSTEM or super().__contains__(policy)

    def __iter__(self) -> Iterator[str]:
        yield from super().__iter__()
        yield IGNORE_SYSTEM

    def __len__(self) -> int:
        return super().__len__() + 1


@dataclass(frozen=True)
class RepairedAnswers(PolicyAnswers):
    """The answers to one row after some of its instructions were reported as broken.

    ``drop_one`` repairs what was reported. ``ignore`` keeps ignoring.

    Attributes:
        named: the indices of the instructions reported as broken.
    """

    named: Sequence[int]

    def __getitem__(self, policy: str) -> str:
        """Return a policy's next answer; raises the same errors as for the first one."""
        first = super().__getitem__(policy)
        if policy == "ignore":
            return first
        verdicts = Response(first).follows(self.row.instructions).follow_instruction_list
        broken = {index for index, follows in enumerate(verdicts) if not follows}
        return super().__getitem__("oracle") if broken <= set(self.named) else first


@dataclass(frozen=True)
class Judgments(PolicyAnswers):
    """The replies to the question of which instructions an answer follows.

    Every policy tells the truth except ``ignore``, which finds nothing wrong.

    Attributes:
        answer: the answer to judge.
        asked: the indices of the instructions in question.
        reply: turns one verdict per instruction into a text.
    """

    answer: str
    asked: Sequence[int]
    reply: Callable[[Sequence[bool]], str]

    def __getitem__(self, policy: str) -> str:
        """Return a policy's reply.

        Raises:
            KeyError: there is no such policy.
        """
        if POLICIES[policy] is _ignore:
            return self.reply([True] * len(self.asked))
        instructions = [self.row.instructions[index] for index in self.asked]
        return self.reply(Response(self.answer).follows(instructions).follow_instruction_list)
