"""Descriptions have the wordings of IFEval's and IFBench's code, and our own instructions their own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lm_eval.tasks.ifeval.instructions_registry import INSTRUCTION_DICT

from lm_eval_ext.verifiers import ifbench, instruction, instruction_ids
from tests.families.jsonl import read_jsonl
from tests.verifiers.cases import table
from tests.verifiers.test_contract import OF_IFEVAL

WORDINGS: Mapping[str, Any] = table("wordings")
# The code of the harness breaks this one's lines.
ON_ONE_LINE = "detectable_format:number_bullet_lists"


@pytest.mark.parametrize(
    ("name", "arguments"), [*((name, arguments) for name, (arguments, *_) in OF_IFEVAL.items()), *WORDINGS["ifeval"]]
)
def test_the_description_is_that_of_ifeval(name: str, arguments: dict[str, Any]) -> None:
    published = INSTRUCTION_DICT[name](name).build_description(**arguments).strip()
    if name == ON_ONE_LINE:
        published = " ".join(published.split())
    assert instruction(name, arguments).describe() == published


@pytest.mark.parametrize(("name", "described"), {**WORDINGS["ifbench"], **WORDINGS["own"]}.items())
def test_the_description_has_the_wording_of_the_code(name: str, described: tuple[dict[str, Any], str]) -> None:
    arguments, wording = described
    assert instruction(name, arguments).describe() == wording


def test_the_prompts_have_the_description_of_every_other_instruction(shared_data: Path) -> None:
    found: dict[str, bool] = {}
    for row in read_jsonl(shared_data / "ifeval" / "ifbench_test.jsonl"):
        for name, arguments in zip(row["instruction_id_list"], row["kwargs"], strict=True):
            described = instruction(name, arguments).describe().strip() in row["prompt"]
            found[name] = found.get(name, True) and described
    assert set(found) == set(instruction_ids(ifbench))
    assert {name for name, described in found.items() if not described} == set(WORDINGS["ifbench"])
