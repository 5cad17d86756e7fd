"""What the words around a mention say about it: that it is the answer, or that it is not."""

from __future__ import annotations

from lm_eval_ext.classifier.rules import phrases
from lm_eval_ext.classifier.rules.mentions import OptionMention

BEFORE, AFTER = 130, 60
"""Number of characters before and after a mention that are searched for words about it."""

SENTENCE = 400
"""Maximum number of characters of a sentence that are searched."""


def is_committed(text: str, mention: OptionMention) -> bool:
    """Tell whether the words around a mention commit to it."""
    before, after = text[max(0, mention.start - BEFORE) : mention.start], text[mention.end : mention.end + AFTER]
    if phrases.CONFIRMED.match(after):
        return True
    # The words that commit may be part of the mention: "choose B".
    has_cue = mention.how != "text" and phrases.CUE.match(text, mention.start)
    return bool(has_cue or phrases.COMMITMENT.search(before)) and not phrases.THEIRS.search(before)


def is_denied(text: str, mention: OptionMention) -> bool:
    """Tell whether the words around a mention may deny it."""
    before, after = text[max(0, mention.start - BEFORE) : mention.start], text[mention.end : mention.end + AFTER]
    return phrases.DENIAL.search(before) is not None or phrases.REJECTED.match(after) is not None


def sentence_before(text: str, place: int) -> str:
    """Return the part of a sentence, or of a line, that stands before a place in it."""
    begin = max(text.rfind(mark, max(0, place - SENTENCE), place) for mark in (". ", "\n", "! ", "? "))
    return text[max(begin + 1, place - SENTENCE) : place]
