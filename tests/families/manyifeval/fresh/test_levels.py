"""Levels: evenly spread whatever the seed, and what is drawn at them."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice

import pytest

from lm_eval_ext.families.manyifeval.fresh.levels import Leveled, levels


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("parts", [2, 4, 8])
def test_of_any_first_levels_each_part_has_its_share(seed: int, parts: int) -> None:
    drawn = list(islice(levels(random.Random(seed)), 100))  # noqa: S311 # reproducible by design
    assert all(0 <= level < 1 for level in drawn)
    for end in range(1, 101):
        counts = Counter(int(level * parts) for level in drawn[:end])
        assert max(counts.values()) - min(counts[part] for part in range(parts)) <= 1


def test_a_level_decides_one_choice_after_the_other() -> None:
    # 0.3 of two is the first half, and there 0.6; of five numbers that is the fourth, and 0 remains.
    draws = Leveled(0.3, random.Random(0))  # noqa: S311 # reproducible by design
    assert draws.choice(["low", "high"]) == "low"
    assert draws.randint(1, 5) == 4  # 0.6 of 5 is 3.0
    assert len(draws.sample(["a", "b", "c"], 2)) == 2


def test_every_choice_is_equally_likely_given_those_before() -> None:
    pairs: Counter[tuple[int, str]] = Counter()
    for level in range(1000):
        draws = Leveled((level + 0.5) / 1000, random.Random(0))  # noqa: S311 # reproducible by design
        pairs[draws.randint(1, 4), draws.choice("abcde")] += 1
    assert set(pairs.values()) == {50}
    assert len(pairs) == 20
