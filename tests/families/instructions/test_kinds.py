"""The types: which exclude each other, what their arguments are, and how they are worded."""

from __future__ import annotations

import random
import re
import string
from collections import Counter, defaultdict
from itertools import combinations, product
from typing import Any

import pytest

from lm_eval_ext.families.instructions.compose import keywords
from lm_eval_ext.families.instructions.kinds import (
    ENDINGS,
    FIFTEEN,
    IN_SECTIONS,
    KINDS,
    LARGER_POOL,
    SECTION_LETTERS,
    SECTIONS,
    Draws,
    conflicting,
    prose_has,
    stated,
)
from lm_eval_ext.families.manyifeval.dense.rows import word_list
from lm_eval_ext.verifiers import ifbench, ifeval, instruction, instruction_ids
from tests.conftest import ROOT
from tests.families.manyifeval.table_4 import CASE, LENGTH
from tests.families.manyifeval.table_4 import FIFTEEN as TABLE_4


def test_the_fifteen_are_table_4s_and_in_the_larger_pool() -> None:
    assert set(FIFTEEN.weights) == TABLE_4 < set(LARGER_POOL.weights)


def test_of_the_fifteen_only_those_of_length_and_those_of_case_conflict() -> None:
    pairs = {frozenset(pair) for pair in combinations(TABLE_4, 2) if conflicting(*pair)}
    assert pairs == {frozenset(pair) for group in (LENGTH, CASE) for pair in combinations(group, 2)}


def test_exclusion_is_mutual_and_a_type_excludes_itself() -> None:
    for names, types in ((LARGER_POOL.weights, KINDS), (IN_SECTIONS, IN_SECTIONS)):
        for one, other in product(names, repeat=2):
            assert conflicting(one, other, types) is conflicting(other, one, types)
            assert conflicting(one, one, types)


@pytest.mark.parametrize(
    ("types", "one", "other", "expected"),
    [
        (KINDS, "length_constraints:number_words", "change_case:english_capital", False),
        (KINDS, "keywords:existence", "keywords:forbidden_words", False),
        (KINDS, "detectable_format:title", "startend:quotation", False),
        (KINDS, "length_constraints:number_words", "count:unique_word_count", True),
        (KINDS, "format:sub-bullets", "length_constraints:number_paragraphs", True),
        (KINDS, "count:person_names", "change_case:english_capital", True),
        (KINDS, "words:repeats", "count:numbers", False),
        (IN_SECTIONS, "section:exact_sentences", "detectable_format:number_bullet_lists", True),
        (IN_SECTIONS, "section:lowercase", "detectable_content:postscript", True),
        (IN_SECTIONS, "section:lowercase", "keywords:existence", False),
    ],
)
def test_types_conflict_where_no_response_and_no_section_can_follow_both(
    types: Any, one: str, other: str, expected: bool
) -> None:
    assert conflicting(one, other, types) is expected


def test_what_a_type_excludes_is_a_type() -> None:
    excluded = {name for kind in KINDS.values() for name in kind.excludes}
    assert excluded <= set(LARGER_POOL.weights)
    assert {name for kind in IN_SECTIONS.values() for name in kind.excludes} <= set(IN_SECTIONS)


def test_each_of_the_83_instructions_is_drawn_or_left_out_for_a_reason() -> None:
    published = {*instruction_ids(ifeval), *instruction_ids(ifbench)}
    listed = page().partition("The other types")[2].partition("\n## ")[0].splitlines()
    cells = [line.split("|")[1:3] for line in listed if line.startswith("| ")][1:]
    left_out = {name for names, _ in cells for name in re.findall(r"`([\w-]+:[\w-]+)`", names)}
    groups = {group for names, _ in cells for group in re.findall(r"of `([a-z_]+)`", names)}
    left_out |= {name for name in published if name.partition(":")[0] in groups}
    assert all(reason.strip() for _, reason in cells)
    assert left_out == published - set(LARGER_POOL.weights)
    assert len(published) == 83


def page() -> str:
    return (ROOT / "docs/appendix/manyifeval-rows.md").read_text(encoding="utf-8")


def test_the_page_has_the_slots_of_the_pool() -> None:
    section = page().partition("## The larger pool")[2].partition("The other types")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    *several, alone = [frozenset(re.findall(r"`([\w-]+:[\w-]+)`", line)) for line in lines]
    slots: defaultdict[str, set[str]] = defaultdict(set)
    for name in LARGER_POOL.weights:
        slots[KINDS[name].slot].add(name)
    assert {*several, *(frozenset({name}) for name in alone)} == {frozenset(names) for names in slots.values()}


