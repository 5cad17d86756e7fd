"""The types of instructions that rows are composed of: one record for each, with all that composing needs to know.

The records are in ``kinds.yaml`` and, of types that can be about a section, in ``in_sections.yaml``. A new type is a
checker in ``verifiers``, a record there, and what a text needs to follow it in ``plan``; what else it takes stands in
CONTRIBUTING.md ("Add a type of instructions to manyifeval").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import product
from string import ascii_lowercase
from typing import Any, Literal

import yaml

from lm_eval_ext.families.instructions import lines_of, named_lines
from lm_eval_ext.verifiers import Checker
from lm_eval_ext.verifiers.checker import RELATIONS

Arguments = Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""For each argument its value, or what it is drawn from: a list of options; ``{"from": 2, "to": 5}``, whole numbers;
for each relation, which is drawn before, one of the two; ``None``, a word of a row's own, which one instruction names;
``{"words": 2}``, a list of such words; ``"the letter"``, of which a section needs many. Or several such mappings, one
of which is drawn first."""


@dataclass
class Draws:
    """What arguments are drawn with.

    Attributes:
        choice: draws one of some options.
        words: words to be named, each once.
        letter: a letter that no drawn text may have, because the number of its occurrences is asked for; empty if none.
    """

    choice: Callable[[Sequence[Any]], Any]
    words: Iterator[str]
    letter: str = ""

    def word(self) -> str:
        """Return the next word to be named.

        Raises:
            LookupError: none is left.
        """
        for word in self.words:
            if self._may_have(word):
                return word
        raise LookupError("no word is left that an instruction could name; expected a shorter task prompt")

    def arguments(self, drawn_from: Arguments) -> dict[str, Any]:
        """Return the arguments of one instruction."""
        arguments: dict[str, Any] = {}
        for name, options in (drawn_from if isinstance(drawn_from, Mapping) else self._pick(drawn_from)).items():
            arguments[name] = self._value(options, arguments.get("relation"))
        return arguments

    def _value(self, options: Any, relation: str | None) -> Any:
        match options:
            case None:
                return self.word()
            case {"words": count}:
                return [self.word() for _ in range(count)]
            case {"from": least, "to": most}:
                return self._pick(range(least, most + 1))
            case dict():
                return self._value(options[relation], None)
            case [*_]:
                return self._pick(options)
        return self.letter if options == "the letter" else options

    def _pick(self, options: Sequence[Any]) -> Any:
        return self.choice([option for option in options if not isinstance(option, str) or self._may_have(option)])

    def _may_have(self, text: str) -> bool:
        return not self.letter or self.letter not in text


@dataclass(frozen=True)
class Kind:
    """A type of instructions.

    Attributes:
        slot: what it is about: two types with one slot exclude each other.
        arguments: what its arguments are drawn from.
        excludes: the types of other slots that exclude it.
        wide: what the arguments are drawn from in the larger pool, if it differs.
    """

    slot: str
    arguments: Arguments = field(default_factory=dict)
    excludes: Sequence[str] = ()
    wide: Arguments | None = None


@dataclass(frozen=True, kw_only=True)
class InSection(Kind):
    """A type where it is about one of several sections of a text, not about the whole.

    Attributes:
        statement: what it says of the section, without a subject and a period.
    """

    statement: str


# Frequency of letters in English prose, per thousand letters, rounded.
_FREQUENCY = dict(
    zip(
        ascii_lowercase,
        (82, 15, 28, 43, 127, 22, 20, 61, 70, 2, 8, 40, 24, 67, 75, 19, 1, 60, 63, 91, 28, 10, 24, 2, 20, 1),
        strict=True,
    )
)
LETTERS_PER_WORD = 5
USUAL_WORDS = 100
"""Assumed number of words if no number is required."""


def prose_has(letter: str, relation: str, number: int, words: int = USUAL_WORDS) -> bool:
    """Tell whether prose about a task can contain a letter so many times.

    The expected count is that in English prose of ``words`` words. An upper limit must be at least half of it, and a
    lower limit at most three times the expected count plus three.
    """
    expected = _FREQUENCY[letter] * words * LETTERS_PER_WORD / 1000
    return 2 * number >= expected if relation == "less than" else number <= 3 * expected + 3


