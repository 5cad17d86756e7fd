"""What each policy of the ``reference`` LM answers to a row; built when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lm_eval_ext.families.manyifeval.row import Row
from lm_eval_ext.families.manyifeval.witness import break_one, respond


def _oracle(row: Row) -> str | None:
    return row.witness or respond(row.instructions)


def _drop_one(row: Row) -> str | None:
    return break_one(row.instructions)


def _ignore(row: Row) -> str | None:
    return respond(row.instructions, range(len(row.instructions)))


POLICIES: Mapping[str, Callable[[Row], str | None]] = {"oracle": _oracle, "drop_one": _drop_one, "ignore": _ignore}
"""``oracle`` follows every instruction, ``drop_one`` all but one, ``ignore`` none."""


@dataclass(frozen=True)
class Answers(Mapping[str, str]):
    """The answers to one row, by policy."""

    row: Row

    def __getitem__(self, policy: str) -> str:
        """Return a policy's answer.

        Raises:
            KeyError: there is no such policy.
            ValueError: no response is known that does to this row what the policy says.
        """
        answer = POLICIES[policy](self.row)
        if answer is None:
            raise ValueError(
                f"manyifeval, key {self.row.key}, {len(self.row.instructions)} instructions: no answer is known for "
                f"policy {policy!r}; rows that this package composes have one for every policy, finished rows of "
                "another origin may not"
            )
        return answer

    def __contains__(self, policy: object) -> bool:
        """Tell whether there is such a policy, without building its answer."""
        return policy in POLICIES

    def __iter__(self) -> Iterator[str]:
        return iter(POLICIES)

    def __len__(self) -> int:
        return len(POLICIES)
