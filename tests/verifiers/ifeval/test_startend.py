"""startend and combination: quotation marks, a last phrase, two responses, the prompt repeated, in both editions."""

from __future__ import annotations

import pytest

from lm_eval_ext.verifiers import EDITIONS, instruction
from lm_eval_ext.verifiers.text import Text


@pytest.mark.parametrize(
    ("text", "faithful", "repaired"),
    [
        pytest.param('"hi" he said "bye"', True, False, id="trap: two quotations"),
        pytest.param("“hi”", False, True, id="trap: curly marks"),
        ('"hi there"', True, True),
        (' "hi there"\n', True, True),
        ('"one\n\ntwo"', True, True),
        ("hi there", False, False),
        ('"hi there', False, False),
        ('hi there"', False, False),
        ("'hi there'", False, False),
        ('"hi there".', False, False),
        ("*hi*", False, False),
        # nothing inside
        ('"', False, False),
        ('""', True, False),
        ('" "', True, False),
        ("“”", False, False),
        # the marks of other languages, in pairs
        ("«hi»", False, True),
        ("« hi »", False, True),
        ("「hi」", False, True),
        ("„cześć”", False, True),
        ("„hallo“", False, True),
        ("“hi“", False, False),
        ('“hi"', False, False),
        ('"hi”', False, False),
        # a quotation inside, and one that ends too early
        ('"he said "yes" to me"', True, True),
        ('"She said "yes""', True, True),
        ("“he said “yes” to me”", False, True),
        ("“hi” he said “bye”", False, False),
        ('"one" "two"', True, True),
        ('"one"\n\n"two"', True, True),
        ('"one"\n\ntwo\n\n"three"', True, False),
        ('**"hi there"**', False, True),
        ('**"hi" there**', False, False),
        ("“one” “two”", False, True),
        ("", False, False),
        (" \n", False, False),
    ],
)
def test_one_quotation_encloses_everything(text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("startend:quotation")
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


@pytest.mark.parametrize(
    ("phrase", "text", "faithful", "repaired"),
    [
        ("The end.", "They lived happily. The end.", True, True),
        ("The end.", "THE END.", True, True),
        ("The end.", "The end.\n\n", True, True),
        ("The end.", '"They lived happily. The end."', True, True),
        ("The end.", 'The end.""', True, True),
        (" The end. ", "The end.", True, True),
        ("The end.", "The end. Goodbye.", False, False),
        ("The end.", "The end", False, False),
        ("The end.", "The end.*", False, True),
        ("The end.", "The end.”", False, True),
        ("The end.", "(The end.)", False, True),
        ("The end.", "```\nThe end.\n```", False, True),
        ("The end.", "The\nend.", False, True),
        ("The end", "The end.", False, True),
        ("The end", "The ends", False, False),
        ("end.", "my friend.", True, False),
        ("end.", "the - end.", True, True),
        ("The end.", "", False, False),
        ("The end.", "\n", False, False),
        # a phrase that itself ends in a quotation mark: IFEval removes the mark only from the response
        ('I say "bye"', 'At last I say "bye"', False, True),
        ('I say "bye"', "At last I say bye", False, False),
        # a phrase of only marks
        ("***", "Bye. ***", True, True),
        ("***", "Bye.", False, False),
        ("}", "Bye.", False, False),
        (":)", "Bye :)", True, True),
        (":)", "Note:", False, False),
    ],
)
def test_the_response_ends_with_the_phrase(phrase: str, text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("startend:end_checker", {"end_phrase": phrase})
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


@pytest.mark.parametrize(
    ("text", "faithful", "repaired"),
    [
        pytest.param("one\n*******\ntwo", True, False, id="trap: seven asterisks"),
        ("one\n******\ntwo", True, True),
        ("one ****** two", True, True),
        ("one******two", True, True),
        ("one\n*****\ntwo", False, False),
        ("one\n***\n***\ntwo", False, False),
        ("one\n* * * * * *\ntwo", False, False),
        ("one\n************\ntwo", False, False),  # twice six: nothing is in between
        # parts at the ends may be empty, parts in between may not
        ("******\none\n******\ntwo\n******", True, True),
        ("one\n******", False, False),
        ("******\none", False, False),
        ("******", False, False),
        ("one\n******\n\n******\ntwo", False, False),
        ("one\n******\n \n******\ntwo", False, False),
        ("—\n******\ntwo", True, False),  # a response has a letter or digit in it
        # two, and two that differ
        ("one", False, False),
        ("one\n******\ntwo\n******\nthree", False, False),
        ("one\n******\none", False, False),
        ("one\n******\n one \n", False, False),
        ("one\n******\nOne", True, True),
        ("one\n*******\none", True, False),  # the seventh asterisk makes them differ
        ("**one**\n******\n*two*", True, True),
        ("", False, False),
        (" \n ", False, False),
    ],
)
def test_two_responses_differ_and_are_separated_by_six_asterisks(text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("combination:two_responses")
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


@pytest.mark.parametrize(
    ("prompt", "text", "faithful", "repaired"),
    [
        ("Write a poem.", "Write a poem. Roses are red.", True, True),
        ("Write a poem.", "Write a poem.\n\nRoses are red.", True, True),
        ("Write a poem.", "write A POEM. Roses are red.", True, True),
        ("Write a poem.", " \nWrite a poem. Roses are red.", True, True),
        ("Write a poem.", "Write a poem.", True, True),
        (" Write a poem.\n", "Write a poem. Roses are red.", True, True),
        ("Write a poem.", "Sure! Write a poem. Roses are red.", False, False),
        ("Write a poem.", '"Write a poem." Roses are red.', False, False),
        ("Write a poem.", "Write a poem", False, False),
        ("Write a poem.", "Write  a poem. Roses are red.", False, True),
        ("Write a poem.", "**Write a poem.**\nRoses are red.", False, False),
        ("Say 'so'", "Say ‘so’. So.", False, True),
        ("Write a poem", "Write a poem: Roses", True, True),
        ("Write a poem", "Write a poems: Roses", True, False),
        ("Write a poem.", "Roses are red. Write a poem.", False, False),
        ("(a+", "(a+b)", True, True),  # no regular expression
        ("Write a poem.", "", False, False),
    ],
)
def test_the_response_begins_with_the_prompt(prompt: str, text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("combination:repeat_prompt", {"prompt_to_repeat": prompt})
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]
