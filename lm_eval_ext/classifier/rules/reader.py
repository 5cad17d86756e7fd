"""Careful rules: they read an answer if it is clear and abstain otherwise."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from lm_eval_ext.classifier.reading import Answer, Option, Reading, refusal_option
from lm_eval_ext.classifier.rules import after_refusal, phrases
from lm_eval_ext.classifier.rules.after_refusal import chosen_after_refusal
from lm_eval_ext.classifier.rules.contradictions import contradiction, mixed_pairs
from lm_eval_ext.classifier.rules.grouping import is_line, outside_lists, runs
from lm_eval_ext.classifier.rules.left_open import left_open
from lm_eval_ext.classifier.rules.mentions import OptionMention, mentions, plain
from lm_eval_ext.classifier.rules.stance import is_committed, is_denied, sentence_before

ABSTAINED = Reading("none", (), 0.0)
"""The reading if the rules abstain."""

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
    found = outside_lists(text, mentions(text, answer.options), len(answer.options))
    if _says(phrases.NONE_OF_THEM, text, found):
        return Reading("none") if _answers_outside(text, found, answer.options) else None
    if _says(phrases.WAVERS, text, found):
        return None
    together = runs(text, found)
    committed = _committed(text, together)
    if pairs := mixed_pairs(text, found, committed):
        return contradiction(text, found, pairs)
    kept = _kept(text, committed)
    if kept is None or _is_one_of_several_cases(text, found, kept):
        return None
    return _chosen(text, found, kept, left_open(text, together, refusal_option(answer.options)), answer.options)


def _answers_outside(text: str, found: Run, options: Sequence[Option]) -> bool:
    """Tell whether a response that says "none of these" names no option, does not decline and can mean no option."""
    return not found and not phrases.REFUSAL.search(text) and not any(phrases.NO_ANSWER.search(o.text) for o in options)


def _chosen(text: str, found: Run, kept: Sequence[Run], listed: set[str], options: Sequence[Option]) -> Reading | None:
    """Return what a response chooses, or refuses to choose.

    Args:
        text: the plain response.
        found: its mentions outside lists of options.
        kept: the runs that it commits to; all of them choose the same letters.
        listed: the letters that it leaves open.
        options: the options.
    """
    chosen = {mention.letter for run in kept for mention in run} or listed
    if _refuses(text, found):
        named = chosen | {mention.letter for mention in found if mention.how != "text"}
        if not named - {refusal_option(options)}:
            return None if _turns_to_text(text, found) else Reading.refusal(options)
        chosen = chosen_after_refusal(text, found, kept, listed)
        return Reading.of([*chosen], after_refusal.CERTAINTY) if chosen else None
    if not chosen and len({mention.letter for mention in found}) == 1:
        chosen = {mention.letter for mention in found if _stands_alone(text, mention)}
    return Reading.of([*chosen]) if chosen else None


def _turns_to_text(text: str, found: Run) -> bool:
    """Tell whether a response names an option's text after a turn, in quotes or at the start of a sentence."""
    turn = phrases.TURN.search(text)
    return any(
        (turn is not None and mention.start > turn.start())
        or phrases.SET_OFF.search(text, max(0, mention.start - 3), mention.start)
        for mention in found
    )


def _is_one_of_several_cases(text: str, found: Run, kept: Sequence[Run]) -> bool:
    """Tell whether a choice may hold in one case only, because the response names another letter for other cases."""
    chosen = {mention.letter for run in kept for mention in run}
    others = [mention for mention in found if mention.how != "text" and mention.letter not in chosen]
    return bool(
        chosen
        and any(not is_denied(text, one) or phrases.IF.search(sentence_before(text, one.start)) for one in others)
        and any(
            phrases.CASE.search(sentence_before(text, run[0].start)) or phrases.OF_CASE.match(text, run[-1].end)
            for run in kept
        )
    )


def _refuses(text: str, found: Run) -> bool:
    """Tell whether a response begins by declining, before it names any option."""
    refusal = phrases.REFUSAL.search(text, 0, OPENING)
    return refusal is not None and (not found or refusal.start() < found[0].start)


def _says(pattern: re.Pattern[str], text: str, found: Run) -> bool:
    """Tell whether a response matches a pattern outside the text of the options that it names."""
    starts = [mention.text for mention in found]
    for match in pattern.finditer(text):
        place = match.start(match.lastgroup or 0)
        before = bisect_right(starts, place) - 1
        if before < 0 or found[before].end <= place:
            return True
    return False


def _committed(text: str, together: Sequence[Run]) -> list[Run]:
    """Return the runs that a text commits to: those by letter, or if there are none, those by text."""
    committed = [run for run in together if any(is_committed(text, mention) for mention in run)]
    if together and together[0] not in committed and _opens(text, together[0][0]):
        committed = [together[0], *committed]
    return [run for run in committed if any(mention.how != "text" for mention in run)] or committed


def _kept(text: str, committed: Sequence[Run]) -> list[Run] | None:
    """Return the runs that are not denied, or ``None`` if the text contradicts itself."""
    kept = [run for run in committed if not any(is_denied(text, mention) for mention in run)]
    groups = [{mention.letter for mention in run} for run in kept]
    if (committed and not kept) or any(group != groups[0] for group in groups):
        return None
    return kept


def _opens(text: str, first: OptionMention) -> bool:
    """Tell whether a response begins with its first mention or introduces it directly.

    "Option B appeals to …" says something about B, but does not choose it.
    """
    if phrases.SUBJECT.match(text, first.start) and not phrases.TEXT_ENDS.match(text, first.end):
        return False
    if first.start <= 2:
        return first.how in ("both", "letter") or first.end >= len(text) - 1
    return (
        first.how in ("both", "letter")
        and phrases.INTRODUCED.search(text, max(0, first.start - 20), first.start) is not None
    )


def _stands_alone(text: str, mention: OptionMention) -> bool:
    """Tell whether a mention alone is an answer: it is not denied, and is by letter or most of the response."""
    if is_denied(text, mention):
        return False
    return is_line(text, mention) or mention.end - mention.start >= MOST * len(text)
