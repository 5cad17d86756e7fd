"""The ``reference`` LM's answers to a row, by policy; built on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lm_eval_ext.families.manyifeval.dense.sections import MixedRow, report


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


@dataclass(frozen=True)
class MixedAnswers(Mapping[str, str]):
    """The answers to one row, keyed by policy."""

    row: MixedRow

    def __getitem__(self, policy: str) -> str:
        """Return a policy's answer.

        Raises:
            KeyError: there is no such policy.
            RuntimeError: there is no such answer, which cannot happen unless a section's types depend on each other.
        """
        answer = POLICIES[policy](self.row)
        if answer is None:
            raise RuntimeError(f"report {self.row.key} with {len(self.row.instructions)} instructions: no {policy!r}")
        return answer

    def __contains__(self, policy: object) -> bool:
        """Tell whether there is such a policy, without building its answer."""
        return policy in POLICIES

    def __iter__(self) -> Iterator[str]:
        return iter(POLICIES)

    def __len__(self) -> int:
        return len(POLICIES)
