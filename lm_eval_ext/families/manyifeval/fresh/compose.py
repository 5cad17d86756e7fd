"""Composes the instructions of all task prompts of a draw at once, so that every draw measures the same thing.

Types and arguments are dealt before any row is composed, position by position: whatever the seed, the first n
instructions of the rows have nearly the same mix of types, and each type has arguments from all parts of its range.
If a row then has no witness, it swaps an instruction with the one at the same position of another row, which changes
neither mix.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

from lm_eval_ext.families.manyifeval.arguments import is_sensible, keywords
from lm_eval_ext.families.manyifeval.compose import INSTRUCTIONS, Composition, Task, without
from lm_eval_ext.families.manyifeval.fresh.dealing import deal_types
from lm_eval_ext.families.manyifeval.fresh.levels import Leveled, levels
from lm_eval_ext.families.manyifeval.fresh.pool import Pool
from lm_eval_ext.metadata import generator_name
from lm_eval_ext.verifiers import Checker, instruction
from lm_eval_ext.verifiers.checker import RELATIONS
from lm_eval_ext.verifiers.ifeval.keywords import LetterFrequency

SEED = 20261125
"""The seed of every draw here; changing it changes scores."""
DEALS = 20
"""Maximum number of deals until every row has a witness; one is typical for 100 rows."""
WORDINGS = 3
"""Maximum number of draws of a row's keywords before one of its instructions is swapped."""
EXCHANGES = 30
"""Maximum number of exchanges that are tried for a row without a witness before everything is dealt anew: most rows
need a few, and some cannot be helped, because more than one of their instructions is in the way."""
LETTER = LetterFrequency.id


class Card(NamedTuple):
    """An instruction before it has its words: its type, and the level of its other arguments."""

    type: str
    level: float


def compose_draw(tasks: Sequence[Task], pool: Pool, row_seed: int) -> tuple[Composition, ...]:
    """Return ten instructions for each task prompt that can be followed together, with responses that follow them.

    Args:
        tasks: the task prompts; instructions that they came with are not kept.
        pool: the instruction types.
        row_seed: see ``metadata.chosen_row_seed``.

    Raises:
        RuntimeError: none were found, which cannot happen unless task prompts contain nearly all keywords.
    """
    generator = random.Random(generator_name(SEED, row_seed, len(tasks)))  # noqa: S311 # reproducible by design
    for _ in range(DEALS):
        hands = _deal(len(tasks), pool, generator)
        found = [_composed(task, hand, pool, generator) for task, hand in zip(tasks, hands, strict=True)]
        if all(one or _swap(number, tasks, hands, found, pool, generator) for number, one in enumerate(found)):
            return tuple(composed for composed in found if composed)
    raise RuntimeError(f"{len(tasks)} task prompts: {DEALS} deals of instructions, none of which has all witnesses")


def _deal(rows: int, pool: Pool, generator: random.Random) -> list[list[Card]]:
    types = deal_types(rows, INSTRUCTIONS, pool, generator)
    spread = {name: levels(random.Random(generator.getrandbits(64))) for name in pool.weights}  # noqa: S311 # as above
    hands: list[list[Card]] = [[] for _ in range(rows)]
    for position in range(INSTRUCTIONS):
        for hand, names in zip(hands, types, strict=True):
            hand.append(Card(names[position], next(spread[names[position]])))
    return hands


def _composed(task: Task, hand: Sequence[Card], pool: Pool, generator: random.Random) -> Composition | None:
    for _ in range(WORDINGS):
        free = without(keywords(), [task.task_prompt.casefold()])
        instructions: list[Checker] = []
        for card in hand:
            instructions.append(_drawn(card, pool, generator, free))
            free = without(free, pool.phrases(instructions[-1]))
        if not is_sensible(instructions):
            return None  # whatever its words
        witness = pool.respond(instructions)
        if witness is not None and pool.respond(instructions, range(INSTRUCTIONS)) is not None:
            return Composition(tuple(instructions), witness)
    return None


def _drawn(card: Card, pool: Pool, generator: random.Random, free: tuple[str, ...]) -> Checker:
    draws = Leveled(card.level, generator)
    if card.type == LETTER:
        return draws.choice(_letters())
    return instruction(card.type, pool.arguments[card.type](draws, free))


@cache
def _letters() -> tuple[Checker, ...]:
    """Return the instructions about letters that are sensible in a text of usual length, from few to many."""
    every = product(RELATIONS, range(1, 11), "abcdefghijklmnopqrstuvwxyz")
    made = (
        instruction(LETTER, {"letter": letter, "let_frequency": number, "let_relation": relation})
        for relation, number, letter in every
    )
    return tuple(each for each in made if is_sensible([each]))


def _swap(  # noqa: PLR0913, PLR0917 # the state of a draw
    number: int,
    tasks: Sequence[Task],
    hands: list[list[Card]],
    found: list[Composition | None],
    pool: Pool,
    generator: random.Random,
) -> bool:
    """Give a row without a witness an instruction of another row, in exchange for its own at that position.

    Returns:
        Whether both have a witness now; if not, after ``EXCHANGES`` attempts, nothing has changed.
    """
    exchanges = [*product(range(len(hands)), range(INSTRUCTIONS))]
    tried = 0
    for other, position in generator.sample(exchanges, len(exchanges)):
        both = number, other
        cards = {one: [*hands[one]] for one in both}
        cards[number][position], cards[other][position] = hands[other][position], hands[number][position]
        if other == number or any(_conflicts(cards[one], position, pool) for one in both):
            continue
        if (tried := tried + 1) > EXCHANGES:
            return False
        composed: dict[int, Composition] = {}
        for one in both:
            if (new := _composed(tasks[one], cards[one], pool, generator)) is None:
                break
            composed[one] = new
        else:
            for one in both:
                hands[one], found[one] = cards[one], composed[one]
            return True
    return False


def _conflicts(hand: Sequence[Card], position: int, pool: Pool) -> bool:
    others = (card.type for place, card in enumerate(hand) if place != position)
    return any(pool.conflicting(hand[position].type, other) for other in others)
