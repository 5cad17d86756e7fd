"""Extracts the label word that a response gives as its answer.

The paper (section 3.3) says only that predictions are parsed from decoded strings. These are our rules; tables of
answers in the tests give examples:

* Case, quotes, markdown and punctuation do not matter; a reasoning block is not part of the answer. ``mentions``
  defines what counts as naming a label.
* ``first``: the first label named.
* ``final``: the last label stated as the answer. The strongest statements are "final answer …", a line "Answer: …", a
  box, and a line or sentence that consists only of the label; then any sentence with "answer", "output", "I choose",
  "so …" and the like; failing those, the last label named.
* Two labels in one breath ("foo or bar", "foo/bar") are not an answer, nor is one that contradicts the yes or no that
  the sentence begins with: "No, the sentences are equivalent".
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Literal

from lm_eval_ext.families.verbalizer.mentions import REACH, LabelMention, mentions, plain, plain_label
from lm_eval_ext.verifiers.reasoning import without_reasoning

Reads = Literal["first", "final"]

_FINAL = re.compile(r"\bfinal answer\b|\bboxed\b|<answer>|(?m:^[ \t\"]*(?:answer|output)[ \t\"]*:)")
_CUE = re.compile(
    r"\b(?:answers?|output(?:s|ting)?|respon(?:d|ds|se)|conclu(?:de|sion)|verdict|prediction|classification|label)\b"
)
_CHOSEN = re.compile(
    r"(?:\b(?:choose|pick|go with|select|say|classify (?:it|this) as|mark (?:it|this) as)"
    r"|\b(?:so|therefore|thus|hence)\b(?: it's| it is)?|\u2192|\u21d2|[-=]>)[\s\"',:]*$"
)
_WITHIN_STATEMENT = re.compile(r"(?:[^.!?\n]|\.(?=\S))*|[\s:=\-\"'({\[]*")
_REJECTED = re.compile(r"\bcannot\b|\bdoes not fit\b|\bis wrong\b|\bonly other\b|\bpossible (?:answer|output)")
_ALONE_BEFORE = re.compile(
    r"(?:^|[.!?:\n])[\s\"'({\[>\-]*(?:(?:so|therefore|thus|hence|then|and|it is|it's)\b[\s,:\"']*)*$"
)
_ALONE_AFTER = re.compile(r"[\s\"')}\]]*(?:[.!?,;\n]|$)")
_CLOSING_QUOTE = re.compile(r"[.,!]*[\"']")
_SENTENCE_START = re.compile(r"[^.!?\n]*$")
_YES_OR_NO = re.compile(r"(?:^|[.!?\n])[ \t\"']*(?P<said>yes|no)\b[\"']*[,.:;!]*(?P<between>[^.!?\n]*\w[^.!?\n]*)$")
_TOLD = re.compile(rf"{_CUE.pattern}|\b(?:so|therefore|thus|hence|choose|pick|select)\b")

# Between two labels in one breath: only punctuation, or function words including a conjunction.
_ONE_BREATH = re.compile(
    r"[^\w.!?;:\n]*(?:(?:(?:either|both|it|is|be|also|maybe|perhaps|possibly|could|might|may|an?|the)[^\w.!?;:\n]+)*"
    r"(?:or|and|nor|vs|versus)\b"
    r"(?:[^\w.!?;:\n]*\b(?:or|either|both|it|is|it's|be|also|maybe|perhaps|possibly|could|might|may|an?|the)\b)*"
    r"[^\w.!?;:\n]*)?"
)


def read_answer(
    response: str, labels: Sequence[str], reads: Reads = "first", row_starts: Sequence[str] = ()
) -> str | None:
    """Return the label that a response gives; ``None`` if it names none, two in one breath, or contradicts itself.

    Args:
        response: what the model generated.
        labels: the label words, distinct when case is ignored.
        reads: ``"first"`` for direct prompting, ``"final"`` for a chain of thought.
        row_starts: how a row begins in the prompt ("Movie review:"). A chain of thought that has stated its answer ends
            where the model invents another row.
    """
    text = plain(without_reasoning(response))
    named = mentions(text, tuple(labels))
    if not named:
        return None
    chosen = 0
    if reads == "final":
        named = _before_another_row(text, named, row_starts)
        chosen = max(_stated(text, named), default=len(named) - 1)
    if any(_in_one_breath(text, named, chosen, other) for other in (chosen - 1, chosen + 1)):
        return None
    label = named[chosen].label
    return None if _contradicts_itself(text, named[chosen], labels) else label


def _before_another_row(text: str, named: list[LabelMention], row_starts: Sequence[str]) -> list[LabelMention]:
    for row_start in row_starts:
        start = text.find("\n" + plain(row_start))
        before = [mention for mention in named if mention.end <= start]
        if _stated(text, before):
            named = before
    return named


def _stated(text: str, named: Sequence[LabelMention]) -> list[int]:
    """Return the named labels that are stated as the answer; weaker ones count only without stronger ones."""
    alone = [index for index, mention in enumerate(named) if _stands_alone(text, mention)]
    final = [*alone, *_after(_FINAL, text, named)]
    if final:
        return final
    chosen = [
        index
        for index, mention in enumerate(named)
        if _CHOSEN.search(text, max(0, mention.start - REACH), mention.start) and _ALONE_AFTER.match(text, mention.end)
    ]
    return [*chosen, *_after(_CUE, text, named)]


def _after(cue: re.Pattern[str], text: str, named: Sequence[LabelMention]) -> list[int]:
    """Return, for each cue, a label named in the rest of its sentence: the first in quotes, else the first."""
    starts = [mention.start for mention in named]
    found = []
    for match in cue.finditer(text):
        sentence = _SENTENCE_START.search(text, max(0, match.start() - REACH), match.start())
        begin = sentence.start() if sentence else match.start()
        first = bisect_left(starts, match.end())
        beyond = bisect_right(starts, match.end() + REACH)
        inside = [
            index
            for index in range(first, beyond)
            if _WITHIN_STATEMENT.fullmatch(text, match.end(), named[index].start)
            and not _REJECTED.search(text, begin, named[index].end)
        ]
        quoted = [index for index in inside if _is_quoted(text, named[index])]
        found.extend((quoted or inside)[:1])
    return found


def _stands_alone(text: str, mention: LabelMention) -> bool:
    near = max(0, mention.start - REACH)
    return bool(_ALONE_BEFORE.search(text, near, mention.start) and _ALONE_AFTER.match(text, mention.end))


def _is_quoted(text: str, mention: LabelMention) -> bool:
    return text[mention.start - 1 : mention.start] in ('"', "'") and bool(_CLOSING_QUOTE.match(text, mention.end))


def _in_one_breath(text: str, named: Sequence[LabelMention], one: int, other: int) -> bool:
    if not 0 <= other < len(named) or named[one].label == named[other].label:
        return False
    first, second = sorted((named[one], named[other]))
    return bool(_ONE_BREATH.fullmatch(text, first.end, second.start))


def _contradicts_itself(text: str, mention: LabelMention, labels: Sequence[str]) -> bool:
    """Return whether a sentence says no and then asserts "X", or yes and then "not X", where both are labels.

    If it says that a label is its answer, the yes or no may be about the row: "No, so I output X".
    """
    words = {plain_label(label) for label in labels}
    opening = _YES_OR_NO.search(text, max(0, mention.start - REACH), mention.start)
    if opening is None or opening["said"] in words or _TOLD.search(opening["between"]):
        return False
    label = plain_label(mention.label)
    return f"not {label}" in words if opening["said"] == "no" else label.removeprefix("not ") in words - {label}
