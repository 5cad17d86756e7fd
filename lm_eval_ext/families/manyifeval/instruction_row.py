"""One row: a task prompt with n instructions, and the prompt that combines them (Tables 6 and 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lm_eval_ext.verifiers import Checker


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


LEAD = "Your response should follow the instructions below:"


def prompt_of(task_prompt: str, instructions: Sequence[Checker]) -> str:
    """Return the task prompt followed by one line per instruction."""
    return with_lines(task_prompt, [instruction.describe() for instruction in instructions])


def with_lines(task_prompt: str, lines: Sequence[str]) -> str:
    """Return the task prompt followed by instructions in given words."""
    return "\n".join([task_prompt, "", LEAD, *(f"- {line}" for line in lines)])
