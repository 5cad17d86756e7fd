"""What answers without content score on the published prompts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lm_eval_ext.floors import FLOORS
from lm_eval_ext.verifiers import EDITIONS, instructions_of
from lm_eval_ext.verifiers.verify import Response

# Rows of which all instructions are followed, strictly, as the published code judges and repaired.
FLOORS_OF = {
    "ifbench_test.jsonl": {"ok": (109, 21), "echo": (40, 17), "refusal": (47, 10), "empty": (0, 0)},
    "ifeval_input_data.jsonl": {"ok": (62, 78), "echo": (134, 101), "refusal": (44, 44), "empty": (0, 0)},
}


@pytest.mark.parametrize("file", FLOORS_OF)
def test_the_floors_of_the_published_prompts_are_those_documented(shared_data: Path, file: str) -> None:
    lines = (shared_data / "ifeval" / file).read_text(encoding="utf-8").splitlines()
    passed = {name: [0, 0] for name in FLOORS}
    for row in map(json.loads, lines):
        instructions = instructions_of(row["instruction_id_list"], row["kwargs"])
        for name, answer in FLOORS.items():
            response = Response(answer(row["prompt"]))
            for place, edition in enumerate(EDITIONS):
                passed[name][place] += response.follows(instructions, edition).follow_all_instructions
    assert {name: tuple(counts) for name, counts in passed.items()} == FLOORS_OF[file]
