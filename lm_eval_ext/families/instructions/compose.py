"""Composes the rows of a row seed or of a user's task prompts: ten instructions that a response can follow together.

The default rows were composed once and are data (``manyifeval.frozen``).

All task prompts of a draw are composed at once, so that every draw measures the same thing. Types and arguments are
dealt before any row is composed, position by position: whatever the seed, the first n instructions of the rows have
nearly the same mix of types, and each type has arguments from all parts of its range. Each row gets a response that
follows all of its instructions, the witness. If a row has none, it swaps an instruction with the one at the same
position of another row, which changes neither mix.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, product
from string import ascii_lowercase
from typing import Any, NamedTuple

from lm_eval_ext.families.instructions import lines_of
from lm_eval_ext.families.instructions.kinds import USUAL_WORDS, Draws, Pool, conflicting, prose_has
from lm_eval_ext.families.instructions.writer import respond
from lm_eval_ext.metadata import seeded_generator
from lm_eval_ext.verifiers import Checker, instruction
from lm_eval_ext.verifiers.ifeval.keywords import LetterFrequency
from lm_eval_ext.verifiers.ifeval.length import NumberWords

SEED = 20261125
"""The seed of every draw here; changing it changes scores."""
INSTRUCTIONS = 10
DEALS = 20
"""Maximum number of deals until every row has a witness; one is typical for 100 rows."""
KEYWORD_DRAWS = 3
"""Maximum number of draws of a row's keywords before one of its instructions is swapped."""
EXCHANGES = 30
"""Maximum number of exchanges that are tried for a row without a witness before everything is dealt anew: most rows
need a few, and some cannot be helped, because more than one of their instructions is in the way."""
HALVINGS = 7
"""How often the range of levels is halved: 128 parts, more than a type has occurrences in 100 rows of ten."""


@dataclass(frozen=True)
class TaskPrompt:
    """A task prompt before it gets its instructions.

    Attributes:
        key: the number or name of its row.
        text: the bare task.
        own: the instructions that it came with.
    """

    key: int | str
    text: str
    own: tuple[Checker, ...] = ()


@dataclass(frozen=True)
class Composition:
    """The ten instructions of a task prompt, in order.

    Attributes:
        instructions: the instructions, none of which conflict.
        witness: a response that follows all of them strictly, in both editions; ``None`` if none is known.
    """

    instructions: tuple[Checker, ...]
    witness: str | None


class Card(NamedTuple):
    """An instruction before it has its words: its type, and the level of its other arguments."""

    type: str
    level: float


def compose(
    task_prompts: Sequence[TaskPrompt], pool: Pool, row_seed: int | None, draw: int | str
) -> tuple[Composition, ...]:
    """Return ten instructions for each task prompt that can be followed together, with responses that follow them.

    Another response is known to each that follows none of them.

    Args:
        task_prompts: the task prompts; instructions that they came with are not kept.
        pool: the instruction types.
        row_seed: see ``metadata.chosen_row_seed``; ``None``: none was set.
        draw: a number or a name that no other draw with the same seed has.

    Raises:
        RuntimeError: none were found, which cannot happen unless task prompts contain nearly all keywords.
    """
    generator = seeded_generator(SEED, row_seed, draw)
    for _ in range(DEALS):
        types = deal_types(len(task_prompts), INSTRUCTIONS, pool, generator)
        spread = {name: levels(random.Random(generator.getrandbits(64))) for name in pool.weights}  # noqa: S311 # reproducible by design
        hands: list[list[Card]] = [[] for _ in task_prompts]
        for position in range(INSTRUCTIONS):
            for hand, names in zip(hands, types, strict=True):
                hand.append(Card(names[position], next(spread[names[position]])))
        compositions = [
            _compose_row(task_prompt, hand, pool, generator)
            for task_prompt, hand in zip(task_prompts, hands, strict=True)
        ]
        for number in range(len(task_prompts)):
            # An exchange may also compose the other row anew.
            if compositions[number] is None and not _swap(number, task_prompts, hands, compositions, pool, generator):
                break
        else:
            return tuple(composition for composition in compositions if composition)
    raise RuntimeError(
        f"{len(task_prompts)} task prompts, the first with key {task_prompts[0].key!r}: {DEALS} deals of instructions, "
        "none of which has all witnesses"
    )


