"""Measures on distributions over outcomes: the entropy of one, and the distance between two."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache, reduce
from operator import add
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Number = TypeVar("Number", float, "NDArray[np.float64]")


def entropy(counts: Iterable[int]) -> float:
    """Return the entropy, in nats, of the counts of the outcomes; 0 if only one occurred."""
    # The same few patterns of counts recur, and the sum is exact in any order.
    return _entropy(tuple(sorted(counts)))


@lru_cache(maxsize=4096)
def _entropy(counts: tuple[int, ...]) -> float:
    total = sum(counts)
    # log(n / c), not -log(c / n): a single outcome gives 0, not -0.
    return math.fsum(count / total * math.log(total / count) for count in counts)


def total_variation(first: Sequence[Number], second: Sequence[Number], total: Number) -> Number:
    """Return the total variation distance between two distributions, from 0 to 1.

    It is the share of observations whose outcome would have to change to make the distributions equal.

    Args:
        first: the counts of the outcomes in the first distribution; numbers, or arrays in which each position is a
            separate pair of distributions.
        second: the counts in the second distribution, with the outcomes in the same order.
        total: the number of observations in each distribution.
    """
    differences: Number = reduce(add, (abs(one - other) for one, other in zip(first, second, strict=True)))
    return differences / (2 * total)
