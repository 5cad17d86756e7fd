"""The rows of IFEval and IFBench that ask for one thing and check another, and what is done about each.

Every row was read against its instructions and their arguments (``docs/appendix/repaired-rows.md``). A row with a
fault has corrected arguments if the prompt says what they are, and is left out if no arguments are right.
``repairs.jsonl`` is the table. It holds no prompt; a row is recognized by a digest of its prompt, its instructions and
their arguments, so that a row which its publisher has changed, or one of a user's own under the same key, stays as it
is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from lm_eval_ext.families.instructions import lines_of
from lm_eval_ext.metadata import digest
from lm_eval_ext.verifiers import Checker, instruction

EDITION = 1
"""The edition of the table, which the version of the tasks names: with another edition, other rows are scored."""
Fault = Literal["argument", "contradiction", "other meaning"]
"""What is wrong with a row: an argument is not what the prompt asks for; its demands exclude each other; the prompt
means something else by an instruction than its check."""


@dataclass(frozen=True)
class Repair:
    """What is done about one row.

    Attributes:
        benchmark: ``"ifeval"`` or ``"ifbench"``.
        key: the row's key there.
        digest: of the published row (``digest_of``).
        position: the place of the instruction at fault in the row.
        id: the row's id.
        arguments: the arguments of that instruction that are corrected, each as published and as it should be; ``None``
            to leave the row out.
        fault: what is wrong.
        readings: how many of three independent readings of the row came to this decision.
        reason: why.
    """

    benchmark: str
    key: int | str
    digest: str
    position: int
    id: str
    arguments: Mapping[str, tuple[Any, Any]] | None
    fault: Fault
    readings: int
    reason: str

    def applied(self, instructions: Sequence[Checker]) -> tuple[Checker, ...]:
        """Return the row's instructions with the corrected arguments; none if the row is left out."""
        if self.arguments is None:
            return ()
        at_fault = instructions[self.position]
        corrected = {name: value for name, (_, value) in self.arguments.items()}
        repaired = instruction(at_fault.id, {**at_fault.arguments(), **corrected})
        return (*instructions[: self.position], repaired, *instructions[self.position + 1 :])


@cache
def repairs() -> Mapping[str, Repair]:
    """Return the table, in its order: each repair by the digest of its row."""
    table = (Repair(**json.loads(line)) for line in lines_of(__package__, "repairs.jsonl"))
    return {repair.digest: repair for repair in table}


def digest_of(prompt: str, instructions: Sequence[Checker]) -> str:
    """Return 16 hexadecimal digits of a row, equal if prompt, instructions and arguments are, but for white space."""
    checks = [[instruction.id, instruction.arguments()] for instruction in instructions]
    return digest(json.dumps([" ".join(prompt.split()), checks], ensure_ascii=False, sort_keys=True))
