"""One row: a task prompt with n instructions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import Checker, instructions_of


@dataclass(frozen=True)
class InstructionRow:
    """A task prompt with n instructions.

    Attributes:
        key: the key of the task prompt; the same for every n.
        task_prompt: the bare task.
        prompt: the prompt for the model.
        instructions: the n instructions, in the prompt's order.
        witness: a response that follows all of them, if one is known.
    """

    key: int | str
    task_prompt: str
    prompt: str
    instructions: tuple[Checker, ...]
    witness: str | None = None


def instructions_of_row(where: str, row: Mapping[str, Any]) -> tuple[Checker, ...]:
    """Return the instructions of a row of IFEval or ManyIFEval.

    Args:
        where: file and row, for the message.
        row: a row with ``instruction_id_list`` and ``kwargs``.

    Raises:
        RowsError: these fields are invalid, or an instruction can never be judged (a keyword that is not a valid
            regular expression, which would otherwise only be noticed at the verdict).
    """
    try:
        instructions = instructions_of(row["instruction_id_list"], row["kwargs"])
        for instruction in instructions:
            instruction.require_judgeable()
    except (TypeError, ValueError) as error:
        raise RowsError(f"{where}, fields 'instruction_id_list' and 'kwargs': {error}") from error
    return instructions


def check_keys(origin: str, keys: list[Any]) -> None:
    """Check that all keys are numbers or that all are text.

    Raises:
        RowsError: a key is neither, or is of another type than the first one.
    """
    for number, key in enumerate(keys, start=1):
        if isinstance(key, bool) or not isinstance(key, (int, str)):
            raise RowsError(f"{origin}, row {number}, field 'key': expected a number or text, found {key!r}")
        if type(key) is not type(keys[0]):
            kind = type(keys[0]).__name__
            raise RowsError(f"{origin}, row {number}, field 'key': expected {kind} as in the first row, found {key!r}")