LETTERS = tuple(
    {"letter": letter, "let_frequency": number, "let_relation": relation}
    for relation, number, letter in product(RELATIONS, range(1, 11), ascii_lowercase)
    if prose_has(letter, relation, number)
)
"""What is sensible in a text of usual length, from few to many."""
ENDINGS = lines_of(__package__, "endings.txt")
SECTION_LETTERS = "cgkmvw"
"""Of the letter that a section needs; none is in a conjunction, a relation or in P.S."""
_ELSEWHERE: Mapping[str, Arguments] = {
    "keywords:letter_frequency": LETTERS,
    "count:word_count_range": [
        {"min_words": low, "max_words": {"from": low + 50, "to": low + 150}} for low in range(150, 351)
    ],
    "startend:end_checker": {"end_phrase": ENDINGS},
}
"""What arguments are drawn from where the tables do not say it."""


def _records(file: str) -> Mapping[str, Mapping[str, Any]]:
    """Return a table of types: the record of each, by id."""
    text = (files(__package__) / file).read_text(encoding="utf-8")
    # Not every PyYAML has the loader in C, which takes a twentieth of the time.
    table = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 # both are safe
    return {name: {"arguments": _ELSEWHERE.get(name, {}), **record} for name, record in table.items()}


KINDS: Mapping[str, Kind] = {name: Kind(**record) for name, record in _records("kinds.yaml").items()}
"""Every type of the larger pool, by id."""
IN_SECTIONS: Mapping[str, InSection] = {
    name: InSection(**record) for name, record in _records("in_sections.yaml").items()
}
"""Every type that can be about a section, by id, as it is there."""


@dataclass(frozen=True, eq=False)
class Pool:
    """Types of instructions that a response to any task prompt can follow.

    Attributes:
        name: of its default rows (``manyifeval.frozen.Part``).
        weights: how often each type is drawn, relative to the others, where none conflicts; whole numbers.
        arguments: what the arguments of each type are drawn from.
    """

    name: Literal["fifteen", "wide"]
    weights: Mapping[str, int]
    arguments: Mapping[str, Arguments]


LARGER_POOL = Pool(
    "wide",
    dict.fromkeys(KINDS, 1),
    {name: kind.wide or kind.arguments for name, kind in KINDS.items()},
)
"""The larger pool."""
OTHER_WORDINGS = named_lines(__package__, "phrasings.txt")
"""Of each of ManyIFEval's 15, other wordings than the published one, which mean the same."""
_SLOTS = Counter(KINDS[name].slot for name in OTHER_WORDINGS)
# Each slot as often as any other, and each type of a slot as often as the others of that slot.
FIFTEEN = Pool(
    "fifteen",
    {name: max(_SLOTS.values()) // _SLOTS[KINDS[name].slot] for name in OTHER_WORDINGS},
    {name: KINDS[name].arguments for name in OTHER_WORDINGS},
)
"""ManyIFEval's 15 (Table 4). Two in one slot conflict (section 3.1: one variant each of length and case)."""
SECTIONS = tuple(
    tuple(name for name, kind in IN_SECTIONS.items() if kind.slot == slot)
    for slot in dict.fromkeys(kind.slot for kind in IN_SECTIONS.values())
)
"""The types of instructions about sections, by slot; the order decides which are drawn."""
PHRASINGS = 5
"""The number of wordings of each of the 15: the published one, and the others."""


def conflicting(first: str, second: str, types: Mapping[str, Kind] = KINDS) -> bool:
    """Tell whether two ids may not occur in one response, or be about one section; an id conflicts with itself.

    Args:
        first: an id.
        second: the other id.
        types: ``KINDS`` for a response, ``IN_SECTIONS`` for a section.
    """
    first_type, second_type = types[first], types[second]
    return first_type.slot == second_type.slot or second in first_type.excludes or first in second_type.excludes


def stated(instruction: Checker) -> str:
    """Return what an instruction says of its section, without a subject and a period."""
    values = instruction.arguments()
    if values.get("relation") == "less than":
        values["relation"] = "fewer than"
    return IN_SECTIONS[instruction.id].statement.format(**values)


def phrased(instruction: Checker, phrasing: int) -> str:
    """Return one of ManyIFEval's 15 instructions in one of its wordings.

    Args:
        instruction: the instruction.
        phrasing: 0 for the published wording, up to ``PHRASINGS`` - 1.
    """
    if phrasing == 0:
        return instruction.describe()
    return OTHER_WORDINGS[instruction.id][phrasing - 1].format(**instruction.arguments())
