"""Descriptions have the wording of IFEval's code, as the harness has it."""

from __future__ import annotations

from typing import Any

import pytest
from lm_eval.tasks.ifeval.instructions_registry import INSTRUCTION_DICT

from lm_eval_ext.verifiers import instruction

# Instruction, arguments: also some that IFEval's code brings into a normal form.
DESCRIBED: list[tuple[str, dict[str, Any]]] = [
    ("keywords:existence", {"keywords": ["war", "art"]}),
    ("keywords:frequency", {"keyword": " fail ", "frequency": 2, "relation": "less than"}),
    ("keywords:forbidden_words", {"forbidden_words": ["yes", "no", "yes"]}),
    ("keywords:letter_frequency", {"letter": "B", "let_frequency": 8, "let_relation": "at least"}),
    ("punctuation:no_comma", {}),
    ("language:response_language", {"language": "de"}),
    ("language:response_language", {"language": "pa"}),
    ("language:response_language", {"language": "fa"}),
    ("length_constraints:number_words", {"num_words": 300, "relation": "at least"}),
    ("length_constraints:number_sentences", {"num_sentences": 5, "relation": "less than"}),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2}),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 4, "nth_paragraph": 2, "first_word": "Hello"},
    ),
    ("detectable_content:number_placeholders", {"num_placeholders": 3}),
    ("detectable_content:postscript", {"postscript_marker": " P.S. "}),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}),
    ("detectable_format:title", {}),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 3}),
    ("detectable_format:multiple_sections", {"section_spliter": " Day ", "num_sections": 4}),
    ("detectable_format:json_format", {}),
    ("detectable_format:constrained_response", {}),
    ("combination:two_responses", {}),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Write a poem."}),
    ("change_case:english_capital", {}),
    ("change_case:english_lowercase", {}),
    ("change_case:capital_word_frequency", {"capital_frequency": 14, "capital_relation": "at least"}),
    ("startend:quotation", {}),
    ("startend:end_checker", {"end_phrase": " The end. "}),
]
# The code of the harness breaks this one's lines.
ON_ONE_LINE = "detectable_format:number_bullet_lists"


@pytest.mark.parametrize(("name", "arguments"), DESCRIBED)
def test_the_description_is_that_of_ifeval(name: str, arguments: dict[str, Any]) -> None:
    published = INSTRUCTION_DICT[name](name).build_description(**arguments).strip()
    if name == ON_ONE_LINE:
        published = " ".join(published.split())
    assert instruction(name, arguments).describe() == published


def test_each_instruction_is_in_the_table() -> None:
    assert {name for name, _ in DESCRIBED} == set(INSTRUCTION_DICT)
