"""Which ten instructions a task prompt gets: no conflicts, drawn in IFEval's ranges, the same ones every time."""

from __future__ import annotations

import random
import string
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import pytest

from lm_eval_ext.families.manyifeval.arguments import ARGUMENTS, draw_instruction, is_sensible, keywords
from lm_eval_ext.families.manyifeval.compose import CONFLICTS, SLOTS, Composition, Task, compose, conflicting
from lm_eval_ext.families.manyifeval.rows import nested, tasks
from lm_eval_ext.verifiers import EDITIONS, Checker, Response, instruction
from tests.families.manyifeval.table_4 import CASE, FIFTEEN, LENGTH


@pytest.fixture(scope="module")
def composed() -> dict[Task, Composition]:
    """Return the ten instructions of each of the 100 embedded task prompts."""
    return {task: compose(task) for task in tasks("embedded", "test")}


def ids(instructions: tuple[Checker, ...]) -> list[str]:
    return [each.id for each in instructions]


def words_of(instructions: tuple[Checker, ...]) -> list[str]:
    """Return every keyword, forbidden ones too."""
    found: list[str] = []
    for each in instructions:
        given = each.arguments()
        found += given.get("keywords", []) + given.get("forbidden_words", [])
        found += [given["keyword"]] if "keyword" in given else []
    return found


def test_the_instructions_are_table_4s() -> None:
    assert set(ARGUMENTS) == FIFTEEN
    assert sorted(name for slot in SLOTS for name in slot) == sorted(FIFTEEN)


def test_a_task_prompt_gets_ten_distinct_instructions_without_conflicts(composed: dict[Task, Composition]) -> None:
    assert len(composed) == 100
    for found in composed.values():
        ten = ids(found.instructions)
        assert len(set(ten)) == len(ten) == 10
        assert set(ten) <= FIFTEEN
        assert len(LENGTH & set(ten)) <= 1
        assert len(CASE & set(ten)) <= 1
        assert not any(conflicting(one, other) for one, other in combinations(ten, 2))


def test_the_witness_follows_all_ten_instructions_strictly_in_both_editions(composed: dict[Task, Composition]) -> None:
    for found in composed.values():
        for edition in EDITIONS:
            assert Response(found.witness).follows(found.instructions, edition).follow_all_instructions


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("length_constraints:number_words", "length_constraints:number_sentences", True),
        ("length_constraints:number_words", "length_constraints:number_paragraphs", True),
        ("change_case:english_capital", "change_case:english_lowercase", True),
        ("change_case:english_capital", "change_case:capital_word_frequency", True),
        ("punctuation:no_comma", "punctuation:no_comma", True),
        ("length_constraints:number_words", "change_case:english_capital", False),
        ("keywords:existence", "keywords:forbidden_words", False),
        ("detectable_format:title", "startend:quotation", False),
    ],
)
def test_instructions_conflict_with_themselves_and_within_length_and_case(one: str, other: str, expected: bool) -> None:
    assert conflicting(one, other) is expected


def test_conflicts_are_mutual_among_three_instructions_of_length_and_three_of_case() -> None:
    for one, other in product(FIFTEEN, repeat=2):
        assert conflicting(one, other) is conflicting(other, one)
        assert conflicting(one, one)
    # 3 choose 2 within each of the two groups
    expected = {frozenset(pair) for group in (LENGTH, CASE) for pair in combinations(group, 2)}
    assert expected == CONFLICTS
    assert len(expected) == 6


def test_the_row_with_n_instructions_has_the_first_n_of_the_row_with_ten(composed: dict[Task, Composition]) -> None:
    for task, found in composed.items():
        rows = nested(task, found)
        assert [len(row.instructions) for row in rows] == list(range(1, 11))
        for row in rows:
            assert row.instructions == found.instructions[: len(row.instructions)]
            assert (row.key, row.task_prompt, row.witness) == (task.key, task.task_prompt, found.witness)


def test_every_instruction_and_relation_occurs_and_comes_first_in_some_row(composed: dict[Task, Composition]) -> None:
    counts: Counter[str] = Counter()
    relations: defaultdict[str, set[str]] = defaultdict(set)
    for found in composed.values():
        counts.update(ids(found.instructions))
        for each in found.instructions:
            relations[each.id] |= {value for name, value in each.arguments().items() if name.endswith("relation")}
    # Of eleven slots ten are drawn: each in 91 prompts of 100, a slot of three shares them out. Standard deviation
    # sqrt(100 * 0.91 * 0.09) = 2.9 and sqrt(100 * 0.3 * 0.7) = 4.6; five of them below.
    for name in FIFTEEN:
        assert counts[name] > (7 if name in LENGTH | CASE else 76), name
    assert {name for name, found in relations.items() if found} == {
        "keywords:frequency",
        "keywords:letter_frequency",
        "length_constraints:number_words",
        "length_constraints:number_sentences",
        "change_case:capital_word_frequency",
    }
    assert all(found == {"at least", "less than"} for found in relations.values() if found)
    first = Counter(found.instructions[0].id for found in composed.values())
    assert len(first) >= 11  # or the row with one instruction would be about only a few types


