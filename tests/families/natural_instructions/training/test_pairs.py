"""Training pairs: the tasks' own prompts, and the answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lm_eval_ext.families.natural_instructions.budget import Budget
from lm_eval_ext.families.natural_instructions.encodings import ALL_ENCODINGS
from lm_eval_ext.families.natural_instructions.files import Instance, read
from lm_eval_ext.families.natural_instructions.rows import rows
from lm_eval_ext.families.natural_instructions.training.pairs import Pair, encoded
from tests.families.natural_instructions.task_files import TASK, version_1, write

ROOM = Budget(10_000, "characters", len)


def test_a_pair_has_the_prompt_of_the_tasks_and_the_first_answer_after_a_space(tmp_path: Path) -> None:
    subtask = read(write(tmp_path, version_1()), TASK)
    found = encoded(subtask, "prompt", [1, 0], ROOM)
    assert found.pairs == (
        Pair(
            TASK,
            1,
            "prompt",
            "Prompt: Say whether the ferry waits.\ninput: Cars queue.\noutput:",
            " waiting",
            ("waiting ",),
        ),
        Pair(
            TASK,
            0,
            "prompt",
            "Prompt: Say whether the ferry waits.\ninput: Smoke rises behind the cape.\noutput:",
            " gone",
            ("gone", "left"),
        ),
    )
    assert (found.too_long, found.without_answer) == (0, 0)


@pytest.mark.parametrize("encoding", ALL_ENCODINGS)
@pytest.mark.parametrize("limit", [320, 10_000])
def test_the_prompts_are_those_of_the_tasks_under_every_encoding(encoding: str, limit: int, tmp_path: Path) -> None:
    subtask, budget = read(write(tmp_path, version_1()), TASK), Budget(limit, "characters", len)
    pairs = encoded(subtask, encoding, [0, 1], budget).pairs
    evaluated = rows(subtask, ALL_ENCODINGS[encoding], budget, 100, None)
    assert [pair.prompt for pair in pairs] == [row.prompt for row in evaluated]


def test_instances_that_do_not_fit_or_have_no_answer_are_left_out_and_counted(tmp_path: Path) -> None:
    subtask = read(write(tmp_path, version_1()), TASK)
    instances = (Instance("x" * 40, ("yes",)), Instance("short", ("{}?",)), Instance("short", ("{}?", "left")))
    found = encoded(replace(subtask, instances=instances), "instance", [0, 1, 2], Budget(30, "characters", len))
    assert [(pair.index, pair.completion) for pair in found.pairs] == [(2, " left")]
    assert (found.too_long, found.without_answer) == (1, 1)
