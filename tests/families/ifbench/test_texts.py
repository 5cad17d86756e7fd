"""The responses of each policy: exactly the chosen instructions are followed, strictly and in both editions."""

from __future__ import annotations

from typing import Any

import pytest

from lm_eval_ext.families.ifbench.rows import ONE_TURN, TWO_TURNS, IFBenchRow, published_rows
from lm_eval_ext.families.ifbench.task import known_answers
from lm_eval_ext.families.ifbench.texts import overlap, respond
from lm_eval_ext.families.instructions import bank
from lm_eval_ext.families.instructions.writer import break_one
from lm_eval_ext.verifiers import instruction
from lm_eval_ext.verifiers.ifbench.small_groups import stop_words
from tests.known_answers import text_of, verdicts

NO_WITNESS = {"105": ("format:options", "format:newline"), "212": ("words:consonants", "ratio:overlap")}
"""The published rows without one: an option of two words, each on a new line; and a response with 54 % of its word
trigrams in a reference that has only one of words with consonant clusters."""


def check(row: IFBenchRow) -> None:
    """Every policy's answer does what the policy says."""
    given, count = row.instructions, len(row.instructions)
    assert verdicts(respond(given), given) == [(True,) * count] * 2, row.key
    assert verdicts(respond(given, range(count)), given) == [(False,) * count] * 2, row.key
    first, second = verdicts(break_one(given, respond), given)
    assert first == second
    assert sum(first) == count - 1, row.key


@pytest.mark.parametrize("dataset", [ONE_TURN, TWO_TURNS])
def test_every_embedded_row_has_a_witness_and_can_be_broken(dataset: str) -> None:
    for row in published_rows("embedded", dataset).rows:
        check(row)


def test_298_of_the_300_published_rows_have_a_witness(real_ifeval: str) -> None:
    found = published_rows(real_ifeval, ONE_TURN).rows
    for row in found:
        if row.key not in NO_WITNESS:
            check(row)
    without = {row.key: tuple(one.id for one in row.instructions) for row in found if respond(row.instructions) is None}
    assert without == NO_WITNESS


def test_where_instructions_exclude_each_other_the_oracle_follows_all_but_one(real_ifeval: str) -> None:
    for row in published_rows(real_ifeval, ONE_TURN).rows:
        if row.key in NO_WITNESS:
            answer = text_of(known_answers(row), "oracle")
            assert [sum(verdict) for verdict in verdicts(answer, row.instructions)] == [1, 1]


# instruction -> arguments other than those of the rows, the ends of the ranges among them
ARGUMENTS: list[tuple[str, dict[str, Any]]] = [
    *(("count:conjunctions", {"small_n": count}) for count in (1, 7)),
    *(("count:numbers", {"N": count}) for count in (1, 100)),
    *(("count:person_names", {"N": count}) for count in (1, 50)),
    *(("count:pronouns", {"N": count}) for count in (1, 100)),
    *(("count:unique_word_count", {"N": count}) for count in (2, 200)),
    *(("count:word_count_range", {"min_words": low, "max_words": high}) for low, high in ((5, 5), (500, 520))),
    *(("count:words_japanese", {"N": count}) for count in (2, 30)),
    *(("sentence:increment", {"small_n": count}) for count in (1, 9)),
    *(("sentence:keyword", {"N": count, "word": "tide"}) for count in (1, 30)),
    *(("ratio:stop_words", {"percentage": count}) for count in (0, 50)),
    *(("words:repeats", {"small_n": count}) for count in (1, 9)),
    *(("words:keywords_specific_position", {"keyword": "tide", "n": n, "m": m}) for n, m in ((1, 1), (30, 40))),
]


@pytest.mark.parametrize(("name", "arguments"), ARGUMENTS)
def test_arguments_at_the_ends_of_their_ranges_compose(name: str, arguments: dict[str, Any]) -> None:
    given = [instruction(name, arguments)]
    assert verdicts(respond(given), given) == [(True,)] * 2


def test_a_sentence_with_a_keyword_is_as_long_as_an_exact_number_of_words_needs() -> None:
    length = {"min_words": 40, "max_words": 40}
    given = [instruction("sentence:keyword", {"N": 3, "word": "tide"}), instruction("count:word_count_range", length)]
    assert verdicts(respond(given), given) == [(True, True)] * 2


@pytest.mark.parametrize("percentage", range(3, 98, 5))
def test_any_overlap_composes(percentage: int) -> None:
    reference = published_rows("embedded", ONE_TURN).rows[38].prompt
    given = [instruction("ratio:overlap", {"reference_text": reference, "percentage": percentage})]
    assert verdicts(respond(given), given) == [(True,)] * 2


@pytest.mark.parametrize(("percentage", "taken"), [(0, 4), (50, 17), (100, 30)])
def test_the_more_overlap_is_asked_for_the_more_of_the_reference_is_taken(percentage: int, taken: int) -> None:
    # From 4 words at 0 % to 30 at 100 %.
    reference = [f"word{number}" for number in range(100)]
    text = next(overlap(" ".join(reference), percentage)).split()
    assert text[:taken] == reference[:taken]
    assert not set(text[taken:]) & set(reference)


def test_instructions_without_a_composer_have_no_witness() -> None:
    given = [instruction("custom:multiples"), instruction("words:vowel")]
    assert respond(given) is None


def test_a_response_is_the_same_every_time() -> None:
    found = [row.instructions for row in published_rows("embedded", ONE_TURN).rows]
    assert list(map(respond, found)) == list(map(respond, found))


def test_asterisks_are_the_only_thing_that_loose_verdicts_forgive_the_broken_answers() -> None:
    for row in published_rows("embedded", ONE_TURN).rows:
        text = respond(row.instructions, range(len(row.instructions)))
        forgiven = {
            one.id
            for verdict in verdicts(text, row.instructions, loose=True)
            for one, follows in zip(row.instructions, verdict, strict=True)
            if follows
        }
        # To IFBench, an answer without asterisks has a sub-bullet for each bullet.
        assert forgiven <= {"format:sub-bullets"}


def test_the_bank_has_no_stop_words_and_no_word_twice() -> None:
    assert len(bank()) > 200
    assert stop_words().isdisjoint(bank())