def test_the_instructions_depend_on_key_and_text() -> None:
    task = Task(5, "Write a poem about rain.")
    once = compose(task)
    random.seed(7)
    state = random.getstate()
    assert compose(task) == once
    assert random.getstate() == state  # the draw has its own generator
    assert compose(Task(6, "Write a poem about rain.")).instructions != once.instructions


FREQUENCY = instruction("keywords:frequency", {"keyword": "Zeppelin", "frequency": 7, "relation": "at least"})
WORDS = instruction("length_constraints:number_words", {"num_words": 73, "relation": "at least"})
SENTENCES = instruction("length_constraints:number_sentences", {"num_sentences": 31, "relation": "less than"})
JSON = instruction("detectable_format:json_format")
TITLE = instruction("detectable_format:title")

# own instructions, which of them are among the ten
OWN = {
    "one of the fifteen": ((FREQUENCY,), [FREQUENCY]),
    "several": ((FREQUENCY, WORDS, TITLE), [FREQUENCY, WORDS, TITLE]),
    "one that is not among the fifteen": ((JSON, TITLE), [TITLE]),
    "two in conflict: the first": ((WORDS, SENTENCES), [WORDS]),
    "the same two, the other way round": ((SENTENCES, WORDS), [SENTENCES]),
    "one twice": ((TITLE, TITLE), [TITLE]),
}


@pytest.mark.parametrize(("own", "kept"), OWN.values(), ids=OWN.keys())
def test_a_prompts_own_instructions_are_kept_with_their_arguments(
    own: tuple[Checker, ...], kept: list[Checker]
) -> None:
    ten = compose(Task(5, "Write a poem about rain.", own)).instructions
    assert len(set(ids(ten))) == len(ten) == 10
    assert [each for each in own if each in ten] == [each for each in own if each in kept]
    assert not any(conflicting(one.id, other.id) for one, other in combinations(ten, 2))
    for each in kept:
        assert ten.count(each) == 1


def every_slot(seed: int) -> tuple[Checker, ...]:
    """Return eleven instructions, one of each slot, with keywords of their own."""
    generator = random.Random(seed)  # noqa: S311 # reproducible by design
    free, found = keywords(), list[Checker]()
    for slot in SLOTS:
        found.append(draw_instruction(slot[0], generator, free))
        free = tuple(word for word in free if word not in words_of(tuple(found)))
    return tuple(found)


def test_at_most_ten_of_a_prompts_own_instructions_are_kept() -> None:
    own = every_slot(seed=2)
    assert len(own) == 11
    ten = compose(Task(5, "Write a poem about rain.", own)).instructions
    assert len(ten) == 10
    assert set(ten) < set(own)


EXISTENCE = instruction("keywords:existence", {"keywords": ["fox"]})
ABSENCE = instruction("keywords:forbidden_words", {"forbidden_words": ["fox"]})


def test_contradictory_own_instructions_are_an_error_that_names_the_key() -> None:
    with pytest.raises(RuntimeError, match=r"task prompt 4711: 200 draws found no ten instructions .*'fox'.*'fox'"):
        compose(Task(4711, "Write.", (EXISTENCE, ABSENCE)))
    other = instruction("keywords:forbidden_words", {"forbidden_words": ["hen"]})
    assert {EXISTENCE, other} < set(compose(Task(4711, "Write.", (EXISTENCE, other))).instructions)


# instruction -> argument -> all values that IFEval draws
RANGES: dict[str, dict[str, set[Any]]] = {
    "keywords:frequency": {"frequency": {1, 2, 3}},
    "keywords:letter_frequency": {"let_frequency": set(range(1, 11)), "letter": set(string.ascii_lowercase)},
    "length_constraints:number_paragraphs": {"num_paragraphs": set(range(2, 6))},
    "length_constraints:number_words": {"num_words": set(range(100, 501))},
    "length_constraints:number_sentences": {"num_sentences": set(range(1, 21))},
    "detectable_content:number_placeholders": {"num_placeholders": set(range(1, 5))},
    "detectable_format:number_bullet_lists": {"num_bullets": set(range(1, 6))},
    "change_case:capital_word_frequency": {"capital_frequency": set(range(1, 21))},
}


@pytest.mark.parametrize("name", RANGES)
def test_arguments_cover_exactly_ifevals_range(name: str) -> None:
    generator = random.Random(0)  # noqa: S311 # reproducible by design
    # 401 numbers of words at most: after 8,000 draws each is missing with probability 2e-9.
    drawn = [draw_instruction(name, generator, keywords()).arguments() for _ in range(8000)]
    for argument, values in RANGES[name].items():
        assert {each[argument] for each in drawn} == values
    for relation in (argument for argument in drawn[0] if argument.endswith("relation")):
        counts = Counter(each[relation] for each in drawn)
        assert set(counts) == {"at least", "less than"}
        # Two equally likely: 4,000 expected, standard deviation sqrt(8000 / 4) = 45; five of them.
        assert abs(counts["at least"] - 4000) < 225


