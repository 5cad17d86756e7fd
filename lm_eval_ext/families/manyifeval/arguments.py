"""Draws arguments for the 15 instructions of ManyIFEval from IFEval's ranges, with a seeded generator.

Some values in those ranges would make a row absurd and are not drawn: "1 paragraphs", fewer sentences than the bullet
points already make, or a letter that prose of the required length cannot avoid (or cannot contain so often).
"""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Protocol, TypeVar

from lm_eval_ext.verifiers import Checker, instruction
from lm_eval_ext.verifiers.checker import RELATIONS
from lm_eval_ext.verifiers.ifeval.keywords import LetterFrequency
from lm_eval_ext.verifiers.ifeval.length import NumberWords

KEYWORDS_PER_INSTRUCTION = 2

Option = TypeVar("Option")


class Draws(Protocol):
    """What arguments are drawn with: ``random.Random``, or levels that are spread evenly over rows (``fresh.levels``).

    Words are drawn with ``sample`` only, all else with the others.
    """

    def choice(self, seq: Sequence[Option], /) -> Option:
        """Return one of some options."""
        ...

    def randint(self, a: int, b: int, /) -> int:
        """Return a number from ``a`` to ``b``."""
        ...

    def sample(self, population: Sequence[str], /, k: int) -> list[str]:
        """Return ``k`` different words."""
        ...


Draw = Callable[[Draws, tuple[str, ...]], dict[str, Any]]
"""Draws the arguments of one instruction, given what to draw with and the keywords that it may use."""


@cache
def keywords() -> tuple[str, ...]:
    """Return the words from which keywords are drawn; no word is part of another."""
    return tuple((files(__package__) / "keywords.txt").read_text(encoding="utf-8").split())


def _nothing(_draw: Draws, _free: tuple[str, ...]) -> dict[str, Any]:
    return {}


def count_of(name: str, low: int, high: int, relation: str | None = None, fewest: int = 0) -> Draw:
    """Return what draws a number, and a relation to it if that has a name; ``fewest``: the least after "less than"."""

    def draw(generator: Draws, _free: tuple[str, ...]) -> dict[str, Any]:
        related = {relation: generator.choice(RELATIONS)} if relation else {}
        start = max(low, fewest) if "less than" in related.values() else low
        return {name: generator.randint(start, high), **related}

    return draw


def _several(name: str) -> Draw:
    def draw(generator: Draws, free: tuple[str, ...]) -> dict[str, Any]:
        return {name: generator.sample(free, KEYWORDS_PER_INSTRUCTION)}

    return draw


def _frequency(generator: Draws, free: tuple[str, ...]) -> dict[str, Any]:
    return {"keyword": generator.sample(free, 1)[0], **count_of("frequency", 1, 3, "relation")(generator, free)}


def _letter(generator: Draws, free: tuple[str, ...]) -> dict[str, Any]:
    letter = generator.choice(string.ascii_lowercase)
    return {"letter": letter, **count_of("let_frequency", 1, 10, "let_relation")(generator, free)}


ARGUMENTS: Mapping[str, Draw] = {
    "keywords:existence": _several("keywords"),
    "keywords:frequency": _frequency,
    "keywords:forbidden_words": _several("forbidden_words"),
    "keywords:letter_frequency": _letter,
    "length_constraints:number_paragraphs": count_of("num_paragraphs", 2, 5),
    "length_constraints:number_words": count_of("num_words", 100, 500, "relation"),
    "length_constraints:number_sentences": count_of("num_sentences", 1, 20, "relation", fewest=4),
    "detectable_content:number_placeholders": count_of("num_placeholders", 1, 4),
    "detectable_format:number_bullet_lists": count_of("num_bullets", 1, 5),
    "detectable_format:title": _nothing,
    "change_case:english_capital": _nothing,
    "change_case:english_lowercase": _nothing,
    "change_case:capital_word_frequency": count_of("capital_frequency", 1, 20, "capital_relation"),
    "startend:quotation": _nothing,
    "punctuation:no_comma": _nothing,
}
"""The 15 instructions (Table 4) and how their arguments are drawn."""


def draw_instruction(instruction_id: str, generator: Draws, free: tuple[str, ...]) -> Checker:
    """Return an instruction with drawn arguments.

    Args:
        instruction_id: one of the 15.
        generator: what to draw with.
        free: the keywords that may be used.
    """
    return instruction(instruction_id, ARGUMENTS[instruction_id](generator, free))


# Frequency of letters in English prose, per thousand letters, rounded.
_LETTERS = dict(
    zip(
        string.ascii_lowercase,
        (82, 15, 28, 43, 127, 22, 20, 61, 70, 2, 8, 40, 24, 67, 75, 19, 1, 60, 63, 91, 28, 10, 24, 2, 20, 1),
        strict=True,
    )
)
LETTERS_PER_WORD = 5
USUAL_WORDS = 100
"""Assumed number of words if no number is required."""


def is_sensible(instructions: Sequence[Checker]) -> bool:
    """Tell whether prose about the task can contain its drawn letter the required number of times.

    The expected count is that in English prose of the required length, or of ``USUAL_WORDS``. An upper limit must be at
    least half of the expected count, and a lower limit at most three times the expected count plus three.
    """
    words = max((number.num_words for number in instructions if isinstance(number, NumberWords)), default=USUAL_WORDS)
    for letter in instructions:
        if isinstance(letter, LetterFrequency) and letter.letter in _LETTERS:
            expected = _LETTERS[letter.letter] * words * LETTERS_PER_WORD / 1000
            if letter.let_relation == "less than" and 2 * letter.let_frequency < expected:
                return False
            if letter.let_relation == "at least" and letter.let_frequency > 3 * expected + 3:
                return False
    return True
