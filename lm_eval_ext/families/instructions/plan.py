"""What a text must have to follow or break verifiable instructions: of IFEval, IFBench, IF-RLVR, and about sections."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from lm_eval_ext.verifiers import own
from lm_eval_ext.verifiers.checker import Checker, Relation
from lm_eval_ext.verifiers.ifbench import count, small_groups
from lm_eval_ext.verifiers.ifbench import format as ifbench_format
from lm_eval_ext.verifiers.ifbench import words as ifbench_words
from lm_eval_ext.verifiers.ifeval import format as ifeval_format
from lm_eval_ext.verifiers.ifeval import keywords, language, length, startend
from lm_eval_ext.verifiers.ifrlvr import copying
from lm_eval_ext.verifiers.ifrlvr import format as ifrlvr_format
from lm_eval_ext.verifiers.ifrlvr import words as ifrlvr_words

CASES = frozenset({"upper", "lower", "mixed"})
PRONOUNS = (
    *("she", "him", "they", "us", "we", "them", "his", "hers", "ours", "theirs", "myself", "herself", "themselves"),
    *("whose", "whom", "mine", "yours", "himself", "itself", "our", "their", "your"),
)
PALINDROMES = "level radar civic kayak refer rotor madam tenet stats sagas"
EXPLAINED = 'the sign said "closed" because the bridge broke'
QUOTED_LAST = 'the sign on the bridge said "closed".'
PIECES: Mapping[type[Checker], str] = {
    count.Punctuation: "such marks: one; two! three? four?! five, six",
    ifbench_format.Parentheses: "alpha (bravo [charlie {delta (echo [foxtrot])}])",
    ifbench_format.Quotes: 'Ann wrote "Bob read \'Cal said "yes" twice\' aloud" today',
    ifbench_words.Palindrome: PALINDROMES,
    ifrlvr_words.Palindrome: PALINDROMES,
}
"""What a text must contain to follow a type without arguments."""
TEXTS: Mapping[type[Checker], str] = {
    ifrlvr_format.BigramWrapping: "<<Red foxes>> <<hunt at>> <<night.>>",
    ifrlvr_format.SentenceHyphens: "Foxes hunt.-Hens run!-Who wins?",
    ifrlvr_format.SquareBrackets: "[Red] [foxes] [hunt] [at] [night.]",
    ifrlvr_format.PunctuationDot: "Do foxes hunt at night? They do!",
    ifrlvr_words.CountUnique: "Red foxes sleep all day, hunting later.",
    ifrlvr_words.LowercaseCounting: "RED FOXES HUNT AT NIGHT.",
    ifrlvr_words.NoAdjacentConsecutive: "Red foxes hunt all night.",
}
"""A text that follows a type that leaves nothing else to say."""


@dataclass
class Bounds:
    """How often something may occur: at least ``low`` and, if ``high`` is given, at most ``high`` times."""

    low: int = 0
    high: int | None = None

    def narrow(self, low: int = 0, high: int | None = None) -> None:
        """Add further bounds."""
        self.low = max(self.low, low)
        self.high = min((bound for bound in (self.high, high) if bound is not None), default=None)

    def relate(self, relation: Relation, target: int, follow: bool) -> None:
        """Require that ``relation`` to ``target`` holds, or is broken."""
        self.narrow(target) if (relation == "at least") == follow else self.narrow(high=target - 1)


@dataclass
class Plan:
    """What a text must have.

    Attributes:
        words, sentences, capitals, unique, stop_words: bounds of counts; of stop words, in percent of the words.
        letters, phrases: bounds of counts, by letter and by phrase.
        pieces: what it must contain, each at the end of a sentence of its own, before its period, or, if there is
            hardly room, within another sentence; ``{}``, once in a piece, stands for a content word, which has no
            letter that the text may not have.
        paragraphs, divider: how many there are, and what is between them; ``nth``: the first word of one of them.
        placed: words by their sentence and their place in it, from 1; the last place is 0.
        bullets, headings: lines of a list, and lines above paragraphs.
        cases: the allowed cases: all upper case (``"upper"``), all lower case (``"lower"``), both (``"mixed"``).
        first, not_first: a letter that it must, or must not, begin with.
        opening: the text's first words; ``second``: its second word and its last but one.
        last, postscript: its last line, if that matters, and the marker of a postscript.
        english: whether it must be recognized as English; ``language``: the code of the language that it must be in.
        title, quoted, comma, labels, thesis, title_case, emoji, question: whether it has one, or is in it.
        end_marks: the marks of the other kinds of sentences; of three sentences, each mark ends one.
        text: the text itself, if an instruction leaves nothing else to say.
    """

    words: Bounds = field(default_factory=Bounds)
    sentences: Bounds = field(default_factory=Bounds)
    capitals: Bounds = field(default_factory=Bounds)
    unique: Bounds = field(default_factory=Bounds)
    stop_words: Bounds = field(default_factory=Bounds)
    letters: dict[str, Bounds] = field(default_factory=lambda: defaultdict(Bounds))
    phrases: dict[str, Bounds] = field(default_factory=lambda: defaultdict(Bounds))
    pieces: list[str] = field(default_factory=list)
    paragraphs: int = 1
    divider: str = "\n\n***\n\n"
    nth: tuple[int, str] | None = None
    placed: list[tuple[int, int, str]] = field(default_factory=list)
    bullets: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)
    cases: frozenset[str] = CASES
    first: str = ""
    not_first: str = ""
    opening: str = ""
    second: str = ""
    last: str = ""
    postscript: str = ""
    english: bool = False
    language: str = ""
    title: bool = False
    quoted: bool = False
    comma: bool = False
    labels: bool = False
    thesis: bool = False
    title_case: bool = False
    emoji: bool = False
    question: bool = False
    end_marks: str = ""
    text: str = ""


def plan_for(instructions: Sequence[Checker], broken: Collection[int] = ()) -> Plan | None:
    """Return what a text must have to follow all instructions except those at the indices ``broken``.

    Returns:
        The plan, or ``None`` if the demands are mutually exclusive, or an instruction is of an unknown type.
    """
    plan = Plan()
    for index, instruction in enumerate(instructions):
        if not _enter(plan, instruction, index not in broken):
            return None
    every_bounds = (plan.words, plan.sentences, plan.capitals, *plan.letters.values(), *plan.phrases.values())
    can_be_met = all(bounds.high is None or bounds.low <= bounds.high for bounds in every_bounds)
    return plan if plan.cases and plan.paragraphs > 0 and can_be_met else None


def _enter(plan: Plan, instruction: Checker, follow: bool) -> bool:  # noqa: PLR0912, PLR0915 # one case per type
    """Add what a text needs to follow an instruction, or to break it.

    Returns:
        Whether that is known.
    """
    match instruction:
        case keywords.Existence(several):
            for phrase in several:
                plan.phrases[phrase.casefold()].relate("at least", 1, follow)
        case keywords.ForbiddenWords(several):
            for phrase in several:
                plan.phrases[phrase.casefold()].relate("less than", 1, follow)
        case ifrlvr_words.WordCountDifferentNumbers(phrase, number, relation):
            # The published code judges by the relation, and a reader by the number: nothing follows "less than".
            bounds = plan.phrases[phrase.casefold()]
            bounds.relate(relation, number + (not follow and relation == "less than"), follow)
            bounds.narrow(*((number, number) if follow else ()))
        case keywords.Frequency(phrase, number, relation):
            plan.phrases[phrase.casefold()].relate(relation, number, follow)
        case ifrlvr_words.WordOnce(phrase):
            plan.phrases[phrase.casefold()].narrow(int(follow), int(follow))
        case ifrlvr_words.CountIncrementWord(once, twice):
            for phrase, number in ((once, 1), (twice, 2)):
                plan.phrases[phrase.casefold()].narrow(number * follow, number * follow)
        case ifrlvr_words.ExcludeWordHarder(phrase):
            plan.phrases[phrase.casefold()].narrow(high=0 if follow else None)
            if not follow:
                plan.pieces.append(f"such {phrase} here")
        case ifrlvr_words.LetterCounting(number, relation):
            plan.text = "a" * number if (relation == "at least") == follow else "42"
        case keywords.LetterFrequency(letter, number, relation):
            plan.letters[letter].relate(relation, number, follow)
        case length.NumberWords(number, relation):
            plan.words.relate(relation, number, follow)
        case length.NumberSentences(number, relation):
            plan.sentences.relate(relation, number, follow)
        case own.ExactSentences(number):
            plan.sentences.narrow(number + (not follow), number + (not follow))
        case length.NumberParagraphs(number):
            plan.paragraphs = number + (not follow)
        case ifrlvr_format.Paragraphs():
            plan.paragraphs = 2 + (not follow)
        case ifrlvr_format.Paragraphs2():
            plan.paragraphs, plan.divider = 2 + (not follow), "\n\n"
        case ifrlvr_format.PunctuationExclamation():
            if not follow:
                plan.pieces.append("look out!")
        case ifeval_format.NumberPlaceholders(number):
            if follow:
                plan.pieces += ["[{}]"] * number
        case ifeval_format.NumberBulletLists(number):
            plan.bullets += ["* {}"] * (number + (not follow))
        case ifeval_format.Title():
            plan.title = follow
        case language.EnglishCapital() | own.Capitals():
            plan.cases &= {"upper"} if follow else CASES - {"upper"}
            plan.english |= follow and isinstance(instruction, language.EnglishCapital)
        case language.EnglishLowercase() | own.Lowercase():
            plan.cases &= {"lower"} if follow else CASES - {"lower"}
            plan.english |= follow and isinstance(instruction, language.EnglishLowercase)
        case language.CapitalWordFrequency(number, relation):
            plan.capitals.relate(relation, number, follow)
        case language.ResponseLanguage(code):
            # Anything but English breaks English; a text of content words is in no other language for sure.
            plan.language = code if follow else plan.language or ("de" if code == "en" else "")
        case startend.Quotation():
            plan.quoted = follow
        case keywords.NoComma():
            plan.comma = not follow
        case own.FirstLetter(letter):
            plan.first, plan.not_first = (letter, "") if follow else ("", letter)
        case count.WordCountRange(low, high):
            plan.words.narrow(*((low, high) if follow else (high + 1, None)))
        case count.Conjunctions(number):
            if follow:
                plan.pieces.append(" ".join(sorted(count.CONJUNCTIONS)[:number]))
        case ifbench_format.SubBullets():
            plan.bullets = ["* {}", "  - {}", "* {}", "  - {}"] if follow else plan.bullets or ["* {}"]
        case ifbench_format.QuoteUnquote():
            if follow:
                plan.pieces.append(EXPLAINED)
            else:
                plan.last = plan.last or QUOTED_LAST
        case small_groups.StopWords(percentage):
            plan.stop_words.narrow(*((0, percentage) if follow else (percentage + 1, 100)))
        case ifbench_words.Repeats(number):
            if not follow:
                plan.pieces.append(" ".join(["barley"] * (number + 1)))
        case ifrlvr_words.CountUnique() if not follow:
            plan.pieces.append("barley barley")
        case _ if not follow:
            pass  # any text breaks the types below
        case _ if text := TEXTS.get(type(instruction)):
            plan.text = text
        case _ if piece := PIECES.get(type(instruction)):
            plan.pieces.append(piece)
        case own.Question():
            plan.question = True
        case length.NthParagraphFirstWord(number, nth, word):
            plan.paragraphs, plan.divider, plan.nth = number, "\n\n", (nth, word)
        case ifeval_format.Postscript(marker):
            plan.postscript = marker
        case ifeval_format.NumberHighlightedSections(number):
            plan.pieces += ["*{}*"] * number
        case ifeval_format.MultipleSections(mark, number):
            plan.headings = [f"{mark} {position}" for position in range(1, number + 1)]
        case startend.EndChecker(phrase) | ifrlvr_words.LastWordAnswer(phrase):
            plan.last = phrase
        case ifrlvr_words.FirstWordAnswer(word):
            plan.opening = word
        case ifrlvr_words.StartEnd():
            plan.opening = plan.last = "consider"
        case copying.RepeatPhrase(phrase, number):
            changed = phrase.split()
            changed[len(changed) // 2] = "nearly"
            plan.pieces += [" ".join(changed)] * number
        case count.UniqueWordCount(number):
            plan.unique.narrow(number)
        case count.KeywordsMultiple():
            phrases = (getattr(instruction, f"keyword{number}") for number in range(1, 6))
            plan.pieces.append(" ".join(" ".join([word] * n) for word, n in zip(phrases, count.TIMES, strict=True)))
        case count.Numbers(number):
            # With a word after them: a number and a period need not end a sentence.
            plan.pieces.append(" ".join([*(str(11 + position) for position in range(number)), "{}"]))
        case count.PersonNames(number):
            plan.pieces.append(" ".join(count.NAMES[:number]))
        case count.Pronouns(number):
            plan.pieces.append(" ".join(PRONOUNS[:number]))
        case ifbench_format.List(mark):
            plan.bullets = [f"{mark} {{}}"] * 2
        case ifbench_format.Emoji():
            plan.emoji = True
        case ifbench_format.OutputTemplate():
            plan.labels = True
        case ifbench_format.Thesis():
            plan.thesis = True
        case ifbench_format.TitleCase():
            plan.title_case = True
        case small_groups.SentenceType():
            plan.end_marks = "?"
        case small_groups.SentenceBalance():
            plan.end_marks = "?!"
        case small_groups.Keyword(word, number):
            plan.placed.append((number, 0, word))
        case ifbench_words.KeywordsSpecificPosition(word, number, position):
            plan.placed.append((number, position, word))
            if position == 1 and isinstance(instruction, ifrlvr_words.KeywordSpecificPosition):
                plan.cases &= {"lower"}  # the published code compares it as written
        case ifbench_words.StartVerb():
            plan.opening = "consider"
        case ifbench_words.WordsPosition(word):
            plan.second = word
        case copying.CopyingSimple(request):
            plan.text = request
        case copying.CopyingMultiple(request, number):
            plan.text = "\n******\n".join([request] * number)
        case copying.CopySpanIdx(start, end, request):
            plan.text = request[start:end]
        case ifrlvr_format.CountingComposition(sentences, number):
            # Two words are one token, and the mark is another.
            sentence = " ".join([*["Clouds"] * (number - 2), "come/go."])
            plan.text = "\n***\n".join([" ".join([sentence] * sentences)] * 3)
        case ifrlvr_words.FirstWordSent(word):
            plan.text = f"{word.title()} is one thing. {word.title()} was another."
        case ifrlvr_words.LastWordSent(word):
            plan.text = f"Some want {word}. Others have {word}."
        case _:
            return False
    return True
