"""Finds answers that give one option's letter with another option's text: "A. In a village" where A is "In a city"."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from lm_eval_ext.classifier.reading import Reading
from lm_eval_ext.classifier.rules import phrases
from lm_eval_ext.classifier.rules.mentions import OptionMention
from lm_eval_ext.classifier.rules.stance import is_committed

Pair = tuple[OptionMention, OptionMention]
"""A letter and the text beside it, in the order of the response."""

LABEL = 14
"""Maximum number of characters between a letter and the text that it labels."""
CERTAINTY = 0.9
"""The certainty of the reading. Of seventeen such answers in the annotated data, two are labelled with the letter."""


def mixed_pairs(text: str, found: Sequence[OptionMention], runs: Sequence[Sequence[OptionMention]]) -> list[Pair]:
    """Return the pairs of a letter and another option's text at the edges of runs that the response commits to."""
    return [
        (one, two)
        for one, two in pairwise(found)
        if any(run[-1] is one or run[0] is two for run in runs) and _is_mixed(text, one, two)
    ]


def contradiction(text: str, found: Sequence[OptionMention], pairs: Sequence[Pair]) -> Reading | None:
    """Return the reading of a response with mixed pairs.

    Args:
        text: the plain response.
        found: its mentions.
        pairs: its mixed pairs, at least one.

    Returns:
        A ``contradiction`` if the letter is given before the text, the text ends the sentence, and nothing else in the
        response settles which of the two is meant; otherwise ``None``.
    """
    letters = {one.letter for one, _ in pairs}
    texts = {two.letter for _, two in pairs}
    clear = all(_is_clear(text, one, two) for one, two in pairs)
    paired = {id(mention) for pair in pairs for mention in pair}
    settled = any(
        id(mention) not in paired and (mention.how in ("both", "letter") or is_committed(text, mention))
        for mention in found
    )
    if not clear or settled or len(letters) > 1 or len(texts) > 1:
        return None
    return Reading("contradiction", (), CERTAINTY)


def _is_clear(text: str, one: OptionMention, two: OptionMention) -> bool:
    # After a blank line, the text may begin a remark on an option that was not chosen.
    together = "\n\n" not in text[one.end : two.start]
    return one.how == "letter" and together and phrases.TEXT_ENDS.match(text, two.end) is not None


def _is_mixed(text: str, one: OptionMention, two: OptionMention) -> bool:
    return (
        {one.how, two.how} == {"letter", "text"}
        and one.letter != two.letter
        and two.start - one.end < LABEL
        and phrases.LABELS.fullmatch(text, one.end, two.start) is not None
    )
