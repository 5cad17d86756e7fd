"""What holds for every registered checker."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest

from lm_eval_ext.verifiers import EDITIONS, IFBENCH_GROUPS, Edition, instruction, instruction_ids, verify
from lm_eval_ext.verifiers.text import Text

# Instruction id -> its arguments, a response that follows, and one that all but does.
OF_IFEVAL: dict[str, tuple[dict[str, Any], str, str]] = {
    "change_case:capital_word_frequency": (
        {"capital_frequency": 2, "capital_relation": "at least"},
        "NASA and ESA agree.",
        "NASA and Esa agree.",
    ),
    "change_case:english_capital": (
        {},
        "THE CHILDREN PLAYED IN THE GARDEN WHILE THE SUN WAS SHINING.",
        "THE CHILDREN PLAYED IN THE GARDEN WHILE THE SUN WAS SHININg.",
    ),
    "change_case:english_lowercase": (
        {},
        "the children played in the garden while the sun was shining.",
        "The children played in the garden while the sun was shining.",
    ),
    "combination:repeat_prompt": (
        {"prompt_to_repeat": "Name a color."},
        "Name a color. Blue.",
        "Name a colour. Blue.",
    ),
    "combination:two_responses": ({}, "Blue.\n******\nRed.", "Blue.\n******\nBlue."),
    "detectable_content:number_placeholders": (
        {"num_placeholders": 2},
        "Dear [name], see you on [day].",
        "Dear [name], see you on (day).",
    ),
    "detectable_content:postscript": (
        {"postscript_marker": "P.S."},
        "Goodbye.\n\nP.S. Write soon.",
        "Goodbye.\n\nP.T. Write soon.",
    ),
    "detectable_format:constrained_response": ({}, "My answer is maybe.", "My answer is perhaps."),
    "detectable_format:json_format": ({}, '```json\n{"color": "blue"}\n```', '```json\n{"color": blue}\n```'),
    "detectable_format:multiple_sections": (
        {"section_spliter": "Day", "num_sections": 2},
        "Day 1\nRest.\nDay 2\nWork.",
        "Day 1\nRest.\nThe next day\nWork.",
    ),
    "detectable_format:number_bullet_lists": ({"num_bullets": 2}, "* blue\n* red", "* blue\n* red\n* green"),
    "detectable_format:number_highlighted_sections": (
        {"num_highlights": 2},
        "*Blue* is calm and *red* is not.",
        "*Blue* is calm and red is not.",
    ),
    "detectable_format:title": ({}, "<<Colors>>\nBlue is calm.", "<Colors>\nBlue is calm."),
    "keywords:existence": ({"keywords": ["blue", "red"]}, "Red and blue.", "Red and green."),
    "keywords:forbidden_words": ({"forbidden_words": ["blue", "red"]}, "Green is calm.", "Green is not red."),
    "keywords:frequency": (
        {"keyword": "blue", "frequency": 2, "relation": "less than"},
        "Blue is calm.",
        "Blue is calm, and blue is cold.",
    ),
    "keywords:letter_frequency": (
        {"letter": "l", "let_frequency": 3, "let_relation": "at least"},
        "All blue.",  # 3
        "All red.",  # 2
    ),
    "language:response_language": (
        {"language": "de"},
        "Das Wetter ist heute schön und wir gehen spazieren.",
        "Het weer is vandaag mooi en we gaan wandelen.",
    ),
    "length_constraints:nth_paragraph_first_word": (
        {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "blue"},
        "Colors differ.\n\nBlue is calm.",
        "Colors differ.\n\nBluish is calm.",
    ),
    "length_constraints:number_paragraphs": ({"num_paragraphs": 2}, "Blue.\n***\nRed.", "Blue.\n\nRed."),
    "length_constraints:number_sentences": (
        {"num_sentences": 2, "relation": "at least"},
        "Blue is calm. Red is not.",
        "Blue is calm; red is not.",
    ),
    "length_constraints:number_words": (
        {"num_words": 4, "relation": "less than"},
        "Blue is calm.",
        "Blue is very calm.",
    ),
    "punctuation:no_comma": ({}, "Blue; red.", "Blue, red."),
    "startend:end_checker": ({"end_phrase": "That is all."}, "Blue. That is all.", "Blue. That is all. Bye."),
    "startend:quotation": ({}, '"Blue is calm."', '"Blue is calm.'),
}
OWN: dict[str, tuple[dict[str, Any], str, str]] = {
    "section:capitals": ({}, "BLUE IS CALM.", "BLUE IS CALm."),
    "section:exact_sentences": ({"num_sentences": 2}, "Blue is calm. Red is not.", "Blue is calm; red is not."),
    "section:first_letter": ({"letter": "b"}, "Blue is calm.", "The blue is calm."),
    "section:lowercase": ({}, "blue is calm.", "Blue is calm."),
    "section:question": ({}, "Is blue calm?", "Blue is calm."),
}


def of_tables(module: str) -> Iterator[tuple[str, tuple[dict[str, Any], str, str]]]:
    """Yield, from a module's tables, the first response that follows in both editions, and the first that does not."""
    for name, cases in importlib.import_module(f"tests.verifiers.{module}").CASES.items():
        complete = [case if len(case) == 4 else ({}, *case) for case in cases]
        arguments, good = next(case[:2] for case in complete if case[2:] == (True, True))
        near_miss = next(case[1] for case in complete if case[2:] == (False, False) and case[0] == arguments)
        yield name, (arguments, good, near_miss)


CASES = (
    OF_IFEVAL
    | OWN
    | {name: case for group in IFBENCH_GROUPS for name, case in of_tables(f"ifbench.test_{group}")}
    | dict(of_tables("test_ifrlvr"))
)


def test_the_cases_cover_the_registry() -> None:
    assert set(CASES) == set(instruction_ids())


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", CASES)
def test_a_good_response_follows_and_a_near_miss_does_not(name: str, edition: Edition) -> None:
    arguments, good, near_miss = CASES[name]
    checker = instruction(name, arguments)
    assert checker.follows(Text(good), edition) is True
    assert checker.follows(Text(near_miss), edition) is False
    assert verify(good, [name], [arguments], edition=edition).follow_instruction_list == (True,)
    assert verify(near_miss, [name], [arguments], edition=edition).follow_instruction_list == (False,)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("blank", ["", " ", "\n\n", "\t \u00a0\u2003"])
def test_a_blank_response_follows_nothing(name: str, edition: Edition, blank: str) -> None:
    assert instruction(name, CASES[name][0]).follows(Text(blank), edition) is False
    assert verify(blank, [name], [CASES[name][0]], edition=edition, loose=True).follow_all_instructions is False


@pytest.mark.parametrize("name", CASES)
def test_a_checker_describes_itself_without_gaps_and_knows_its_id(name: str) -> None:
    checker = instruction(name, CASES[name][0])
    assert checker.id == name
    description = checker.describe()
    assert description == description.strip()
    assert name == "format:parentheses" or not any(gap in description for gap in "{}\t")  # its wording has braces
    assert checker.describe() == description


@pytest.mark.parametrize("name", CASES)
def test_a_checker_documents_its_rule(name: str) -> None:
    rule = type(instruction(name, CASES[name][0])).__doc__
    assert rule is not None
    assert not rule.startswith(f"{type(instruction(name, CASES[name][0])).__name__}(")  # not what dataclasses write
