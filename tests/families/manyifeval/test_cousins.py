"""Variants of a row: they mean the same, each can be followed, and none of its wordings is left out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from lm_eval_ext.families.instructions import is_as_intended
from lm_eval_ext.families.instructions.kinds import PHRASINGS, phrased
from lm_eval_ext.families.manyifeval.cousins import COUSINS, STEPS, Cousin, cousins
from lm_eval_ext.families.manyifeval.rows import InstructionRow, Selection, rows_with_count
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import instruction
from tests.families.manyifeval.table_4 import FIFTEEN

NUMBER = re.compile(r"\d+")


@pytest.mark.parametrize("count", [3, 10])
def test_every_variant_has_the_same_instructions_and_a_witness(source: str, count: int) -> None:
    for row in rows_with_count(Selection(source, count))[::10]:
        found = list(cousins(row))
        assert found[0] == Cousin(row, 0, (0,) * count)
        assert [each.number for each in found] == list(range(COUSINS))
        assert len({each.row.prompt for each in found}) == COUSINS
        for each in found:
            assert sorted(one.id for one in each.row.instructions) == sorted(one.id for one in row.instructions)
            assert is_as_intended(each.row.witness or "", each.row.instructions)


def test_arguments_move_by_at_most_one_step(source: str) -> None:
    moved = 0
    for row in rows_with_count(Selection(source, 10))[::10]:
        originals = {one.id: one.arguments() for one in row.instructions}
        for each in cousins(row):
            for one in each.row.instructions:
                for name, value in one.arguments().items():
                    before = originals[one.id][name]
                    if name not in STEPS:
                        assert value == before
                        continue
                    assert isinstance(value, int)
                    assert isinstance(before, int)
                    assert abs(value - before) <= STEPS[name][0]
                    # A limit that must not be reached is never lowered.
                    assert value >= before or "less than" not in one.arguments().values()
                    moved += value != before
    assert moved > 50


def test_each_instruction_has_each_wording_once() -> None:
    row = rows_with_count(Selection("embedded", 5))[0]
    worded: dict[str, list[int]] = {one.id: [] for one in row.instructions}
    for each in cousins(row):
        for one, wording in zip(each.row.instructions, each.phrasings, strict=True):
            worded[one.id].append(wording)
            assert f"- {phrased(one, wording)}" in each.row.prompt
    assert all(sorted(wordings) == list(range(PHRASINGS)) for wordings in worded.values())
    # Not one wording per variant: which wording costs most would be mixed up with the variant.
    assert any(len(set(each.phrasings)) > 1 for each in cousins(row))


EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "keywords:existence": {"keywords": ["alpha", "beta"]},
    "keywords:frequency": {"keyword": "alpha", "frequency": 3, "relation": "at least"},
    "keywords:forbidden_words": {"forbidden_words": ["alpha", "beta"]},
    "keywords:letter_frequency": {"letter": "q", "let_frequency": 3, "let_relation": "less than"},
    "length_constraints:number_words": {"num_words": 120, "relation": "at least"},
    "length_constraints:number_sentences": {"num_sentences": 7, "relation": "less than"},
    "length_constraints:number_paragraphs": {"num_paragraphs": 4},
    "detectable_content:number_placeholders": {"num_placeholders": 3},
    "detectable_format:number_bullet_lists": {"num_bullets": 4},
    "change_case:capital_word_frequency": {"capital_frequency": 6, "capital_relation": "at least"},
}


@pytest.mark.parametrize(
    ("name", "argument", "smallest", "next_one"),
    [
        ("keywords:frequency", "frequency", 1, 2),
        ("keywords:letter_frequency", "let_frequency", 1, 2),
        ("length_constraints:number_words", "num_words", 100, 110),
        # No answer breaks "at least 1".
        ("length_constraints:number_sentences", "num_sentences", 2, 3),
        ("length_constraints:number_paragraphs", "num_paragraphs", 2, 3),
        ("detectable_content:number_placeholders", "num_placeholders", 1, 2),
        ("detectable_format:number_bullet_lists", "num_bullets", 1, 2),
        ("change_case:capital_word_frequency", "capital_frequency", 1, 2),
    ],
)
def test_the_smallest_number_stays_or_grows_by_a_step(name: str, argument: str, smallest: int, next_one: int) -> None:
    # "At least": what may be lowered is, but not below the smallest.
    asked = {key: "at least" if value == "less than" else value for key, value in EXAMPLES[name].items()}
    given = (instruction(name, asked | {argument: smallest}),)
    # The first is the row itself.
    made = [each for key in range(10) for each in list(cousins(InstructionRow(key, "Say it.", "", given)))[1:]]
    assert {each.row.instructions[0].arguments()[argument] for each in made} == {smallest, next_one}


@pytest.mark.parametrize("name", sorted(FIFTEEN))
def test_every_wording_states_every_argument(name: str) -> None:
    checker = instruction(name, EXAMPLES.get(name, {}))
    wordings = [phrased(checker, number) for number in range(PHRASINGS)]
    assert wordings[0] == checker.describe()
    assert len(set(wordings)) == PHRASINGS
    stated = [
        value
        for values in EXAMPLES.get(name, {}).values()
        for value in (values if isinstance(values, list) else [values])
    ]
    for wording in wordings:
        assert "{" not in wording
        assert all(str(value) in wording for value in stated), wording
        # The example of bullet points has numbers, which are the same in all wordings.
        assert set(NUMBER.findall(wording)) == set(NUMBER.findall(wordings[0]))


def test_an_instruction_without_other_wordings_is_an_error() -> None:
    row = InstructionRow(5, "Sing.", "Sing.", (instruction("detectable_format:json_format"),))
    with pytest.raises(RowsError, match="task prompt 5: 'detectable_format:json_format' has no other wordings"):
        list(cousins(row))
