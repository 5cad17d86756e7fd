"""Careful rules, which read an answer if it is clear and abstain otherwise, and the paper's baseline."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from lm_eval_ext.classifier.reading import ABSTAINED, Answer, Option, Reading, refusal_option
from lm_eval_ext.classifier.rules import phrases
from lm_eval_ext.classifier.rules.mentions import OptionMention, find_mentions, is_line, outside_lists, plain, runs

OPENING = 260
"""Number of characters at the start of a response in which a refusal must appear."""

MOST = 0.5
"""Fraction of a response that an option's text without its letter must make up to count as the answer."""

Run = Sequence[OptionMention]
"""Options that a response names together."""


def read(answers: Sequence[Answer]) -> list[Reading]:
    """Return the readings of clear answers, and ``ABSTAINED`` (``none``, certainty 0) where the rules cannot tell."""
    return [decide(answer) or ABSTAINED for answer in answers]


def decide(answer: Answer) -> Reading | None:
    """Return the reading of a clear answer, or ``None`` if the rules cannot tell."""
    text = plain(answer.text)
    if not text:
        return Reading("none")
    mentions = outside_lists(text, find_mentions(text, answer.options), len(answer.options))
    if _says(phrases.NONE_OF_THEM, text, mentions):
        # It names no option, does not decline, and can mean no option.
        may_mean = [option for option in answer.options if phrases.NO_ANSWER.search(option.text)]
        return Reading("none") if not (mentions or may_mean or phrases.REFUSAL.search(text)) else None
    if _says(phrases.WAVERS, text, mentions):
        return None
    together = runs(text, mentions)
    committed = _committed(text, together)
    if pairs := mixed_pairs(text, mentions, committed):
        return contradiction(text, mentions, pairs)
    asserted = [run for run in committed if not any(is_denied(text, mention) for mention in run)]
    contradicts_itself = len({frozenset(mention.letter for mention in run) for run in asserted}) > 1
    if (committed and not asserted) or contradicts_itself or _is_one_of_several_cases(text, mentions, asserted):
        return None
    listed = left_open(text, together, refusal_option(answer.options))
    reading = _chosen(text, mentions, asserted, listed, answer.options)
    return reading and replace(reading, certainty=_certainty(reading, mentions, answer.options))


AGREED, SEVERAL, REFUSED, ALONE, OTHERS_NAMED = 0.97, 0.92, 0.92, 0.88, 0.6
"""The certainty of a choice whose letter and text agree, of several choices, of a refusal, of a choice by letter or by
text alone, and of one beside which other options are named: how often each is right in ``benchmarks/answers``."""


def _certainty(reading: Reading, mentions: Run, options: Sequence[Option]) -> float:
    if reading.kind == "several":
        return SEVERAL
    if reading.matches(Reading.refusal(options)):
        return REFUSED
    if {mention.letter for mention in mentions} > {*reading.letters}:
        return OTHERS_NAMED
    return AGREED if any(mention.how == "both" for mention in mentions) else ALONE


def _chosen(
    text: str, mentions: Run, asserted: Sequence[Run], listed: set[str], options: Sequence[Option]
) -> Reading | None:
    """Return what a response chooses, or refuses to choose.

    Args:
        text: the plain response.
        mentions: the response's, outside lists of options.
        asserted: the runs that it commits to; all of them choose the same letters.
        listed: the letters that it leaves open.
        options: the options.
    """
    chosen = {mention.letter for run in asserted for mention in run} or listed
    refusal = phrases.REFUSAL.search(text, 0, OPENING)
    # It begins by declining, before it names any option.
    if refusal is not None and (not mentions or refusal.start() < mentions[0].start):
        letters = chosen | {mention.letter for mention in mentions if mention.how != "text"}
        if not letters - {refusal_option(options)}:
            # It may turn to an option's text, or name one in quotes or at the start of a sentence.
            turn = phrases.TURN.search(text)
            after = turn.start() if turn else len(text)
            if any(
                mention.start > after or phrases.SET_OFF.search(text, max(0, mention.start - 3), mention.start)
                for mention in mentions
            ):
                return None
            return Reading.refusal(options)
        chosen = chosen_after_refusal(text, mentions, asserted, listed)
        return Reading.of([*chosen]) if chosen else None
    if not chosen and len({mention.letter for mention in mentions}) == 1:
        # A mention alone is an answer if it is by letter or most of the response.
        chosen = {
            mention.letter
            for mention in mentions
            if not is_denied(text, mention)
            and (is_line(text, mention) or mention.end - mention.start >= MOST * len(text))
        }
    return Reading.of([*chosen]) if chosen else None


