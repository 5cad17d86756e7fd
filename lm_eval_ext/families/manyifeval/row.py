"""One row: a task prompt with n instructions."""

from __future__ import annotations

from dataclasses import dataclass

from lm_eval_ext.verifiers import Checker


@dataclass(frozen=True)
class Row:
    """A task prompt with n instructions.

    Attributes:
        key: of the task prompt; the same under every n.
        task_prompt: the bare task.
        prompt: what the model is shown.
        instructions: the n instructions, in the prompt's order.
        witness: a response that follows all of them, if one is known.
    """

    key: int | str
    task_prompt: str
    prompt: str
    instructions: tuple[Checker, ...]
    witness: str | None = None
