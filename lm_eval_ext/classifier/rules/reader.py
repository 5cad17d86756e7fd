"""Careful rules: they read an answer if it is clear and abstain otherwise."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from lm_eval_ext.classifier.reading import Answer, Reading, refusal_option
from lm_eval_ext.classifier.rules import phrases
from lm_eval_ext.classifier.rules.mentions import OptionMention, mentions, plain

ABSTAINED = Reading("none", (), 0.0)
"""The reading if the rules abstain."""

OPENING = 260
"""Number of characters at the start of a response in which a refusal must appear."""

MOST = 0.5
"""Fraction of a response that an option's text without its letter must make up to count as the answer."""
LABEL = 14
"""Maximum number of characters between a letter and the text that it labels."""
BEFORE, AFTER = 130, 60
"""Number of characters before and after a mention that are searched for words committing to it."""


def read(answers: Sequence[Answer]) -> list[Reading]:
    """Return the readings of clear answers, and ``ABSTAINED`` (``none``, certainty 0) where the rules cannot tell."""
    return [decide(answer) or ABSTAINED for answer in answers]


def decide(answer: Answer) -> Reading | None:
    """Return the reading of a clear answer, or ``None`` if the rules cannot tell."""
    text = plain(answer.text)
    if not text:
        return Reading("none")
    found = _outside_lists(text, mentions(text, answer.options), len(answer.options))
    if _says(phrases.NONE_OF_THEM, text, found) or _says(phrases.WAVERS, text, found):
        return None
    chosen = _chosen(text, found)
    if chosen is None:
        return None
    if _refuses(text, found):
        named = chosen | {mention.letter for mention in found if mention.how != "text"}
        return Reading.refusal(answer.options) if not named - {refusal_option(answer.options)} else None
    if not chosen and len({mention.letter for mention in found}) == 1:
        chosen = {mention.letter for mention in found if _stands_alone(text, mention)}
    return Reading.of([*chosen]) if chosen else None


def _refuses(text: str, found: Sequence[OptionMention]) -> bool:
    """Tell whether a response begins by declining, before it names any option."""
    refusal = phrases.REFUSAL.search(text, 0, OPENING)
    return refusal is not None and (not found or refusal.start() < found[0].start)


def _says(pattern: re.Pattern[str], text: str, found: Sequence[OptionMention]) -> bool:
    """Tell whether a response matches a pattern outside the text of the options that it names."""
    starts = [mention.text for mention in found]
    for match in pattern.finditer(text):
        place = match.start(match.lastgroup or 0)
        before = bisect_right(starts, place) - 1
        if before < 0 or found[before].end <= place:
            return True
    return False


def _chosen(text: str, found: Sequence[OptionMention]) -> set[str] | None:
    """Return the letters that a text commits to, or ``None`` if it contradicts itself."""
    runs = _runs(text, found)
    committed = [run for run in runs if any(_is_committed(text, mention) for mention in run)]
    if runs and runs[0] not in committed and _opens(text, found[0]):
        committed = [runs[0], *committed]
    committed = [run for run in committed if any(mention.how != "text" for mention in run)] or committed
    if any(_is_contradicted(text, one, two) for one, two in pairwise(found) if _is_among(one, two, committed)):
        return None
    kept = [run for run in committed if not any(_is_denied(text, mention) for mention in run)]
    groups = [{mention.letter for mention in run} for run in kept]
    if (committed and not kept) or any(group != groups[0] for group in groups):
        return None
    return set().union(*groups)


def _is_among(one: OptionMention, two: OptionMention, runs: Sequence[Sequence[OptionMention]]) -> bool:
    """Tell whether the first of two neighboring mentions ends a run or the second begins one."""
    return any(run[-1] is one or run[0] is two for run in runs)


def _runs(text: str, found: Sequence[OptionMention]) -> list[list[OptionMention]]:
    """Group the mentions into runs of options that are named together."""
    runs: list[list[OptionMention]] = []
    for mention in found:
        if runs and _are_joined(text, runs[-1][-1], mention):
            runs[-1].append(mention)
        else:
            runs.append([mention])
    return runs


def _opens(text: str, first: OptionMention) -> bool:
    """Tell whether a response begins with its first mention or introduces it directly."""
    if first.start <= 2:
        return first.how in ("both", "letter") or first.end >= len(text) - 1
    return (
        first.how in ("both", "letter")
        and phrases.INTRODUCED.search(text, max(0, first.start - 20), first.start) is not None
    )


def _are_joined(text: str, one: OptionMention, two: OptionMention) -> bool:
    """Tell whether two options are named together: "B or C", or on consecutive lines."""
    if one.letter == two.letter or "text" in (one.how, two.how):
        return False
    between = text[one.end : two.start]
    if phrases.JOINED.fullmatch(between):
        return True
    lines = _is_line(text, one) and _is_line(text, two)
    return lines and bool(phrases.NEXT_LINE.fullmatch(between)) and bool(phrases.LINE_ENDS.match(text, two.end))


def _is_line(text: str, mention: OptionMention) -> bool:
    """Tell whether a mention begins a line like a listed option: "B. Rarely", "(B)" or "B", but not "B is wrong"."""
    if text[max(text.rfind("\n", 0, mention.start) + 1, mention.start - 4) : mention.start].strip(" ([-"):
        return False
    return mention.how == "both" or (
        mention.how == "letter"
        and (text[mention.end - 1] in ".:)]" or text[mention.end : mention.end + 1] in ("", "\n"))
    )


def _stands_alone(text: str, mention: OptionMention) -> bool:
    """Tell whether a mention alone is an answer: it is not denied, and is by letter or most of the response."""
    if _is_denied(text, mention):
        return False
    return mention.how == "both" or _is_line(text, mention) or mention.end - mention.start >= MOST * len(text)


def _is_committed(text: str, mention: OptionMention) -> bool:
    if mention.how != "text" and phrases.CUE.match(text, mention.start):
        # The words that commit are part of the mention: "choose B".
        return True
    before, after = text[max(0, mention.start - BEFORE) : mention.start], text[mention.end : mention.end + AFTER]
    return phrases.COMMITMENT.search(before) is not None or phrases.CONFIRMED.match(after) is not None


def _is_denied(text: str, mention: OptionMention) -> bool:
    before, after = text[max(0, mention.start - BEFORE) : mention.start], text[mention.end : mention.end + AFTER]
    return phrases.DENIAL.search(before) is not None or phrases.REJECTED.match(after) is not None


def _is_contradicted(text: str, one: OptionMention, two: OptionMention) -> bool:
    """Tell whether a letter labels the text of another option."""
    return (
        {one.how, two.how} == {"letter", "text"}
        and one.letter != two.letter
        and two.start - one.end < LABEL
        and phrases.LABELS.fullmatch(text, one.end, two.start) is not None
    )


def _outside_lists(text: str, found: Sequence[OptionMention], options: int) -> list[OptionMention]:
    """Return the mentions that are not in a list that repeats or discusses the options, one per line."""
    # A list has its letters in order; an answer above the list is not part of it.
    runs: list[list[OptionMention]] = []
    for mention in found:
        if _is_line(text, mention):
            if runs and runs[-1][-1].letter < mention.letter:
                runs[-1].append(mention)
            else:
                runs.append([mention])
    spans = [range(run[0].start, run[-1].end) for run in runs if len(run) >= max(2, options - 1)]
    return [mention for mention in found if not any(mention.start in span for span in spans)]
