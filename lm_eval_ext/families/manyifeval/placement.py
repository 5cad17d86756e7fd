"""Where a conversation states the instructions: after the task, as published, or at another place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from lm_eval_ext.families.schema import PLACEMENT
from lm_eval_ext.metadata import mark_version
from lm_eval_ext.sources import RowsError

Placement = Literal["after", "before", "system", "earlier_turn"]
"""``after``: below the task prompt, as published; ``before``: above it; ``system``: in the system message, with the
task alone in the user's; ``earlier_turn``: in a turn of the user's before the one with the task."""
PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
PUBLISHED: Placement = "after"
NEED_MESSAGES: tuple[Placement, ...] = ("system", "earlier_turn")
"""The placements that only a conversation has."""
AGREED = "I will follow these instructions in my next response."
"""The model's turn after the instructions, if they have a turn of their own."""

STATED, ASKED = "stated", "asked"
"""The fields of a document with another placement: the text that states the instructions, and the user's last turn."""


def chosen_placement(task: str, metadata: dict[str, Any]) -> Placement:
    """Return the placement that a task's metadata choose, and mark the version if it is not the published one.

    Args:
        task: the task's name, for messages.
        metadata: the task's metadata, whose ``version`` is modified: scores of two placements are not comparable as if
            they were one figure.

    Raises:
        ValueError: there is no such placement.
    """
    placement: Placement = metadata.get(PLACEMENT, PUBLISHED)
    if placement not in PLACEMENTS:
        raise ValueError(f"task {task!r}: metadata placement {placement!r}; expected one of {', '.join(PLACEMENTS)}")
    if placement != PUBLISHED:
        mark_version(metadata, placement)
    return placement


def placed(placement: Placement, task_prompt: str, prompt: str) -> Mapping[str, str]:
    """Return what the document of a row needs for its placement.

    Args:
        placement: where the instructions are to be.
        task_prompt: the task.
        prompt: the task followed by the instructions.

    Raises:
        RowsError: the prompt, from a file of finished rows, is something else.
    """
    if placement == PUBLISHED:
        return {}
    stated = prompt.removeprefix(task_prompt).strip()
    if not prompt.startswith(task_prompt) or not stated:
        raise RowsError(
            f"placement {placement!r}: the prompt {prompt[:60]!r} … is not its task prompt {task_prompt[:60]!r} … "
            "followed by the instructions, so these cannot be stated elsewhere; remove placement from --metadata"
        )
    return {STATED: stated, ASKED: f"{stated}\n\n{task_prompt}" if placement == "before" else task_prompt}


def earlier_turn(stated: str, asked: str, system: str) -> list[dict[str, str]]:
    """Return a conversation whose first turn states the instructions.

    Args:
        stated: the text that states them.
        asked: the task prompt.
        system: the system message; none if it is empty.
    """
    turns = [("user", stated), ("assistant", AGREED), ("user", asked)]
    return [{"role": role, "content": content} for role, content in [*([("system", system)] if system else []), *turns]]
