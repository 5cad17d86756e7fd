"""Finds lists of letters that a response leaves open: "A, B, or C, depending on …", "one of the following: B, D"."""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_ext.classifier.rules import phrases
from lm_eval_ext.classifier.rules.mentions import OptionMention
from lm_eval_ext.classifier.rules.stance import AFTER, BEFORE, is_denied


def left_open(text: str, runs: Sequence[Sequence[OptionMention]], refusal: str | None) -> set[str]:
    """Return the letters of the only list in a response that says that each of them may be the answer.

    Args:
        text: the plain response.
        runs: its mentions, grouped by being named together.
        refusal: the letter of the option that offers a refusal, if any.

    Returns:
        At least two letters, or none. If a letter is named outside the list, the rules cannot tell; nor can they if the
        refusal is in it, because then the response only says that there are options.
    """
    by_letter = [run for run in runs if any(mention.how != "text" for mention in run)]
    if len(by_letter) != 1 or len({mention.letter for mention in by_letter[0]}) < 2:
        return set()
    (run,) = by_letter
    if any(mention.letter == refusal or is_denied(text, mention) for mention in run):
        return set()
    before, after = text[max(0, run[0].start - BEFORE) : run[0].start], text[run[-1].end : run[-1].end + AFTER]
    if phrases.OF_OTHERS.search(before):
        return set()
    if not (phrases.OPEN_BEFORE.search(before) or phrases.OPEN_AFTER.match(after)):
        return set()
    return {mention.letter for mention in run}
