r"""Reads which label word a response answers with.

The paper (section 3.3) says only that predictions are parsed from decoded strings; these are our rules, and a table of
answers in the tests spells them out:

* Case, quotes, markdown and punctuation do not matter; a reasoning block does not belong to the answer.
* A label is named by its whole words alone: not by "10" (1), "know" (no), "1.5" (1), "non-foo" (foo). Where one label
  contains another the longer wins ("not entailment"), also with an article inside ("not a duplicate").
* A word is not an answer where it is denied ('not "foo"'), stands in a condition ("if the review is positive"), numbers
  something ("Sentence 1", the "1." of a list), or is the article "no" ("no evidence").
* ``first``: the first label named. ``final``: the last one that is stated as the answer ('the answer is "foo"', or a
  line or sentence that is nothing but the label); where none is, the last one named.
* Two labels in one breath ("foo or bar", "foo/bar") are no answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from lm_eval_ext.reasoning import without_reasoning

Reads = Literal["first", "final"]

# Curly, low and angle quotes, the minus sign, the non-breaking hyphen, the zero-width space; an underscore is a space.
_PLAIN = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
    | dict.fromkeys("\u2018\u2019", "'")
    | dict.fromkeys("\u2212\u2011", "-")
    | {"_": " ", "\u200b": ""}
)
_MARKUP = re.compile(r"[*`~]+")
_HEADING = re.compile(r"(?m)^[ \t]*#+[ \t]*")

_DENIED = re.compile(
    r"(?:\b(?:not|never|neither|nor|rather than|instead of|without)|n't)"
    r"(?:\s+(?:an?|the|be|as|is|are|of|say(?:ing)?|output(?:ting)?|answer(?:ing)?|label(?:l?ed)?|really|necessarily|"
    r"clearly|strictly|exactly|entirely|quite|truly|simply|considered|semantically))*[\s\"'(]*$"
)
_NUMBERED_THING = re.compile(
    r"\b(?:sentence|question|statement|premise|hypothesis|step|example|point|part|reason|review|phrase|message|"
    r"description|rule|condition|case)s?\s*#?\s*[\"']?$"
)
_LIST_MARKER = re.compile(r"(?m)^[ \t]*(\d+)[.)](?=[ \t]+\S)")
_AFTER_THE_ANSWER_NO = re.compile(
    r"[ \t]+(?:because|since|as|and|but|so|or|for|given|the|it|they|this|these|that|sentence|question|there|i|if|not|"
    r"neither|here|in|while|although)\b"
)
_NEXT_WORD = re.compile(r"[ \t]+[a-z]")

_CONDITION = re.compile(r"\b(?:if(?!\s+(?:we|i|you|one)\b)|whether)\b[^.!?\n]*")
_CONCLUSION = re.compile(r"\b(?:so|therefore|thus|hence)\b")

_CUE = re.compile(
    r"\b(?:answers?|output(?:s|ting)?|respon(?:d|ds|se)|conclu(?:de|sion)|verdict|prediction|classification|label|boxed)\b"
)
_WITHIN_STATEMENT = re.compile(r"(?:[^.!?\n]|\.(?=\S)){0,120}|[\s:=\-\"'({\[]*")
_ALONE_BEFORE = re.compile(
    r"(?:^|[.!?:\n])[\s\"'({\[>\-]*(?:(?:so|therefore|thus|hence|then|and|it is|it's)\b[\s,:\"']*)*$"
)
_ALONE_AFTER = re.compile(r"[\s\"')}\]]*(?:[.!?,;\n]|$)")

# Between two labels of one breath: punctuation alone, or little words with a conjunction among them.
_ONE_BREATH = re.compile(
    r"[^\w.!?;:\n]*(?:(?:(?:either|both|it|is|be|also|maybe|perhaps|possibly|could|might|may|an?|the)[^\w.!?;:\n]+)*"
    r"(?:or|and|nor|vs|versus)\b"
    r"(?:[^\w.!?;:\n]*\b(?:or|either|both|it|is|it's|be|also|maybe|perhaps|possibly|could|might|may|an?|the)\b)*"
    r"[^\w.!?;:\n]*)?"
)


class _Mention(NamedTuple):
    start: int
    end: int
    label: str


def read_answer(response: str, labels: Sequence[str], reads: Reads = "first") -> str | None:
    """Return the label that a response answers with, or ``None`` if it names no label, or two in one breath.

    Args:
        response: what the model generated.
        labels: the label words, distinct without regard to case.
        reads: ``"first"`` for direct prompting, ``"final"`` for a chain of thought.
    """
    text = _plain(without_reasoning(response))
    mentions = _mentions(text, tuple(labels))
    if not mentions:
        return None
    chosen = 0 if reads == "first" else _stated_last(text, mentions)
    if any(_in_one_breath(text, mentions, chosen, other) for other in (chosen - 1, chosen + 1)):
        return None
    return mentions[chosen].label


def plain_label(label: str) -> str:
    """Return a label word in the form in which it is looked for: two labels with the same form are the same word."""
    return " ".join(_plain(label).split())


def _plain(text: str) -> str:
    # Emphasis and code become quotation marks: both set a word apart as the literal output.
    return _HEADING.sub("", _MARKUP.sub('"', text)).translate(_PLAIN).casefold()


@lru_cache(maxsize=512)
def _pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = []
    for index, label in sorted(enumerate(map(plain_label, labels)), key=lambda item: -len(item[1])):
        words = r"[\s\"-]+(?:an?\s+|the\s+)?".join(map(re.escape, label.split()))
        number = r"(?<!-)" if label[0].isdigit() else ""
        alternatives.append(rf"(?P<label{index}>{number}{words})")
    before = r"(?<!\w)(?<!\w[-'])(?<!\d[.,/:])"
    after = r"(?!\w|[-']\w|[.,/:]\d|\s?%)"
    return re.compile(f"{before}(?:{'|'.join(alternatives)}){after}")


def _mentions(text: str, labels: tuple[str, ...]) -> list[_Mention]:
    not_answers = [*_conditions(text), *_list_markers(text)]
    found = []
    for match in _pattern(labels).finditer(text):
        start, end = match.span()
        if not any(low <= start < high for low, high in not_answers) and not _is_no_answer(text, start, end):
            found.append(_Mention(start, end, labels[int(str(match.lastgroup).removeprefix("label"))]))
    return found


def _is_no_answer(text: str, start: int, end: int) -> bool:
    if _DENIED.search(text, 0, start):
        return True
    word = text[start:end]
    if word.isdigit():
        return bool(_NUMBERED_THING.search(text, 0, start))
    return word == "no" and bool(_NEXT_WORD.match(text, end)) and not _AFTER_THE_ANSWER_NO.match(text, end)


def _conditions(text: str) -> list[tuple[int, int]]:
    spans = []
    for match in _CONDITION.finditer(text):
        clause = match.group()
        # 'If …, you need to output "foo"' repeats the instruction to its end; any other condition ends at its comma.
        length = len(clause) if "output" in clause or "," not in clause else clause.index(",")
        conclusion = _CONCLUSION.search(clause)
        if conclusion:
            length = min(length, conclusion.start())
        spans.append((match.start(), match.start() + length))
    return spans


def _list_markers(text: str) -> list[tuple[int, int]]:
    markers = list(_LIST_MARKER.finditer(text))
    return [match.span() for match in markers] if len(markers) > 1 else []


def _stated_last(text: str, mentions: Sequence[_Mention]) -> int:
    stated = [index for index, mention in enumerate(mentions) if _stands_alone(text, mention)]
    for cue in _CUE.finditer(text):
        named = [
            index
            for index, mention in enumerate(mentions)
            if mention.start >= cue.end() and _WITHIN_STATEMENT.fullmatch(text, cue.end(), mention.start)
        ]
        quoted = [index for index in named if _is_quoted(text, mentions[index])]
        stated.extend((quoted or named)[:1])
    return max(stated, default=len(mentions) - 1)


def _stands_alone(text: str, mention: _Mention) -> bool:
    return bool(_ALONE_BEFORE.search(text, 0, mention.start) and _ALONE_AFTER.match(text, mention.end))


def _is_quoted(text: str, mention: _Mention) -> bool:
    return text[: mention.start].endswith(('"', "'")) and text[mention.end :].lstrip(".,!").startswith(('"', "'"))


def _in_one_breath(text: str, mentions: Sequence[_Mention], one: int, other: int) -> bool:
    if not 0 <= other < len(mentions) or mentions[one].label == mentions[other].label:
        return False
    first, second = sorted((mentions[one], mentions[other]))
    return bool(_ONE_BREATH.fullmatch(text, first.end, second.start))
