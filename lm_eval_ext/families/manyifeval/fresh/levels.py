"""Levels: numbers from 0 to 1 that decide the arguments of instructions, spread evenly over the rows of a draw."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import count
from typing import TypeVar

HALVINGS = 7
"""How often the range of levels is halved: 128 parts, more than a type has occurrences in 100 rows of ten."""

Option = TypeVar("Option")


def levels(generator: random.Random) -> Iterator[float]:
    """Yield numbers from 0 (inclusive) to 1 (exclusive) without end, in random order but evenly spread.

    Of any first m numbers, half lie in each half of the range, a quarter in each quarter, and so on down to
    ``2**-HALVINGS``, all give or take one (a van der Corput sequence, scrambled as Owen does).
    """
    swapped: dict[tuple[int, int], int] = {}
    for number in count():
        place = 0
        for halving in range(HALVINGS):
            part = (halving, place)
            if part not in swapped:
                swapped[part] = generator.getrandbits(1)
            place = 2 * place + ((number >> halving & 1) ^ swapped[part])
        yield (place + generator.random()) / 2**HALVINGS


class Leveled:
    """Draws options and numbers at a level, and words at random.

    The first choice takes the part of the range in which the level lies; the next one, the part of that part, and so
    on. So choices are as independent of each other as at random, and as evenly spread over many levels as these are.

    Args:
        level: from 0 (inclusive) to 1 (exclusive).
        generator: draws the words.
    """

    def __init__(self, level: float, generator: random.Random) -> None:
        self._rest = level
        self._generator = generator

    def choice(self, seq: Sequence[Option], /) -> Option:
        """Return one of some options."""
        return seq[self._part(len(seq))]

    def randint(self, a: int, b: int, /) -> int:
        """Return a number from ``a`` to ``b``."""
        return a + self._part(b - a + 1)

    def sample(self, population: Sequence[str], /, k: int) -> list[str]:
        """Return ``k`` different words."""
        return self._generator.sample(population, k)

    def _part(self, parts: int) -> int:
        scaled = self._rest * parts
        part = min(int(scaled), parts - 1)
        self._rest = scaled - part
        return part
