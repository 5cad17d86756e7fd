"""Paraphrases: every row is asked in several wordings of its instruction that mean the same."""

from __future__ import annotations

from typing import Any

from lm_eval_ext.version_mark import mark_version

KEY = "paraphrases"
"""The key in a task's metadata: in how many wordings every row is asked, the published one included."""
FEWEST = 2
"""With fewer, there is nothing to compare."""


def chosen_paraphrases(task: str, metadata: dict[str, Any], most: int) -> int | None:
    """Return in how many wordings a task's metadata have every row asked, and mark the version with it.

    Args:
        task: the task's name, for messages.
        metadata: the task's metadata, whose ``version`` is modified: a mean over wordings is another figure than the
            accuracy under the published one.
        most: in how many wordings the task can ask its rows; 1 for the published one alone.

    Returns:
        The number; ``None`` if the metadata set none, so that every row is asked in the published wording.

    Raises:
        ValueError: the task has no other wordings, or it is no whole number from ``FEWEST`` to ``most``.
    """
    count = metadata.get(KEY)
    if count is None:
        return None
    asked_for = f"task {task!r}: metadata {KEY} {count!r}"
    if most < FEWEST:
        raise ValueError(
            f"{asked_for}; its instruction has no other wordings, which only the verbalizer tasks have; run this task "
            f"without {KEY}"
        )
    if isinstance(count, bool) or not isinstance(count, int) or not FEWEST <= count <= most:
        raise ValueError(
            f"{asked_for}; expected a whole number from {FEWEST} to {most}, the number of wordings of its instruction"
        )
    mark_version(metadata, f"{KEY}{count}")
    return count
