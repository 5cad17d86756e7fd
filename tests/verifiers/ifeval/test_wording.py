"""Descriptions have the wording of IFEval's code."""

from __future__ import annotations

from typing import Any

import pytest

from lm_eval_ext.verifiers import ifeval, instruction, instruction_ids
from lm_eval_ext.verifiers.checker import checker_type

OF_LANGUAGE = "Your ENTIRE response should be in {} language, no other language is allowed."
# Instruction, arguments, wording.
WORDINGS: list[tuple[str, dict[str, Any], str]] = [
    (
        "keywords:existence",
        {"keywords": ["war", "art"]},  # in alphabetical order, as IFEval shows them
        "Include keywords ['art', 'war'] in the response.",
    ),
    (
        "keywords:frequency",
        {"keyword": " fail ", "frequency": 2, "relation": "less than"},
        "In your response, the word fail should appear less than 2 times.",
    ),
    (
        "keywords:forbidden_words",
        {"forbidden_words": ["yes", "no", "yes"]},
        "Do not include keywords ['no', 'yes'] in the response.",
    ),
    (
        "keywords:letter_frequency",
        {"letter": "B", "let_frequency": 8, "let_relation": "at least"},
        "In your response, the letter b should appear at least 8 times.",
    ),
    ("punctuation:no_comma", {}, "In your entire response, refrain from the use of any commas."),
    (
        "language:response_language",
        {"language": "de"},
        OF_LANGUAGE.format("German"),
    ),
    (
        "language:response_language",
        {"language": "pa"},
        OF_LANGUAGE.format("Punjabi"),
    ),
    (
        "language:response_language",
        {"language": "fa"},
        OF_LANGUAGE.format("Persian"),
    ),
    (
        "length_constraints:number_words",
        {"num_words": 300, "relation": "at least"},
        "Answer with at least 300 words.",
    ),
    (
        "length_constraints:number_sentences",
        {"num_sentences": 5, "relation": "less than"},
        "Your response should contain less than 5 sentences.",
    ),
    (
        "length_constraints:number_paragraphs",
        {"num_paragraphs": 2},
        "There should be 2 paragraphs. Paragraphs are separated with the markdown divider: ***",
    ),
    (
        "length_constraints:nth_paragraph_first_word",
        {"num_paragraphs": 4, "nth_paragraph": 2, "first_word": "Hello"},
        "There should be 4 paragraphs. Paragraphs and only paragraphs are separated with each other by two new "
        "lines as if it was '\\n\\n' in python. Paragraph 2 must start with word hello.",
    ),
    (
        "detectable_content:number_placeholders",
        {"num_placeholders": 3},
        "The response must contain at least 3 placeholders represented by square brackets, such as [address].",
    ),
    (
        "detectable_content:postscript",
        {"postscript_marker": " P.S. "},
        "At the end of your response, please explicitly add a postscript starting with P.S.",
    ),
    (
        "detectable_format:number_bullet_lists",
        {"num_bullets": 2},
        "Your answer must contain exactly 2 bullet points. Use the markdown bullet points such as: * This is "
        "point 1. * This is point 2",
    ),
    (
        "detectable_format:title",
        {},
        "Your answer must contain a title, wrapped in double angular brackets, such as <<poem of joy>>.",
    ),
    (
        "detectable_format:number_highlighted_sections",
        {"num_highlights": 3},
        "Highlight at least 3 sections in your answer with markdown, i.e. *highlighted section*.",
    ),
    (
        "detectable_format:multiple_sections",
        {"section_spliter": " Day ", "num_sections": 4},
        "Your response must have 4 sections. Mark the beginning of each section with Day X, such as:\n"
        "Day 1\n[content of section 1]\nDay 2\n[content of section 2]",
    ),
    (
        "detectable_format:json_format",
        {},
        "Entire output should be wrapped in JSON format. You can use markdown ticks such as ```.",
    ),
    (
        "detectable_format:constrained_response",
        {},
        "Answer with one of the following options: ('My answer is yes.', 'My answer is no.', 'My answer is maybe.')",
    ),
    (
        "combination:two_responses",
        {},
        "Give two different responses. Responses and only responses should be separated by 6 asterisk symbols: ******.",
    ),
    (
        "combination:repeat_prompt",
        {"prompt_to_repeat": "Write a poem."},  # is not named: it precedes
        "First repeat the request word for word without change, then give your answer (1. do not say any words or "
        "characters before repeating the request; 2. the request you need to repeat does not include this "
        "sentence)",
    ),
    (
        "change_case:english_capital",
        {},
        "Your entire response should be in English, and in all capital letters.",
    ),
    (
        "change_case:english_lowercase",
        {},
        "Your entire response should be in English, and in all lowercase letters. No capital letters are allowed.",
    ),
    (
        "change_case:capital_word_frequency",
        {"capital_frequency": 14, "capital_relation": "at least"},
        "In your response, words with all capital letters should appear at least 14 times.",
    ),
    ("startend:quotation", {}, "Wrap your entire response with double quotation marks."),
    (
        "startend:end_checker",
        {"end_phrase": " The end. "},
        "Finish your response with this exact phrase The end.. No other words should follow this phrase.",
    ),
]


@pytest.mark.parametrize(("name", "arguments", "wording"), WORDINGS)
def test_the_description_is_that_of_ifeval(name: str, arguments: dict[str, Any], wording: str) -> None:
    assert instruction(name, arguments).describe() == wording


def test_each_instruction_is_in_the_table() -> None:
    of_ifeval = {name for name in instruction_ids() if checker_type(name).__module__.startswith(ifeval.__name__)}
    assert {name for name, _, _ in WORDINGS} == of_ifeval
