"""length_constraints: words, sentences and paragraphs, in both editions."""

from __future__ import annotations

import pytest

from lm_eval_ext.verifiers import EDITIONS, instruction
from lm_eval_ext.verifiers.text import Text

SEVEN_WORDS = "don't well-known U.S.A."  # don t well known U S A


@pytest.mark.parametrize(
    ("number", "relation", "text", "faithful", "repaired"),
    [
        pytest.param(7, "at least", SEVEN_WORDS, True, True, id="trap: seven words, at least seven"),
        pytest.param(8, "at least", SEVEN_WORDS, False, False, id="trap: seven words, at least eight"),
        pytest.param(7, "less than", SEVEN_WORDS, False, False, id="trap: seven words, less than seven"),
        pytest.param(8, "less than", SEVEN_WORDS, True, True, id="trap: seven words, less than eight"),
        (2, "at least", "two words", True, True),
        (3, "at least", "two words", False, False),
        (2, "less than", "two words", False, False),
        (3, "less than", "two words", True, True),
        (2, "at least", "3.14", True, True),
        (2, "at least", "snake_case", False, False),
        (1, "at least", "…", False, False),
        (1, "less than", "…", True, True),
        # a legal 0
        (0, "at least", "…", True, True),
        (0, "at least", "", False, False),
        (0, "less than", "…", False, False),
        (1, "less than", " \n", False, False),
    ],
)
def test_words_are_counted(number: int, relation: str, text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("length_constraints:number_words", {"num_words": number, "relation": relation})
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


@pytest.mark.parametrize(
    ("number", "relation", "text", "faithful", "repaired"),
    [
        (3, "at least", "One. Two! Three?", True, True),
        (4, "at least", "One. Two! Three?", False, False),
        (3, "less than", "One. Two! Three?", False, False),
        (4, "less than", "One. Two! Three?", True, True),
        (1, "at least", "no full stop", True, True),
        (2, "at least", "no full stop\n\nnor here", False, False),
        (2, "at least", "Mr. Smith paid 3.50 euros.", False, False),
        (2, "at least", "Mr. Smith paid. He left.", True, True),
        (2, "less than", "Mr. Smith paid 3.50 euros.", True, True),
        # a legal 0
        (0, "at least", "One.", True, True),
        (0, "at least", "", False, False),
        (0, "less than", "One.", False, False),
        (1, "less than", "One.", False, False),
        (1, "less than", "\n", False, False),
    ],
)
def test_sentences_are_counted(number: int, relation: str, text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("length_constraints:number_sentences", {"num_sentences": number, "relation": relation})
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


@pytest.mark.parametrize(
    ("number", "text", "faithful", "repaired"),
    [
        pytest.param(2, "***bold*** a\n***\nb", False, True, id="trap: three asterisks around bold text"),
        pytest.param(2, "a\n* * *\nb", False, True, id="trap: asterisks with spaces"),
        (2, "a\n***\nb", True, True),
        (2, "a\n\n***\n\nb", True, True),
        (2, "a\n  ***  \nb", True, True),
        (2, "a *** b", True, True),
        (2, "a***b", True, True),
        (2, "a ***b*** c", False, False),
        (3, "a ***b*** c", True, False),
        (2, "a\n****\nb", True, True),
        (2, "a\n******\nb", False, True),
        (2, "a\n**\nb", False, False),
        (2, "a\n---\nb", False, False),
        (2, "a\n\nb", False, False),
        (2, "a\n***\nb\n***\nc", False, False),
        (3, "a\n***\nb\n***\nc", True, True),
        # parts at the ends may be empty, parts in between may not
        (2, "***\na\n***\nb\n***", True, True),
        (1, "a\n***", True, True),
        (2, "a\n***", False, False),
        (2, "***\na", False, False),
        (2, "a\n***\n***\nb", False, False),
        (3, "a\n***\n \n***\nb", False, False),
        (1, "a", True, True),
        (1, "a\n\nb", True, True),
        # what has no letter or digit in it is no paragraph
        (2, "a\n***\n—", True, False),
        (1, '"\n***\na\n***\n"', False, True),
        # a legal 0
        (0, "***", True, True),
        (0, "a", False, False),
        (0, "", False, False),
        (1, " \n", False, False),
    ],
)
def test_paragraphs_are_separated_by_three_asterisks(number: int, text: str, faithful: bool, repaired: bool) -> None:
    checker = instruction("length_constraints:number_paragraphs", {"num_paragraphs": number})
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]


@pytest.mark.parametrize(
    ("number", "nth", "word", "text", "faithful", "repaired"),
    [
        (2, 2, "hello", "One.\n\nHello there.", True, True),
        (2, 2, "HELLO", "One.\n\nhello, there.", True, True),
        (2, 1, "hello", "Hello there.\n\nTwo.", True, True),
        (1, 1, "hello", "Hello there.", True, True),
        (1, 1, "hello", "\n\nHello", False, True),  # the first of two is blank
        (2, 2, "hello", "One.\n\nGoodbye.", False, False),
        (2, 2, "hello", "One.\n\nOh hello.", False, False),
        (2, 2, "hello", "Hello.\n\nTwo.", False, False),
        (2, 2, "hello", "One.\n\nHellos.", False, False),
        (2, 2, "hello", "One.\n\nHello-there.", False, False),
        # the number of paragraphs, too
        (2, 2, "hello", "One.\nHello.", False, False),
        (2, 2, "hello", "One.\n\nHello.\n\nThree.", False, False),
        (3, 2, "hello", "One.\n\nHello.", False, False),
        # what divides
        (2, 2, "hello", "One.\n\n\nHello.", True, True),
        (2, 2, "hello", "One.\n\n\n\nHello.", False, True),
        (2, 2, "hello", "One.\n \nHello.", False, True),
        (2, 2, "hello", "One.\n\n  Hello.\n\n", True, True),
        # marks around the word
        (2, 2, "hello", 'One.\n\n"Hello" there.', True, True),
        (2, 2, "hello", "One.\n\n'Hello there'", True, True),
        (2, 2, "hello", "One.\n\n“Hello” there.", False, True),
        (2, 2, "hello", "One.\n\n**Hello** there.", False, True),
        (2, 2, "hello", "One.\n\nHello: there.", False, True),
        (2, 2, "hello", "One.\n\n—\n\nHello.", False, True),
        (2, 2, " hello ", "One.\n\nHello.", False, True),
        (2, 2, "hello", "One.\n\nHello's there.", True, False),
        (2, 2, "don't", "One.\n\nDon't go.", False, True),
        (2, 2, "don't", "One.\n\nDon’t go.", False, True),
        (1, 1, "hello", "…", False, False),
        (1, 1, "hello", "", False, False),
        (1, 1, "hello", "\n\n", False, False),
    ],
)
def test_the_nth_paragraph_begins_with_the_word(  # noqa: PLR0913, PLR0917 # a row of the table
    number: int, nth: int, word: str, text: str, faithful: bool, repaired: bool
) -> None:
    arguments = {"num_paragraphs": number, "nth_paragraph": nth, "first_word": word}
    checker = instruction("length_constraints:nth_paragraph_first_word", arguments)
    assert [checker.follows(Text(text), edition) for edition in EDITIONS] == [faithful, repaired]
