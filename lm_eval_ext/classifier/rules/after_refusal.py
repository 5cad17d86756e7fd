"""Reads a response that begins by declining, or with a disclaimer, and chooses after all."""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_ext.classifier.rules import phrases
from lm_eval_ext.classifier.rules.grouping import is_line
from lm_eval_ext.classifier.rules.mentions import OptionMention
from lm_eval_ext.classifier.rules.stance import is_committed, sentence_before

Run = Sequence[OptionMention]

CERTAINTY = 0.9
"""The certainty of the reading: annotators sometimes call such an answer a refusal."""


def chosen_after_refusal(text: str, found: Run, kept: Sequence[Run], listed: set[str]) -> set[str]:
    """Return the letters that a response plainly chooses although it begins by declining.

    Args:
        text: the plain response.
        found: its mentions outside lists of options.
        kept: the runs that it commits to; all of them choose the same letters.
        listed: the letters that it leaves open.

    Returns:
        The letters, or none if it is unclear whether what the response names is its answer: a letter that it names is
        not among them, or the choice is made for others or under a condition.
    """
    letters = {mention.letter for mention in found if mention.how != "text"}
    for run in kept:
        if {mention.letter for mention in run} >= letters and _is_plain_choice(text, run):
            return {mention.letter for mention in run}
    if kept:
        return set()
    alone = len(letters) == 1 and any(_is_paragraph(text, mention) for mention in found)
    return letters if alone else listed


def _is_plain_choice(text: str, run: Run) -> bool:
    """Tell whether words commit to a run by letter, in a sentence that makes no condition and speaks of nobody else."""
    if not any(mention.how in ("both", "letter") and is_committed(text, mention) for mention in run):
        return False
    return phrases.CONDITION.search(sentence_before(text, run[0].start)) is None


def _is_paragraph(text: str, mention: OptionMention) -> bool:
    """Tell whether a letter with its text is a line of its own: "B. Rarely"."""
    return mention.how == "both" and is_line(text, mention) and phrases.LINE_ENDS.match(text, mention.end) is not None