@pytest.mark.parametrize(
    ("name", "argument"), [("keywords:existence", "keywords"), ("keywords:forbidden_words", "forbidden_words")]
)
def test_two_drawn_keywords_differ(name: str, argument: str) -> None:
    generator = random.Random(0)  # noqa: S311 # reproducible by design
    for _ in range(500):
        drawn = draw_instruction(name, generator, keywords()).arguments()[argument]
        assert len(set(drawn)) == len(drawn) == 2
        assert set(drawn) <= set(keywords())


def test_the_arguments_of_the_embedded_rows_are_in_range(composed: dict[Task, Composition]) -> None:
    for found in composed.values():
        for each in found.instructions:
            given = each.arguments()
            assert all(given[name] in values for name, values in RANGES.get(each.id, {}).items()), each


def overlap(words: list[str]) -> list[tuple[str, str]]:
    return [(one, other) for one, other in combinations(words, 2) if one in other or other in one]


def test_no_keyword_of_the_list_is_part_of_another() -> None:
    assert len(keywords()) >= 200
    assert not overlap(list(keywords()))
    assert all(word.isascii() and word.isalpha() and word.islower() for word in keywords())


def test_drawn_keywords_occur_neither_in_the_task_prompt_nor_in_each_other(
    composed: dict[Task, Composition],
) -> None:
    for task, found in composed.items():
        drawn = words_of(found.instructions)
        assert not overlap(drawn), task
        assert not [word for word in drawn if word in task.task_prompt.casefold()], task


# a task prompt or own instruction -> words that it takes out of the draw
TAKEN: list[tuple[str, Callable[[str], Task]]] = [
    ("named in the task prompt", lambda text: Task(3, text)),
    ("named in capitals", lambda text: Task(3, text.upper())),
    ("named within longer words", lambda text: Task(3, "".join(f"x{word}s " for word in text.split()))),
    (
        "named by an own instruction",
        lambda text: Task(3, "Write.", (instruction("keywords:forbidden_words", {"forbidden_words": text.split()}),)),
    ),
]


@pytest.mark.parametrize("build", [case[1] for case in TAKEN], ids=[case[0] for case in TAKEN])
def test_keywords_that_another_instruction_mentions_are_not_drawn(build: Callable[[str], Task]) -> None:
    named, left = keywords()[:-8], keywords()[-8:]
    task = build(" ".join(named))
    ten = compose(task).instructions
    drawn = words_of(tuple(each for each in ten if each not in task.own))
    # Up to two for existence, one for frequency and, unless the task prompt came with it, two forbidden.
    assert drawn
    assert set(drawn) <= set(left)


def letter(which: str, relation: str, count: int) -> Checker:
    arguments = {"letter": which, "let_frequency": count, "let_relation": relation}
    return instruction("keywords:letter_frequency", arguments)


@pytest.mark.parametrize(
    ("which", "relation", "count", "words", "sensible"),
    [
        # 127 e in a thousand letters, 5 letters a word: 64 in 100 words, 318 in 500; half of it may be forbidden.
        ("e", "less than", 31, None, False),
        ("e", "less than", 32, None, True),
        ("e", "less than", 10, None, False),
        # 2 j: one in 100 words, 5 in 500.
        ("j", "less than", 1, None, True),
        ("j", "less than", 2, 500, False),
        ("j", "less than", 3, 500, True),
        # Three times as often and three more: 3 * 1 + 3.
        ("j", "at least", 6, None, True),
        ("j", "at least", 7, None, False),
        ("j", "at least", 10, 500, True),
        ("e", "at least", 10, None, True),
        # 43 d in a thousand letters, 21.5 in 100 words: 3 * 21.5 + 3.
        ("d", "at least", 67, None, True),
        ("d", "at least", 68, None, False),
    ],
)
def test_letter_counts_match_the_letters_frequency_in_prose(
    which: str, relation: str, count: int, words: int | None, sensible: bool
) -> None:
    length = (
        [instruction("length_constraints:number_words", {"num_words": words, "relation": "at least"})] if words else []
    )
    assert is_sensible([letter(which, relation, count), *length]) is sensible


def test_word_counts_of_ifeval_beyond_the_token_limit_are_replaced() -> None:
    def own(words: int) -> Checker:
        return instruction("length_constraints:number_words", {"num_words": words, "relation": "at least"})

    assert own(500) in compose(Task(1, "Describe the sea.", (own(500),))).instructions
    assert own(501) not in compose(Task(1, "Describe the sea.", (own(501),))).instructions
