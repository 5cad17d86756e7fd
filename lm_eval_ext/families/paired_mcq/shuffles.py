"""The orders in which a question's options are shown (section 3: ten runs, each with a new shuffle)."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import cycle, islice

SHUFFLES = 10
SEED = 20240216
"""The seed of every draw here; changing it changes scores."""


def orders(question: str, options: Sequence[str]) -> list[tuple[int, ...]]:
    """Return ten orders of a question's options, as indices; they depend only on the question and its options.

    They all differ if the options have ten orders. Three options have only six, each of which then occurs once before
    any is repeated.

    Args:
        question: its text.
        options: in canonical order, the refusal included.
    """
    generator = random.Random(f"{SEED}/{question}/{list(options)}")  # noqa: S311 # reproducible by design
    everything = math.factorial(len(options))
    found: dict[tuple[int, ...], None] = {}
    while len(found) < min(SHUFFLES, everything):
        found[tuple(generator.sample(range(len(options)), len(options)))] = None
    return list(islice(cycle(found), SHUFFLES))
