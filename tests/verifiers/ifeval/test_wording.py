"""Descriptions have the wording of IFEval's code, as the harness has it."""

from __future__ import annotations

from typing import Any

import pytest
from lm_eval.tasks.ifeval.instructions_registry import INSTRUCTION_DICT

from lm_eval_ext.verifiers import instruction
from tests.verifiers.test_contract import OF_IFEVAL

# Those that IFEval's code brings into a normal form, and two names of languages that are easily mistaken.
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("keywords:frequency", {"keyword": " fail ", "frequency": 2, "relation": "less than"}),
    ("keywords:forbidden_words", {"forbidden_words": ["yes", "no", "yes"]}),
    ("keywords:letter_frequency", {"letter": "B", "let_frequency": 8, "let_relation": "at least"}),
    ("language:response_language", {"language": "pa"}),
    ("language:response_language", {"language": "fa"}),
    ("detectable_content:postscript", {"postscript_marker": " P.S. "}),
    ("detectable_format:multiple_sections", {"section_spliter": " Day ", "num_sections": 4}),
    ("startend:end_checker", {"end_phrase": " The end. "}),
]
# The code of the harness breaks this one's lines.
ON_ONE_LINE = "detectable_format:number_bullet_lists"


@pytest.mark.parametrize(
    ("name", "arguments"), [*((name, arguments) for name, (arguments, *_) in OF_IFEVAL.items()), *OTHERS]
)
def test_the_description_is_that_of_ifeval(name: str, arguments: dict[str, Any]) -> None:
    published = INSTRUCTION_DICT[name](name).build_description(**arguments).strip()
    if name == ON_ONE_LINE:
        published = " ".join(published.split())
    assert instruction(name, arguments).describe() == published
