"""Finds where a response names a label: as a separate word, asserted, and not as part of something else.

A label word does not count as a mention if it

* is part of another word or number: "10" and "1.5" are not 1, "know" is not no, "non-foo" is not foo;
* is denied, up to four words before: "not very positive", "no sign of sadness" (but "isn't semantically equivalent"
  names "not equivalent", where that is a label), or right after: "positive is not allowed"; what "or" adds to a denied
  label is denied, too: "not positive or negative";
* is what cannot be answered: 'you cannot output "foo" or "bar"';
* describes something else than the row: "positive qualities";
* occurs in a condition or repeats the instruction: 'if the review is positive, I need to output "foo"', '"foo" for joy
  and "bar" for sadness', 'I am only allowed to output "foo" or "bar"';
* numbers something: "Sentence 1", the "1." of a list;
* is the article "no": "no evidence".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

Span = tuple[int, int]

REACH = 120
"""Characters of context around a label: without a bound, a degenerate response would take quadratic time."""

# Curly, low and angle quotes, the minus sign, the non-breaking hyphen, the zero-width space; an underscore is a space.
_PLAIN = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
    | dict.fromkeys("\u2018\u2019", "'")
    | dict.fromkeys("\u2212\u2011", "-")
    | {"_": " ", "\u200b": ""}
)
_MARKUP = re.compile(r"[*`~]+")
_HEADING = re.compile(r"(?m)^[ \t]*#+[ \t]*")

_BEFORE = r"(?<!\w)(?<!\w[-'])(?<!\d[.,/:])"
_AFTER = r"(?!\w|[-']\w|[.,/:]\d|\s?%)"
_NEGATION = rf"(?:{_BEFORE}(?:not|no)|(?<=\w)n't)"
_FILLER = r"(?:(?:an?|the|any|semantically|really|quite|strictly|exactly|truly|necessarily)[\s\"]+)*"

_DENIED = re.compile(
    r"(?:\b(?:not|never|neither|nor|rather than|instead of|without|hardly|lacks?|nothing|no|cannot)\b|n't\b)"
    r"(?![ \t]+(?:only|just|matter|doubt|question|longer)\b)"
    r"(?:[ \t]+(?!(?:but|so|because|since|as|therefore|thus|hence|and|answer|final|output)\b)[\w']+){0,4}[ \t\"'(]+$"
)
_OUTPUT_DENIED = re.compile(
    r"(?:\b(?:not|never|without|cannot)|n't)[ \t]+(?:\w+[ \t]+)?(?:output|answer)(?:ting|ing)?[ \t\"'(]+$"
)
_DENIED_AFTER = re.compile(
    r"[\"')]*[ \t]+(?:(?:is|are|was|were|does|do|would|should|can|could)(?:n't|[ \t]+not)|cannot)\b"
)
_ALTERNATIVE = re.compile(r"[^\w.!?;:\n]*(?:(?:or|nor)\b|/)[^\w.!?;:\n]*(?:(?:either|an?|the|even)\b[^\w.!?;:\n]*)?")
_CANNOT_ANSWER = re.compile(
    r"\b(?:i|you|we|one)[ \t]+(?:cannot|can't|can not|could not|couldn't)[ \t]+(?:simply[ \t]+|just[ \t]+)?"
    r"(?:output|answer|say|give|provide|choose|use|respond)\b"
    r"(?:(?!\b(?:because|since|as|so|but|and|therefore|thus|hence|without|unless|if)\b)"
    r"(?!,[ \t]*(?:it|it's|this|that|they|i|my|the)\b)[^.!?;\n])*"
)
_ASPECT = re.compile(
    r"[ \t]+(?:qualit(?:y|ies)|aspects?|elements?|features?|traits?|attributes?|characteristics?|points|things|moments"
    r"|words?|terms?|adjectives?|language|connotations?|impacts?|effects?|influences?|experiences?|changes?|outcomes?"
    r"|results|energy|remarks|comments)\b"
)
_CONDITION = re.compile(r"\b(?:if(?!\s+(?:we|i|you|one)\b)|whether|when|otherwise)\b[^.!?\n]*")
_TURN = re.compile(r"\b(?:but|so|therefore|thus|hence)\b")
_CONDITION_ENDS = re.compile(rf"[,;)]|{_TURN.pattern}")
_UNREAL = re.compile(r"\b(?:were|would|otherwise)\b")
_ALLOWED = re.compile(r"\ballowed (?:to|answers|outputs|words)\b[^.!?\n]*")
_SENTENCE = re.compile(r"[^.!?\n]+")
_HANDED_OUT = re.compile(r"[ \t\"')]*(?:for|when|if)\b")
_LIST_MARKER = re.compile(r"(?m)^[ \t]*(\d+)[.)](?=[ \t]+\S)")
_NUMBERED_THING = re.compile(
    r"\b(?:sentence|question|statement|premise|hypothesis|step|example|point|part|reason|review|phrase|message|"
    r"description|rule|condition|case)s?\s*#?\s*[\"']?$"
)
_NEXT_WORD = re.compile(r"[ \t]+[a-z]")
_AFTER_THE_ANSWER_NO = re.compile(
    r"[ \t]+(?:because|since|as|and|but|so|or|for|given|the|it|they|this|these|that|sentence|question|there|i|if|not|"
    r"neither|here|in|while|although)\b"
)


class LabelMention(NamedTuple):
    """A label named at ``text[start:end]``."""

    start: int
    end: int
    label: str


def plain(text: str) -> str:
    """Return a text in lower case with straight quotes; emphasis and code marks become quotes, too."""
    return _HEADING.sub("", _MARKUP.sub('"', text)).translate(_PLAIN).casefold()


def plain_label(label: str) -> str:
    """Return a label word in its normalized form: two labels with the same form are the same word."""
    return " ".join(plain(label).split())


def mentions(text: str, labels: tuple[str, ...]) -> list[LabelMention]:
    """Return the labels that a plain text names, in order.

    Args:
        text: as ``plain`` returns it.
        labels: the label words.
    """
    words = occurrences(text, labels)
    elsewhere = [*_conditions(text, words), *_hand_outs(text, words), *_unanswerable(text)]
    denied = _denied(text, words)
    return [
        word
        for word in words
        if word not in denied
        and not any(low <= word.start < high for low, high in elsewhere)
        and not _ASPECT.match(text, word.end)
    ]


def occurrences(text: str, labels: tuple[str, ...]) -> list[LabelMention]:
    """Return where a plain text has the label words, in order, whether or not it asserts them.

    Args:
        text: as ``plain`` returns it.
        labels: the label words.
    """
    words = (
        LabelMention(*match.span(), labels[int(str(match.lastgroup).removeprefix("label"))])
        for match in _pattern(labels).finditer(text)
    )
    numbers = _list_markers(text)
    return [
        word
        for word in words
        if not any(low <= word.start < high for low, high in numbers) and not _is_another_word(text, word)
    ]


@lru_cache(maxsize=512)
def _pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = []
    # The longer label wins where one contains another.
    for index, label in sorted(enumerate(map(plain_label, labels)), key=lambda item: -len(item[1])):
        first, *rest = label.split()
        number = r"(?<!-)" if first[0].isdigit() else ""
        begin = _NEGATION if first == "not" and rest else f"{number}{_BEFORE}{re.escape(first)}"
        words = "".join(rf"[\s\"-]+{_FILLER}{re.escape(word)}" for word in rest)
        alternatives.append(rf"(?P<label{index}>{begin}{words})")
    return re.compile(f"(?:{'|'.join(alternatives)}){_AFTER}")


def _conditions(text: str, words: Sequence[LabelMention]) -> Iterator[Span]:
    for match in _ALLOWED.finditer(text):
        yield match.span()
    for match in _CONDITION.finditer(text):
        start, end = match.span()
        clause = match.group()
        if _UNREAL.search(clause):
            # 'If it were negative, the answer would be "bar"' states nothing.
            turn = _TURN.search(clause)
            yield start, start + turn.start() if turn else end
        elif "output" in clause:
            # The instruction repeated: the condition, and the word that it assigns.
            handed = [word.end for word in words if start + clause.index("output") < word.start < end]
            yield start, min([*handed, end])
        else:
            ends = _CONDITION_ENDS.search(clause)
            yield start, start + ends.start() if ends else end


def _hand_outs(text: str, words: Sequence[LabelMention]) -> Iterator[Span]:
    handed = [word for word in words if _HANDED_OUT.match(text, word.end)]
    for sentence in _SENTENCE.finditer(text):
        inside = {word.label for word in handed if sentence.start() <= word.start < sentence.end()}
        if len(inside) > 1:
            yield sentence.span()


def _list_markers(text: str) -> list[Span]:
    markers = [match.span() for match in _LIST_MARKER.finditer(text)]
    return markers if len(markers) > 1 else []


def _unanswerable(text: str) -> Iterator[Span]:
    return (match.span() for match in _CANNOT_ANSWER.finditer(text))


def _denied(text: str, words: Sequence[LabelMention]) -> set[LabelMention]:
    denied: set[LabelMention] = set()
    for before, word in zip((None, *words), words, strict=False):
        near = max(0, word.start - REACH)
        if (
            _DENIED.search(text, near, word.start)
            or _OUTPUT_DENIED.search(text, near, word.start)
            or _DENIED_AFTER.match(text, word.end)
            or (before in denied and before and _ALTERNATIVE.fullmatch(text, before.end, word.start))
        ):
            denied.add(word)
    return denied


def _is_another_word(text: str, word: LabelMention) -> bool:
    if word.label.isdigit():
        return bool(_NUMBERED_THING.search(text, max(0, word.start - REACH), word.start))
    is_no = text[word.start : word.end] == "no"
    return is_no and bool(_NEXT_WORD.match(text, word.end)) and not _AFTER_THE_ANSWER_NO.match(text, word.end)
