"""What a response needs to follow or break each instruction of the pool."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from lm_eval_ext.families.ifbench.witness.prose import bank
from lm_eval_ext.families.manyifeval.arguments import ARGUMENTS
from lm_eval_ext.families.manyifeval.demands import Demands, demands_of
from lm_eval_ext.verifiers import Checker
from lm_eval_ext.verifiers.ifbench import count, ratio, sentence, words
from lm_eval_ext.verifiers.ifbench import format as formats
from lm_eval_ext.verifiers.ifeval import format as sections
from lm_eval_ext.verifiers.ifeval import length, startend

CONJUNCTIONS = "and but for nor or so yet"
PRONOUNS = (
    "she him they us we them his hers ours theirs myself herself themselves whose whom mine yours himself itself our "
    "their your"
)
PALINDROMES = "level radar civic kayak refer rotor madam tenet stats sagas"
STOP_WORDS = "the of the in a to an is was the on at by"
MARKS = "such marks: one; two! three? four?! five, six"
NEST = "alpha (bravo [charlie {delta (echo [foxtrot])}])"
QUOTES = 'Ann wrote "Bob read \'Cal said "yes" twice\' aloud" today'
EXPLAINED = 'the sign said "closed" because the bridge broke'
QUOTED_LAST = 'the sign on the bridge said "closed"'


@dataclass
class Plan:
    """What a response must have.

    Attributes:
        demands: what ManyIFEval's 15 instructions need.
        lines: lines that it must contain, without a mark at the end.
        last: its last line, if that matters; with its mark, if it has one.
        unique: the number of different words.
        stop_words: bounds of the share of stop words, in percent.
        paragraphs: the number of paragraphs that blank lines divide, which of them has a given first word, and that
            word.
        keyword: number of a sentence, and a word in it.
        position: number of a sentence, and a word and its place in it.
        second: the second word and the last but one.
        bullets: lines of a list.
        headings: lines above paragraphs.
        labels: whether there are the template's labels.
        postscript: the marker of a postscript.
        verb, thesis, title_case, emoji: whether it begins with a verb or with a thesis, is in title case, has an emoji
            at the end of each sentence.
        kinds: the marks of the other kinds of sentences; of three sentences, each mark ends one.
    """

    demands: Demands
    lines: list[str] = field(default_factory=list)
    last: str = ""
    unique: int = 0
    stop_words: tuple[float, float] | None = None
    paragraphs: tuple[int, int, str] | None = None
    keyword: tuple[int, str] | None = None
    position: tuple[int, int, str] | None = None
    second: str = ""
    bullets: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    postscript: str = ""
    labels: bool = False
    verb: bool = False
    thesis: bool = False
    title_case: bool = False
    emoji: bool = False
    kinds: str = ""


def plan_for(instructions: Sequence[Checker], broken: Collection[int] = ()) -> Plan | None:
    """Return what a response must have to follow all instructions except those at the indices ``broken``.

    Returns:
        The plan, or ``None`` if the demands are mutually exclusive or an instruction is not in the pool. An instruction
        that most texts break may need nothing to be broken.
    """
    of_fifteen = [index for index, one in enumerate(instructions) if one.id in ARGUMENTS]
    places = [place for place, index in enumerate(of_fifteen) if index in broken]
    demands = demands_of([instructions[index] for index in of_fifteen], places)
    if demands is None:
        return None
    plan = Plan(demands)
    for index, instruction in enumerate(instructions):
        if instruction.id in ARGUMENTS:
            continue
        if not (_break(plan, instruction) if index in broken else _follow(plan, instruction)):
            return None
    return plan if demands.are_possible else None


def _follow(plan: Plan, instruction: Checker) -> bool:  # noqa: PLR0912, PLR0915 # one case per instruction
    match instruction:
        case length.NthParagraphFirstWord(paragraphs, nth, word):
            plan.paragraphs = paragraphs, nth, word
        case sections.Postscript(marker):
            plan.postscript = marker
        case sections.NumberHighlightedSections(number):
            # Not at the beginning of a line, where an asterisk would be a bullet point.
            plan.lines += [f"here *{word}* stands out" for word in bank()[-number:]]
        case sections.MultipleSections(mark, number):
            plan.headings = [f"{mark} {place}" for place in range(1, number + 1)]
        case startend.EndChecker(phrase):
            plan.last = phrase
        case count.WordCountRange(low, high):
            plan.demands.words.narrow(low, high)
        case count.UniqueWordCount(number):
            plan.unique = number
        case count.Conjunctions(number):
            plan.lines.append(" ".join(CONJUNCTIONS.split()[:number]))
        case count.KeywordsMultiple():
            named = (getattr(instruction, f"keyword{number}") for number in range(1, 6))
            pairs = zip(named, count.TIMES, strict=True)
            plan.lines.append(" ".join(" ".join([word] * times) for word, times in pairs))
        case count.Numbers(number):
            plan.lines.append(f"{' '.join(str(11 + place) for place in range(number))} parcels")
        case count.PersonNames(number):
            plan.lines.append(" ".join(count.NAMES[:number]))
        case count.Pronouns(number):
            plan.lines.append(" ".join(PRONOUNS.split()[:number]))
        case count.Punctuation():
            plan.lines.append(MARKS)
        case formats.Emoji():
            plan.emoji = True
        case formats.List(mark):
            plan.bullets = [f"{mark} {word}" for word in ("barley", "oats")]
        case formats.SubBullets():
            plan.bullets = ["* barley", "  - oats", "* rye", "  - wheat"]
        case formats.OutputTemplate():
            plan.labels = True
        case formats.Parentheses():
            plan.lines.append(NEST)
        case formats.Quotes():
            plan.lines.append(QUOTES)
        case formats.QuoteUnquote():
            plan.lines.append(EXPLAINED)
        case formats.Thesis():
            plan.thesis = True
        case formats.TitleCase():
            plan.title_case = True
        case ratio.SentenceType():
            plan.kinds = "?"
        case ratio.SentenceBalance():
            plan.kinds = "?!"
        case ratio.StopWords(percentage):
            plan.stop_words = 0, percentage
        case sentence.Keyword(word, number):
            plan.keyword = number, word
        case words.KeywordsSpecificPosition(word, number, place):
            plan.position = number, place, word
        case words.Palindrome():
            plan.lines.append(PALINDROMES)
        case words.Repeats():
            pass  # no word of the bank is repeated more than a few times
        case words.StartVerb():
            plan.verb = True
        case words.WordsPosition(word):
            plan.second = word
        case _:
            return False
    return True


def _break(plan: Plan, instruction: Checker) -> bool:
    match instruction:
        case count.WordCountRange(_, high):
            plan.demands.words.narrow(high + 1)
        case formats.SubBullets():
            plan.bullets = plan.bullets or ["* barley"]
        case formats.QuoteUnquote():
            plan.last = plan.last or f"{QUOTED_LAST}."
        case ratio.StopWords(percentage):
            plan.stop_words = percentage + 1, 100
        case words.Repeats(number):
            plan.lines.append(" ".join(["barley"] * (number + 1)))
        case _:
            pass  # a text that does nothing for it breaks it
    return True
