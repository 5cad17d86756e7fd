"""Which ten instructions of the pool a task prompt gets."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from lm_eval_ext.families.manyifeval.compose import Composition, Task
from lm_eval_ext.families.manyifeval.rows import hash_of, nested, tasks
from lm_eval_ext.families.manyifeval.wide.arguments import phrases_of
from lm_eval_ext.families.manyifeval.wide.compose import compose_wide
from lm_eval_ext.families.manyifeval.wide.pool import POOL, conflicting
from lm_eval_ext.verifiers import EDITIONS, Response


@pytest.fixture(scope="module")
def composed() -> dict[Task, Composition]:
    """Return the ten instructions of each of the 100 embedded task prompts."""
    return {task: compose_wide(task) for task in tasks("embedded", "test")}


def test_a_task_prompt_gets_ten_instructions_without_conflicts(composed: dict[Task, Composition]) -> None:
    assert len(composed) == 100
    for found in composed.values():
        ten = [one.id for one in found.instructions]
        assert len(ten) == 10
        assert set(ten) <= set(POOL)
        assert not any(conflicting(one, other) for one, other in combinations(ten, 2))


def test_the_witness_follows_all_ten_strictly_in_both_editions(composed: dict[Task, Composition]) -> None:
    for found in composed.values():
        for edition in EDITIONS:
            assert Response(found.witness).follows(found.instructions, edition).follow_all_instructions


def test_every_instruction_of_the_pool_is_drawn(composed: dict[Task, Composition]) -> None:
    counts = Counter(one.id for found in composed.values() for one in found.instructions)
    assert set(counts) == set(POOL)
    assert min(counts.values()) >= 5


def test_no_keyword_is_in_the_task_prompt_or_in_two_instructions(composed: dict[Task, Composition]) -> None:
    for task, found in composed.items():
        named = [phrase for one in found.instructions for phrase in phrases_of(one)]
        assert len(set(named)) == len(named)
        assert not [phrase for phrase in named if phrase in task.task_prompt.casefold()]


def test_the_rows_are_pinned(composed: dict[Task, Composition]) -> None:
    assert hash_of([row for task, found in composed.items() for row in nested(task, found)]) == "5986ac1683eaba73"


def test_what_a_task_came_with_does_not_matter(composed: dict[Task, Composition]) -> None:
    task, found = next(iter(composed.items()))
    own = Task(task.key, task.task_prompt, found.instructions[:1])
    assert compose_wide(own) == found
