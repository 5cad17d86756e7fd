"""length_constraints: words, sentences and paragraphs, in both editions."""

from __future__ import annotations

from tests.verifiers.cases import Case, judged

SEVEN_WORDS = "don't well-known U.S.A."  # don t well known U S A

# Instruction id -> cases: arguments, text, faithful, repaired.
CASES: dict[str, list[Case]] = {
    "length_constraints:number_words": [
        ({"num_words": 7, "relation": "at least"}, SEVEN_WORDS, True, True),  # trap: seven words, at least seven
        ({"num_words": 8, "relation": "at least"}, SEVEN_WORDS, False, False),  # trap: seven words, at least eight
        ({"num_words": 7, "relation": "less than"}, SEVEN_WORDS, False, False),  # trap: seven words, less than seven
        ({"num_words": 8, "relation": "less than"}, SEVEN_WORDS, True, True),  # trap: seven words, less than eight
        ({"num_words": 2, "relation": "at least"}, "3.14", True, True),
        ({"num_words": 2, "relation": "at least"}, "snake_case", False, False),
        ({"num_words": 1, "relation": "at least"}, "…", False, False),
        ({"num_words": 1, "relation": "less than"}, "…", True, True),
        # a legal 0
        ({"num_words": 0, "relation": "at least"}, "…", True, True),
        ({"num_words": 0, "relation": "less than"}, "…", False, False),
    ],
    "length_constraints:number_sentences": [
        ({"num_sentences": 3, "relation": "at least"}, "One. Two! Three?", True, True),
        ({"num_sentences": 4, "relation": "at least"}, "One. Two! Three?", False, False),
        ({"num_sentences": 3, "relation": "less than"}, "One. Two! Three?", False, False),
        ({"num_sentences": 4, "relation": "less than"}, "One. Two! Three?", True, True),
        ({"num_sentences": 1, "relation": "at least"}, "no full stop", True, True),
        ({"num_sentences": 2, "relation": "at least"}, "no full stop\n\nnor here", False, False),
        ({"num_sentences": 2, "relation": "at least"}, "Mr. Smith paid 3.50 euros.", False, False),
        ({"num_sentences": 2, "relation": "at least"}, "Mr. Smith paid. He left.", True, True),
        ({"num_sentences": 2, "relation": "less than"}, "Mr. Smith paid 3.50 euros.", True, True),
        # a legal 0
        ({"num_sentences": 0, "relation": "at least"}, "One.", True, True),
        ({"num_sentences": 0, "relation": "less than"}, "One.", False, False),
        ({"num_sentences": 1, "relation": "less than"}, "One.", False, False),
    ],
    "length_constraints:number_paragraphs": [
        ({"num_paragraphs": 2}, "***bold*** a\n***\nb", False, True),  # trap: three asterisks around bold text
        ({"num_paragraphs": 2}, "a\n* * *\nb", False, True),  # trap: asterisks with spaces
        ({"num_paragraphs": 2}, "a\n***\nb", True, True),
        ({"num_paragraphs": 2}, "a\n\n***\n\nb", True, True),
        ({"num_paragraphs": 2}, "a\n  ***  \nb", True, True),
        ({"num_paragraphs": 2}, "a *** b", True, True),
        ({"num_paragraphs": 2}, "a***b", True, True),
        ({"num_paragraphs": 2}, "a ***b*** c", False, False),
        ({"num_paragraphs": 3}, "a ***b*** c", True, False),
        ({"num_paragraphs": 2}, "a\n****\nb", True, True),
        ({"num_paragraphs": 2}, "a\n******\nb", False, True),
        ({"num_paragraphs": 2}, "a\n**\nb", False, False),
        ({"num_paragraphs": 2}, "a\n---\nb", False, False),
        ({"num_paragraphs": 2}, "a\n\nb", False, False),
        ({"num_paragraphs": 2}, "a\n***\nb\n***\nc", False, False),
        ({"num_paragraphs": 3}, "a\n***\nb\n***\nc", True, True),
        # parts at the ends may be empty, parts in between may not
        ({"num_paragraphs": 2}, "***\na\n***\nb\n***", True, True),
        ({"num_paragraphs": 1}, "a\n***", True, True),
        ({"num_paragraphs": 2}, "a\n***", False, False),
        ({"num_paragraphs": 2}, "***\na", False, False),
        ({"num_paragraphs": 2}, "a\n***\n***\nb", False, False),
        ({"num_paragraphs": 3}, "a\n***\n \n***\nb", False, False),
        ({"num_paragraphs": 1}, "a", True, True),
        ({"num_paragraphs": 1}, "a\n\nb", True, True),
        # what has no letter or digit in it is no paragraph
        ({"num_paragraphs": 2}, "a\n***\n—", True, False),
        ({"num_paragraphs": 1}, '"\n***\na\n***\n"', False, True),
        # a legal 0
        ({"num_paragraphs": 0}, "***", True, True),
        ({"num_paragraphs": 0}, "a", False, False),
    ],
    "length_constraints:nth_paragraph_first_word": [
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\nHello there.", True, True),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "HELLO"}, "One.\n\nhello, there.", True, True),
        ({"num_paragraphs": 2, "nth_paragraph": 1, "first_word": "hello"}, "Hello there.\n\nTwo.", True, True),
        ({"num_paragraphs": 1, "nth_paragraph": 1, "first_word": "hello"}, "Hello there.", True, True),
        # the first of two is blank
        ({"num_paragraphs": 1, "nth_paragraph": 1, "first_word": "hello"}, "\n\nHello", False, True),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\nGoodbye.", False, False),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\nOh hello.", False, False),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "Hello.\n\nTwo.", False, False),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\nHellos.", False, False),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\nHello-there.", False, False),
        # the number of paragraphs, too
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\nHello.", False, False),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\nHello.\n\nThree.", False, False),
        ({"num_paragraphs": 3, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\nHello.", False, False),
        # what divides
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\n\nHello.", True, True),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\n\n\nHello.", False, True),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n \nHello.", False, True),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\n  Hello.\n\n", True, True),
        # marks around the word
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, 'One.\n\n"Hello" there.', True, True),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\n'Hello there'", True, True),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\n“Hello” there.", False, True),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\n**Hello** there.", False, True),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\nHello: there.", False, True),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\n—\n\nHello.", False, True),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": " hello "}, "One.\n\nHello.", False, True),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "hello"}, "One.\n\nHello's there.", True, False),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "don't"}, "One.\n\nDon't go.", False, True),
        ({"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "don't"}, "One.\n\nDon’t go.", False, True),
        ({"num_paragraphs": 1, "nth_paragraph": 1, "first_word": "hello"}, "…", False, False),
    ],
}


test_both_editions = judged(CASES)
