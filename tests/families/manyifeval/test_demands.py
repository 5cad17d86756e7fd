"""What following or breaking an instruction demands of a response, in numbers, and when demands are contradictory."""

from __future__ import annotations

from typing import Any

import pytest

from lm_eval_ext.families.manyifeval.demands import CountBounds, Demands, demands_of
from lm_eval_ext.verifiers import instruction
from lm_eval_ext.verifiers.checker import Relation


@pytest.mark.parametrize(
    ("steps", "low", "high"),
    [
        ([], 0, None),
        ([{"low": 3}], 3, None),
        ([{"low": 3}, {"low": 5}], 5, None),
        ([{"low": 5}, {"low": 3}], 5, None),
        ([{"high": 4}], 0, 4),
        ([{"high": 4}, {"high": 2}], 0, 2),
        ([{"high": 2}, {"high": 4}], 0, 2),
        ([{"high": 0}], 0, 0),
        ([{"high": 0}, {"low": 1}], 1, 0),
    ],
)
def test_bounds_only_narrow(steps: list[dict[str, int]], low: int, high: int | None) -> None:
    bounds = CountBounds()
    for step in steps:
        bounds.narrow(**step)
    assert (bounds.low, bounds.high) == (low, high)


@pytest.mark.parametrize(
    ("relation", "target", "follow", "low", "high"),
    [
        ("at least", 3, True, 3, None),
        ("at least", 3, False, 0, 2),  # not at least three: two at most
        ("less than", 3, True, 0, 2),  # strictly less
        ("less than", 3, False, 3, None),
        ("at least", 0, True, 0, None),
        ("at least", 0, False, 0, -1),  # always true
        ("less than", 0, True, 0, -1),  # never true
    ],
)
def test_opposite_relations_are_opposite_bounds(
    relation: Relation, target: int, follow: bool, low: int, high: int | None
) -> None:
    bounds = CountBounds()
    bounds.relate(relation, target, follow)
    assert (bounds.low, bounds.high) == (low, high)


@pytest.mark.parametrize(
    ("low", "high", "possible"),
    [(0, None, True), (9, None, True), (3, 4, True), (3, 3, True), (4, 3, False), (0, 0, True), (0, -1, False)],
)
def test_bounds_are_possible_unless_they_cross(low: int, high: int | None, possible: bool) -> None:
    assert CountBounds(low, high).are_possible is possible


AT_LEAST, LESS_THAN = "at least", "less than"

# instruction, arguments, the field of the demands; what it is when the instruction is followed, and broken
DEMANDED = [
    ("keywords:existence", {"keywords": ["Oak"]}, "phrases", {"oak": CountBounds(1)}, {"oak": CountBounds(0, 0)}),
    (
        "keywords:existence",
        {"keywords": ["ash", "oak"]},
        "phrases",
        {"ash": CountBounds(1), "oak": CountBounds(1)},
        {"ash": CountBounds(0, 0), "oak": CountBounds(0, 0)},
    ),
    (
        "keywords:forbidden_words",
        {"forbidden_words": ["Oak"]},
        "phrases",
        {"oak": CountBounds(0, 0)},
        {"oak": CountBounds(1)},
    ),
    (
        "keywords:frequency",
        {"keyword": "oak", "frequency": 3, "relation": LESS_THAN},
        "phrases",
        {"oak": CountBounds(0, 2)},
        {"oak": CountBounds(3)},
    ),
    (
        "keywords:letter_frequency",
        {"letter": "Q", "let_frequency": 4, "let_relation": AT_LEAST},
        "letters",
        {"q": CountBounds(4)},
        {"q": CountBounds(0, 3)},
    ),
    (
        "length_constraints:number_words",
        {"num_words": 100, "relation": AT_LEAST},
        "words",
        CountBounds(100),
        CountBounds(0, 99),
    ),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 5, "relation": LESS_THAN},
        "sentences",
        CountBounds(0, 4),
        CountBounds(5),
    ),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}, "paragraphs", 2, 3),
    (
        "detectable_content:number_placeholders",
        {"num_placeholders": 2},
        "placeholders",
        CountBounds(2),
        CountBounds(0, 1),
    ),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, "bullets", 2, 3),
    ("detectable_format:title", {}, "title", True, False),
    ("change_case:english_capital", {}, "cases", frozenset({"upper"}), frozenset({"lower", "mixed"})),
    ("change_case:english_lowercase", {}, "cases", frozenset({"lower"}), frozenset({"upper", "mixed"})),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 7, "capital_relation": LESS_THAN},
        "capital_words",
        CountBounds(0, 6),
        CountBounds(7),
    ),
    ("startend:quotation", {}, "quoted", True, False),
    ("punctuation:no_comma", {}, "comma", False, True),
]


@pytest.mark.parametrize(("name", "arguments", "field", "followed", "broken"), DEMANDED)
def test_following_and_breaking_an_instruction_are_two_different_demands_without_side_effects(
    name: str, arguments: dict[str, Any], field: str, followed: Any, broken: Any
) -> None:
    one = [instruction(name, arguments)]
    for indices, expected in (((), followed), ((0,), broken)):
        assert demands_of(one, indices) == Demands(**{field: expected})


def word(frequency: int, relation: str, keyword: str = "oak") -> Any:
    return instruction("keywords:frequency", {"keyword": keyword, "frequency": frequency, "relation": relation})


@pytest.mark.parametrize(
    ("instructions", "possible"),
    [
        ([word(3, AT_LEAST), word(4, LESS_THAN)], True),  # exactly three
        ([word(3, AT_LEAST), word(3, LESS_THAN)], False),
        ([word(3, AT_LEAST), word(3, LESS_THAN, "OAK")], False),  # the case does not matter
        ([word(3, AT_LEAST), word(3, LESS_THAN, "elm")], True),
        ([word(1, AT_LEAST), instruction("keywords:forbidden_words", {"forbidden_words": ["oak"]})], False),
        ([instruction("startend:quotation"), instruction("detectable_format:json_format")], False),  # not among the 15
    ],
)
def test_contradictory_demands_have_no_solution(instructions: list[Any], possible: bool) -> None:
    assert (demands_of(instructions) is not None) is possible


def test_instructions_that_conflict_are_compatible_if_one_is_broken() -> None:
    both = [word(3, AT_LEAST), word(3, LESS_THAN)]
    assert demands_of(both) is None
    assert demands_of(both, [0]) == Demands(phrases={"oak": CountBounds(0, 2)})
    assert demands_of(both, [1]) == Demands(phrases={"oak": CountBounds(3)})
    assert demands_of(both, [0, 1]) is None
