"""The orders in which a question's options are shown (section 3: ten runs, each with a new shuffle)."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import cycle, islice

from lm_eval_ext.metadata import generator_name

SHUFFLES = 10
SEED = 20240216
"""The seed of every draw here; changing it changes scores."""


def orders(question: str, options: Sequence[str], row_seed: int | None = None) -> list[tuple[int, ...]]:
    """Return ten orders of a question's options, as indices; they depend only on it and the seed.

    They all differ if the options have ten orders. Three options have only six, each of which then occurs once before
    any is repeated. Under a row seed, every option is at every position equally often, give or take one.

    Args:
        question: its text.
        options: in canonical order, the refusal included.
        row_seed: see ``metadata.chosen_row_seed``.
    """
    generator = random.Random(generator_name(SEED, row_seed, question, list(options)))  # noqa: S311 # reproducible by design
    wanted = min(SHUFFLES, math.factorial(len(options)))
    found: dict[tuple[int, ...], None] = {}
    while len(found) < wanted:
        if row_seed is None:
            found[tuple(generator.sample(range(len(options)), len(options)))] = None
        elif found.keys().isdisjoint(square := _square(len(options), generator)):
            found |= dict.fromkeys(square)
    return list(islice(cycle(islice(found, wanted)), SHUFFLES))


def _square(count: int, generator: random.Random) -> list[tuple[int, ...]]:
    """Return as many orders as there are options, in which every option is at every position once (a Latin square)."""
    options, shifts, starts = (generator.sample(range(count), count) for _ in range(3))
    return [tuple(options[(start + shift) % count] for shift in shifts) for start in starts]