def _is_one_of_several_cases(text: str, mentions: Run, asserted: Sequence[Run]) -> bool:
    """Tell whether a choice may hold in one case only, because the response names another letter for other cases."""
    chosen = {mention.letter for run in asserted for mention in run}
    others = [mention for mention in mentions if mention.how != "text" and mention.letter not in chosen]
    return bool(
        chosen
        and any(
            not is_denied(text, mention) or phrases.IF.search(sentence_before(text, mention.start))
            for mention in others
        )
        and any(
            phrases.CASE.search(sentence_before(text, run[0].start)) or phrases.OF_CASE.match(text, run[-1].end)
            for run in asserted
        )
    )


def _says(pattern: re.Pattern[str], text: str, mentions: Run) -> bool:
    """Tell whether a response matches a pattern outside the text of the options that it names."""
    starts = [mention.text for mention in mentions]
    for match in pattern.finditer(text):
        start = match.start(match.lastgroup or 0)
        before = bisect_right(starts, start) - 1
        if before < 0 or mentions[before].end <= start:
            return True
    return False


def _committed(text: str, together: Sequence[Run]) -> list[Run]:
    """Return the runs that a text commits to: those by letter, or if there are none, those by text."""
    committed = [run for run in together if any(is_committed(text, mention) for mention in run)]
    if together and together[0] not in committed and _opens(text, together[0][0]):
        committed = [together[0], *committed]
    return [run for run in committed if any(mention.how != "text" for mention in run)] or committed


def _opens(text: str, first: OptionMention) -> bool:
    """Tell whether a response begins with its first mention or introduces it directly.

    "Option B appeals to …" says something about B, but does not choose it.
    """
    if phrases.SUBJECT.match(text, first.start) and not phrases.TEXT_ENDS.match(text, first.end):
        return False
    is_marked = first.how in ("both", "letter")
    if first.start <= 2:
        return is_marked or first.end >= len(text) - 1
    return is_marked and phrases.INTRODUCED.search(text, max(0, first.start - 20), first.start) is not None


def chosen_after_refusal(text: str, mentions: Run, asserted: Sequence[Run], listed: set[str]) -> set[str]:
    """Return the letters that a response plainly chooses although it begins by declining.

    Args:
        text: the plain response.
        mentions: the response's, outside lists of options.
        asserted: the runs that it commits to; all of them choose the same letters.
        listed: the letters that it leaves open.

    Returns:
        The letters, or none if it is unclear whether what the response names is its answer: a letter that it names is
        not among them, or the choice is made for others or under a condition.
    """
    letters = {mention.letter for mention in mentions if mention.how != "text"}
    for run in asserted:
        # Words commit to it by letter, in a sentence that makes no condition and speaks of nobody else.
        is_plain = any(mention.how in ("both", "letter") and is_committed(text, mention) for mention in run)
        is_plain = is_plain and not phrases.CONDITION.search(sentence_before(text, run[0].start))
        if is_plain and {mention.letter for mention in run} >= letters:
            return {mention.letter for mention in run}
    if asserted:
        return set()
    # A letter with its text, in a line of its own: "B. Rarely".
    lines = [mention for mention in mentions if mention.how == "both" and is_line(text, mention)]
    is_on_its_line = len(letters) == 1 and any(phrases.LINE_ENDS.match(text, mention.end) for mention in lines)
    return letters if is_on_its_line else listed


Pair = tuple[OptionMention, OptionMention]
"""A letter and the text beside it, in the order of the response."""

LABEL_DISTANCE = 14
"""Maximum number of characters between a letter and the text that it labels."""
CONTRADICTION = 0.9
"""The certainty of the reading. Of seventeen such answers in the annotated data, two are labelled with the letter."""


def mixed_pairs(text: str, mentions: Sequence[OptionMention], runs: Sequence[Sequence[OptionMention]]) -> list[Pair]:
    """Return the pairs of a letter and another option's text at the edges of runs that the response commits to."""
    return [
        (first, second)
        for first, second in pairwise(mentions)
        if any(run[-1] is first or run[0] is second for run in runs)
        and {first.how, second.how} == {"letter", "text"}
        and first.letter != second.letter
        and second.start - first.end < LABEL_DISTANCE
        and phrases.LABELS.fullmatch(text, first.end, second.start)
    ]


