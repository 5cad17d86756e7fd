"""The ``reference`` LM's answers to a row, by policy; built on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lm_eval_ext.families.ifbench.rows import IFBenchRow
from lm_eval_ext.families.ifbench.turns import Turns
from lm_eval_ext.families.ifbench.witness import break_one, respond


def _oracle(row: IFBenchRow) -> str | None:
    # Of the published rows, one asks for an option of two words, and for each word on a new line.
    return respond(row.instructions) or break_one(row.instructions)


def _drop_one(row: IFBenchRow) -> str | None:
    return break_one(row.instructions)


def _ignore(row: IFBenchRow) -> str | None:
    return respond(row.instructions, range(len(row.instructions)))


POLICIES: Mapping[str, Callable[[IFBenchRow], str | None]] = {
    "oracle": _oracle,
    "drop_one": _drop_one,
    "ignore": _ignore,
}
"""``oracle`` follows every instruction (if they exclude each other: all but one), ``drop_one`` all but one, ``ignore``
none."""


@dataclass(frozen=True)
class PolicyAnswers(Mapping[str, str]):
    """The answers to one row, keyed by policy; after two turns, the first answer ignores the instructions."""

    row: IFBenchRow

    def __getitem__(self, policy: str) -> str:
        """Return a policy's answer.

        Raises:
            KeyError: there is no such policy.
            ValueError: no response is known that does what the policy says for this row.
        """
        last = _answer(self.row, policy, POLICIES[policy])
        return Turns(FirstAnswers(self.row)[policy], last) if self.row.second else last

    def __contains__(self, policy: object) -> bool:
        """Tell whether there is such a policy, without building its answer."""
        return policy in POLICIES

    def __iter__(self) -> Iterator[str]:
        return iter(POLICIES)

    def __len__(self) -> int:
        return len(POLICIES)


class FirstAnswers(PolicyAnswers):
    """The answers to the first of two messages, which does not contain the instructions: they follow none."""

    def __getitem__(self, policy: str) -> str:
        """Return the answer, which is the same for every policy; raises as for the last one."""
        if policy not in POLICIES:
            raise KeyError(policy)
        return _answer(self.row, policy, _ignore)


def _answer(row: IFBenchRow, policy: str, answer: Callable[[IFBenchRow], str | None]) -> str:
    found = answer(row)
    if found is None:
        ids = ", ".join(instruction.id for instruction in row.instructions)
        raise ValueError(f"ifbench, key {row.key!r} ({ids}): no answer is known for policy {policy!r}")
    return found
