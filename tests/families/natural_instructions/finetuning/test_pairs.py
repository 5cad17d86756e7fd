"""Training pairs: the splits of a subtask without what is evaluated, the tasks' own prompts, and the answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from lm_eval_ext.families.natural_instructions.budget import Budget
from lm_eval_ext.families.natural_instructions.encodings import ALL_ENCODINGS
from lm_eval_ext.families.natural_instructions.finetuning.pairs import Pair, Splits, encoded, splits
from lm_eval_ext.families.natural_instructions.rows import evaluated, rows
from lm_eval_ext.families.natural_instructions.subtasks import Instance, Instruction, read
from tests.families.natural_instructions.task_files import TASK, version_1, write

ROOM = Budget(10_000, "characters", len)


@pytest.fixture
def subtask(tmp_path: Path) -> Instruction:
    return read(write(tmp_path, version_1()), TASK)


def test_a_pair_has_the_prompt_of_the_tasks_and_the_first_answer_after_a_space(subtask: Instruction) -> None:
    pairs, left_out = encoded(subtask, "prompt", [1, 0], ROOM)
    prompt = "Prompt: Say whether the ferry waits.\ninput: {}\noutput:"
    assert pairs == (
        Pair(TASK, 1, "prompt", prompt.format("Cars queue."), " waiting", ("waiting ",)),
        Pair(TASK, 0, "prompt", prompt.format("Smoke rises behind the cape."), " gone", ("gone", "left")),
    )
    assert left_out == {"too_long": 0, "without_answer": 0}


@pytest.mark.parametrize("encoding", ALL_ENCODINGS)
@pytest.mark.parametrize("limit", [320, 10_000])
def test_the_prompts_are_those_of_the_tasks_under_every_encoding(
    encoding: str, limit: int, subtask: Instruction
) -> None:
    budget = Budget(limit, "characters", len)
    pairs, _ = encoded(subtask, encoding, [0, 1], budget)
    asked = rows(subtask, ALL_ENCODINGS[encoding], budget, 100, None)
    assert [pair.prompt for pair in pairs] == [row.prompt for row in asked]


def test_instances_that_do_not_fit_or_have_no_answer_are_left_out_and_counted(subtask: Instruction) -> None:
    instances = (Instance("x" * 40, ("yes",)), Instance("short", ("{}?",)), Instance("short", ("{}?", "left")))
    budget = Budget(30, "characters", len)
    pairs, left_out = encoded(replace(subtask, instances=instances), "instance", [0, 1, 2], budget)
    assert [(pair.index, pair.completion) for pair in pairs] == [(2, " left")]
    assert left_out == {"too_long": 1, "without_answer": 1}


DEV = (209, 167, 37, 125, 277, 185, 187, 56, 189, 155, 131, 159)


def with_instances(subtask: Instruction, number: int) -> Instruction:
    return replace(subtask, instances=tuple(Instance(f"input {n}", (f"output {n}",)) for n in range(number)))


def sizes(found: Splits) -> tuple[int, ...]:
    return tuple(len(found.indices[split]) for split in ("train", "dev", "test"))


@pytest.mark.parametrize(
    ("instances", "expected"),
    [
        (10_000, (6500, 500, 1000)),  # 1,900 are in no split
        (8100, (6500, 500, 1000)),
        (6500, (5200, 400, 800)),  # the largest published files: 6,400 remain, four fifths of 8,000
        (193, (77, 5, 11)),  # 93 remain: 93 / 16 = 5.8, 93 / 8 = 11.6
        (62, (51, 3, 7)),  # index 60 is evaluated; 61 remain: 61 / 16 = 3.8, 61 / 8 = 7.6
        (61, (0, 0, 0)),  # a file that is evaluated completely
    ],
)
def test_the_sizes_are_the_papers_or_in_the_same_proportions(
    instances: int, expected: tuple[int, ...], subtask: Instruction
) -> None:
    found = splits(with_instances(subtask, instances))
    assert sizes(found) == expected
    assert (found.evaluated, found.total) == (len(evaluated(instances)), instances)


@pytest.mark.parametrize("n", [100, 50, 7])
def test_no_instance_is_evaluated_or_in_two_splits(n: int, subtask: Instruction) -> None:
    found = splits(with_instances(subtask, 6500), n)
    together = [index for indices in found.indices.values() for index in indices]
    assert len(together) == len(set(together))
    assert not set(together) & set(evaluated(6500, n))
    assert len(set(together)) + found.evaluated == 6500


def test_an_instance_with_the_input_of_an_evaluated_one_is_in_no_split(subtask: Instruction) -> None:
    twice = with_instances(subtask, 200)
    copied = replace(twice.instances[60], input=f" {twice.instances[60].input}\n", outputs=("another",))
    found = splits(replace(twice, instances=(copied, *twice.instances[1:])))
    assert 0 not in {index for indices in found.indices.values() for index in indices}
    assert found.evaluated == 101


def test_the_division_is_random_but_the_same_for_the_same_seed_and_subtask(subtask: Instruction) -> None:
    many = with_instances(subtask, 300)
    assert splits(many) == splits(many)
    assert splits(many).indices["train"][:10] != tuple(range(10))
    assert splits(many, seed=1).indices["train"] != splits(many).indices["train"]
    assert splits(replace(many, task="another")).indices["train"] != splits(many).indices["train"]
    # Pinned: with other splits, an unfinished training could not continue.
    assert splits(many).indices["dev"] == DEV