def contradiction(text: str, mentions: Sequence[OptionMention], pairs: Sequence[Pair]) -> Reading | None:
    """Return the reading of a response with mixed pairs.

    Args:
        text: the plain response.
        mentions: the response's.
        pairs: the response's mixed pairs, at least one.

    Returns:
        A ``contradiction`` if the letter is given before the text, the text ends the sentence, and nothing else in the
        response settles which of the two is meant; otherwise ``None``.
    """
    clear = all(
        # After a blank line, the text may begin a remark on an option that was not chosen.
        first.how == "letter"
        and "\n\n" not in text[first.end : second.start]
        and phrases.TEXT_ENDS.match(text, second.end)
        for first, second in pairs
    )
    paired = {id(mention) for pair in pairs for mention in pair}
    settled = any(
        id(mention) not in paired and (mention.how in ("both", "letter") or is_committed(text, mention))
        for mention in mentions
    )
    if not clear or settled or len({(first.letter, second.letter) for first, second in pairs}) > 1:
        return None
    return Reading("contradiction", (), CONTRADICTION)


def left_open(text: str, runs: Sequence[Sequence[OptionMention]], refusal: str | None) -> set[str]:
    """Return the letters of the only list in a response that says that each of them may be the answer.

    Args:
        text: the plain response.
        runs: the response's mentions, grouped by being named together.
        refusal: the letter of the option that offers a refusal, if any.

    Returns:
        At least two letters, or none. If a letter is named outside the list, the rules cannot tell; nor can they if the
        refusal is in it, because then the response only says that there are options.
    """
    by_letter = [run for run in runs if any(mention.how != "text" for mention in run)]
    letters = {mention.letter for run in by_letter for mention in run}
    if len(by_letter) != 1 or len(letters) < 2 or refusal in letters:
        return set()
    (run,) = by_letter
    before, after = _around(text, run[0].start, run[-1].end)
    is_open = phrases.OPEN_BEFORE.search(before) or phrases.OPEN_AFTER.match(after)
    if not is_open or phrases.OF_OTHERS.search(before) or any(is_denied(text, mention) for mention in run):
        return set()
    return letters


BEFORE, AFTER = 130, 60
"""Number of characters before and after a mention that are searched for words about it."""

SENTENCE = 400
"""Maximum number of characters of a sentence that are searched."""


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    """Return what is searched for words about a mention, or about several that are named together."""
    return text[max(0, start - BEFORE) : start], text[end : end + AFTER]


def is_committed(text: str, mention: OptionMention) -> bool:
    """Tell whether the words around a mention commit to it."""
    before, after = _around(text, mention.start, mention.end)
    if phrases.CONFIRMED.match(after):
        return True
    # The words that commit may be part of the mention: "choose B".
    has_cue = mention.how != "text" and phrases.CUE.match(text, mention.start)
    return bool(has_cue or phrases.COMMITMENT.search(before)) and not phrases.THEIRS.search(before)


def is_denied(text: str, mention: OptionMention) -> bool:
    """Tell whether the words around a mention may deny it."""
    before, after = _around(text, mention.start, mention.end)
    return phrases.DENIAL.search(before) is not None or phrases.REJECTED.match(after) is not None


def sentence_before(text: str, end: int) -> str:
    """Return the part of a sentence, or of a line, that stands before a place in it."""
    begin = max(text.rfind(mark, max(0, end - SENTENCE), end) for mark in (". ", "\n", "! ", "? "))
    return text[max(begin + 1, end - SENTENCE) : end]


_LETTER = re.compile(r"[A-Z]\.")


def string_match(answers: Sequence[Answer]) -> list[Reading]:
    """Return, per answer, the option whose letter is the first capital letter followed by a period (appendix A.4).

    The reading is ``none`` if there is no such letter or if no option has it. The period is literal: the paper
    prints the pattern without an escape, but its published accuracy (55 %) is close to that of the escaped pattern
    (57.8 % on the paper's training set).
    """
    readings = []
    for answer in answers:
        match = _LETTER.search(answer.text)
        letters = [option.letter for option in answer.options]
        readings.append(Reading.of([match[0][0]] if match and match[0][0] in letters else []))
    return readings
