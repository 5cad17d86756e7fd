"""The orders in which a question's options are shown (section 3: ten runs, shuffled anew in each)."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from itertools import cycle, islice

SHUFFLES = 10
SEED = 20240216
"""Of every draw here; a change of it changes scores."""


def orders(question: str, options: Sequence[str]) -> list[tuple[int, ...]]:
    """Return ten orders of a question's options, as indices: those of the question and its options alone.

    They differ from one another as far as there are ten: three options have six orders, each of which then comes once
    before one comes again.

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
