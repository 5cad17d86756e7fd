"""Groups the mentions of a response: options that are named together, and lists that only repeat the options."""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_ext.classifier.rules import phrases
from lm_eval_ext.classifier.rules.mentions import OptionMention


def runs(text: str, found: Sequence[OptionMention]) -> list[list[OptionMention]]:
    """Group the mentions into runs of options that are named together."""
    grouped: list[list[OptionMention]] = []
    ended = False
    for mention in found:
        last = grouped[-1][-1] if grouped else mention
        word = phrases.AND_OR.search(text, last.end, mention.start) is not None
        # "B and C, D is right": after an "and", a comma alone does not continue the list.
        if grouped and (word or not ended) and _are_joined(text, last, mention):
            grouped[-1].append(mention)
            ended = ended or word
        else:
            grouped.append([mention])
            ended = False
    return grouped


def _are_joined(text: str, one: OptionMention, two: OptionMention) -> bool:
    """Tell whether two options are named together: "B or C", or on consecutive lines."""
    if one.letter == two.letter or "text" in (one.how, two.how):
        return False
    between = text[one.end : two.start]
    if phrases.JOINED.fullmatch(between):
        return True
    lines = is_line(text, one) and is_line(text, two)
    return lines and bool(phrases.NEXT_LINE.fullmatch(between)) and bool(phrases.LINE_ENDS.match(text, two.end))


def is_line(text: str, mention: OptionMention) -> bool:
    """Tell whether a mention begins a line like a listed option: "B. Rarely", "(B)" or "B", but not "B is wrong"."""
    if text[max(text.rfind("\n", 0, mention.start) + 1, mention.start - 4) : mention.start].strip(" ([-"):
        return False
    return mention.how == "both" or (
        mention.how == "letter"
        and (text[mention.end - 1] in ".:)]" or text[mention.end : mention.end + 1] in ("", "\n"))
    )


def outside_lists(text: str, found: Sequence[OptionMention], options: int) -> list[OptionMention]:
    """Return the mentions that are not in a list that repeats or discusses the options, one per line."""
    # A list has its letters in order; an answer above the list is not part of it.
    lists: list[list[OptionMention]] = []
    for mention in found:
        if is_line(text, mention):
            if lists and lists[-1][-1].letter < mention.letter:
                lists[-1].append(mention)
            else:
                lists.append([mention])
    spans = [range(one[0].start, one[-1].end) for one in lists if len(one) >= max(2, options - 1)]
    return [mention for mention in found if not any(mention.start in span for span in spans)]
