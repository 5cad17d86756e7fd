"""Sections that follow some of their instructions and break the others."""

from __future__ import annotations

from itertools import combinations

import pytest

from lm_eval_ext.families.instructions import is_as_intended
from lm_eval_ext.families.manyifeval.dense.mixed.rows import PER_SECTION, mixed_rows
from lm_eval_ext.families.manyifeval.dense.mixed.types import TYPES
from lm_eval_ext.families.manyifeval.dense.mixed.witness import respond
from lm_eval_ext.verifiers import instruction

pytestmark = pytest.mark.usefixtures("sentence_data")

SUBSETS = [broken for size in range(PER_SECTION + 1) for broken in combinations(range(PER_SECTION), size)]


def test_any_of_a_sections_instructions_can_be_broken_and_the_others_followed() -> None:
    judged = set()
    for row in mixed_rows(50):
        for number in (1, 4, 8):
            about = [one for one, section in zip(row.instructions, row.sections, strict=True) if section == number]
            for broken in SUBSETS:
                text = respond(about, broken)
                assert text is not None, (about, broken)
                assert is_as_intended(text, about, broken)
            judged |= {one.id for one in about}
    assert judged == set(TYPES)


def test_instructions_that_exclude_each_other_have_no_section() -> None:
    lower, upper = instruction("section:lowercase", {}), instruction("section:capitals", {})
    with pytest.raises(ValueError, match="exclude each other"):
        respond([lower, upper])
    assert respond([lower, upper], [1]) is not None


def test_an_instruction_of_another_kind_is_an_error() -> None:
    with pytest.raises(ValueError, match="unknown instruction"):
        respond([instruction("format:emoji", {})])
