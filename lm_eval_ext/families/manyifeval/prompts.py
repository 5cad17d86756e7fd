"""Task prompts out of a grammar: kinds of prompts, and phrases for their parts, that all go together.

Every draw has equally many prompts of each kind, give or take one. No two draws below ``distinct_seeds()`` share a
prompt.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from math import prod

from lm_eval_ext.metadata import generator_name

SEED = 20261126
"""The seed of every draw here; changing it changes scores."""
ROUNDS = 10
"""The number of prompts of each kind in a draw, all its splits together."""
_PART = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Kind:
    """A kind of task prompt.

    Attributes:
        template: the prompt, with the names of its parts in braces.
        phrases: the phrases for each part, in the order of the template.
    """

    template: str
    phrases: tuple[tuple[str, ...], ...]

    @property
    def size(self) -> int:
        """The number of prompts of this kind."""
        return prod(map(len, self.phrases))

    def prompt(self, number: int) -> str:
        """Return one of the prompts; ``number``: 0 to ``size`` - 1."""
        chosen = []
        for phrases in self.phrases:
            number, place = divmod(number, len(phrases))
            chosen.append(phrases[place])
        given = iter(chosen)
        found = _PART.sub(lambda _: next(given), self.template)
        return found[0].upper() + found[1:]


@cache
def kinds() -> tuple[Kind, ...]:
    """Return the grammar."""
    phrases = _phrases()
    templates = _read("prompt_kinds.txt")
    return tuple(Kind(line, tuple(phrases[part] for part in _PART.findall(line))) for line in templates)


def _phrases() -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for line in _read("prompt_phrases.txt"):
        if line.startswith("["):
            current = found[line.strip("[]")] = []
        else:
            current.append(line)
    return {name: tuple(phrases) for name, phrases in found.items()}


def _read(name: str) -> list[str]:
    return (files(__package__) / name).read_text(encoding="utf-8").splitlines()


def distinct_seeds() -> int:
    """Return the number of row seeds, from 0 on, no two of which share a prompt."""
    return min(kind.size for kind in kinds()) // ROUNDS


def prompts(row_seed: int, start: int, stop: int) -> list[str]:
    """Return the prompts of a draw from place ``start`` to ``stop``, of ``ROUNDS`` times as many as there are kinds."""
    return list(islice(_draw(row_seed), start, stop))


def _draw(row_seed: int) -> Iterator[str]:
    generator = random.Random(generator_name(SEED, row_seed, "kinds"))  # noqa: S311 # reproducible by design
    for turn in range(ROUNDS):
        for kind in generator.sample(kinds(), len(kinds())):
            # Each seed has a part of the kind's prompts of its own; when all are given, they are dealt anew.
            lap, place = divmod(row_seed, kind.size // ROUNDS)
            yield kind.prompt(_shuffled(place * ROUNDS + turn, kind.size, lap))


def _shuffled(number: int, size: int, lap: int) -> int:
    """Return where a number is after the numbers below ``size`` are shuffled; each lap shuffles otherwise."""
    bits = size.bit_length()
    mask, odd = (1 << bits) - 1, 0x9E3779B97F4A7C15
    while True:
        # Each step maps the numbers of so many bits one to one; a result that is too large is mapped again.
        for turn in range(4):
            number = (number * odd + lap + turn) & mask
            number ^= number >> (bits // 2)
        if number < size:
            return number
