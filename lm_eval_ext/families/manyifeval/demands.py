"""What a response needs, in numbers, to follow or break each of the 15 instructions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from lm_eval_ext.verifiers.checker import Checker, Relation
from lm_eval_ext.verifiers.ifeval import format as formats
from lm_eval_ext.verifiers.ifeval import keywords, language, length, startend

CASES = frozenset({"upper", "lower", "mixed"})


@dataclass
class CountBounds:
    """How often something may occur: at least ``low`` and, if ``high`` is given, at most ``high`` times."""

    low: int = 0
    high: int | None = None

    def narrow(self, low: int = 0, high: int | None = None) -> None:
        """Add further bounds."""
        self.low = max(self.low, low)
        if high is not None:
            self.high = high if self.high is None else min(self.high, high)

    def relate(self, relation: Relation, target: int, follow: bool) -> None:
        """Require that ``relation`` to ``target`` holds, or is broken."""
        if (relation == "at least") == follow:
            self.narrow(low=target)
        else:
            self.narrow(high=target - 1)

    @property
    def are_possible(self) -> bool:
        """Whether any number satisfies the bounds."""
        return self.high is None or self.low <= self.high


@dataclass
class Demands:
    """What a response must have.

    Attributes:
        words, sentences, capital_words, placeholders: bounds of counts.
        letters, phrases: bounds of counts, by letter and by phrase.
        paragraphs, bullets: exact counts.
        title, quoted, comma: whether it has a title, is quoted, has a comma.
        cases: the allowed cases: all upper case (``"upper"``), all lower case (``"lower"``), both (``"mixed"``).
    """

    words: CountBounds = field(default_factory=CountBounds)
    sentences: CountBounds = field(default_factory=CountBounds)
    capital_words: CountBounds = field(default_factory=CountBounds)
    placeholders: CountBounds = field(default_factory=CountBounds)
    letters: dict[str, CountBounds] = field(default_factory=dict)
    phrases: dict[str, CountBounds] = field(default_factory=dict)
    paragraphs: int = 1
    bullets: int = 0
    title: bool = False
    quoted: bool = False
    comma: bool = False
    cases: frozenset[str] = CASES

    @property
    def are_possible(self) -> bool:
        """Whether the demands do not contradict each other."""
        counts = [self.words, self.sentences, self.capital_words, self.placeholders]
        return (
            bool(self.cases)
            and self.paragraphs > 0
            and all(bounds.are_possible for bounds in (*counts, *self.letters.values(), *self.phrases.values()))
        )

    def phrase(self, phrase: str) -> CountBounds:
        """Return the bounds of a phrase, regardless of its case."""
        return self.phrases.setdefault(phrase.casefold(), CountBounds())


def demands_of(instructions: Sequence[Checker], broken: Collection[int] = ()) -> Demands | None:
    """Return what a response must have to follow all instructions except those at the indices ``broken``.

    Returns:
        The demands, or ``None`` if they are mutually exclusive or an instruction is not among the 15.
    """
    demands = Demands()
    for index, instruction in enumerate(instructions):
        if not _enter(demands, instruction, index not in broken):
            return None
    return demands if demands.are_possible else None


def _enter(demands: Demands, instruction: Checker, follow: bool) -> bool:  # noqa: PLR0912 # one case per instruction
    match instruction:
        case keywords.Existence(phrases):
            for phrase in phrases:
                demands.phrase(phrase).narrow(**({"low": 1} if follow else {"high": 0}))
        case keywords.Frequency(phrase, frequency, relation):
            demands.phrase(phrase).relate(relation, frequency, follow)
        case keywords.ForbiddenWords(phrases):
            for phrase in phrases:
                demands.phrase(phrase).narrow(**({"high": 0} if follow else {"low": 1}))
        case keywords.LetterFrequency(letter, frequency, relation):
            demands.letters.setdefault(letter, CountBounds()).relate(relation, frequency, follow)
        case length.NumberWords(count, relation):
            demands.words.relate(relation, count, follow)
        case length.NumberSentences(count, relation):
            demands.sentences.relate(relation, count, follow)
        case length.NumberParagraphs(count):
            demands.paragraphs = count if follow else count + 1
        case formats.NumberPlaceholders(count):
            demands.placeholders.relate("at least", count, follow)
        case formats.NumberBulletLists(count):
            demands.bullets = count if follow else count + 1
        case formats.Title():
            demands.title = follow
        case language.EnglishCapital():
            demands.cases &= {"upper"} if follow else CASES - {"upper"}
        case language.EnglishLowercase():
            demands.cases &= {"lower"} if follow else CASES - {"lower"}
        case language.CapitalWordFrequency(count, relation):
            demands.capital_words.relate(relation, count, follow)
        case startend.Quotation():
            demands.quoted = follow
        case keywords.NoComma():
            demands.comma = not follow
        case _:
            return False
    return True
