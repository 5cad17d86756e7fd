"""The reference model's answers to questions about its own answer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lm_eval_ext.families.manyifeval.answers import judgments, known_answers, repaired_answers
from lm_eval_ext.families.manyifeval.rows import InstructionRow
from tests.known_answers import text_of
from tests.self_refine.scripted import row

pytestmark = pytest.mark.harness

BARE = "Blue and deep."
ONCE = row()
TWICE = replace(ONCE, instructions=(ONCE.instructions[0],) * 2)


@pytest.mark.parametrize(
    ("of", "named", "policy", "like"),
    [
        # drop_one breaks the first instruction, and repairs it if it is named
        (ONCE, (0,), "drop_one", "oracle"),
        (ONCE, (0, 1), "drop_one", "oracle"),
        (ONCE, (1,), "drop_one", "drop_one"),
        (ONCE, (), "drop_one", "drop_one"),
        # where both are broken, one of them is not enough
        (TWICE, (0, 1), "drop_one", "oracle"),
        (TWICE, (1,), "drop_one", "drop_one"),
        (ONCE, (0, 1), "ignore", "ignore"),
        (ONCE, (0, 1), "oracle", "oracle"),
    ],
)
def test_a_model_that_is_told_of_every_broken_instruction_repairs_all_of_them(
    of: InstructionRow, named: tuple[int, ...], policy: str, like: str
) -> None:
    assert text_of(repaired_answers(of, named), policy) == text_of(known_answers(of), like)


@pytest.mark.parametrize(
    ("policy", "asked", "said"),
    [
        ("oracle", (0, 1), [True, False]),
        ("drop_one", (1, 0), [False, True]),
        ("drop_one", (1,), [False]),
        ("ignore", (0, 1), [True, True]),
        ("ignore", (1,), [True]),
    ],
)
def test_every_policy_except_ignore_judges_truthfully(policy: str, asked: tuple[int, ...], said: list[bool]) -> None:
    replies = judgments(ONCE, BARE, asked, lambda verdicts: str(list(verdicts)))
    assert text_of(replies, policy) == str(said)
