"""The rows: reports with many words, or with instructions about their sections, each of which can be followed."""

from __future__ import annotations

import itertools
from collections import Counter
from itertools import combinations

import pytest

from lm_eval_ext.families.instructions.kinds import IN_SECTIONS, conflicting, stated
from lm_eval_ext.families.manyifeval.dense.rows import (
    COUNTS,
    PER_SECTION,
    SUBJECTS,
    MixedRow,
    dense_rows,
    mixed_rows,
    rows_hash,
    word_list,
)
from lm_eval_ext.families.manyifeval.dense.scores import sections_of, stem
from lm_eval_ext.families.manyifeval.dense.task import other_form
from lm_eval_ext.verifiers import EDITIONS
from lm_eval_ext.verifiers.text import Text


def test_no_word_of_the_list_is_a_form_or_the_beginning_of_another() -> None:
    words = sorted(word_list())
    assert len(words) == len({stem(word) for word in words}) >= 2 * COUNTS[-1] - 10
    assert not [(one, other) for one, other in itertools.pairwise(words) if other.startswith(one)]
    assert all(word.isascii() and word.isalpha() and word.islower() and len(word) > 3 for word in words)


@pytest.mark.parametrize("count", COUNTS)
def test_a_prompt_lists_as_many_different_words_as_it_says(count: int) -> None:
    rows = dense_rows(count)
    assert [row.key for row in rows] == list(range(1, len(SUBJECTS) + 1))
    for row in rows:
        first, empty, lead, *lines = row.prompt.split("\n")
        assert SUBJECTS[row.key - 1] in first
        assert empty == ""
        assert f" {count} words " in lead
        assert lines == [f"- {word}" for word in row.words]
        assert len(set(row.words)) == len(lines) == count


def test_longer_lists_begin_with_the_shorter_ones() -> None:
    for short, long in itertools.pairwise(COUNTS):
        for one, other in zip(dense_rows(short), dense_rows(long), strict=True):
            assert other.words[:short] == one.words


def test_a_row_seed_draws_other_words() -> None:
    assert len({rows_hash(dense_rows(10, row_seed)) for row_seed in (None, 0, 1)}) == 3
    assert dense_rows(10, 1)[0].words != dense_rows(10)[0].words


def test_every_word_has_another_form() -> None:
    for word in word_list():
        assert other_form(word) != word
        assert stem(other_form(word)) == stem(word)


FEW = (COUNTS[0], COUNTS[2], COUNTS[-1])
"""Some of the numbers of instructions; all of them take seconds."""


def is_proven(row: MixedRow) -> bool:
    """Tell whether the checkers accept the witness, read as a model's report is."""
    texts = {number: Text(text) for number, text in sections_of(row.witness).items()}
    return all(
        instruction.follows(texts[number], edition)
        for number, instruction in zip(row.sections, row.instructions, strict=True)
        for edition in EDITIONS
    )


@pytest.mark.parametrize("count", FEW)
def test_a_prompt_states_every_instruction_of_every_section(count: int) -> None:
    rows = mixed_rows(count)
    assert [row.key for row in rows] == list(range(1, len(SUBJECTS) + 1))
    for row in rows:
        first, empty, *lines = row.prompt.split("\n")
        assert SUBJECTS[row.key - 1] in first
        assert f"Divide the report into {count // PER_SECTION} sections" in first
        assert f"All of these {count} statements" in first
        assert empty == ""
        assert lines == [
            f"- Section {number} {stated(each)}." for number, each in zip(row.sections, row.instructions, strict=True)
        ]
        assert len(set(lines)) == count
        assert Counter(row.sections) == dict.fromkeys(range(1, count // PER_SECTION + 1), PER_SECTION)
        for number in set(row.sections):
            names = [one.id for one, section in zip(row.instructions, row.sections, strict=True) if section == number]
            assert not [pair for pair in combinations(names, 2) if conflicting(*pair, IN_SECTIONS)]


def test_no_two_instructions_of_a_report_name_one_word() -> None:
    for row in mixed_rows(500):
        fields = ("keywords", "forbidden_words", "keyword")
        values = [getattr(each, field) for each in row.instructions for field in fields if hasattr(each, field)]
        named = [value if isinstance(value, str) else value[0] for value in values]
        assert len(named) == len(set(named)) > 50


def test_all_types_occur_about_as_often_as_their_slot_allows() -> None:
    counts = Counter(each.id for row in mixed_rows(500) for each in row.instructions)
    assert set(counts) == set(IN_SECTIONS)
    assert min(counts.values()) > 60


@pytest.mark.parametrize("row_seed", [None, 7])
def test_the_checkers_accept_every_witness(row_seed: int | None) -> None:
    assert all(is_proven(row) for count in (10, 50) for row in mixed_rows(count, row_seed))


@pytest.mark.slow
@pytest.mark.parametrize("count", COUNTS)
def test_every_row_of_50_seeds_has_a_witness_that_the_checkers_accept(count: int) -> None:
    prompts = set()
    for row_seed in range(50):
        # Not kept: all of them would take gigabytes.
        rows = mixed_rows.__wrapped__(count, row_seed)
        assert [row.key for row in rows if not is_proven(row)] == [], row_seed
        prompts |= {row.prompt for row in rows}
    assert len(prompts) == 50 * len(SUBJECTS)


def test_no_row_of_50_seeds_equals_another() -> None:
    # No two sections either: what makes a row new is not its subject.
    seen: Counter[tuple[str, ...]] = Counter()
    for row_seed in (None, *range(50)):
        for row in mixed_rows(10, row_seed):
            seen[tuple(sorted(map(repr, row.instructions)))] += 1
    assert len(seen) == 510


def test_the_rows_never_change() -> None:
    # A change here is a change of scores, and of metadata.version.
    assert tuple(rows_hash(mixed_rows(*drawn)) for drawn in ((10,), (500,), (10, 7))) == (
        "6bac44b381aab486",
        "a3a850a3a35241fd",
        "4ccba098337d2a43",
    )
