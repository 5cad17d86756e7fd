"""Chooses ten instructions for a task prompt, and their order, and proves that they can be followed together.

The choice depends only on the task prompt's key, its text and its own instructions. The row with n instructions has the
first n of the ten (section 3.1). Under a row seed, ``fresh`` chooses.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from lm_eval_ext.families.manyifeval.arguments import draw_instruction, is_sensible, keywords
from lm_eval_ext.families.manyifeval.witness import respond
from lm_eval_ext.metadata import generator_name
from lm_eval_ext.verifiers import Checker
from lm_eval_ext.verifiers.ifeval.length import NumberWords

SEED = 20241001
"""The seed of every draw here; changing it changes scores."""
INSTRUCTIONS = 10
MOST_WORDS = 500
"""The upper end of IFEval's own range, although five of the reconstructed prompts ask for more."""
ATTEMPTS = 200
"""Maximum number of draws to find ten instructions that a response can follow together; two or three are typical."""

SLOTS: tuple[tuple[str, ...], ...] = (
    ("keywords:existence",),
    ("keywords:frequency",),
    ("keywords:forbidden_words",),
    ("keywords:letter_frequency",),
    (
        "length_constraints:number_paragraphs",
        "length_constraints:number_words",
        "length_constraints:number_sentences",
    ),
    ("detectable_content:number_placeholders",),
    ("detectable_format:number_bullet_lists",),
    ("detectable_format:title",),
    ("change_case:english_capital", "change_case:english_lowercase", "change_case:capital_word_frequency"),
    ("startend:quotation",),
    ("punctuation:no_comma",),
)
"""The 15 instructions. Two in one slot conflict (section 3.1: one variant each of length and case); no others do."""

CONFLICTS: frozenset[frozenset[str]] = frozenset(frozenset(pair) for slot in SLOTS for pair in combinations(slot, 2))
"""The pairs that may not occur together."""


@dataclass(frozen=True)
class Task:
    """A task prompt before it gets its instructions.

    Attributes:
        key: its number or name.
        task_prompt: the bare task.
        own: the instructions that it came with; of those among the 15, the first in each slot is kept with its
            arguments.
    """

    key: int | str
    task_prompt: str
    own: tuple[Checker, ...] = ()


@dataclass(frozen=True)
class Composition:
    """The ten instructions of a task prompt, in order.

    Attributes:
        instructions: the instructions, none of which conflict.
        witness: a response that follows all of them strictly, in both editions.
    """

    instructions: tuple[Checker, ...]
    witness: str


def conflicting(first: str, second: str) -> bool:
    """Tell whether two instruction ids may not occur together; an id conflicts with itself."""
    return first == second or frozenset((first, second)) in CONFLICTS


def compose(task: Task) -> Composition:
    """Return ten instructions that can be followed together, with a response that follows them.

    Args:
        task: the task prompt; the instructions that it came with are kept.

    Raises:
        RuntimeError: no such instructions were found, which cannot happen unless the task's own instructions are
            mutually exclusive.
    """
    generator = random.Random(generator_name(SEED, None, task.key))  # noqa: S311 # reproducible by design
    for _ in range(ATTEMPTS):
        instructions = _draw(task, generator)
        # A letter instruction of the task's own is kept as it is, whatever else is drawn.
        if not is_sensible(
            [drawn for drawn in instructions if drawn not in task.own or isinstance(drawn, NumberWords)]
        ):
            continue
        witness = respond(instructions)
        if witness is not None and respond(instructions, set(range(INSTRUCTIONS))) is not None:
            return Composition(instructions, witness)
    raise RuntimeError(
        f"task prompt {task.key}: {ATTEMPTS} draws found no ten instructions that are compatible with its own: "
        f"{', '.join(map(repr, task.own)) or 'none'}"
    )


def _draw(task: Task, generator: random.Random) -> tuple[Checker, ...]:
    kept: dict[int, Checker] = {}
    for instruction in task.own:
        slot = next((number for number, ids in enumerate(SLOTS) if instruction.id in ids), None)
        if slot is not None and not _is_too_long(instruction):
            kept.setdefault(slot, instruction)
    others = [slot for slot in range(len(SLOTS)) if slot not in kept]
    chosen = list(kept.values())[:INSTRUCTIONS]
    free = _free_keywords(task)
    for slot in sorted(generator.sample(others, INSTRUCTIONS - len(chosen))):
        drawn = draw_instruction(generator.choice(SLOTS[slot]), generator, free)
        free = without(free, phrases_of(drawn))
        chosen.append(drawn)
    generator.shuffle(chosen)
    return tuple(chosen)


def _is_too_long(own: Checker) -> bool:
    """Tell whether an instruction from IFEval asks for more words than the tasks' limit on new tokens allows."""
    return isinstance(own, NumberWords) and own.relation == "at least" and own.num_words > MOST_WORDS


def _free_keywords(task: Task) -> tuple[str, ...]:
    """Return the keywords that occur neither in the task prompt nor in its own instructions."""
    named = [task.task_prompt.casefold(), *(phrase.casefold() for own in task.own for phrase in phrases_of(own))]
    return without(keywords(), named)


def without(free: Iterable[str], named: Sequence[str]) -> tuple[str, ...]:
    """Return the keywords that are not part of one of the named texts, and of which none is part."""
    for text in named:
        free = [word for word in free if word not in text and text not in word]
    return tuple(free)


def phrases_of(instruction: Checker) -> tuple[str, ...]:
    """Return the keywords that an instruction names."""
    several = getattr(instruction, "keywords", ()) or getattr(instruction, "forbidden_words", ())
    return (*several, *filter(None, [getattr(instruction, "keyword", "")]))
