"""Draws arguments for the instructions of the pool, with a seeded generator.

Those of ManyIFEval's 15 are drawn as there. The others have ranges in which a response of a page can follow them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lm_eval_ext.families.manyifeval.arguments import ARGUMENTS, Draw, Draws, count_of
from lm_eval_ext.verifiers import Checker, instruction
from lm_eval_ext.verifiers.checker import RELATIONS

MARKERS = ("P.S.", "P.P.S")
SPLITTERS = ("Section", "Part", "Chapter")
SEPARATORS = ("=>", "->", "~")
ENDINGS = ("That is all there is to say", "The rest is up to the reader", "Here the answer ends")
FEWEST_SENTENCES = 8
"""The smallest number of sentences that is asked for: others want something in the fifth, or a line of their own."""


def _number(name: str, low: int, high: int) -> Draw:
    def draw(generator: Draws, _free: tuple[str, ...]) -> dict[str, Any]:
        return {name: generator.randint(low, high)}

    return draw


def _one(name: str, choices: tuple[str, ...]) -> Draw:
    def draw(generator: Draws, _free: tuple[str, ...]) -> dict[str, Any]:
        return {name: generator.choice(choices)}

    return draw


def _keyword(name: str, **numbers: tuple[int, int]) -> Draw:
    def draw(generator: Draws, free: tuple[str, ...]) -> dict[str, Any]:
        drawn = {number: generator.randint(*bounds) for number, bounds in numbers.items()}
        return {name: generator.sample(free, 1)[0], **drawn}

    return draw


def _nothing(_draw: Draws, _free: tuple[str, ...]) -> dict[str, Any]:
    return {}


def _sentences(generator: Draws, free: tuple[str, ...]) -> dict[str, Any]:
    drawn = ARGUMENTS["length_constraints:number_sentences"](generator, free)
    return {**drawn, "num_sentences": generator.randint(FEWEST_SENTENCES, 20)}


def _words(generator: Draws, free: tuple[str, ...]) -> dict[str, Any]:
    drawn = ARGUMENTS["length_constraints:number_words"](generator, free)
    low = 250 if drawn["relation"] == "less than" else 100
    return {**drawn, "num_words": generator.randint(low, 500)}


def _nth_paragraph(generator: Draws, free: tuple[str, ...]) -> dict[str, Any]:
    count = generator.randint(2, 5)
    # Not the first paragraph, which a title or a verb may begin.
    return {
        "num_paragraphs": count,
        "nth_paragraph": generator.randint(2, count),
        "first_word": generator.sample(free, 1)[0],
    }


def _sections(generator: Draws, _free: tuple[str, ...]) -> dict[str, Any]:
    return {"section_spliter": generator.choice(SPLITTERS), "num_sections": generator.randint(2, 5)}


def _range(generator: Draws, _free: tuple[str, ...]) -> dict[str, Any]:
    low = generator.randint(150, 350)
    return {"min_words": low, "max_words": low + generator.randint(50, 150)}


def _multiple(generator: Draws, free: tuple[str, ...]) -> dict[str, Any]:
    return {f"keyword{number}": word for number, word in enumerate(generator.sample(free, 5), start=1)}


WIDE_ARGUMENTS: Mapping[str, Draw] = {
    **ARGUMENTS,
    "length_constraints:number_sentences": _sentences,
    "length_constraints:number_words": _words,
    "length_constraints:nth_paragraph_first_word": _nth_paragraph,
    "detectable_content:postscript": _one("postscript_marker", MARKERS),
    "detectable_format:number_highlighted_sections": _number("num_highlights", 1, 5),
    "detectable_format:multiple_sections": _sections,
    "startend:end_checker": _one("end_phrase", ENDINGS),
    "count:conjunctions": _number("small_n", 3, 6),
    "count:keywords_multiple": _multiple,
    "count:numbers": _number("N", 3, 12),
    "count:person_names": _number("N", 3, 12),
    "count:pronouns": _number("N", 5, 20),
    "count:punctuation": _nothing,
    "count:unique_word_count": _number("N", 80, 150),
    "count:word_count_range": _range,
    "format:emoji": _nothing,
    "format:list": _one("sep", SEPARATORS),
    "format:output_template": _nothing,
    "format:parentheses": _nothing,
    "format:quote_unquote": _nothing,
    "format:quotes": _nothing,
    "format:sub-bullets": _nothing,
    "format:thesis": _nothing,
    "format:title_case": _nothing,
    "ratio:sentence_balance": _nothing,
    "ratio:sentence_type": _nothing,
    "ratio:stop_words": _number("percentage", 20, 45),
    "sentence:keyword": _keyword("word", N=(2, 5)),
    "words:keywords_specific_position": _keyword("keyword", n=(2, 5), m=(2, 6)),
    "words:palindrome": _nothing,
    "words:repeats": _number("small_n", 8, 12),
    "words:start_verb": _nothing,
    "words:words_position": _keyword("keyword"),
}
"""The instructions of the pool and how their arguments are drawn."""


def _fresh_words(generator: Draws, _free: tuple[str, ...]) -> dict[str, Any]:
    relation = generator.choice(RELATIONS)
    return {"relation": relation, "num_words": generator.randint(250 if relation == "less than" else 100, 500)}


FRESH_ARGUMENTS: Mapping[str, Draw] = {
    **WIDE_ARGUMENTS,
    "length_constraints:number_sentences": count_of("num_sentences", FEWEST_SENTENCES, 20, "relation"),
    "length_constraints:number_words": _fresh_words,
}
"""The same arguments, drawn once: the default rows depend on a number that ``_sentences`` and ``_words`` discard."""


def draw_wide(instruction_id: str, generator: Draws, free: tuple[str, ...]) -> Checker:
    """Return an instruction with drawn arguments.

    Args:
        instruction_id: one of the pool.
        generator: what to draw with.
        free: the keywords that may be used.
    """
    return instruction(instruction_id, WIDE_ARGUMENTS[instruction_id](generator, free))


def phrases_of(drawn: Checker) -> tuple[str, ...]:
    """Return the keywords that an instruction names, so that no other one names them again."""
    single = ("keyword", "word", "first_word", *(f"keyword{number}" for number in range(1, 6)))
    several = getattr(drawn, "keywords", ()) or getattr(drawn, "forbidden_words", ())
    return (*several, *filter(None, (getattr(drawn, name, "") for name in single)))
