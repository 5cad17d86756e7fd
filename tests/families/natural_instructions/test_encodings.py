"""Exact prompts: those published with GPT-3's outputs, and small ones written out in full."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.natural_instructions.encodings import (
    ABLATIONS,
    ALL_ENCODINGS,
    ENCODINGS,
    encode,
    example_pool,
    most_examples,
)
from lm_eval_ext.families.natural_instructions.subtasks import Example, Instance, Instruction, read
from lm_eval_ext.sources import RowsError
from tests.families.jsonl import read_jsonl
from tests.families.natural_instructions.task_files import CASES, write

FIELDS = "Definition + Prompt + Things to Avoid + Emphasis & Caution"
EXPLAINED = "Negative Examples Full Explanations + Positive Examples Full Explanations"
# What an encoding shows, in the words of the published outputs.
PUBLISHED = {
    "Prompt": "prompt",
    "Definition + Prompt": "prompt_definition",
    f"{FIELDS} + {EXPLAINED}": "all",
    "Positive Examples Full Only": "positive",
    FIELDS: "all_minus_examples",
    f"{FIELDS} + Positive Examples Full Only": "all_minus_negative",
    "Prompt + Things to Avoid": "prompt_avoid",
    "Prompt + Emphasis & Caution": "prompt_emphasis",
    "Prompt + Positive Examples Full Only": "prompt_positive",
    f"Prompt + {EXPLAINED}": "prompt_examples",
    "Definition + Prompt + Positive Examples Full Only": "prompt_definition_positive",
}
MULTIRC = "subtask052_multirc_identify_bad_question"
QASC = "subtask040_qasc_question_generation"

TIDES = Instruction(
    task="subtask900_tides",
    origin="tides.json",
    title="Naming tides",
    prompt="Name the tide. ",
    definition="You are told how high the water stands.\n",
    avoid="Do not guess.",
    emphasis="",
    positive=(Example("The mud is dry.", "low", "No water is seen.", ""), Example("Boats float.", "high", "", "")),
    negative=(
        Example("The mud is dry.", "wet", "Not a tide.", "Say low."),
        Example("Boats float.", "no", "Vague.", ""),
    ),
    instances=(Instance("Gulls wade.", ("low", "ebb")), Instance("Waves reach the wall.", ("high",))),
)


FEWEST, FILLED = "gpt3_encoded_prompt_samples.jsonl", "gpt3_encoded_prompt_samples_filled.jsonl"
"""The first prompt of each published file: with the fewest examples, and with a full context."""


def samples(folder: Path, name: str = FEWEST) -> list[dict[str, Any]]:
    """Return the prompts of a file, each with our name of its encoding."""
    rows = read_jsonl(folder / "natural_instructions" / name)
    return [row | {"encoding": PUBLISHED[" + ".join(row["encoding"])]} for row in rows]


def ours(instruction: Instruction, sample: dict[str, Any]) -> str:
    encoding, shown = ALL_ENCODINGS[sample["encoding"]], sample["n_examples"]
    pool = example_pool(instruction, encoding, shown or None, 60)
    return encode(pool, encoding, instruction.instances[sample["index"]].input, shown)


def rebuilt(folder: Path, name: str) -> tuple[int, int, list[tuple[str, str]]]:
    """Return how many published prompts are rebuilt, how many lack their task file, and which differ."""
    tasks = folder / "natural_instructions" / "eval_tasks"
    instructions = {path.stem: read(path, path.stem) for path in tasks.glob("*.json")}
    differing, equal, absent = [], 0, 0
    for sample in samples(folder, name):
        if sample["task"] not in instructions:
            absent += 1
        elif ours(instructions[sample["task"]], sample) == sample["encoded_prompt"]:
            equal += 1
        else:
            differing.append((sample["task"], sample["encoding"]))
    return equal, absent, sorted(differing)


WITH_EXAMPLES = (
    "all",
    "all_minus_negative",
    "positive",
    "prompt_definition_positive",
    "prompt_examples",
    "prompt_positive",
)
# One cause: this copy of one file has a line feed in a positive example where the published prompts have a blank.
OTHER_COPY = [(MULTIRC, encoding) for encoding in WITH_EXAMPLES]


def test_every_published_prompt_of_an_available_task_file_is_rebuilt_exactly(shared_data: Path) -> None:
    # 12 subtasks x 11 encodings; the file of one subtask is not at hand.
    assert rebuilt(shared_data, FEWEST) == (132 - 11 - 6, 11, OTHER_COPY)


def test_every_published_prompt_with_a_full_context_is_rebuilt_except_where_60_instances_did_not_suffice(
    shared_data: Path,
) -> None:
    # 12 subtasks x 6 encodings with examples. Subtask 040 has 7 positive examples of its own, so that 70 take three
    # instances more than the 60 that we never evaluate.
    longest = [(QASC, "positive"), (QASC, "prompt_positive")]
    assert rebuilt(shared_data, FILLED) == (72 - 6 - 6 - 2, 6, [*longest, *OTHER_COPY])
    given = {(sample["task"], sample["encoding"]): sample for sample in samples(shared_data, FILLED)}
    assert [given[where]["n_examples"] for where in longest] == [70, 70]
    # The published ones are 80, 61 and 62; with these, the two prompts are ours to the letter.
    path = shared_data / "natural_instructions" / "eval_tasks" / f"{QASC}.json"
    instruction = read(path, QASC)
    for where in longest:
        encoding = ALL_ENCODINGS[where[1]]
        pool = example_pool(instruction, encoding, 70, 60)
        further = tuple(
            Example(instruction.instances[index].input, instruction.instances[index].outputs[0])
            for index in (80, 61, 62)
        )
        pool = replace(pool, positive=pool.positive + further)
        assert encode(pool, encoding, instruction.instances[60].input, 70) == given[where]["encoded_prompt"]


@pytest.mark.parametrize(("name", "prompts"), [(FEWEST, 11), (FILLED, 6)])
def test_the_six_differing_prompts_match_with_the_examples_of_the_other_copy(
    name: str, prompts: int, shared_data: Path, tmp_path: Path
) -> None:
    folder = shared_data / "natural_instructions"
    (row,) = [row for row in read_jsonl(folder / "tasks_instructions_first20.jsonl") if row["task"] == MULTIRC]
    at_hand = read(folder / "eval_tasks" / f"{MULTIRC}.json", MULTIRC)
    instruction = replace(read(write(tmp_path, row, MULTIRC), MULTIRC), instances=at_hand.instances)
    published = [sample for sample in samples(shared_data, name) if sample["task"] == MULTIRC]
    assert len(published) == prompts
    assert [ours(instruction, sample) for sample in published] == [sample["encoded_prompt"] for sample in published]


@pytest.mark.parametrize(("encoding", "lines"), CASES["prompts"].items())
def test_an_encoding_is_written_out_in_full(encoding: str, lines: Sequence[str]) -> None:
    shown = ALL_ENCODINGS[encoding]
    assert encode(TIDES, shown, "Gulls wade. ", examples=most_examples(TIDES, shown)) == "\n".join(lines)


SHOWN = {
    "definition": "Definition: ",
    "prompt": "Prompt: ",
    "avoid": "Things to Avoid: ",
    "emphasis": "Emphasis & Caution: ",
    "positive": "Positive Example",
    "negative": "Negative Example",
}


@pytest.mark.parametrize("field", SHOWN)
def test_an_ablation_removes_only_its_field(field: str) -> None:
    full = replace(TIDES, emphasis="Hurry.")
    everything = encode(full, ENCODINGS["all"], "Gulls wade.", examples=2)
    without = encode(full, ABLATIONS[f"all_minus_{field}"], "Gulls wade.", examples=2)
    assert all(heading in everything for heading in SHOWN.values())
    # Without negative examples, positive ones have no heading.
    removed = {"positive", "negative"} if field == "negative" else {field}
    assert {name for name, heading in SHOWN.items() if heading not in without} == removed


def test_a_value_of_a_hyphen_and_a_blank_is_kept_as_in_the_published_prompts() -> None:
    shown = encode(replace(TIDES, emphasis="- "), ABLATIONS["prompt_emphasis"], "Gulls wade.", examples=0)
    assert shown == "Prompt: Name the tide.\nEmphasis & Caution: -\ninput: Gulls wade.\noutput:"


@pytest.mark.parametrize(
    ("example", "shown"),
    [
        (
            Example(" Boats float.\n", "\thigh ", " Water is seen. ", "\nSay it. "),
            "input: Boats float.\noutput: high\nreason: Water is seen.suggestion: Say it.\n",
        ),
        (Example("Boats float.", "high", "", "Say it."), "input: Boats float.\noutput: high\nsuggestion: Say it.\n"),
        (Example("Boats float.", "high", " ", "\n"), "input: Boats float.\noutput: high\n"),
    ],
)
def test_values_of_examples_are_stripped_and_empty_ones_have_no_heading(example: Example, shown: str) -> None:
    bare = replace(TIDES, negative=(example,))
    prompt = encode(bare, ABLATIONS["prompt_negative"], "Gulls wade.", examples=1)
    assert prompt == f"Prompt: Name the tide.\nNegative Example1- \n{shown}input: Gulls wade.\noutput:"


def test_instances_serve_as_additional_examples() -> None:
    pool = example_pool(TIDES, ENCODINGS["positive"], 3, 2)
    assert [example.input for example in pool.positive] == ["The mud is dry.", "Boats float.", "Gulls wade."]
    # The first reference; without a reason, which an instance does not have.
    assert pool.positive[2] == Example("Gulls wade.", "low")
    assert [example.input for example in example_pool(TIDES, ENCODINGS["positive"], 1, 2).positive] == [
        "The mud is dry."
    ]
    assert example_pool(TIDES, ENCODINGS["prompt"], 3, 2) == TIDES


def test_fewer_examples_are_the_first_of_each_kind() -> None:
    shown = encode(TIDES, ENCODINGS["all"], "Gulls wade.", examples=1)
    assert [shown.count(f"{kind} Example1- ") for kind in ("Negative", "Positive")] == [1, 1]
    assert "Example2" not in shown


@pytest.mark.parametrize(
    ("encoding", "kinds"),
    [
        ("positive", "'Positive Examples'"),
        ("prompt_negative", "'Negative Examples'"),
        ("all", "'Positive Examples' or 'Negative Examples'"),
    ],
)
def test_an_encoding_with_examples_needs_at_least_one(encoding: str, kinds: str) -> None:
    # As the published prompts of subtasks 005 and 008 do, ``all`` works with examples of one kind.
    assert most_examples(replace(TIDES, negative=()), ENCODINGS["all"]) == 2
    bare = replace(TIDES, negative=(), positive=())
    with pytest.raises(RowsError, match=rf"subtask900_tides \(tides\.json\): no {kinds}, which the encoding"):
        most_examples(bare, ALL_ENCODINGS[encoding])


def test_a_field_missing_from_the_file_is_named() -> None:
    second = replace(TIDES, title=None, prompt=None, avoid=None, emphasis=None)
    for encoding in ("prompt", "prompt_definition", "all", "prompt_avoid"):
        with pytest.raises(RowsError, match=r"\(tides\.json\): no field 'Prompt', which the encoding needs; version-2"):
            encode(second, ALL_ENCODINGS[encoding], "Gulls wade.", examples=1)
    assert encode(second, ENCODINGS["instance"], "Gulls wade.", examples=0) == "input: Gulls wade.\noutput:"
