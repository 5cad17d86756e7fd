"""The types of instructions that rows are composed of: one record for each, with all that composing needs to know.

A new type is a checker in ``verifiers``, a record here, and what a text needs to follow it in ``plan``; what else it
takes stands in CONTRIBUTING.md ("Add a type of instructions to manyifeval").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from string import ascii_lowercase
from typing import Any, Literal

from lm_eval_ext.families.instructions import lines_of, named_lines
from lm_eval_ext.verifiers import Checker
from lm_eval_ext.verifiers.checker import RELATIONS


@dataclass(frozen=True)
class Words:
    """Stands for words of a row's own, each of which one instruction names.

    Attributes:
        count: the number of words, in a list; 0 for one word that is not in a list.
    """

    count: int = 0


WORD = Words()
LETTER = object()
"""Stands for the letter of which a section may need many."""

Arguments = Mapping[str, Any] | tuple[Mapping[str, Any], ...]
"""For each argument its value, or what it is drawn from: a range or a tuple of options, ranges by the relation that is
drawn before, ``Words`` or ``LETTER``. Or several such mappings, one of which is drawn first."""


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
        for name, options in (self._pick(drawn_from) if isinstance(drawn_from, tuple) else drawn_from).items():
            if isinstance(options, Mapping):
                arguments[name] = self._pick(options[arguments["relation"]])
            elif isinstance(options, Words):
                arguments[name] = [self.word() for _ in range(options.count)] if options.count else self.word()
            elif isinstance(options, range | tuple):
                arguments[name] = self._pick(options)
            else:
                arguments[name] = self.letter if options is LETTER else options
        return arguments

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
    excludes: tuple[str, ...] = ()
    wide: Arguments | None = None


@dataclass(frozen=True)
class InSection:
    """A type where it is about one of several sections of a text.

    Attributes:
        slot: see ``Kind``; also an instruction may be about something else in a section.
        statement: what it says of the section, without a subject and a period.
        arguments: what its arguments are drawn from.
        excludes: see ``Kind``.
    """

    slot: str
    statement: str
    arguments: Arguments = field(default_factory=dict)
    excludes: tuple[str, ...] = ()


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
SENTENCES = ("section:exact_sentences", "length_constraints:number_sentences")
"""Whether a title, a bullet point or a postscript is a sentence is a matter of taste."""

KINDS: Mapping[str, Kind] = {
    "keywords:existence": Kind("existence", {"keywords": Words(2)}),
    "keywords:frequency": Kind("frequency", {"keyword": WORD, "relation": RELATIONS, "frequency": range(1, 4)}),
    "keywords:forbidden_words": Kind("forbidden", {"forbidden_words": Words(2)}),
    "keywords:letter_frequency": Kind("letter", LETTERS),
    "length_constraints:number_paragraphs": Kind("length", {"num_paragraphs": range(2, 6)}),
    "length_constraints:number_words": Kind(
        "length",
        {"relation": RELATIONS, "num_words": range(100, 501)},
        wide={"relation": RELATIONS, "num_words": {"at least": range(100, 501), "less than": range(250, 501)}},
    ),
    "length_constraints:number_sentences": Kind(
        "length",
        {"relation": RELATIONS, "num_sentences": {"at least": range(2, 21), "less than": range(4, 21)}},
        excludes=("ratio:sentence_type", "ratio:sentence_balance"),
        wide={"relation": RELATIONS, "num_sentences": range(8, 21)},
    ),
    "length_constraints:nth_paragraph_first_word": Kind(
        "length",
        tuple(
            {"num_paragraphs": count, "nth_paragraph": nth, "first_word": WORD}
            for count in range(2, 6)
            for nth in range(2, count + 1)
        ),
    ),
    "count:word_count_range": Kind(
        "length", tuple({"min_words": low, "max_words": range(low + 50, low + 151)} for low in range(150, 351))
    ),
    "count:unique_word_count": Kind("length", {"N": range(80, 151)}),
    "detectable_content:number_placeholders": Kind("placeholders", {"num_placeholders": range(1, 5)}),
    "detectable_format:number_bullet_lists": Kind("list", {"num_bullets": range(1, 6)}),
    "format:list": Kind("list", {"sep": ("=>", "->", "~")}),
    # Dividers of paragraphs, and highlights, have asterisks without a hyphen after them.
    "format:sub-bullets": Kind(
        "list", excludes=("length_constraints:number_paragraphs", "detectable_format:number_highlighted_sections")
    ),
    "detectable_format:number_highlighted_sections": Kind("highlights", {"num_highlights": range(1, 6)}),
    # Sections have numbers and are written as they are.
    "detectable_format:multiple_sections": Kind(
        "parts",
        {"section_spliter": ("Section", "Part", "Chapter"), "num_sections": range(2, 6)},
        excludes=("count:numbers", "format:thesis", "change_case:english_capital", "change_case:english_lowercase"),
    ),
    # Nothing comes before the first label, and labels are written as they are.
    "format:output_template": Kind(
        "parts",
        excludes=(
            "detectable_format:title",
            "format:thesis",
            "words:start_verb",
            "words:words_position",
            "change_case:english_capital",
            "change_case:english_lowercase",
        ),
    ),
    "detectable_format:title": Kind("beginning"),
    "format:thesis": Kind("beginning", excludes=("change_case:english_capital", "format:title_case")),
    "words:start_verb": Kind("beginning"),
    "change_case:english_capital": Kind("case"),
    "change_case:english_lowercase": Kind("case"),
    "change_case:capital_word_frequency": Kind(
        "case", {"capital_relation": RELATIONS, "capital_frequency": range(1, 21)}
    ),
    "format:title_case": Kind("case"),
    # A quotation mark comes first, and ends the last sentence, which IFBench's code then does not count.
    "startend:quotation": Kind(
        "quotes", excludes=("words:start_verb", "format:thesis", "ratio:sentence_type", "ratio:sentence_balance")
    ),
    "format:quotes": Kind("quotes"),
    "format:quote_unquote": Kind("quotes"),
    "startend:end_checker": Kind(
        "ending",
        {"end_phrase": ("That is all there is to say", "The rest is up to the reader", "Here the answer ends")},
    ),
    # A response begins in one way.
    "words:words_position": Kind(
        "ending", {"keyword": WORD}, excludes=("detectable_format:title", "format:thesis", "startend:quotation")
    ),
    "detectable_content:postscript": Kind("postscript", {"postscript_marker": ("P.S.", "P.P.S")}),
    "punctuation:no_comma": Kind("comma"),
    "count:punctuation": Kind("ends of sentences", excludes=("punctuation:no_comma",)),
    "ratio:sentence_type": Kind("ends of sentences"),
    "ratio:sentence_balance": Kind("ends of sentences"),
    # The last thing of each sentence is an emoji; "P.S." ends one.
    "format:emoji": Kind(
        "ends of sentences", excludes=("detectable_content:postscript", "startend:end_checker", "words:words_position")
    ),
    "count:conjunctions": Kind("conjunctions", {"small_n": range(3, 7)}),
    "count:numbers": Kind("numbers", {"N": range(3, 13)}),
    # Names are written as in the list.
    "count:person_names": Kind(
        "names", {"N": range(3, 13)}, excludes=("change_case:english_capital", "change_case:english_lowercase")
    ),
    "count:pronouns": Kind("pronouns", {"N": range(5, 21)}),
    "count:keywords_multiple": Kind("counted keywords", {f"keyword{number}": WORD for number in range(1, 6)}),
    "format:parentheses": Kind("parentheses"),
    "ratio:stop_words": Kind("stop words", {"percentage": range(20, 46)}),
    "sentence:keyword": Kind("keyword", {"word": WORD, "N": range(2, 6)}),
    "words:keywords_specific_position": Kind("position", {"keyword": WORD, "n": range(2, 6), "m": range(2, 7)}),
    "words:palindrome": Kind("palindromes"),
    "words:repeats": Kind("repeats", {"small_n": range(8, 13)}),
}
"""Every type of the larger pool, by id. Some values in IFEval's ranges would make a row absurd and are not drawn: "1
paragraphs", fewer sentences than the bullet points already make, or a letter that prose of the required length cannot
avoid (or cannot contain so often). Of the larger pool, a response of a page can follow every instruction."""

IN_SECTIONS: Mapping[str, InSection] = {
    "keywords:existence": InSection("existence", 'contains the word "{keywords[0]}"', {"keywords": Words(1)}),
    "keywords:forbidden_words": InSection(
        "forbidden", 'does not contain the word "{forbidden_words[0]}"', {"forbidden_words": Words(1)}
    ),
    "keywords:frequency": InSection(
        "frequency",
        'contains the word "{keyword}" at least {frequency} times',
        {"keyword": WORD, "frequency": (2, 3), "relation": "at least"},
    ),
    "keywords:letter_frequency": InSection(
        "letter",
        'contains the letter "{letter}" at least {let_frequency} times',
        {"letter": LETTER, "let_frequency": (3, 4, 5), "let_relation": "at least"},
    ),
    "length_constraints:number_words": InSection(
        "words",
        "has {relation} {num_words} words",
        {"relation": RELATIONS, "num_words": {"at least": range(35, 56, 5), "less than": range(40, 61, 5)}},
    ),
    "count:word_count_range": InSection(
        "words",
        "has {min_words} to {max_words} words",
        tuple({"min_words": low, "max_words": low + 20} for low in range(20, 36, 5)),
    ),
    "section:exact_sentences": InSection(
        "sentences", "has exactly {num_sentences} sentences", {"num_sentences": (2, 3, 4)}
    ),
    "length_constraints:number_sentences": InSection(
        "sentences", "has at least {num_sentences} sentences", {"num_sentences": (3, 4, 5), "relation": "at least"}
    ),
    "section:lowercase": InSection("case", "contains no capital letters"),
    "section:capitals": InSection("case", "is written in capital letters only"),
    "change_case:capital_word_frequency": InSection(
        "case",
        "contains at least {capital_frequency} words in all capital letters",
        {"capital_frequency": (2, 3), "capital_relation": "at least"},
    ),
    "section:first_letter": InSection(
        "beginning", 'starts with the letter "{letter}"', {"letter": tuple("abcdefhlmoprst")}
    ),
    "detectable_format:title": InSection(
        "beginning", "contains a title in double angular brackets, such as <<title>>", excludes=SENTENCES
    ),
    "startend:end_checker": InSection("ending", 'ends with the words "{end_phrase}"', {"end_phrase": ENDINGS}),
    "detectable_content:postscript": InSection(
        "ending",
        'ends with a postscript that starts with "{postscript_marker}"',
        {"postscript_marker": "P.S."},
        excludes=(*SENTENCES, "section:lowercase"),
    ),
    "punctuation:no_comma": InSection("comma", "contains no comma"),
    "detectable_format:number_bullet_lists": InSection(
        "list",
        'contains exactly {num_bullets} bullet points, each on a line that starts with "* "',
        {"num_bullets": (2, 3, 4)},
        excludes=SENTENCES,
    ),
    "detectable_content:number_placeholders": InSection(
        "placeholders",
        "contains at least {num_placeholders} placeholders in square brackets, such as [date]",
        {"num_placeholders": (2, 3)},
    ),
    "detectable_format:number_highlighted_sections": InSection(
        "highlights", "highlights at least {num_highlights} of its words like *this*", {"num_highlights": (2, 3)}
    ),
    "section:question": InSection("question", "contains a question"),
    "count:numbers": InSection("numbers", "contains exactly {N} numbers, written in digits", {"N": (2, 3, 4)}),
    "startend:quotation": InSection("quotes", "is enclosed in double quotation marks"),
    "count:conjunctions": InSection(
        "conjunctions",
        "contains at least {small_n} different ones of these words: and, but, for, nor, or, so, yet",
        {"small_n": (3, 4)},
    ),
}
"""Every type that can be about a section, by id, as it is there; slot by slot, in the order of ``SECTIONS``."""


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
    {name: kind.arguments if kind.wide is None else kind.wide for name, kind in KINDS.items()},
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


def conflicting(first: str, second: str, types: Mapping[str, Kind] | Mapping[str, InSection] = KINDS) -> bool:
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
