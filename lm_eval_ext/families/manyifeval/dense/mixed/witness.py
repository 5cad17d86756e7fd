"""Writes sections that follow given instructions, or break some of them, which proves that they go together.

They also are the answers of the ``reference`` LM. A section is put together from plain sentences so that all counts are
right. The checkers then judge it in both editions, and it is only returned if every verdict is as intended.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import cycle

from lm_eval_ext.families.instructions import is_as_intended
from lm_eval_ext.families.manyifeval import arguments
from lm_eval_ext.families.manyifeval.demands import CASES, CountBounds, Demands, demands_of
from lm_eval_ext.verifiers import Checker
from lm_eval_ext.verifiers.ifbench import count
from lm_eval_ext.verifiers.ifeval import format as formats
from lm_eval_ext.verifiers.ifeval import startend
from lm_eval_ext.verifiers.own import Capitals, ExactSentences, FirstLetter, Lowercase, Question
from lm_eval_ext.verifiers.text import Text

TRIES = 12
"""Number of starting points in the bank of sentences to try before giving up."""
CONJUNCTIONS = ("and", "but", "for", "nor", "or", "so", "yet")
SENTENCES = 2
"""The number of sentences if none is required."""
SHORTEST = 40
"""How many of the shortest sentences are used where the number of words has an upper limit."""


def respond(instructions: Sequence[Checker], broken: Collection[int] = ()) -> str | None:
    """Return a section that follows all instructions except those at the indices ``broken``, which it breaks.

    Args:
        instructions: instructions about one section, none of which conflict.
        broken: indices into ``instructions``.

    Returns:
        A text whose verdicts are exactly these in both editions, or ``None`` if none was found.

    Raises:
        ValueError: the instructions exclude each other, or one is of no type that sections have.
    """
    plan = _plan(instructions, broken)
    written = (_write(plan, attempt) for attempt in range(TRIES))
    return next((text for text in written if is_as_intended(text, instructions, broken)), None)


@dataclass
class _Plan:
    """What a section must have.

    Attributes:
        demands: what ManyIFEval's 15 types need.
        first, other_first: a letter that it must, or must not, begin with.
        end: the words that it must end with.
        postscript: the marker of a postscript.
        highlights, numbers, conjunctions: their exact number; ``None`` for any number of conjunctions.
        question: whether it has a question.
    """

    demands: Demands
    first: str = ""
    other_first: str = ""
    end: str = ""
    postscript: str = ""
    highlights: int = 0
    numbers: int = 0
    conjunctions: int | None = None
    question: bool = False


def _plan(instructions: Sequence[Checker], broken: Collection[int]) -> _Plan:
    of_fifteen = [index for index, one in enumerate(instructions) if one.id in arguments.ARGUMENTS]
    places = [place for place, index in enumerate(of_fifteen) if index in broken]
    demands = demands_of([instructions[index] for index in of_fifteen], places)
    plan = _Plan(demands or Demands(cases=frozenset()))
    for index, instruction in enumerate(instructions):
        if instruction.id not in arguments.ARGUMENTS:
            _enter(plan, instruction, index not in broken)
    if not plan.demands.are_possible:
        raise ValueError(f"these exclude each other: {instructions}, broken: {sorted(broken)}")
    return plan


def _enter(plan: _Plan, instruction: Checker, follow: bool) -> None:  # noqa: PLR0912 # one case per type
    match instruction:
        case FirstLetter(letter):
            plan.first, plan.other_first = (letter, "") if follow else ("", letter)
        case ExactSentences(number):
            number += not follow
            plan.demands.sentences.narrow(number, number)
        case Lowercase():
            plan.demands.cases &= {"lower"} if follow else CASES - {"lower"}
        case Capitals():
            plan.demands.cases &= {"upper"} if follow else CASES - {"upper"}
        case count.WordCountRange(low, high):
            plan.demands.words.narrow(*((low, high) if follow else (high + 1, None)))
        case count.Conjunctions(number):
            plan.conjunctions = number if follow else 0
        case _ if not follow:
            pass  # a text that does nothing for it breaks it
        case Question():
            plan.question = True
        case count.Numbers(number):
            plan.numbers = number
        case formats.NumberHighlightedSections(number):
            plan.highlights = number
        case startend.EndChecker(phrase):
            plan.end = phrase
        case formats.Postscript(marker):
            plan.postscript = marker
        case _:
            raise ValueError(f"unknown instruction {instruction}")


@dataclass
class _Stock:
    """What sections are made of, in an endless order: nothing has what the section must not contain.

    Attributes:
        sentences: the words of main clauses on general topics, in lower case.
        words: words.
        every_word: all of these words.
    """

    sentences: Iterator[Sequence[str]]
    words: Iterator[str]
    every_word: Sequence[str]


@cache
def _bank() -> tuple[str, ...]:
    return tuple((files(arguments.__package__) / "sentences.txt").read_text(encoding="utf-8").splitlines())


@cache
def _without_conjunctions() -> tuple[str, ...]:
    return tuple(sentence for sentence in _bank() if set(CONJUNCTIONS).isdisjoint(sentence.split()))


def _stock(plan: _Plan, attempt: int) -> _Stock:
    demands = plan.demands
    scarce = [letter for letter, bounds in demands.letters.items() if bounds.high is not None]
    parts = [*scarce, *demands.phrases]
    clauses = _without(_without_conjunctions() if plan.conjunctions == 0 else _bank(), parts)
    if demands.words.high is not None:
        clauses = sorted(clauses, key=lambda clause: len(clause.split()))[:SHORTEST]
    words = _without(arguments.keywords(), parts)
    start = attempt * len(clauses) // TRIES
    first = attempt * len(words) // TRIES
    return _Stock(
        cycle([clause.split() for clause in (*clauses[start:], *clauses[:start])]),
        cycle([*words[first:], *words[:first]]),
        words,
    )


def _without(texts: tuple[str, ...], parts: Sequence[str]) -> Sequence[str]:
    # Most words occur nowhere in the bank.
    found = [part for part in parts if part in _as_one(texts)]
    return [text for text in texts if not any(part in text for part in found)] if found else texts


@cache
def _as_one(texts: tuple[str, ...]) -> str:
    return "\n".join(texts)


@dataclass
class _Sentence:
    """Its words, and the mark at its end; what must be in the section is inserted before its last word."""

    words: list[str]
    mark: str = "."

    def insert(self, *words: str) -> None:
        self.words[-1:-1] = words

    def __str__(self) -> str:
        text = " ".join(self.words)
        return text[:1].upper() + text[1:] + self.mark


@dataclass
class _Draft:
    """The parts of a section, in their order; a bullet point is a line, and a sentence is not."""

    title: list[str] = field(default_factory=list)
    sentences: list[_Sentence] = field(default_factory=list)
    bullets: list[str] = field(default_factory=list)
    postscript: list[str] = field(default_factory=list)

    def text(self) -> str:
        *body, last = map(str, self.sentences)
        return "\n".join([*self.title, " ".join(body), *self.bullets, last, *self.postscript])


def _write(plan: _Plan, attempt: int) -> str:
    demands, stock = plan.demands, _stock(plan, attempt)
    number = max(demands.sentences.low, SENTENCES)
    draft = _Draft(sentences=[_Sentence(list(next(stock.sentences))) for _ in range(number)])
    if demands.title:
        draft.title.append(f"<<{next(stock.words)} {next(stock.words)}>>")
    draft.bullets = [f"* {next(stock.words)}" for _ in range(demands.bullets)]
    if plan.end:
        draft.sentences[-1] = _Sentence(plan.end.split(), "")
    if plan.postscript:
        draft.postscript.append(f"{plan.postscript} {' '.join(next(stock.sentences))}.")
    _begin(plan, stock, draft.sentences[0])
    # What ends the section stays as it is, and so does what begins it.
    inside = cycle(draft.sentences[: number - bool(plan.end)])
    for words in _insertions(plan, stock):
        next(inside).insert(*words)
    if plan.question:
        draft.sentences[0].mark = "?"
    _add_letters(demands, stock, draft)
    _lengthen(demands.words, stock, draft, may_add=demands.sentences.high is None)
    text = draft.text()
    if "mixed" not in demands.cases:
        text = text.upper() if "upper" in demands.cases else text.lower()
    return f'"{text}"' if demands.quoted else text


def _begin(plan: _Plan, stock: _Stock, first: _Sentence) -> None:
    begins = first.words[0][0]
    if plan.first and begins != plan.first:
        first.words.insert(0, next(word for word in stock.every_word if word.startswith(plan.first)))
    elif plan.other_first == begins:
        first.words.insert(0, next(word for word in stock.every_word if not word.startswith(plan.other_first)))


def _insertions(plan: _Plan, stock: _Stock) -> Iterator[Sequence[str]]:
    demands = plan.demands
    for phrase, bounds in demands.phrases.items():
        yield from [[phrase]] * bounds.low
    for _ in range(demands.placeholders.low):
        yield [f"[{next(stock.words)}]"]
    for _ in range(plan.highlights):
        yield [f"*{next(stock.words)}*"]
    if plan.numbers:
        yield [str(11 + place) for place in range(plan.numbers)]
    if plan.conjunctions:
        yield CONJUNCTIONS[: plan.conjunctions]
    if demands.capital_words.low:
        yield [next(stock.words).upper() for _ in range(demands.capital_words.low)]
    if demands.comma:
        yield [f"{next(stock.words)},"]


def _add_letters(demands: Demands, stock: _Stock, draft: _Draft) -> None:
    for letter, bounds in demands.letters.items():
        while (missing := bounds.low - draft.text().lower().count(letter)) > 0:
            richest = max(stock.every_word, key=lambda word: min(word.count(letter), missing))
            draft.sentences[0].insert(richest)


def _lengthen(words: CountBounds, stock: _Stock, draft: _Draft, *, may_add: bool) -> None:
    while Text(draft.text()).words < words.low:
        if may_add:
            draft.sentences.insert(1, _Sentence(list(next(stock.sentences))))
        else:
            draft.sentences[0].insert(*next(stock.sentences))
