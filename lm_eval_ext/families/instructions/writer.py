"""Writes texts that follow given instructions, or all but selected ones.

They prove that a row can be solved and are the answers of the ``reference`` LM. A text consists of lines, most of them
a sentence of content words, into which each instruction puts what it needs. The checkers then judge it, strictly and in
both editions, and it is only returned if every verdict is as intended. What an assistant is to have said in a
conversation is written alike, of whole sentences instead of content words, because a model may copy their form.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import cycle, islice, pairwise, permutations

from lm_eval_ext.families.instructions import bank, is_as_intended, named_lines
from lm_eval_ext.families.instructions.plan import Plan, plan_for
from lm_eval_ext.verifiers import EDITIONS, Checker, Response
from lm_eval_ext.verifiers.ifbench.small_groups import stop_words
from lm_eval_ext.verifiers.text import Text

TRIES = 4
"""Number of texts to try before giving up: starting points in the bank of words, or orders of the sentences."""
LAP = 37
"""By how many orders of a language's sentences the next reply's is further on: it begins with another sentence."""
PER_LINE = 6
SHORT = 3
MARGIN, SPARE = 15, 20
"""Words, and different words, by which to exceed a lower bound: the editions and the loose variants count fewer."""
MOST_LINES = 150
TIGHT = 60
"""Below so many words, what a text must contain is put into its sentences instead of into sentences of its own."""
SMILE = "\N{GRINNING FACE}"
STOP_WORDS = "the of the in a to an is was the on at by"
ENGLISH = (
    "the people of the town have found the way to the old house and they will be there with the others",
    "our plan was good but his is still good in both that and this and so it is on to you and him to say why or how",
    "what will happen if you and your friends walk along with us until night falls",
)
"""Sentences that tell the language, which content words alone do not."""


@cache
def sentences() -> tuple[str, ...]:
    """Return sentences that fit whatever was asked, without a mark, a name or a number."""
    return tuple((files(__package__) / "sentences.txt").read_text(encoding="utf-8").splitlines())


def respond(instructions: Sequence[Checker], broken: Collection[int] = (), reply: int | None = None) -> str | None:
    """Return a text that follows all instructions except those at the indices ``broken``, which it breaks.

    Args:
        instructions: the instructions.
        broken: indices of those that it must break.
        reply: the number of an assistant's reply in a conversation, which is of whole sentences and differs by number;
            ``None`` for a text of content words.

    Returns:
        A text whose strict verdicts are exactly these in both editions, or ``None`` if none was found.
    """
    plan = plan_for(instructions, broken)
    if plan is None:
        return None
    written = (_Writer(plan, attempt, reply).text() for attempt in range(TRIES))
    return next((text for text in written if text and is_as_intended(text, instructions, broken)), None)


def break_one(instructions: Sequence[Checker]) -> str | None:
    """Return a text that breaks exactly one instruction, or ``None`` if none was found.

    It breaks the first instruction that can also be broken under loose verdicts; if there is none, the first that can
    be broken under strict verdicts. A repeated instruction is broken in all its places.
    """
    strictly: str | None = None
    for chosen in dict.fromkeys(instructions):
        text = respond(instructions, [index for index, other in enumerate(instructions) if other == chosen])
        if text is not None and not any(
            Response(text).follows([chosen], edition, loose=True).follow_all_instructions for edition in EDITIONS
        ):
            return text
        strictly = strictly or text
    return strictly


@dataclass
class _Line:
    """A line; ``mark`` ends it, and only a ``plain`` one can become a question."""

    words: list[str]
    mark: str = "."
    plain: bool = False

    def __str__(self) -> str:
        text = " ".join(self.words)
        return text[:1].upper() + text[1:] + self.mark


@dataclass
class _Writer:
    """A text in the making: its lines in the order of its parts."""

    plan: Plan
    attempt: int
    reply: int | None = None
    title: list[_Line] = field(default_factory=list)
    first: list[_Line] = field(default_factory=list)
    body: list[_Line] = field(default_factory=list)
    paragraphs: list[list[_Line]] = field(default_factory=list)
    tail: list[_Line] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scarce = [letter for letter, bounds in self.plan.letters.items() if bounds.high is not None]
        usable = [word for word in bank() if self._is_usable(word)]
        start = self.attempt * len(usable) // TRIES
        self.usable = usable
        self.stock: Iterator[str] = cycle([*usable[start:], *usable[:start]])
        said = [] if self.reply is None else [text for text in sentences() if self._is_usable(text.lower())]
        random.Random(f"{self.reply} {self.attempt}").shuffle(said)  # noqa: S311 # reproducible by design
        beginning = [text for text in said if self._may_begin(text)][:1]
        self.said = said
        self.speech: Iterator[str] = cycle([*beginning, *(text for text in said if text not in beginning)])
        high = self.plan.words.high
        self.is_tight = high is not None and high < TIGHT
        self.per_line = SHORT if self.is_tight else PER_LINE

    def _is_usable(self, word: str) -> bool:
        plan = self.plan
        named = [plan.second, *(word for _, _, word in plan.placed), *plan.phrases, *" ".join(plan.pieces).split()]
        return not any(letter in word for letter in self.scarce) and not any(
            part in word or word in part for part in named if part and "{" not in part
        )

    def _may_begin(self, text: str) -> bool:
        letter = text[0].lower()
        return letter == self.plan.first if self.plan.first else letter != self.plan.not_first

    def text(self) -> str | None:
        """Return the text; ``None`` if there are too few words for it."""
        if self.plan.whole:
            return self.plan.whole
        if self.plan.language not in ("", "en"):
            # A text in another language has nothing else.
            orders = [*permutations(named_lines(__package__, "languages.txt").get(self.plan.language, ()))]
            return " ".join(orders[(self.attempt + LAP * (self.reply or 0)) % len(orders)])
        if len(self.usable) < PER_LINE or (self.reply is not None and not self.said):
            return None
        self._begin()
        self._end()
        self._put_pieces()
        if not self._fill():
            return None
        self._mark()
        text = self._joined()
        if "mixed" not in self.plan.cases:
            text = text.upper() if "upper" in self.plan.cases else text.lower()
        elif self.plan.title_case:
            text = text.title()
        return f'"{text}"' if self.plan.quoted else text

    def _divided(self) -> list[list[_Line]]:
        begun, *others = [[*self.title, *self.first, *self.body], *map(list, self.paragraphs)]
        (others or [begun])[-1].extend(self.tail)
        return [begun, *others]

    def _lines(self) -> list[_Line]:
        return [line for paragraph in self._divided() for line in paragraph]

    def _joined(self) -> str:
        """Return the lines below each other; sentences of a reply behind each other."""
        paragraphs = []
        for lines in self._divided():
            text = str(lines[0])
            for before, line in pairwise(lines):
                flows = self.reply is not None and before.mark and line.mark
                text += f" {line}" if flows else f"\n{line}"
            paragraphs.append(text)
        return self.plan.divider.join(paragraphs)

    def _words(self, count: int) -> list[str]:
        return list(islice(self.stock, count))

    def _sentence(self, count: int) -> list[str]:
        """Return the words of the next sentence, or so many content words."""
        return self._words(count) if self.reply is None else next(self.speech).split()

    def _plain(self) -> _Line:
        return _Line(self._sentence(self.per_line), plain=True)

    def _begin(self) -> None:
        plan = self.plan
        if plan.title:
            self.title.append(_Line([f"<<{' '.join(self._words(2))}>>"], ""))
        opening = [plan.opening, *self._words(self.per_line - 1)] if plan.opening else self._sentence(self.per_line)
        opening[1:1] = filter(None, [plan.second])
        if self.reply is None and (plan.first or opening[0][0] == plan.not_first):
            opening[0] = next(filter(self._may_begin, self.usable), opening[0])
        if plan.thesis:
            opening[:2] = [f"<i>{opening[0]}", f"{opening[1]}</i>"]
        if plan.labels:
            opening.insert(0, "My Answer:")
        count = max([number for number, _, _ in plan.placed] + [1 if plan.sentences.high or self.is_tight else 2])
        self.reserved = count
        self.first = [_Line(opening), *(_Line(self._sentence(self.per_line)) for _ in range(count - 1))]
        for number, place, word in sorted(plan.placed, key=lambda one: -one[1]):
            before = self.first[number - 1].words
            before += self._words(max(0, place - 1 - len(before)))
            before.insert((place or len(before) + 1) - 1, word)
        if plan.question:
            self.first[0].mark = "?"

    def _end(self) -> None:
        plan = self.plan
        self.paragraphs = [[self._plain()] for _ in range(plan.paragraphs - 1)]
        if plan.nth:
            self.paragraphs[plan.nth[0] - 2][0].words.insert(0, plan.nth[1])
        self.tail = [_Line([bullet.format(" ".join(self._sentence(1)))], "") for bullet in plan.bullets]
        if not (plan.last and self.is_tight):
            self.tail.append(_Line(self._sentence(self.per_line)))
        if plan.postscript:
            self.tail.append(_Line([plan.postscript, *self._sentence(SHORT)]))
        if plan.second:
            self.tail.append(_Line(self._sentence(SHORT + 1)))
            self.tail[-1].words.insert(-1, plan.second)
        elif plan.last:
            self.tail.append(_Line(plan.last.split(), ""))
        for heading in plan.headings:
            self.body += [_Line([heading], ""), self._plain()]
        if plan.labels:
            self.body += [_Line([label, *self._sentence(SHORT)]) for label in ("My Conclusion:", "Future Outlook:")]

    def _put_pieces(self) -> None:
        """Put what the text must contain into lines of its own or, if there may be few, into those that are there."""
        plan = self.plan
        pieces = [phrase for phrase, bounds in plan.phrases.items() for _ in range(bounds.low)]
        pieces += [piece.format(next(self.stock)) if "{}" in piece else piece for piece in plan.pieces]
        pieces += [" ".join(word.upper() for word in self._words(plan.capitals.low))] if plan.capitals.low else []
        pieces += [f"{next(self.stock)}, {next(self.stock)}"] if plan.comma else []
        if (plan.english or plan.language == "en") and not self.said:
            named = (*self.scarce, *plan.phrases)
            pieces += [text for text in ENGLISH if not any(part in text for part in named)][:1]
        for letter, bounds in plan.letters.items():
            # Not in the first and the last line, which the loose variants cut off.
            missing = bounds.low - " ".join([*map(str, self._lines()[1:-1]), *pieces]).lower().count(letter)
            if missing > 0:
                # Only the letter in a text of words alone, and if there may not be many words with it. At least two in
                # a row, because a single capital would count as a capitalized word.
                words = [] if self.reply is None else [word for word in self.usable if letter in word][:missing]
                pieces.append(" ".join(words) or letter * max(2, missing))
        inside = cycle(self.first[self.reserved - 1 :] if len(self.first) > 1 else self.first)
        for piece in filter(None, pieces):
            if self.is_tight:
                next(inside).words[-1:-1] = piece.split()
            else:
                *lead, last = self._sentence(SHORT)
                colon = "" if self.reply is None else ":"
                self.body.append(_Line([*lead, f"{last}{colon}", *piece.split(" ")]))

    def _fill(self) -> bool:
        """Add plain lines until there are enough words, different words, content words, and kinds of sentences."""
        plan = self.plan
        low = plan.words.low + (0 if self.is_tight else MARGIN if plan.words.low else 0)
        may_add = plan.sentences.high is None or not self.is_tight
        spare = 2 if plan.sentences.high is None and plan.sentences.low and not self.is_tight else 0
        for _ in range(MOST_LINES):
            found = Text(self._joined()).whole_words
            stops = (
                100 * sum(word.lower() in stop_words() for word in found) / len(found) if plan.stop_words.high else 0
            )
            if stops < plan.stop_words.low:
                self.body.append(_Line(STOP_WORDS.split()))
            elif (
                (plan.stop_words.high and stops > plan.stop_words.high)
                or len(found) < low
                or (plan.unique.low and len({word.lower() for word in found}) < plan.unique.low + SPARE)
                or (sum(bool(line.mark) for line in self._lines()) < plan.sentences.low + spare)
                or not self._kinds_fit()
            ):
                if len(found) < low and not may_add:
                    self.first[-1].words[-1:-1] = self._words(1)
                else:
                    self.body.append(self._plain())
            else:
                return True
        return False

    def _statements(self) -> int:
        return sum(sentence.endswith(".") for sentence in Text(self._joined()).sentences)

    def _kinds_fit(self) -> bool:
        if not self.plan.kinds:
            return True
        each, rest = divmod(self._statements(), 3)
        return rest == 0 and sum(line.plain for line in self._lines()) >= each * len(self.plan.kinds)

    def _mark(self) -> None:
        """Decide how each sentence ends."""
        plan, lines = self.plan, self._lines()
        if plan.emoji:
            for line in lines:
                line.mark = line.mark and f" {SMILE}."
        if plan.kinds:
            each = self._statements() // 3
            plain = [line for line in lines if line.plain]
            for number, line in enumerate(plain[: each * len(plan.kinds)]):
                line.mark = plan.kinds[number // each]
        if plan.sentences.high is not None:
            # The last line ends a sentence, whatever its mark. The first ones keep theirs as far as there may be
            # sentences, and one of them has a mark even if the last one has none.
            fewest = max(self.reserved + (not lines[-1].mark), plan.sentences.low, 1 + plan.question)
            kept = fewest - 1
            for line in [line for line in lines[:-1] if line.mark][kept:]:
                line.mark = ""
