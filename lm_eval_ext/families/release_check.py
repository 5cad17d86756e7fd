"""The set to run before a release: a few tasks of every family, at a cost at which it can be run often.

``docs/release-check.md`` says what it costs, which drops it shows, and what it cannot see.
"""

from __future__ import annotations

from collections.abc import Mapping

from lm_eval_ext.families.natural_instructions.subtasks import EVALUATION, SUBTASKS

NAME = "release_check"
COUNTS = (2, 4, 6, 8, 10)
"""The numbers of instructions of ``manyifeval``."""
RIVALS = ("system_user", "user_later", "document", "tool")
"""The arms of ``hierarchy`` in which another instruction excludes the one that counts."""
MULTIPLE_CHOICE = "arc_challenge_medium"
"""The dataset and the level of constraint of the multiple-choice task."""
QUESTIONS = 100
"""The number of its questions, each of which is asked ten times."""
SUBTASK_OF_CATEGORY = {SUBTASKS[name].category: name for name in reversed(EVALUATION)}
"""The first of the two subtasks of each category in the evaluation split."""

TASKS: Mapping[str, tuple[str, ...]] = {
    "manyifeval": tuple(f"manyifeval_n{count:02d}" for count in COUNTS),
    "hierarchy": tuple(f"hierarchy_{arm}" for arm in RIVALS),
    # The one encoding with an instruction whose files are public.
    "natural_instructions": tuple(
        f"natural_instructions_{name}_positive" for name in sorted(SUBTASK_OF_CATEGORY.values())
    ),
}
"""By family, the tasks of the set's own groups (``group_of``)."""


def group_of(family: str) -> str:
    """Return the name of the set's own group over tasks of a family."""
    return f"{NAME}_{family}"


def _headlines(multiple_choice: str) -> tuple[str, ...]:
    return (
        "verbalizer_unnatural_flipped",
        group_of("manyifeval"),
        "ifbench",
        group_of("hierarchy"),
        f"{multiple_choice}_{MULTIPLE_CHOICE}_{QUESTIONS}",
        group_of("natural_instructions"),
    )


SETS: Mapping[str, tuple[str, ...]] = {NAME: _headlines("paired_mcq"), f"{NAME}_text": _headlines("text_mcq")}
"""The set, and the one for engines without log-likelihoods; and the tasks and groups of each, in the families' order,
each of which is a headline."""
