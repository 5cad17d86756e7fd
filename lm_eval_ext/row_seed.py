"""The row seed: the number that draws rows other than the published ones, equally hard and never seen before."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeVar

from lm_eval_ext.version_mark import mark_version

Item = TypeVar("Item")

KEY = "row_seed"
"""The key in a task's metadata. Not ``seed``: the harness copies the model's arguments into the metadata, and the
``seed`` that some engines take would choose the rows."""


def chosen_row_seed(task: str, metadata: dict[str, Any], edition: int = 1) -> int | None:
    """Return the row seed that a task's metadata set, and mark the version with it; ``None`` if they set none.

    Args:
        task: the task's name, for messages.
        metadata: the task's metadata, whose ``version`` is modified: scores of different rows are not comparable.
        edition: how often what draws the rows of a seed has changed, plus 1; part of the mark from 2 on.

    Raises:
        ValueError: it is not a whole number.
    """
    row_seed = metadata.get(KEY)
    if row_seed is None:
        return None
    if isinstance(row_seed, bool) or not isinstance(row_seed, int) or row_seed < 0:
        raise ValueError(f"task {task!r}: metadata {KEY} {row_seed!r}; expected a whole number, 0 or more")
    mark_version(metadata, f"seed{row_seed}" if edition == 1 else f"seed{row_seed}.{edition}")
    return row_seed


def spread_sample(ordered: Sequence[Item], count: int, generator: random.Random) -> list[Item]:
    """Return ``count`` items in their order, one of each of as many equally large parts.

    So what the items are ordered by (a label, a length) is distributed over them as over all items, under every seed.
    If more than half of the items are wanted, those that are left out are chosen in this way.

    Args:
        ordered: at least ``count`` items.
        count: the number of items to draw.
        generator: a seeded generator, which is advanced.
    """
    few = min(count, len(ordered) - count)
    ends = [len(ordered) * part // few for part in range(few + 1)] if few else []
    places = {generator.randrange(start, end) for start, end in pairwise(ends)}
    return [item for place, item in enumerate(ordered) if (place in places) == (few == count)]


def generator_name(seed: int, row_seed: int | None, *parts: object) -> str:
    """Return what seeds the generator of one draw.

    Args:
        seed: the seed of the published rows.
        row_seed: see ``chosen_row_seed``.
        parts: what is drawn, and for what.
    """
    own = str(seed) if row_seed is None else f"{seed}+{row_seed}"
    return "/".join([own, *map(str, parts)])
