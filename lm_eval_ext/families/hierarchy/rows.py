"""The rows of every arm: task prompts with two instructions that exclude each other, each of which counts once.

The task prompts are those of manyifeval, from the same sources. All arms have the same rows: a task prompt, a pair of
instructions, and which of the two counts. The other one is its rival.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from lm_eval_ext.families.instructions.compose import Level, Task, keywords, without
from lm_eval_ext.families.instructions.kinds import ENDINGS, WORD, Arguments, Draws
from lm_eval_ext.families.instructions.writer import respond
from lm_eval_ext.families.manyifeval.rows import task_prompts
from lm_eval_ext.metadata import digest, generator_name
from lm_eval_ext.verifiers import Checker, instruction

SEED = 20261123
"""The seed of every draw here; changing it changes scores."""
PROMPTS = 50
"""The maximum number of task prompts with a pair; each is a row twice."""

Side = Literal["own", "rival"]
"""The instruction that counts, or the other one."""


@dataclass(frozen=True)
class Rivals:
    """Two instructions that no response can both follow, by the rules of their checkers.

    The arguments of both are drawn alike: those that have the same options are the same, and so are words of the row's
    own. In French and in German, say, is the one exception: IFEval's code takes a response in which no language can be
    detected, such as "42", for either.

    Attributes:
        name: what identifies the pair.
        group: what the two are about.
        first, second: the id of each, and what its arguments are drawn from.
    """

    name: str
    group: str
    first: tuple[str, Arguments]
    second: tuple[str, Arguments]

    def drawn(self, level: float, words: Sequence[str]) -> tuple[Checker, Checker]:
        """Return both instructions with their arguments.

        Args:
            level: see ``compose.Level``.
            words: words to be named.
        """
        first, second = (
            instruction(each, Draws(Level(level).choice, iter(words)).arguments(drawn_from))
            for each, drawn_from in (self.first, self.second)
        )
        return first, second


_WORDS = ("garden", "window", "market", "winter", "river")
_OTHER_WORDS = ("bridge", "summer", "kitchen", "paper", "silver")
_RARE_LETTERS = ("b", "f", "k", "v")
"""Few enough of them are in a short answer, and enough in a long one, without a word being chosen for its letters."""
_AT_LEAST, _LESS = {"relation": "at least"}, {"relation": "less than"}
_LOWERCASE = ("change_case:english_lowercase", dict[str, object]())


def _capital_words(relation: str, number: range) -> tuple[str, Arguments]:
    return "change_case:capital_word_frequency", {"capital_frequency": number, "capital_relation": relation}


def _language(code: str) -> tuple[str, Arguments]:
    return "language:response_language", {"language": code}


def _ranges(lows: range, width: int) -> tuple[str, Arguments]:
    return "count:word_count_range", tuple({"min_words": low, "max_words": low + width} for low in lows)


def _paragraph(words: tuple[str, ...], *counts: int) -> tuple[str, Arguments]:
    return "length_constraints:nth_paragraph_first_word", {
        "num_paragraphs": counts,
        "nth_paragraph": 2,
        "first_word": words,
    }


RIVALS: tuple[Rivals, ...] = (
    Rivals("capitals_lowercase", "case", ("change_case:english_capital", {}), _LOWERCASE),
    Rivals("only_capitals_no_capitals", "case", ("section:capitals", {}), ("section:lowercase", {})),
    Rivals(
        "many_few_capital_words",
        "case",
        _capital_words("at least", range(8, 13)),
        _capital_words("less than", range(2, 4)),
    ),
    Rivals("capital_words_lowercase", "case", _capital_words("at least", range(5, 10)), _LOWERCASE),
    Rivals(
        "many_few_words",
        "words",
        ("length_constraints:number_words", {"num_words": range(200, 301, 10), **_AT_LEAST}),
        ("length_constraints:number_words", {"num_words": range(40, 81, 10), **_LESS}),
    ),
    Rivals(
        "many_unique_few_words",
        "words",
        ("count:unique_word_count", {"N": range(70, 91, 5)}),
        ("length_constraints:number_words", {"num_words": range(40, 61, 5), **_LESS}),
    ),
    Rivals("short_long_range", "words", _ranges(range(20, 41, 10), 40), _ranges(range(150, 201, 10), 60)),
    Rivals(
        "many_few_sentences",
        "sentences",
        ("length_constraints:number_sentences", {"num_sentences": range(9, 15), **_AT_LEAST}),
        ("length_constraints:number_sentences", {"num_sentences": range(3, 6), **_LESS}),
    ),
    Rivals(
        "exactly_few_many_sentences",
        "sentences",
        ("section:exact_sentences", {"num_sentences": range(2, 5)}),
        ("length_constraints:number_sentences", {"num_sentences": range(8, 13), **_AT_LEAST}),
    ),
    Rivals(
        "few_many_paragraphs",
        "paragraphs",
        ("length_constraints:number_paragraphs", {"num_paragraphs": range(2, 4)}),
        ("length_constraints:number_paragraphs", {"num_paragraphs": range(4, 7)}),
    ),
    Rivals("second_paragraph_begins", "paragraphs", _paragraph(_WORDS, 3, 4), _paragraph(_OTHER_WORDS, 3, 4)),
    Rivals("blank_lines_few_many", "paragraphs", _paragraph(_WORDS, 2), _paragraph(_WORDS, 4)),
    Rivals(
        "few_many_bullets",
        "lists",
        ("detectable_format:number_bullet_lists", {"num_bullets": range(2, 5)}),
        ("detectable_format:number_bullet_lists", {"num_bullets": range(5, 9)}),
    ),
    Rivals(
        "keyword_demanded_forbidden",
        "keywords",
        ("keywords:frequency", {"keyword": WORD, "frequency": 2, **_AT_LEAST}),
        ("keywords:frequency", {"keyword": WORD, "frequency": 1, **_LESS}),
    ),
    Rivals(
        "keyword_often_seldom",
        "keywords",
        ("keywords:frequency", {"keyword": WORD, "frequency": range(4, 7), **_AT_LEAST}),
        ("keywords:frequency", {"keyword": WORD, "frequency": range(2, 4), **_LESS}),
    ),
    Rivals(
        "second_and_last_but_one_word",
        "positions",
        ("words:words_position", {"keyword": _WORDS}),
        ("words:words_position", {"keyword": _OTHER_WORDS}),
    ),
    Rivals(
        "word_in_sentence",
        "positions",
        ("words:keywords_specific_position", {"n": (1, 2), "m": (3, 4, 5), "keyword": _WORDS}),
        ("words:keywords_specific_position", {"n": (1, 2), "m": (3, 4, 5), "keyword": _OTHER_WORDS}),
    ),
    Rivals(
        "letter_often_seldom",
        "letters",
        (
            "keywords:letter_frequency",
            {"letter": _RARE_LETTERS, "let_frequency": range(12, 19), "let_relation": "at least"},
        ),
        (
            "keywords:letter_frequency",
            {"letter": _RARE_LETTERS, "let_frequency": range(3, 7), "let_relation": "less than"},
        ),
    ),
    Rivals(
        "first_letter",
        "letters",
        ("section:first_letter", {"letter": tuple("abcdefghl")}),
        ("section:first_letter", {"letter": tuple("mnoprstvw")}),
    ),
    Rivals("no_comma_all_marks", "punctuation", ("punctuation:no_comma", {}), ("count:punctuation", {})),
    Rivals(
        "last_words",
        "endings",
        ("startend:end_checker", {"end_phrase": ENDINGS[: len(ENDINGS) // 2]}),
        ("startend:end_checker", {"end_phrase": ENDINGS[len(ENDINGS) // 2 :]}),
    ),
    Rivals(
        "few_many_numbers", "numbers", ("count:numbers", {"N": range(2, 5)}), ("count:numbers", {"N": range(6, 10)})
    ),
    Rivals("french_german", "languages", _language("fr"), _language("de")),
    Rivals("spanish_italian", "languages", _language("es"), _language("it")),
    Rivals("english_portuguese", "languages", _language("en"), _language("pt")),
)


@dataclass(frozen=True)
class Row:
    """A task prompt with two instructions that exclude each other.

    Attributes:
        prompt_key: what identifies the task prompt in its source.
        side: 1 if the pair's first instruction counts, 2 if its second does.
        task_prompt: the bare task.
        pair: the two instructions, in whichever order.
        own: the instruction that counts.
        rival: the other one.
        others: the source's other task prompts; those of a conversation's earlier turns are its last ones.
    """

    prompt_key: int | str
    side: int
    task_prompt: str
    pair: Rivals
    own: Checker
    rival: Checker
    others: tuple[str, ...]

    @property
    def key(self) -> str:
        """What identifies the row in every arm."""
        return f"{self.prompt_key}/{self.pair.name}/{self.side}"

    def answer(self, follows: Side | None, reply: int | None = None) -> str | None:
        """Return a text that follows one of the two instructions and breaks the other, or one that breaks both.

        Args:
            follows: which one; ``None`` for neither.
            reply: the number of an assistant's reply; see ``writer.respond``.

        Returns:
            The text, whose strict verdicts are these in both editions, or ``None`` if none was found.
        """
        if follows is None:
            return _written((self.own, self.rival), True, reply)
        # What follows the one breaks the other.
        return _written((self.own if follows == "own" else self.rival,), False, reply)


@cache
def _written(instructions: tuple[Checker, ...], broken: bool, reply: int | None) -> str | None:
    return respond(instructions, range(len(instructions)) if broken else (), reply)


@cache
def rows(source: str, row_seed: int | None) -> tuple[Row, ...]:
    """Return the rows; the two of a task prompt, in which one or the other instruction counts, follow each other.

    Of every pair there are equally many task prompts, give or take one.

    Args:
        source: see ``manyifeval.rows``.
        row_seed: see ``metadata.chosen_row_seed``; ``None`` for the default rows.

    Raises:
        RowsError: the task prompts are not available or not valid.
    """
    return tuple(_rows(task_prompts(source, row_seed), row_seed))


def _rows(tasks: Sequence[Task], row_seed: int | None) -> Iterator[Row]:
    generator = random.Random(generator_name(SEED, row_seed, len(tasks)))  # noqa: S311 # reproducible by design
    places = sorted(generator.sample(range(len(tasks)), min(PROMPTS, len(tasks))))
    dealt = [pair for _ in range(0, len(places), len(RIVALS)) for pair in generator.sample(RIVALS, len(RIVALS))]
    for place, pair in zip(places, dealt, strict=False):
        task = tasks[place]
        free = without(keywords(), task.task_prompt.casefold())
        both = pair.drawn(generator.random(), generator.sample(free, len(free)))
        others = tuple(other.task_prompt for other in (*tasks[place + 1 :], *tasks[:place]))
        for side, (own, rival) in enumerate((both, both[::-1]), start=1):
            yield Row(task.key, side, task.task_prompt, pair, own, rival, others)


def by_key(source: str, row_seed: int | None) -> Mapping[str, Row]:
    """Return the rows by their keys."""
    return _by_key(source, row_seed)


@cache
def _by_key(source: str, row_seed: int | None) -> Mapping[str, Row]:
    return {row.key: row for row in rows(source, row_seed)}


def rows_hash(found: Sequence[Row], asked: Sequence[str]) -> str:
    """Return 16 hexadecimal digits that are equal if the requests and the instructions are equal."""
    shown = [(row.key, text, repr(row.own), repr(row.rival)) for row, text in zip(found, asked, strict=True)]
    return digest(json.dumps(shown, ensure_ascii=False))
