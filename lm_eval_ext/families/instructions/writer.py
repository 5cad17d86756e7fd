"""Writes texts that follow given instructions, or all but selected ones.

They prove that a row can be solved and are the answers of the ``reference`` LM. A text consists of lines, most of them
a sentence of content words, into which each instruction puts what it needs. The checkers then judge it, strictly and in
both editions, and it is only returned if every verdict is as intended. What an assistant is to have said in a
conversation is written alike, of whole sentences instead of content words, because a model may copy their form.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice, pairwise, permutations

from lm_eval_ext.families.instructions import bank, is_as_intended, lines_of, named_lines
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


Responder = Callable[[Sequence[Checker], Collection[int]], str | None]
"""Returns a text that follows all instructions except those at some indices, which it breaks."""


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
    texts = (_text(plan, attempt, reply) for attempt in range(TRIES))
    return next((text for text in texts if text and is_as_intended(text, instructions, broken)), None)


def break_one(instructions: Sequence[Checker], respond: Responder = respond) -> str | None:
    """Return a text that breaks exactly one instruction, or ``None`` if none was found.

    It breaks the first instruction that can also be broken under loose verdicts; if there is none, the first that can
    be broken under strict verdicts. A repeated instruction is broken in all its places.

    Args:
        instructions: the instructions.
        respond: returns texts as ``respond`` does.
    """
    strictly: str | None = None
    for chosen in dict.fromkeys(instructions):
        text = respond(instructions, [index for index, instruction in enumerate(instructions) if instruction == chosen])
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


@dataclass(frozen=True)
class _Words:
    """What the lines of a text are made of.

    Attributes:
        usable: the content words that the plan allows.
        stock: ``usable`` without end.
        spoken: the whole sentences that the plan allows, of a reply in a conversation.
        speech: these sentences without end.
        is_reply: whether the text is a reply.
        per_line: how many content words a line has.
    """

    usable: list[str]
    stock: Iterator[str]
    spoken: list[str]
    speech: Iterator[str]
    is_reply: bool
    per_line: int

    def take(self, count: int) -> list[str]:
        """Return the next content words."""
        return list(islice(self.stock, count))

    def sentence(self, count: int) -> list[str]:
        """Return the words of the next whole sentence of a reply, or so many content words."""
        return next(self.speech).split() if self.is_reply else self.take(count)

    def plain(self) -> _Line:
        """Return a line that may end in any mark."""
        return _Line(self.sentence(self.per_line), plain=True)


@dataclass(frozen=True)
class _Draft:
    """The lines of a text, by its parts.

    Attributes:
        title: the title, if any.
        first: the first sentences, into which the plan places words.
        body: what follows them in the first paragraph.
        paragraphs: the other paragraphs.
        tail: the last lines, in the last paragraph.
        reserved: how many of the first sentences must stay sentences.
    """

    title: list[_Line]
    first: list[_Line]
    body: list[_Line]
    paragraphs: list[list[_Line]]
    tail: list[_Line]
    reserved: int

    def divided(self) -> list[list[_Line]]:
        """Return the lines of each paragraph."""
        begun, *others = [[*self.title, *self.first, *self.body], *map(list, self.paragraphs)]
        (others or [begun])[-1].extend(self.tail)
        return [begun, *others]

    def lines(self) -> list[_Line]:
        """Return all lines in their order."""
        return [line for paragraph in self.divided() for line in paragraph]

    def joined(self, divider: str, *, is_reply: bool) -> str:
        """Return the lines below each other; sentences of a reply behind each other."""
        paragraphs = []
        for lines in self.divided():
            text = str(lines[0])
            for before, line in pairwise(lines):
                text += f" {line}" if is_reply and before.mark and line.mark else f"\n{line}"
            paragraphs.append(text)
        return divider.join(paragraphs)


def _text(plan: Plan, attempt: int, reply: int | None) -> str | None:
    """Return a text by a plan; ``None`` if there are too few words for it."""
    if plan.text:
        return plan.text
    if plan.language not in ("", "en"):
        # A text in another language has nothing else.
        orders = [*permutations(named_lines(__package__, "languages.txt").get(plan.language, ()))]
        return " ".join(orders[(attempt + LAP * (reply or 0)) % len(orders)])
    words = _words_for(plan, attempt, reply)
    if len(words.usable) < PER_LINE or (words.is_reply and not words.spoken):
        return None
    draft = _draft(plan, words)
    _add_pieces(draft, plan, words)
    if not _fill(draft, plan, words):
        return None
    _mark(draft, plan, words)
    text = draft.joined(plan.divider, is_reply=words.is_reply)
    if "mixed" not in plan.cases:
        text = text.upper() if "upper" in plan.cases else text.lower()
    elif plan.title_case:
        text = text.title()
    return f'"{text}"' if plan.quoted else text


def _words_for(plan: Plan, attempt: int, reply: int | None) -> _Words:
    """Return the words and sentences that a plan allows, from another starting point at each attempt."""
    named = [plan.second, *(word for _, _, word in plan.placed), *plan.phrases, *" ".join(plan.pieces).split()]
    parts = [part for part in named if part and "{" not in part]
    usable = _usable(bank(), _scarce(plan), parts)
    start = attempt * len(usable) // TRIES
    # Sentences that fit whatever was asked, without a mark, a name or a number.
    sentences = () if reply is None else lines_of(__package__, "sentences.txt")
    spoken = [text for text in sentences if _usable([text.lower()], _scarce(plan), parts)]
    random.Random(f"{reply} {attempt}").shuffle(spoken)  # noqa: S311 # reproducible by design
    beginning = [text for text in spoken if _may_begin(plan, text)][:1]
    speech = cycle([*beginning, *(text for text in spoken if text not in beginning)])
    per_line = SHORT if _is_tight(plan) else PER_LINE
    return _Words(usable, cycle([*usable[start:], *usable[:start]]), spoken, speech, reply is not None, per_line)


def _usable(texts: Iterable[str], letters: Sequence[str], parts: Sequence[str]) -> list[str]:
    """Return the texts that have none of the letters and none of the parts, and are in none of the parts."""
    # One letter or part after the other: this is asked of each word of the bank for each text that is written.
    for letter in letters:
        texts = [text for text in texts if letter not in text]
    for part in parts:
        texts = [text for text in texts if part not in text and text not in part]
    return [*texts]


def _scarce(plan: Plan) -> list[str]:
    """Return the letters that a text may not have any number of times."""
    return [letter for letter, bounds in plan.letters.items() if bounds.high is not None]


def _is_tight(plan: Plan) -> bool:
    """Return whether there is hardly room for more than what the text must contain."""
    return plan.words.high is not None and plan.words.high < TIGHT


def _may_begin(plan: Plan, text: str) -> bool:
    letter = text[0].lower()
    return letter == plan.first if plan.first else letter != plan.not_first


def _draft(plan: Plan, words: _Words) -> _Draft:
    """Return the lines that a plan has at the beginning and at the end of a text, and its headings."""
    title = [_Line([f"<<{' '.join(words.take(2))}>>"], "")] if plan.title else []
    reserved = max([number for number, _, _ in plan.placed] + [1 if plan.sentences.high or _is_tight(plan) else 2])
    first = _first_lines(plan, words, reserved)
    paragraphs = [[words.plain()] for _ in range(plan.paragraphs - 1)]
    if plan.nth:
        number, word = plan.nth
        paragraphs[number - 2][0].words.insert(0, word)
    tail = [_Line([bullet.format(" ".join(words.sentence(1)))], "") for bullet in plan.bullets]
    if not (plan.last and _is_tight(plan)):
        tail.append(_Line(words.sentence(words.per_line)))
    if plan.postscript:
        tail.append(_Line([plan.postscript, *words.sentence(SHORT)]))
    if plan.second:
        tail.append(_Line(words.sentence(SHORT + 1)))
        tail[-1].words.insert(-1, plan.second)
    elif plan.last:
        tail.append(_Line(plan.last.split(), ""))
    body = [line for heading in plan.headings for line in (_Line([heading], ""), words.plain())]
    if plan.labels:
        body += [_Line([label, *words.sentence(SHORT)]) for label in ("My Conclusion:", "Future Outlook:")]
    return _Draft(title, first, body, paragraphs, tail, reserved)


def _first_lines(plan: Plan, words: _Words, count: int) -> list[_Line]:
    """Return the first sentences, with the words that the plan places in them."""
    opening = [plan.opening, *words.take(words.per_line - 1)] if plan.opening else words.sentence(words.per_line)
    opening[1:1] = filter(None, [plan.second])
    if not words.is_reply and (plan.first or opening[0][0] == plan.not_first):
        opening[0] = next((word for word in words.usable if _may_begin(plan, word)), opening[0])
    if plan.thesis:
        opening[:2] = [f"<i>{opening[0]}", f"{opening[1]}</i>"]
    if plan.labels:
        opening.insert(0, "My Answer:")
    first = [_Line(opening), *(_Line(words.sentence(words.per_line)) for _ in range(count - 1))]
    for number, position, word in sorted(plan.placed, key=lambda placed: -placed[1]):
        before = first[number - 1].words
        before += words.take(max(0, position - 1 - len(before)))
        before.insert((position or len(before) + 1) - 1, word)
    if plan.question:
        first[0].mark = "?"
    return first


def _add_pieces(draft: _Draft, plan: Plan, words: _Words) -> None:
    """Put what the text must contain into lines of its own or, if there may be few, into those that are there."""
    pieces = _pieces(plan, words)
    pieces += _letters(plan, words, " ".join([*map(str, draft.lines()[1:-1]), *pieces]))
    inside = cycle(draft.first[draft.reserved - 1 :] if len(draft.first) > 1 else draft.first)
    for piece in filter(None, pieces):
        if _is_tight(plan):
            next(inside).words[-1:-1] = piece.split()
        else:
            *lead, last = words.sentence(SHORT)
            colon = ":" if words.is_reply else ""
            draft.body.append(_Line([*lead, f"{last}{colon}", *piece.split(" ")]))


def _pieces(plan: Plan, words: _Words) -> list[str]:
    """Return the phrases that the text must contain, what stands for other demands, and a sentence in English."""
    pieces = [phrase for phrase, bounds in plan.phrases.items() for _ in range(bounds.low)]
    pieces += [piece.format(next(words.stock)) if "{}" in piece else piece for piece in plan.pieces]
    if plan.capitals.low:
        pieces.append(" ".join(words.take(plan.capitals.low)).upper())
    if plan.comma:
        pieces.append(f"{next(words.stock)}, {next(words.stock)}")
    if (plan.english or plan.language == "en") and not words.spoken:
        named = (*_scarce(plan), *plan.phrases)
        pieces += [text for text in ENGLISH if not any(part in text for part in named)][:1]
    return pieces


def _letters(plan: Plan, words: _Words, written: str) -> list[str]:
    """Return the letters that the text must contain and so far does not have often enough.

    Args:
        plan: the plan.
        words: the words.
        written: the text so far, without the first and the last line, which the loose variants cut off.
    """
    pieces: list[str] = []
    for letter, bounds in plan.letters.items():
        missing = bounds.low - " ".join([written, *pieces]).lower().count(letter)
        if missing > 0:
            # Only the letter in a text of words alone, and if there may not be many words with it. At least two in
            # a row, because a single capital would count as a capitalized word.
            with_letter = [word for word in words.usable if letter in word][:missing] if words.is_reply else []
            pieces.append(" ".join(with_letter) or letter * max(2, missing))
    return pieces


def _fill(draft: _Draft, plan: Plan, words: _Words) -> bool:
    """Add plain lines until there are enough words, different words, content words, and kinds of sentences."""
    is_tight = _is_tight(plan)
    low = plan.words.low + (MARGIN if plan.words.low and not is_tight else 0)
    may_add = plan.sentences.high is None or not is_tight
    spare = 2 if plan.sentences.high is None and plan.sentences.low and not is_tight else 0
    # What is added stands by itself, so the words of the whole text need not be found again for every line.
    written = [*_whole_text(draft, plan, words).whole_words]
    for _ in range(MOST_LINES):
        stops = (
            100 * sum(word.lower() in stop_words() for word in written) / len(written) if plan.stop_words.high else 0
        )
        is_short = len(written) < low
        lacks_more = (
            (plan.stop_words.high and stops > plan.stop_words.high)
            or (plan.unique.low and len({word.lower() for word in written}) < plan.unique.low + SPARE)
            or (sum(bool(line.mark) for line in draft.lines()) < plan.sentences.low + spare)
            or not _end_marks_fit(draft, plan, words)
        )
        if stops < plan.stop_words.low:
            line = _Line(STOP_WORDS.split())
        elif is_short and not may_add:
            added = words.take(1)
            draft.first[-1].words[-1:-1] = added
            written += added
            continue
        elif is_short or lacks_more:
            line = words.plain()
        else:
            return True
        draft.body.append(line)
        written += Text(str(line)).whole_words
    return False


def _whole_text(draft: _Draft, plan: Plan, words: _Words) -> Text:
    return Text(draft.joined(plan.divider, is_reply=words.is_reply))


def _statements(text: Text) -> int:
    return sum(sentence.endswith(".") for sentence in text.sentences)


def _end_marks_fit(draft: _Draft, plan: Plan, words: _Words) -> bool:
    """Return whether a third of the sentences can end in each mark of the plan, if it has some."""
    if not plan.end_marks:
        return True
    third, remainder = divmod(_statements(_whole_text(draft, plan, words)), 3)
    return remainder == 0 and sum(line.plain for line in draft.lines()) >= third * len(plan.end_marks)


def _mark(draft: _Draft, plan: Plan, words: _Words) -> None:
    """Decide how each sentence ends."""
    lines = draft.lines()
    if plan.emoji:
        for line in lines:
            line.mark = line.mark and f" {SMILE}."
    if plan.end_marks:
        third = _statements(_whole_text(draft, plan, words)) // 3
        plain = [line for line in lines if line.plain]
        for number, line in enumerate(plain[: third * len(plan.end_marks)]):
            line.mark = plan.end_marks[number // third]
    if plan.sentences.high is not None:
        # The last line ends a sentence, whatever its mark. The first ones keep theirs as far as there may be
        # sentences, and one of them has a mark even if the last one has none.
        fewest = max(draft.reserved + (not lines[-1].mark), plan.sentences.low, 1 + plan.question)
        marked = [line for line in lines[:-1] if line.mark]
        for line in marked[fewest - 1 :]:
            line.mark = ""
