"""The subtasks that a command line names, and which of them a setting may train on (section 4, Table 2)."""

from __future__ import annotations

import difflib
import fnmatch
from collections.abc import Sequence
from typing import Literal

from lm_eval_ext.families.natural_instructions.subtasks import EVALUATION, SUBTASKS
from lm_eval_ext.families.natural_instructions.training.errors import TrainingError

Supervision = Literal["task-specific", "generalization"]
"""Table 2: one model for each evaluated subtask, or one model that sees no instance of any."""

NON_EVALUATION = tuple(name for name in SUBTASKS if name not in EVALUATION)
"""The 49 subtasks outside the evaluation split. The paper trains on 26 (section 6.1) and does not list them."""
SETS = {"evaluation": EVALUATION, "non-evaluation": NON_EVALUATION}
"""Names of several subtasks."""


def subtasks_named(given: Sequence[str]) -> tuple[str, ...]:
    """Return the subtasks that words of a command line name, each once, in the order of the words.

    Args:
        given: names of subtasks or of any task file, patterns such as ``subtask03*``, or names of ``SETS``.

    Raises:
        TrainingError: a pattern matches nothing, or a name resembles a subtask's but is none.
    """
    return tuple(dict.fromkeys(name for word in given for name in _named(word)))


def _named(word: str) -> Sequence[str]:
    if word in SETS:
        return SETS[word]
    if any(sign in word for sign in "*?["):
        found = fnmatch.filter(SUBTASKS, word)
        if not found:
            raise TrainingError(
                f"--subtasks {word}: no subtask matches; expected names such as {EVALUATION[0]}, patterns such as "
                f"'subtask03*', or {' or '.join(SETS)}"
            )
        return found
    if word not in SUBTASKS and (near := difflib.get_close_matches(word, SUBTASKS, cutoff=0.9)):
        raise TrainingError(f"--subtasks {word}: no such subtask; did you mean {near[0]}?")
    return [word]


def require_unseen(subtasks: Sequence[str]) -> None:
    """Check that a model of the generalization setting is trained on no subtask of the evaluation split.

    Raises:
        TrainingError: it would be; the message names the subtasks.
    """
    evaluated = [name for name in subtasks if name in EVALUATION]
    if evaluated:
        raise TrainingError(
            f"--subtasks {' '.join(evaluated)}: in the evaluation split, which a model must not have seen in the "
            "setting 'generalization'. To train on a subtask that is evaluated, choose --supervision task-specific; to "
            "add a few of its instances, --plus 10"
        )
