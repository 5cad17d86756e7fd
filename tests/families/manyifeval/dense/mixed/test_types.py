"""The types of instructions about a section."""

from __future__ import annotations

import itertools
import random
import re

import pytest

from lm_eval_ext.families.manyifeval.dense.mixed.types import (
    ENDINGS,
    FIRST_LETTERS,
    LETTERS,
    TYPES,
    Material,
    conflicting,
    draw_instruction,
    worded,
)
from lm_eval_ext.families.manyifeval.dense.rows import word_list
from lm_eval_ext.verifiers import Checker


@pytest.mark.parametrize("name", TYPES)
def test_a_type_has_arguments_and_a_wording_that_states_them(name: str) -> None:
    material = Material(random.Random(0), iter(word_list()), "m")  # noqa: S311 # reproducible by design
    for _ in range(20):
        instruction = draw_instruction(name, material)
        assert instruction.id == name
        text = worded(instruction)
        assert re.match(r"(contains|does not contain|has|is|starts|ends|highlights) ", text)
        numbers = [str(value) for value in vars_of(instruction) if isinstance(value, int)]
        assert numbers == re.findall(r"\d+", text)
        assert not re.search(r"[{}]|less than|\b1 ", text)
        for value in vars_of(instruction):
            if isinstance(value, str) and value not in ("at least", "less than"):
                assert f'"{value}"' in text
                assert "m" not in value or name == "keywords:letter_frequency"


def vars_of(instruction: Checker) -> list[object]:
    return [
        one for value in instruction.arguments().values() for one in (value if isinstance(value, list) else [value])
    ]


def test_every_letter_leaves_something_to_end_and_begin_with() -> None:
    for letter in LETTERS:
        assert [ending for ending in ENDINGS if letter not in ending]
        assert set(FIRST_LETTERS) - {letter}


def test_a_type_excludes_itself_and_exclusion_is_mutual() -> None:
    assert len(set(TYPES)) == len(TYPES) == 23
    for first, second in itertools.product(TYPES, TYPES):
        assert conflicting(first, second) == conflicting(second, first)
    assert all(conflicting(name, name) for name in TYPES)
    assert conflicting("section:exact_sentences", "detectable_format:number_bullet_lists")
    assert conflicting("section:lowercase", "detectable_content:postscript")
    assert not conflicting("section:lowercase", "keywords:existence")
