"""Ten shuffles per question: distinct, balanced, and dependent only on the question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.paired_mcq.datasets import DATASETS, OPINIONQA
from lm_eval_ext.families.paired_mcq.rows import SHUFFLES, orders, questions, rows, rows_hash
from tests.families.jsonl import read_jsonl, write_jsonl

OPTIONS = tuple(f"option {number}" for number in range(26))


def real(shared_data: Path) -> str:
    return str(shared_data / "mcq" / "opinionqa_questions.jsonl")


def content(found: tuple[Mapping[str, Any], ...]) -> set[tuple[str, ...]]:
    return {(row["question"], *row["options"]) for row in found}


@pytest.mark.parametrize("count", [3, 4, 5, 6, 10, 26])
def test_the_ten_orders_of_a_question_are_as_distinct_as_possible(count: int) -> None:
    found = orders("Which?", OPTIONS[:count])
    assert len(found) == SHUFFLES == 10
    assert all(sorted(order) == list(range(count)) for order in found)
    # Three options have 3! = 6 orders: each once, and then four of them again, in turn.
    distinct = min(10, math.factorial(count))
    assert len(set(found[:distinct])) == distinct
    assert found[distinct:] == found[: 10 - distinct]


@pytest.mark.parametrize("count", [3, 4, 5, 6, 10, 26])
def test_under_every_row_seed_every_option_is_in_every_position_equally_often(count: int) -> None:
    for row_seed in range(50):
        found = orders("Which?", OPTIONS[:count], row_seed)
        distinct = min(10, math.factorial(count))
        assert len(found) == 10
        assert len(set(found)) == distinct
        assert all(sorted(order) == list(range(count)) for order in found)
        for position in range(count):
            times = Counter(order[position] for order in found)
            assert max(times.values()) - min(times[option] for option in range(count)) <= 1
    assert len({tuple(orders("Which?", OPTIONS[:count], row_seed)) for row_seed in range(50)}) > 30


def test_the_orders_depend_only_on_question_and_options() -> None:
    assert orders("Which?", OPTIONS[:5]) == orders("Which?", list(OPTIONS[:5]))
    assert orders("Which?", OPTIONS[:5]) != orders("Which one?", OPTIONS[:5])
    assert orders("Which?", OPTIONS[:5]) != orders("Which?", OPTIONS[1:6])


def test_every_option_is_in_every_position_equally_often() -> None:
    first = Counter(order[0] for number in range(2000) for order in orders(str(number), OPTIONS[:5]))
    # 20,000 draws of five: 4,000 each, standard deviation sqrt(20,000 * 1/5 * 4/5) = 57; five of them on either side.
    assert len(first) == 5
    assert all(abs(times - 4000) < 5 * 57 for times in first.values())


def test_the_orders_never_change() -> None:
    # A change here is a change of scores, and of metadata.version.
    assert orders("Is it so?", ["Yes", "No", "Refused"])[:3] == [(0, 2, 1), (0, 1, 2), (2, 0, 1)]


def test_the_rows_never_change(tmp_path: Path) -> None:
    # As above: keys decide the order of the questions, and results tell by the hash whether rows are the same.
    asked = [{"question": f"{number}?", "choices": ["a", "b", "c"], "answer": number} for number in range(3)]
    write_jsonl(tmp_path / "mmlu_test.jsonl", asked)
    found = rows(DATASETS["mmlu"], str(tmp_path))
    assert [row["key"] for row in found[::10]] == ["b254cb5fe7c2c26d", "c57fe8ec1fc26a27", "f8ab511f59545330"]
    assert [row["question"] for row in found[::10]] == ["1?", "2?", "0?"]
    assert rows_hash(DATASETS["mmlu"], str(tmp_path)) == "e9aa9a762ee1d8e5"


def test_the_414_questions_never_change(shared_data: Path) -> None:
    assert rows_hash(OPINIONQA, real(shared_data)) == "ca32a61791f7c218"


def test_a_row_seed_shuffles_otherwise_and_asks_the_same_questions(shared_data: Path) -> None:
    source = real(shared_data)
    default, fresh = rows(OPINIONQA, source), rows(OPINIONQA, source, 7)
    assert {row["question"] for row in fresh} == {row["question"] for row in default}
    same = len(content(fresh) & content(default))
    # Ten of 120 or 720 orders are drawn again by chance, of 24 and of 6 more often; most are others.
    assert same < len(fresh) / 2
    assert [row["question"] for row in fresh] != [row["question"] for row in default]
    assert len({rows_hash(OPINIONQA, source, row_seed) for row_seed in (None, 0, 1, 7)}) == 4


def test_the_414_questions_have_ten_adjacent_rows_each(shared_data: Path) -> None:
    found = rows(OPINIONQA, real(shared_data))
    assert len(found) == 4140
    groups = [(key, list(group)) for key, group in groupby(found, key=itemgetter("key"))]
    assert len(groups) == len({key for key, _ in groups}) == 414
    for _, group in groups:
        assert [row["shuffle"] for row in group] == list(range(10))
        assert len({row["question"] for row in group}) == 1
        assert len({frozenset(row["options"]) for row in group}) == 1
        # Two options and the refusal have six orders; the four such questions are the only ones with repeats.
        assert len({tuple(row["options"]) for row in group}) == (6 if len(group[0]["options"]) == 3 else 10)
        assert all(row["options"].count("Refused") == 1 for row in group)
        assert all(row["gold"] == "" for row in group)


def test_rows_depend_on_the_questions_and_not_on_their_order_in_the_file(shared_data: Path, tmp_path: Path) -> None:
    backwards = write_jsonl(tmp_path / "backwards.jsonl", read_jsonl(Path(real(shared_data)))[::-1])
    assert rows(OPINIONQA, backwards) == rows(OPINIONQA, real(shared_data))
    assert rows_hash(OPINIONQA, backwards) == rows_hash(OPINIONQA, real(shared_data))


def test_the_rows_of_a_question_do_not_depend_on_other_questions(shared_data: Path, tmp_path: Path) -> None:
    given = read_jsonl(Path(real(shared_data)))
    some = rows(OPINIONQA, write_jsonl(tmp_path / "some.jsonl", given[100:120]))
    assert len(some) == 200
    everything = {(row["key"], row["shuffle"]): row for row in rows(OPINIONQA, real(shared_data))}
    assert all(everything[row["key"], row["shuffle"]] == row for row in some)
    assert rows_hash(OPINIONQA, str(tmp_path / "some.jsonl")) != rows_hash(OPINIONQA, real(shared_data))


def test_the_first_hundred_rows_are_a_random_sample(tmp_path: Path) -> None:
    sorted_by_subject = [
        {"question": f"{subject} {number}?", "choices": ["a", "b", "c", "d"], "answer": 0, "subject": subject}
        for subject in range(20)
        for number in range(50)
    ]
    write_jsonl(tmp_path / "mmlu_test.jsonl", sorted_by_subject)
    subjects = {row["question"].split()[0] for row in rows(DATASETS["mmlu"], str(tmp_path))[:200]}
    # Of 20 questions, all in subjects of their own or some in the same: at least 8 of the 20 subjects, far from 1.
    assert len(subjects) >= 8


def test_the_letter_of_the_correct_option_moves_with_it() -> None:
    dataset = DATASETS["arc_challenge"]
    right = {
        question.text: question.options[question.gold]
        for question in questions(dataset, "embedded").usable
        if question.gold is not None
    }
    found = rows(dataset, "embedded")
    assert all(row["options"]["ABCDEFGHIJ".index(row["gold"])] == right[row["question"]] for row in found)
    assert len({row["gold"] for row in found}) >= 4


def test_a_duplicate_question_is_asked_twice_under_separate_keys(tmp_path: Path) -> None:
    twice = {"question": "Which?", "choices": ["a", "b"], "answer": 1}
    write_jsonl(tmp_path / "mmlu_test.jsonl", [twice, {**twice, "question": "What?"}, twice])
    found = rows(DATASETS["mmlu"], str(tmp_path))
    keys = {row["key"] for row in found if row["question"] == "Which?"}
    assert len(found) == 30
    assert len(keys) == 2
    one, other = ([row for row in found if row["key"] == key] for key in sorted(keys))
    assert [row["options"] for row in one] == [row["options"] for row in other]


def test_no_two_questions_share_a_row(shared_data: Path) -> None:
    found = rows(OPINIONQA, real(shared_data))
    # 4 questions of 3 options repeat four of their six orders: 4,140 - 4 * 4 distinct rows.
    assert len(content(found)) == 4140 - 16
