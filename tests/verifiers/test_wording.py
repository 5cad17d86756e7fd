"""Descriptions have the wordings of IFEval's and IFBench's code, and our own instructions their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lm_eval.tasks.ifeval.instructions_registry import INSTRUCTION_DICT

from lm_eval_ext.verifiers import ifbench, instruction, instruction_ids
from tests.families.jsonl import read_jsonl
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


# IFBench's that some prompts word otherwise -> arguments and the wording of the code.
OTHERWISE: dict[str, tuple[dict[str, Any], str]] = {
    "count:conjunctions": (
        {"small_n": 3.0},
        "Use at least 3 different coordinating conjunctions in the response.",
    ),
    "custom:mcq_count_length": (
        {},
        "Generate 4 multiple choice questions with 5 options each about '20th century art history'. Each question "
        'should start with the label "Question". The questions should get progressively longer. Do not provide an '
        "explanation.",
    ),
    "format:options": (
        {"options": "yes/no/maybe"},
        "Answer with one of the following options: yes/no/maybe. Do not give any explanation.",
    ),
    "ratio:sentence_balance": (
        {},
        "Ensure that the ratio of sentence types (declarative, interrogative, exclamatory) is balanced.",
    ),
    "ratio:sentence_type": ({}, "Maintain a 2:1 ratio of declarative to interrogative sentences."),
    "repeat:repeat_change": (
        {"prompt_to_repeat": "Name a fox."},
        "Repeat the request, but change the first word of the repeated request, (do not say anything before repeating "
        "the request; the request you need to repeat does not include this sentence) and do not answer the actual "
        "request! Request: Name a fox.",
    ),
    "repeat:repeat_span": (
        {"prompt_to_repeat": "Name a fox.", "n_start": 1, "n_end": 2},
        "Copy the span of words that lies between (and including) index 1 and 2, the indices are character indices!",
    ),
    "sentence:increment": (
        {"small_n": 2.0},
        "Each sentence must contain exactly 2 more words than the previous one.",
    ),
    "sentence:keyword": (
        {"word": "fox", "N": 2.0},
        'The response must include keyword "fox" in the 2-th sentence.',
    ),
    "words:alphabet": (
        {},
        "Each word must start with the next letter of the alphabet, looping back to 'A' after 'Z'.",
    ),
    "words:keywords_specific_position": (
        {"keyword": "fox", "n": 2.0, "m": 3.0},
        "Include keyword fox in the 2-th sentence, as the 3-th word of that sentence.",
    ),
    "words:last_first": ({}, "The last word of each sentence must become the first word of the next sentence."),
    "words:paragraph_last_first": (
        {},
        "Each paragraph must end with the same word it started with, separate paragraphs with a newline.",
    ),
}
OWN: dict[str, tuple[dict[str, Any], str]] = {
    "section:first_letter": ({"letter": "M"}, "Start with the letter m."),
    "section:exact_sentences": ({"num_sentences": 3.0}, "Write exactly 3 sentences."),
    "section:lowercase": ({}, "Use no capital letters."),
    "section:capitals": ({}, "Use capital letters only."),
    "section:question": ({}, "Ask a question."),
}


@pytest.mark.parametrize(("name", "described"), (OTHERWISE | OWN).items())
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
    assert {name for name, described in found.items() if not described} == set(OTHERWISE)
