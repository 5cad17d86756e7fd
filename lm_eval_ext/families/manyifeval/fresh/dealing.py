"""Deals instruction types to rows, so that every draw has the same mix at every number of instructions."""

from __future__ import annotations

import random
from collections import Counter, defaultdict

from lm_eval_ext.families.manyifeval.fresh.pool import Pool


def deal_types(rows: int, count: int, pool: Pool, generator: random.Random) -> list[list[str]]:
    """Return ``count`` types for each of ``rows`` rows, none of which conflict.

    A random draw would give a type to a row with some probability: its weight among the types that conflict with none
    that the row has. Here each type is owed that probability, row by row, and the type that is owed most is dealt. So
    the number of rows with a type, among their first n, stays close to what a random draw gives on average.

    Args:
        rows: the number of rows.
        count: the number of types in a row.
        pool: the types.
        generator: a seeded generator, which is advanced.
    """
    dealt: list[list[str]] = [[] for _ in range(rows)]
    owed: defaultdict[str, float] = defaultdict(float)
    given: Counter[str] = Counter()
    for _ in range(count):
        for row in generator.sample(dealt, rows):
            free = [name for name in pool.weights if not any(pool.conflicting(name, other) for other in row)]
            total = sum(pool.weights[name] for name in free)
            for name in free:
                owed[name] += pool.weights[name] / total
            # In random order, because of ties.
            chosen = max(generator.sample(free, len(free)), key=lambda name: owed[name] - given[name])
            given[chosen] += 1
            row.append(chosen)
    return dealt
