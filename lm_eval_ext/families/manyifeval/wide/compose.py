"""Chooses ten instructions of the pool for a task prompt, and proves that they can be followed together.

The choice depends only on the task prompt's key and its text. Unlike in ``manyifeval``, a prompt of IFEval does not
keep the instructions that it came with. Under a row seed, ``fresh`` chooses.
"""

from __future__ import annotations

import random

from lm_eval_ext.families.manyifeval.arguments import is_sensible, keywords
from lm_eval_ext.families.manyifeval.compose import INSTRUCTIONS, Composition, Task, without
from lm_eval_ext.families.manyifeval.fresh.pool import Pool
from lm_eval_ext.families.manyifeval.wide.arguments import FRESH_ARGUMENTS, draw_wide, phrases_of
from lm_eval_ext.families.manyifeval.wide.pool import POOL, conflicting
from lm_eval_ext.families.manyifeval.wide.witness import respond
from lm_eval_ext.metadata import generator_name
from lm_eval_ext.verifiers import Checker

SEED = 20261123
"""The seed of every draw here; changing it changes scores."""
ATTEMPTS = 200
"""Maximum number of draws to find ten instructions that a response can follow together; one or two are typical."""

FRESH = Pool(dict.fromkeys(POOL, 1), conflicting, FRESH_ARGUMENTS, phrases_of, respond)
"""The larger pool, for the rows of a row seed."""


def compose_wide(task: Task) -> Composition:
    """Return ten instructions that can be followed together, with a response that follows them.

    Another response is known that follows none of them.

    Args:
        task: the task prompt.

    Raises:
        RuntimeError: no such instructions were found, which cannot happen unless the task prompt contains nearly all
            keywords.
    """
    generator = random.Random(generator_name(SEED, None, task.key))  # noqa: S311 # reproducible by design
    for _ in range(ATTEMPTS):
        instructions = _draw(task, generator)
        if not is_sensible(instructions):
            continue
        witness = respond(instructions)
        if witness is not None and respond(instructions, range(INSTRUCTIONS)) is not None:
            return Composition(instructions, witness)
    raise RuntimeError(f"task prompt {task.key}: {ATTEMPTS} draws found no ten instructions that go together")


def _draw(task: Task, generator: random.Random) -> tuple[Checker, ...]:
    chosen: list[str] = []
    for name in generator.sample(POOL, len(POOL)):
        if len(chosen) < INSTRUCTIONS and not any(conflicting(name, other) for other in chosen):
            chosen.append(name)
    free = without(keywords(), [task.task_prompt.casefold()])
    drawn: list[Checker] = []
    for name in chosen:
        drawn.append(draw_wide(name, generator, free))
        free = without(free, phrases_of(drawn[-1]))
    return tuple(drawn)
