"""What answers without content score on the published prompts, and what they would earn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lm_eval_ext.floors import EXAMPLES, FLOORS, accepted, examples_in
from lm_eval_ext.verifiers import EDITIONS, instruction, instructions_of

# Rows of which all instructions are followed, strictly, as the published code judges and repaired.
FLOORS_OF = {
    "ifbench_test.jsonl": {"ok": (109, 21), "echo": (40, 17), "refusal": (47, 10), "empty": (0, 0)},
    "ifeval_input_data.jsonl": {"ok": (62, 78), "echo": (134, 101), "refusal": (44, 44), "empty": (0, 0)},
}


@pytest.mark.parametrize("file", FLOORS_OF)
def test_the_floors_of_the_published_prompts_are_those_documented(shared_data: Path, file: str) -> None:
    lines = (shared_data / "ifeval" / file).read_text(encoding="utf-8").splitlines()
    rows = [(row["prompt"], row["instruction_id_list"], row["kwargs"]) for row in map(json.loads, lines)]
    of_rows, _ = accepted((prompt, instructions_of(ids, kwargs)) for prompt, ids, kwargs in rows)
    assert of_rows.asked == len(rows)
    found = {name: tuple(of_rows.followed[name, edition] for edition in EDITIONS) for name in FLOORS}
    assert found == FLOORS_OF[file]


def test_types_that_pay_for_nothing_come_first() -> None:
    prompts = [
        ("Say more.", (instruction("length_constraints:number_words", {"num_words": 9, "relation": "at least"}),)),
        ("Say less.", (instruction("length_constraints:number_words", {"num_words": 9, "relation": "less than"}),)),
        ("No commas", (instruction("punctuation:no_comma"),)),
        ('End with "the end".', (instruction("startend:end_checker", {"end_phrase": "the end"}),)),
    ]
    of_rows, of_types = accepted(prompts)
    assert [(name, found.asked, found.floor) for name, found in of_types.items()] == [
        ("punctuation:no_comma", 1, 1.0),
        ("length_constraints:number_words", 2, 0.5),
        ("startend:end_checker", 1, 0.0),
    ]
    assert of_rows.share("ok", "faithful") == 0.5
    # What the prompt has in quotation marks is its own example.
    assert of_types["startend:end_checker"].share(EXAMPLES, "faithful") == 1


def test_the_examples_of_a_prompt_are_what_it_quotes() -> None:
    assert examples_in('Say "yes" or “no”, or `maybe`; not "this\nthing".') == "yes\nno\nmaybe"
    assert examples_in("Say it.") == ""