def deal_types(rows: int, number: int, pool: Pool, generator: random.Random) -> list[list[str]]:
    """Return some types for each of ``rows`` rows, none of which conflict.

    The largest debt is paid first. A random draw would give a type to a row with some probability: its weight among the
    types that conflict with none that the row has. Here each type is owed that probability, row by row, and the type is
    dealt that is owed most beyond what it was dealt before. So the number of rows with a type, among their first n,
    stays close to what a random draw gives on average.

    Args:
        rows: the number of rows.
        number: the number of types in a row.
        pool: the types.
        generator: a seeded generator, which is advanced.
    """
    dealt: list[list[str]] = [[] for _ in range(rows)]
    owed: defaultdict[str, float] = defaultdict(float)
    times_dealt: Counter[str] = Counter()
    for _ in range(number):
        for row in generator.sample(dealt, rows):
            free = [name for name in pool.weights if not any(conflicting(name, dealt_before) for dealt_before in row)]
            total = sum(pool.weights[name] for name in free)
            for name in free:
                owed[name] += pool.weights[name] / total
            # In random order, because of ties.
            in_random_order = generator.sample(free, len(free))
            chosen = max(in_random_order, key=lambda name: owed[name] - times_dealt[name])
            times_dealt[chosen] += 1
            row.append(chosen)
    return dealt


def levels(generator: random.Random) -> Iterator[float]:
    """Yield numbers from 0 (inclusive) to 1 (exclusive) without end, in random order but evenly spread.

    Of any first m numbers, half lie in each half of the range, a quarter in each quarter, and so on down to
    ``2**-HALVINGS``, all give or take one (a van der Corput sequence, scrambled as Owen does).
    """
    swapped: dict[tuple[int, int], int] = {}
    for number in count():
        level = 0
        for halving in range(HALVINGS):
            part = (halving, level)
            if part not in swapped:
                swapped[part] = generator.getrandbits(1)
            level = 2 * level + ((number >> halving & 1) ^ swapped[part])
        yield (level + generator.random()) / 2**HALVINGS


@dataclass
class Level:
    """Decides one choice after another by a level.

    The first choice takes the part of the range in which the level lies; the next one, the part of that part, and so
    on. So choices are as independent of each other as at random, and as evenly spread over many levels as these are.

    Attributes:
        position: from 0 (inclusive) to 1 (exclusive).
    """

    position: float

    def choice(self, options: Sequence[Any]) -> Any:
        """Return one of some options."""
        scaled = self.position * len(options)
        part = min(int(scaled), len(options) - 1)
        self.position = scaled - part
        return options[part]


def keywords() -> tuple[str, ...]:
    """Return the words from which keywords are drawn; no word is part of another."""
    return lines_of(__package__, "keywords.txt")


def without(words: Iterable[str], text: str) -> list[str]:
    """Return the words that are not part of a text, and of which it is none."""
    return [word for word in words if word not in text and text not in word]


def is_sensible(instructions: Sequence[Checker]) -> bool:
    """Tell whether prose about the task can contain its drawn letter the required number of times (``prose_has``)."""
    words = max((number.num_words for number in instructions if isinstance(number, NumberWords)), default=USUAL_WORDS)
    return all(
        prose_has(instruction.letter, instruction.let_relation, instruction.let_frequency, words)
        for instruction in instructions
        if isinstance(instruction, LetterFrequency) and instruction.letter in ascii_lowercase
    )


def _compose_row(
    task_prompt: TaskPrompt, hand: Sequence[Card], pool: Pool, generator: random.Random
) -> Composition | None:
    """Return the instructions of one row, with words that let a response follow them; ``None`` if there are none."""
    for _ in range(KEYWORD_DRAWS):
        free = without(keywords(), task_prompt.text.casefold())
        words = iter(generator.sample(free, len(free)))
        instructions = tuple(
            instruction(card.type, Draws(Level(card.level).choice, words).arguments(pool.arguments[card.type]))
            for card in hand
        )
        if not is_sensible(instructions):
            return None  # whatever its words
        witness = respond(instructions)
        if witness is not None and respond(instructions, range(INSTRUCTIONS)) is not None:
            return Composition(instructions, witness)
    return None


def _swap(  # noqa: PLR0913, PLR0917 # the state of a draw
    number: int,
    task_prompts: Sequence[TaskPrompt],
    hands: list[list[Card]],
    compositions: list[Composition | None],
    pool: Pool,
    generator: random.Random,
) -> bool:
    """Give a row without a witness an instruction of another row, in exchange for its own at that position.

    Returns:
        Whether both have a witness now; if not, after ``EXCHANGES`` attempts, nothing has changed.
    """
    exchanges = [*product(range(len(hands)), range(INSTRUCTIONS))]
    tried = 0
    for partner, position in generator.sample(exchanges, len(exchanges)):
        pair = number, partner
        cards = {row: [*hands[row]] for row in pair}
        cards[number][position], cards[partner][position] = hands[partner][position], hands[number][position]
        if partner == number or any(
            conflicting(cards[row][position].type, card.type)
            for row in pair
            for index, card in enumerate(cards[row])
            if index != position
        ):
            continue
        if (tried := tried + 1) > EXCHANGES:
            return False
        composed: dict[int, Composition] = {}
        for row in pair:
            if (new := _compose_row(task_prompts[row], cards[row], pool, generator)) is None:
                break
            composed[row] = new
        else:
            for row in pair:
                hands[row], compositions[row] = cards[row], composed[row]
            return True
    return False
