"""The types of instructions about a section: which exclude each other, their arguments, and their wording."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lm_eval_ext.verifiers import Checker, instruction
from lm_eval_ext.verifiers.own import Capitals, ExactSentences, FirstLetter, Lowercase, Question

SENTENCES = (ExactSentences.id, "length_constraints:number_sentences")
SLOTS: tuple[tuple[str, ...], ...] = (
    ("keywords:existence",),
    ("keywords:forbidden_words",),
    ("keywords:frequency",),
    ("keywords:letter_frequency",),
    ("length_constraints:number_words", "count:word_count_range"),
    SENTENCES,
    (Lowercase.id, Capitals.id, "change_case:capital_word_frequency"),
    (FirstLetter.id, "detectable_format:title"),
    ("startend:end_checker", "detectable_content:postscript"),
    ("punctuation:no_comma",),
    ("detectable_format:number_bullet_lists",),
    ("detectable_content:number_placeholders",),
    ("detectable_format:number_highlighted_sections",),
    (Question.id,),
    ("count:numbers",),
    ("startend:quotation",),
    ("count:conjunctions",),
)
"""The types. Those of one slot are about the same thing, and a section has at most one of them."""
TYPES: tuple[str, ...] = tuple(name for slot in SLOTS for name in slot)
_EXCLUDED: Mapping[str, tuple[str, ...]] = {
    "detectable_format:title": SENTENCES,
    "detectable_format:number_bullet_lists": SENTENCES,
    "detectable_content:postscript": (*SENTENCES, Lowercase.id),
}
"""What may not occur with each: whether a title, a bullet point or a postscript is a sentence is a matter of taste, and
P.S. has capitals."""

ENDINGS = (
    "nothing else is planned",
    "the board has agreed",
    "this is all for now",
    "more will follow soon",
    "the figures are final",
    "no further steps are needed",
    "that is still an open point",
    "the next report has the rest",
    "both sides are satisfied",
    "there is no other solution",
)
LETTERS = "cgkmvw"
"""Of the letter that a section needs; none is in a conjunction or in P.S."""
FIRST_LETTERS = "abcdefhlmoprst"
"""Of the letter that a section begins with."""
POSTSCRIPT = "P.S."


def conflicting(first: str, second: str) -> bool:
    """Tell whether two types may not occur in one section; a type conflicts with itself."""
    if any(first in slot and second in slot for slot in SLOTS):
        return True
    return second in _EXCLUDED.get(first, ()) or first in _EXCLUDED.get(second, ())


@dataclass(frozen=True)
class Material:
    """What the arguments of one section are drawn from.

    Attributes:
        generator: a seeded generator, which is advanced.
        words: words to be named, each in one instruction of the report.
        letter: the letter of which the section may need many; nothing else that it must contain has it.
    """

    generator: random.Random
    words: Iterator[str]
    letter: str


Draw = Callable[[Material], dict[str, Any]]


def _word(material: Material) -> str:
    # What is not suitable here is suitable for no later section either, but the list is long enough.
    return next(word for word in material.words if material.letter not in word)


def _count(name: str, low: int, high: int, step: int = 1, **others: str) -> Draw:
    return lambda material: {name: material.generator.randrange(low, high + 1, step), **others}


def _nothing(_material: Material) -> dict[str, Any]:
    return {}


def _frequency(material: Material) -> dict[str, Any]:
    return {"keyword": _word(material), "frequency": material.generator.randint(2, 3), "relation": "at least"}


def _number_of_words(material: Material) -> dict[str, Any]:
    relation = material.generator.choice(("at least", "less than"))
    low = 35 if relation == "at least" else 40
    return {"num_words": material.generator.randrange(low, low + 21, 5), "relation": relation}


def _range_of_words(material: Material) -> dict[str, Any]:
    low = material.generator.randrange(20, 36, 5)
    return {"min_words": low, "max_words": low + 20}


def _ending(material: Material) -> dict[str, Any]:
    return {"end_phrase": material.generator.choice([ending for ending in ENDINGS if material.letter not in ending])}


def _first_letter(material: Material) -> dict[str, Any]:
    return {"letter": material.generator.choice([letter for letter in FIRST_LETTERS if letter != material.letter])}


_ARGUMENTS: Mapping[str, Draw] = {
    "keywords:existence": lambda material: {"keywords": [_word(material)]},
    "keywords:forbidden_words": lambda material: {"forbidden_words": [_word(material)]},
    "keywords:frequency": _frequency,
    "keywords:letter_frequency": lambda material: {
        "letter": material.letter,
        "let_frequency": material.generator.randint(3, 5),
        "let_relation": "at least",
    },
    "length_constraints:number_words": _number_of_words,
    "count:word_count_range": _range_of_words,
    ExactSentences.id: _count("num_sentences", 2, 4),
    "length_constraints:number_sentences": _count("num_sentences", 3, 5, relation="at least"),
    Lowercase.id: _nothing,
    Capitals.id: _nothing,
    "change_case:capital_word_frequency": _count("capital_frequency", 2, 3, capital_relation="at least"),
    FirstLetter.id: _first_letter,
    "detectable_format:title": _nothing,
    "startend:end_checker": _ending,
    "detectable_content:postscript": lambda _material: {"postscript_marker": POSTSCRIPT},
    "punctuation:no_comma": _nothing,
    "detectable_format:number_bullet_lists": _count("num_bullets", 2, 4),
    "detectable_content:number_placeholders": _count("num_placeholders", 2, 3),
    "detectable_format:number_highlighted_sections": _count("num_highlights", 2, 3),
    Question.id: _nothing,
    "count:numbers": _count("N", 2, 4),
    "startend:quotation": _nothing,
    "count:conjunctions": _count("small_n", 3, 4),
}


def draw_instruction(name: str, material: Material) -> Checker:
    """Return an instruction of a type with drawn arguments."""
    return instruction(name, _ARGUMENTS[name](material))


_WORDINGS: Mapping[str, str] = {
    "keywords:existence": 'contains the word "{keywords[0]}"',
    "keywords:forbidden_words": 'does not contain the word "{forbidden_words[0]}"',
    "keywords:frequency": 'contains the word "{keyword}" at least {frequency} times',
    "keywords:letter_frequency": 'contains the letter "{letter}" at least {let_frequency} times',
    "length_constraints:number_words": "has {relation} {num_words} words",
    "count:word_count_range": "has {min_words} to {max_words} words",
    ExactSentences.id: "has exactly {num_sentences} sentences",
    "length_constraints:number_sentences": "has at least {num_sentences} sentences",
    Lowercase.id: "contains no capital letters",
    Capitals.id: "is written in capital letters only",
    "change_case:capital_word_frequency": "contains at least {capital_frequency} words in all capital letters",
    FirstLetter.id: 'starts with the letter "{letter}"',
    "detectable_format:title": "contains a title in double angular brackets, such as <<title>>",
    "startend:end_checker": 'ends with the words "{end_phrase}"',
    "detectable_content:postscript": 'ends with a postscript that starts with "{postscript_marker}"',
    "punctuation:no_comma": "contains no comma",
    "detectable_format:number_bullet_lists": "contains exactly {num_bullets} bullet points, each on a line that starts "
    'with "* "',
    "detectable_content:number_placeholders": "contains at least {num_placeholders} placeholders in square brackets, "
    "such as [date]",
    "detectable_format:number_highlighted_sections": "highlights at least {num_highlights} of its words like *this*",
    Question.id: "contains a question",
    "count:numbers": "contains exactly {N} numbers, written in digits",
    "startend:quotation": "is enclosed in double quotation marks",
    "count:conjunctions": "contains at least {small_n} different ones of these words: and, but, for, nor, or, so, yet",
}


def worded(given: Checker) -> str:
    """Return what an instruction says of its section, without a subject and a period."""
    values = given.arguments()
    if values.get("relation") == "less than":
        values["relation"] = "fewer than"
    return _WORDINGS[given.id].format(**values)
