"""What is computed of a distribution over outcomes: how far it is spread out, and how far it is from another."""

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
    """Return the entropy, in nats, of how often each outcome occurred; 0 if only one did."""
    # The same few patterns of counts occur over and over, and the sum is exact in whatever order.
    return _entropy(tuple(sorted(counts)))


@lru_cache(maxsize=4096)
def _entropy(counts: tuple[int, ...]) -> float:
    total = sum(counts)
    # log(n / c), not -log(c / n): whatever always has the same outcome has 0, not -0.
    return math.fsum(count / total * math.log(total / count) for count in counts)


def total_variation(first: Sequence[Number], second: Sequence[Number], total: Number) -> Number:
    """Return the total variation distance between two distributions, from 0 to 1.

    It is the share of the observations that would have to have another outcome for both to be alike.

    Args:
        first: how often each outcome occurred in the one; numbers, or arrays, each place of which stands for two
            distributions of its own.
        second: how often it did in the other, the outcomes in the same order.
        total: how many observations each has.
    """
    differences: Number = reduce(add, (abs(one - other) for one, other in zip(first, second, strict=True)))
    return differences / (2 * total)
