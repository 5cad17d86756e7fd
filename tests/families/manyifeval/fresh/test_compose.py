"""Whatever the seed, the same mix of instruction types and of argument sizes, and rows that can be followed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from statistics import fmean

import pytest

from lm_eval_ext.families.manyifeval.compose import Task
from lm_eval_ext.families.manyifeval.fresh.compose import compose_draw
from lm_eval_ext.families.manyifeval.fresh.pool import FIFTEEN
from lm_eval_ext.families.manyifeval.instruction_row import InstructionRow
from lm_eval_ext.families.manyifeval.rows import Selection, all_rows, hash_of, rows_hash
from lm_eval_ext.verifiers import EDITIONS, Response
from tests.families.manyifeval.table_4 import CASE, LENGTH
from tests.families.manyifeval.table_4 import FIFTEEN as TYPES

COUNTS = range(1, 11)
FEW = (0, 7)
MANY = pytest.param(range(50), marks=pytest.mark.slow)
MOST = 1.5
"""How many rows of 100 a type may have more or fewer than its expected share (0.91 to 1.18 in 50 seeds)."""
MOST_WIDE = 2.0
"""The same in the larger pool, around the mean of the seeds (0.94 to 1.92)."""
MOST_SIZES = 2.5
"""How many rows more or fewer may have a size up to some value than if sizes were evenly spread (2.2 in 200 seeds)."""


def rows_of(row_seed: int, count: int, wide: bool = False) -> list[InstructionRow]:
    return [row for row in all_rows("embedded", "test", row_seed, wide) if len(row.instructions) == count]


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
        counts = [types_of(rows_of(row_seed, count, wide=True)) for row_seed in range(50)]
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
                    assert_spread(drawn[name, relation], values)


def assert_spread(sizes: Sequence[int], values: range) -> None:
    """Assert that as many sizes are up to any value as there would be if they were evenly spread, nearly."""
    for value in values:
        expected = len(sizes) * (value - values.start + 1) / len(values)
        assert abs(sum(size <= value for size in sizes) - expected) <= MOST_SIZES


@pytest.mark.parametrize("row_seeds", [FEW, MANY])
def test_witnesses_and_prompts_are_as_long_under_every_seed(row_seeds: Sequence[int]) -> None:
    for row_seed in row_seeds:
        ten = rows_of(row_seed, 10)
        assert fmean(len((row.witness or "").split()) for row in ten) == pytest.approx(114, abs=7)
        for count in COUNTS:
            # The task prompt and the lead, and a line for each instruction.
            words = fmean(len(row.prompt.split()) for row in rows_of(row_seed, count))
            assert words == pytest.approx(29.3 + 13.58 * count, abs=1.5), count


@pytest.mark.parametrize("row_seeds", [FEW, MANY])
def test_no_row_of_two_seeds_is_the_same(row_seeds: Sequence[int]) -> None:
    drawn = [row.prompt for row_seed in row_seeds for row in all_rows("embedded", "test", row_seed)]
    assert len(set(drawn)) == len(drawn) == 1000 * len(row_seeds)


@pytest.mark.parametrize(
    ("row_seeds", "wide"),
    [
        ((7,), False),
        pytest.param(range(200), False, marks=pytest.mark.slow),
        pytest.param(range(50), True, marks=pytest.mark.slow),  # a draw takes four times as long
    ],
)
def test_every_row_can_be_followed(row_seeds: Sequence[int], wide: bool) -> None:
    for row_seed in row_seeds:
        for row in rows_of(row_seed, 10, wide):
            for edition in EDITIONS:
                assert row.witness
                assert Response(row.witness).follows(row.instructions, edition).follow_all_instructions, row


def test_few_task_prompts_get_instructions_too() -> None:
    (one,) = compose_draw([Task(1, "Write a poem about rain.")], FIFTEEN, 3)
    assert len({each.id for each in one.instructions}) == 10
    assert compose_draw([Task(1, "Write a poem about rain.")], FIFTEEN, 3) == (one,)


# Python's versions run these in continuous integration.


def test_the_rows_of_a_seed_are_the_same_with_every_version_of_python() -> None:
    hashes = [rows_hash(Selection("embedded", count, row_seed=7)) for count in (1, 5, 10)]
    assert hashes == ["646312380de4edf4", "6171daa373f827e8", "a7d0b53801123074"]


def test_the_rows_of_the_larger_pool_are_the_same_and_can_be_followed() -> None:
    rows = rows_of(7, 10, wide=True)
    assert hash_of(rows) == "d9d1992a7ce54a59"
    for row in rows[::10]:
        for edition in EDITIONS:
            assert Response(row.witness or "").follows(row.instructions, edition).follow_all_instructions, row
