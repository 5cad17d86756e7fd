"""Whatever the seed, the same mix of instruction types and of argument sizes, and rows that can be followed."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations, islice
from statistics import fmean

import pytest

from lm_eval_ext.families.instructions import is_as_intended
from lm_eval_ext.families.instructions.compose import Level, TaskPrompt, compose, is_sensible, keywords, levels
from lm_eval_ext.families.instructions.kinds import FIFTEEN, LARGER_POOL, Pool, conflicting
from lm_eval_ext.families.manyifeval.rows import InstructionRow, Selection, all_rows, evaluated, rows_hash
from lm_eval_ext.verifiers import instruction
from tests.families.manyifeval.table_4 import CASE, LENGTH
from tests.families.manyifeval.table_4 import FIFTEEN as TYPES
from tests.families.test_leaves import ROWS

COUNTS = range(1, 11)
FEW = (0, 7)
MANY = pytest.param(range(50), marks=pytest.mark.slow)
MOST = 1.5
"""How many rows of 100 a type may have more or fewer than its expected share (0.91 to 1.18 in 50 seeds)."""
MOST_WIDE = 2.0
"""The same in the larger pool, around the mean of the seeds (0.94 to 1.92)."""
MOST_SIZES = 2.5
"""How many rows more or fewer may have a size up to some value than if sizes were evenly spread (2.2 in 200 seeds)."""


def rows_of(row_seed: int, count: int, pool: Pool = FIFTEEN) -> list[InstructionRow]:
    return [row for row in all_rows("embedded", "test", row_seed, pool) if len(row.instructions) == count]


def types_of(rows: Sequence[InstructionRow]) -> Counter[str]:
    return Counter(each.id for row in rows for each in row.instructions)


@pytest.mark.parametrize("row_seeds", [FEW, MANY])
def test_every_type_has_its_share_at_every_number_of_instructions(row_seeds: Sequence[int]) -> None:
    for row_seed in row_seeds:
        for count in COUNTS:
            counts = types_of(rows_of(row_seed, count))
            for name in TYPES:
                # One of eleven slots, three of which share two slots' rows.
                expected = 100 * count / 11 / (3 if name in LENGTH | CASE else 1)
                assert abs(counts[name] - expected) <= MOST, (row_seed, count, name)


@pytest.mark.slow
def test_every_type_of_the_larger_pool_has_its_share() -> None:
    for count in COUNTS:
        counts = [types_of(rows_of(row_seed, count, LARGER_POOL)) for row_seed in range(50)]
        for name in {name for found in counts for name in found}:
            mean = fmean(found[name] for found in counts)
            assert all(abs(found[name] - mean) <= MOST_WIDE for found in counts), (count, name)


# type -> argument, its values after "at least", or without a relation, and after "less than"
SIZES: dict[str, tuple[str, range, range | None]] = {
    "length_constraints:number_words": ("num_words", range(100, 501), range(100, 501)),
    "length_constraints:number_sentences": ("num_sentences", range(2, 21), range(4, 21)),
    "change_case:capital_word_frequency": ("capital_frequency", range(1, 21), range(1, 21)),
    "keywords:frequency": ("frequency", range(1, 4), range(1, 4)),
    "length_constraints:number_paragraphs": ("num_paragraphs", range(2, 6), None),
    "detectable_content:number_placeholders": ("num_placeholders", range(1, 5), None),
    "detectable_format:number_bullet_lists": ("num_bullets", range(1, 6), None),
}


@pytest.mark.parametrize("row_seeds", [FEW, MANY])
def test_sizes_come_from_all_parts_of_their_range_at_every_number_of_instructions(row_seeds: Sequence[int]) -> None:
    for row_seed in row_seeds:
        for count in COUNTS:
            drawn: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
            for row in rows_of(row_seed, count):
                for each in row.instructions:
                    if each.id in SIZES:
                        given = each.arguments()
                        relation = next((value for name, value in given.items() if name.endswith("relation")), "")
                        drawn[each.id, relation].append(given[SIZES[each.id][0]])
            for name, (_, first, second) in SIZES.items():
                if second:
                    assert abs(len(drawn[name, "at least"]) - len(drawn[name, "less than"])) <= 1
                for relation, values in (("at least" if second else "", first), ("less than", second or range(0))):
                    sizes = drawn[name, relation]
                    # As many are up to any value as there would be if they were evenly spread, nearly.
                    for value in values:
                        expected = len(sizes) * (value - values.start + 1) / len(values)
                        assert abs(sum(size <= value for size in sizes) - expected) <= MOST_SIZES


@pytest.mark.parametrize("row_seeds", [FEW, MANY])
def test_witnesses_and_prompts_are_as_long_under_every_seed(row_seeds: Sequence[int]) -> None:
    for row_seed in row_seeds:
        ten = rows_of(row_seed, 10)
        assert fmean(len((row.witness or "").split()) for row in ten) == pytest.approx(110, abs=7)
        for count in COUNTS:
            # The task prompt and the lead, and a line for each instruction.
            words = fmean(len(row.prompt.split()) for row in rows_of(row_seed, count))
            assert words == pytest.approx(29.3 + 13.58 * count, abs=1.5), count


@pytest.mark.parametrize("row_seeds", [FEW, MANY])
def test_no_row_of_two_seeds_is_the_same(row_seeds: Sequence[int]) -> None:
    drawn = [row.prompt for row_seed in row_seeds for row in all_rows("embedded", "test", row_seed)]
    assert len(set(drawn)) == len(drawn) == 1000 * len(row_seeds)


@pytest.mark.parametrize(
    ("row_seeds", "pool"),
    [
        pytest.param(range(200), FIFTEEN, marks=pytest.mark.slow),
        pytest.param(range(50), LARGER_POOL, marks=pytest.mark.slow),  # a draw takes four times as long
    ],
)
def test_every_row_can_be_followed(row_seeds: Sequence[int], pool: Pool) -> None:
    for row_seed in row_seeds:
        for row in rows_of(row_seed, 10, pool):
            assert is_as_intended(row.witness or "", row.instructions), row


RAIN = TaskPrompt(1, "Write a poem about rain.")


def test_the_instructions_depend_on_seed_task_prompt_and_draw_and_on_nothing_else() -> None:
    once = compose([RAIN], FIFTEEN, None, 1)
    random.seed(7)
    state = random.getstate()
    assert compose([RAIN], FIFTEEN, None, 1) == once
    assert random.getstate() == state  # the draw has its own generator
    others = (compose([RAIN], FIFTEEN, 3, 1), compose([RAIN], FIFTEEN, None, 2), compose([RAIN], LARGER_POOL, None, 1))
    assert len({once, *others}) == 4
    for (one,) in (once, *others):
        ids = [each.id for each in one.instructions]
        assert len(ids) == 10
        assert not any(conflicting(*pair) for pair in combinations(ids, 2))


@pytest.mark.parametrize("named", [str, str.upper, lambda text: "".join(f"x{word}s " for word in text.split())])
def test_keywords_that_the_task_prompt_mentions_are_not_drawn(named: Callable[[str], str]) -> None:
    left = keywords()[-8:]
    (one,) = compose([TaskPrompt(3, named(" ".join(keywords()[:-8])))], FIFTEEN, None, 3)
    drawn: list[str] = []
    for given in (each.arguments() for each in one.instructions):
        drawn += [*given.get("keywords", []), *given.get("forbidden_words", []), *filter(None, [given.get("keyword")])]
    assert drawn
    assert set(drawn) <= set(left)
    assert len(set(drawn)) == len(drawn)


def test_a_row_is_sensible_for_its_number_of_words() -> None:
    letters = instruction("keywords:letter_frequency", {"letter": "j", "let_frequency": 2, "let_relation": "less than"})
    words = instruction("length_constraints:number_words", {"num_words": 500, "relation": "at least"})
    assert is_sensible([letters])
    assert not is_sensible([letters, words])


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
    level = Level(0.3)
    assert level.choice(["low", "high"]) == "low"
    assert level.choice(range(1, 6)) == 4  # 0.6 of 5 is 3.0


def test_every_choice_is_equally_likely_given_those_before() -> None:
    pairs: Counter[tuple[int, str]] = Counter()
    for place in range(1000):
        level = Level((place + 0.5) / 1000)
        pairs[level.choice(range(1, 5)), level.choice("abcde")] += 1
    assert set(pairs.values()) == {50}
    assert len(pairs) == 20


# Python's versions run these in continuous integration.


def test_the_rows_of_a_seed_are_the_same_with_every_version_of_python() -> None:
    hashes = [rows_hash(evaluated(Selection("embedded", count, row_seed=7))) for count in (1, 5, 10)]
    assert hashes == ["8b61fd9bdb35bc84", "2d515beace495cb5", "3ee45d7ddd8d34c5"]


def test_the_rows_of_the_larger_pool_are_the_same_and_can_be_followed() -> None:
    rows = rows_of(7, 10, LARGER_POOL)
    assert rows_hash(rows) == ROWS['{"source": "embedded", "row_seed": 7}']["manyifeval_wide_n10"]
    assert all(is_as_intended(row.witness or "", row.instructions) for row in rows[::10])