# instruction -> argument -> all values that IFEval draws; of sentences and letters, those that prose can have
RANGES: dict[str, dict[str, set[Any]]] = {
    "keywords:frequency": {"frequency": {1, 2, 3}},
    "keywords:letter_frequency": {"let_frequency": set(range(1, 11)), "letter": set(string.ascii_lowercase)},
    "length_constraints:number_paragraphs": {"num_paragraphs": set(range(2, 6))},
    "length_constraints:number_words": {"num_words": set(range(100, 501))},
    "length_constraints:number_sentences": {"num_sentences": set(range(2, 21))},
    "detectable_content:number_placeholders": {"num_placeholders": set(range(1, 5))},
    "detectable_format:number_bullet_lists": {"num_bullets": set(range(1, 6))},
    "change_case:capital_word_frequency": {"capital_frequency": set(range(1, 21))},
}


@pytest.mark.parametrize("name", RANGES)
def test_arguments_cover_exactly_ifevals_range(name: str) -> None:
    draws = Draws(random.Random(0).choice, iter(keywords() * 40))  # noqa: S311 # reproducible by design
    # 401 numbers of words at most: after 8,000 draws each is missing with probability 2e-9.
    drawn = [draws.arguments(FIFTEEN.arguments[name]) for _ in range(8000)]
    for argument, values in RANGES[name].items():
        assert {each[argument] for each in drawn} == values
    for relation in (argument for argument in drawn[0] if argument.endswith("relation")):
        counts = Counter(each[relation] for each in drawn)
        assert set(counts) == {"at least", "less than"}
        # Two equally likely: 4,000 expected, standard deviation sqrt(8000 / 4) = 45; five of them. Fewer letters are so
        # rare that prose has less than ten.
        assert abs(counts["at least"] - 4000) < 225 or name == "keywords:letter_frequency"


@pytest.mark.parametrize("name", LARGER_POOL.weights)
def test_words_that_are_drawn_are_taken_from_the_draw(name: str) -> None:
    given = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]
    left = iter(given)
    drawn = Draws(random.Random(0).choice, left).arguments(LARGER_POOL.arguments[name])  # noqa: S311 # as above
    instruction(name, drawn)
    words = [word for value in drawn.values() for word in (value if isinstance(value, list) else [value])]
    named = [word for word in words if word in given]
    assert [*named, *left] == given


def test_a_draw_without_words_left_is_an_error() -> None:
    with pytest.raises(LookupError, match="no word is left"):
        Draws(random.Random(0).choice, iter(())).arguments(LARGER_POOL.arguments["words:words_position"])  # noqa: S311 # as above


@pytest.mark.parametrize(
    ("which", "relation", "count", "words", "sensible"),
    [
        # 127 e in a thousand letters, 5 letters a word: 64 in 100 words, 318 in 500; half of it may be forbidden.
        ("e", "less than", 31, 100, False),
        ("e", "less than", 32, 100, True),
        # 2 j: one in 100 words, 5 in 500.
        ("j", "less than", 1, 100, True),
        ("j", "less than", 2, 500, False),
        ("j", "less than", 3, 500, True),
        # Three times as often and three more: 3 * 1 + 3.
        ("j", "at least", 6, 100, True),
        ("j", "at least", 7, 100, False),
        ("j", "at least", 10, 500, True),
        # 43 d in a thousand letters, 21.5 in 100 words: 3 * 21.5 + 3.
        ("d", "at least", 67, 100, True),
        ("d", "at least", 68, 100, False),
    ],
)
def test_letter_counts_match_the_letters_frequency_in_prose(
    which: str, relation: str, count: int, words: int, sensible: bool
) -> None:
    assert prose_has(which, relation, count, words) is sensible


@pytest.mark.parametrize("name", IN_SECTIONS)
def test_a_type_about_sections_has_a_wording_that_states_its_arguments(name: str) -> None:
    draws = Draws(random.Random(0).choice, iter(word_list()), "m")  # noqa: S311 # as above
    for _ in range(20):
        drawn = instruction(name, draws.arguments(IN_SECTIONS[name].arguments))
        text = stated(drawn)
        assert re.match(r"(contains|does not contain|has|is|starts|ends|highlights) ", text)
        values = [
            one for value in drawn.arguments().values() for one in (value if isinstance(value, list) else [value])
        ]
        assert [str(value) for value in values if isinstance(value, int)] == re.findall(r"\d+", text)
        assert not re.search(r"[{}]|less than|\b1 ", text)
        for value in values:
            if isinstance(value, str) and value not in ("at least", "less than"):
                assert f'"{value}"' in text
                assert "m" not in value or name == "keywords:letter_frequency"


def test_every_letter_leaves_something_to_end_a_section_with() -> None:
    for letter in SECTION_LETTERS:
        assert [ending for ending in ENDINGS if letter not in ending]
    assert len(IN_SECTIONS) == sum(map(len, SECTIONS)) == 23


def test_no_keyword_of_the_list_is_part_of_another() -> None:
    assert len(keywords()) >= 200
    assert not [pair for pair in combinations(keywords(), 2) if pair[0] in pair[1] or pair[1] in pair[0]]
    assert all(word.isascii() and word.isalpha() and word.islower() for word in keywords())
