"""Extracts the label word that a response gives as its answer, or the kind of a response that gives none.

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
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from lm_eval_ext.families.leaf import template
from lm_eval_ext.families.verbalizer.schema import PARAPHRASE
from lm_eval_ext.families.verbalizer.verbalizer import Invalid, Reads, marker
from lm_eval_ext.harness import lm
from lm_eval_ext.verifiers.verify import is_empty, without_reasoning

REACH = 120
"""Characters of context around a label: without a bound, a degenerate response would take quadratic time."""

# Curly, low and angle quotes, the minus sign, no-break hyphen and spaces, the zero-width space and the byte order mark;
# an underscore is a space.
_PLAIN = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u00ab\u00bb", '"')
    | dict.fromkeys("\u2018\u2019", "'")
    | dict.fromkeys("\u2212\u2011", "-")
    | dict.fromkeys("_\u00a0\u202f", " ")
    | dict.fromkeys("\u200b\ufeff", "")
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
    """Return where a plain text names a label: as a separate word, asserted, and not as part of something else.

    A label word does not count as a mention if it

    * is part of another word or number: "10" and "1.5" are not 1, "know" is not no, "non-foo" is not foo;
    * is denied, up to four words before: "not very positive", "no sign of sadness" (but "isn't semantically equivalent"
      names "not equivalent", where that is a label), or right after: "positive is not allowed"; what "or" adds to a
      denied label is denied, too: "not positive or negative";
    * is what cannot be answered: 'you cannot output "foo" or "bar"';
    * describes something else than the row: "positive qualities";
    * occurs in a condition or repeats the instruction: 'if the review is positive, I need to output "foo"', '"foo" for
      joy and "bar" for sadness', 'I am only allowed to output "foo" or "bar"';
    * numbers something: "Sentence 1", the "1." of a list;
    * is the article "no": "no evidence".

    Args:
        text: as ``plain`` returns it.
        labels: the label words.

    Returns:
        The mentions in order.
    """
    words = occurrences(text, labels)
    elsewhere = [*_conditions(text, words), *(match.span() for match in _CANNOT_ANSWER.finditer(text))]
    handed_out = [word for word in words if _HANDED_OUT.match(text, word.end)]
    for sentence in _SENTENCE.finditer(text):
        if len({word.label for word in handed_out if sentence.start() <= word.start < sentence.end()}) > 1:
            elsewhere.append(sentence.span())
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
    markers = [match.span() for match in _LIST_MARKER.finditer(text)]
    numbers = markers if len(markers) > 1 else []
    labels_there = []
    for word in words:
        if word.label.isdigit():
            is_another = bool(_NUMBERED_THING.search(text, max(0, word.start - REACH), word.start))
        else:
            is_article = text[word.start : word.end] == "no" and _NEXT_WORD.match(text, word.end)
            is_another = bool(is_article and not _AFTER_THE_ANSWER_NO.match(text, word.end))
        if not is_another and not any(low <= word.start < high for low, high in numbers):
            labels_there.append(word)
    return labels_there


@lru_cache(maxsize=512)
def _pattern(labels: tuple[str, ...]) -> re.Pattern[str]:
    alternatives = []
    # The longer label wins where one contains another.
    for index, label in sorted(enumerate(map(plain_label, labels)), key=lambda item: -len(item[1])):
        first, *others = label.split()
        number = r"(?<!-)" if first[0].isdigit() else ""
        begin = _NEGATION if first == "not" and others else f"{number}{_BEFORE}{re.escape(first)}"
        words = "".join(rf"[\s\"-]+{_FILLER}{re.escape(word)}" for word in others)
        alternatives.append(rf"(?P<label{index}>{begin}{words})")
    return re.compile(f"(?:{'|'.join(alternatives)}){_AFTER}")


def _conditions(text: str, words: Sequence[LabelMention]) -> Iterator[tuple[int, int]]:
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


def _denied(text: str, words: Sequence[LabelMention]) -> set[LabelMention]:
    denied: set[LabelMention] = set()
    for before, word in zip((None, *words), words, strict=False):
        start = max(0, word.start - REACH)
        if (
            _DENIED.search(text, start, word.start)
            or _OUTPUT_DENIED.search(text, start, word.start)
            or _DENIED_AFTER.match(text, word.end)
            or (before in denied and before and _ALTERNATIVE.fullmatch(text, before.end, word.start))
        ):
            denied.add(word)
    return denied


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
        for row_start in row_starts:
            start = text.find("\n" + plain(row_start))
            before = [mention for mention in named if mention.end <= start]
            if _stated(text, before):
                named = before
        chosen = max(_stated(text, named), default=len(named) - 1)
    for first, second in pairwise(named[max(0, chosen - 1) : chosen + 2]):
        if first.label != second.label and _ONE_BREATH.fullmatch(text, first.end, second.start):
            return None
    label = named[chosen].label
    return None if _contradicts_itself(text, named[chosen], labels) else label


def _stated(text: str, mentions: Sequence[LabelMention]) -> list[int]:
    """Return the named labels that are stated as the answer; weaker ones count only without stronger ones."""
    alone, chosen = [], []
    for index, mention in enumerate(mentions):
        start = max(0, mention.start - REACH)
        if _ALONE_AFTER.match(text, mention.end):
            if _ALONE_BEFORE.search(text, start, mention.start):
                alone.append(index)
            if _CHOSEN.search(text, start, mention.start):
                chosen.append(index)
    return [*alone, *_after(_FINAL, text, mentions)] or [*chosen, *_after(_CUE, text, mentions)]


def _after(cue: re.Pattern[str], text: str, mentions: Sequence[LabelMention]) -> list[int]:
    """Return, for each cue, a label named in the rest of its sentence: the first in quotes, else the first."""
    starts = [mention.start for mention in mentions]
    indices = []
    for match in cue.finditer(text):
        sentence = _SENTENCE_START.search(text, max(0, match.start() - REACH), match.start())
        begin = sentence.start() if sentence else match.start()
        first = bisect_left(starts, match.end())
        beyond = bisect_right(starts, match.end() + REACH)
        inside = [
            index
            for index in range(first, beyond)
            if _WITHIN_STATEMENT.fullmatch(text, match.end(), mentions[index].start)
            and not _REJECTED.search(text, begin, mentions[index].end)
        ]
        quoted = [
            index
            for index in inside
            if text[mentions[index].start - 1 : mentions[index].start] in ('"', "'")
            and _CLOSING_QUOTE.match(text, mentions[index].end)
        ]
        indices.extend((quoted or inside)[:1])
    return indices


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


OF_ROW, OF_PROMPT = 5, 8
"""The fewest successive words that a response copies from the row (or all its words, if they are fewer), and from the
whole prompt. A clause of the instruction ("sentence 1 entails sentence 2") can be what the response asserts."""
MOST = 2 / 3
"""The share of a response's words above which it only repeats something."""
SHORTEST = 3
"""The fewest letters of a label word whose inflected forms are recognized: those of "no" are other words."""

_WORD = re.compile(r"\w+")
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:\w+ )?(?:sorry|unable|not able|not sure)|i apologi[sz]e|my apologies"
    r"|i (?:cannot|can't|can not|could not|couldn't|won't|will not|must decline|decline|refuse)"
    r"|i (?:do not|don't) (?:know|have|understand)|you (?:cannot|can't) answer"
    r"|as an? (?:\w+ )?(?:ai|assistant|language model)\b"
    r"|i(?:'m| am) (?:not |just |only )?an? (?:\w+ )?(?:ai|assistant|language model)\b)"
)
_DERIVED = re.compile(r"(?:ment|ion|ness|ent|e|s)$")
_ENDING = re.compile(
    r"(?:e?s|ed|ing|d?e[dnr]|d?en(?:ed|ing)|ments?|ions?|ory|ness|e?ly|ity|ful(?:ly)?|ous(?:ly)?"
    r"|enc(?:e|es|y)|ent(?:s|ly)?)?"
)


def kind_of(response: str | None, labels: Sequence[str], prompt: str, row: str) -> Invalid:
    """Return the kind of a response that ``read_answer`` reads as none of the labels.

    Args:
        response: what the model generated; ``None`` if an API withheld it.
        labels: the label words.
        prompt: what the model was asked, without the chat template.
        row: the part of it that shows the row.

    Returns:
        The first that applies: ``empty`` (see ``verifiers.verify.is_empty``); ``echo``: most of it is copied from
        the row or the prompt; ``refusal``: it begins with an apology, a refusal, or that it does not know;
        ``multiple``: it names two or more labels; ``inflected``: it has another form of a label word ("entails");
        ``other``.
    """
    if is_empty(response):
        return "empty"
    text = plain(without_reasoning(response or ""))
    words = _WORD.findall(text)
    # A single word of the row is no repetition of it.
    if _is_copied(words, row, max(2, min(OF_ROW, len(words)))) or _is_copied(words, prompt, OF_PROMPT):
        return "echo"
    if _REFUSAL.search(text, 0, REACH):
        return "refusal"
    if len({word.label for word in occurrences(text, tuple(labels))}) > 1:
        return "multiple"
    return "inflected" if _is_inflected(text, labels) else "other"


def _is_copied(words: Sequence[str], source: str, size: int) -> bool:
    others = _WORD.findall(plain(source))
    runs = {tuple(others[start : start + size]) for start in range(len(others) - size + 1)}
    copied = [False] * len(words)
    for start in range(len(words) - size + 1):
        if tuple(words[start : start + size]) in runs:
            copied[start : start + size] = [True] * size
    return sum(copied) > MOST * len(words)


def _is_inflected(text: str, labels: Sequence[str]) -> bool:
    words = {word for label in labels for word in _WORD.findall(plain(label)) if word.isalpha() and word != "not"}
    words = {word for word in words if len(word) >= SHORTEST}
    shortened = {word: _DERIVED.sub("", word) for word in words}
    stems = {stem if len(stem) >= SHORTEST else word for word, stem in shortened.items()}
    others = set(_WORD.findall(text)) - words
    return any(word.startswith(stem) and _ENDING.fullmatch(word, len(stem)) for word in others for stem in stems)


ANSWER_FILTER = "verbalizer_answer"
OPENING = 40
"""Length of the prompt's beginning by which a repetition is recognized, in characters."""


def row_starts(prompt: str) -> tuple[str, ...]:
    """Return how a row begins in a prompt: its first words, and the text before the first field on its line."""
    before_field = re.search(r"^([^\n{]*\w[^\n{]*?)[ \t]*{{", prompt, re.MULTILINE)
    return (prompt[:OPENING], *([before_field[1]] if before_field else []))


def row_part(prompt: str) -> str:
    """Return the part of a template that shows the row: from the line of its first field on."""
    return prompt[prompt.rfind("\n", 0, prompt.find("{{") + 1) + 1 :]


class VerbalizerAnswer(lm.Filter):  # type: ignore[misc] # the harness ships no types
    """Replaces each response by the label word that it gives as its answer.

    Args:
        labels: the label words.
        prior: words to look for if no label is named: in a neutral task, the golden names.
        reads: see ``read_answer``.
        prompt: the template of the prompt, by which a repetition is recognized.
        paraphrases: other wordings of the prompt, if every row is asked in several.
    """

    def __init__(
        self,
        labels: Sequence[str],
        prior: Sequence[str] = (),
        reads: Reads = "first",
        prompt: str = "",
        paraphrases: Sequence[str] = (),
    ) -> None:
        self._labels, self._prior, self._reads = labels, prior, reads
        self._prompts = [(text, row_starts(text)) for text in (prompt, *paraphrases)]

    def apply(self, resps: Iterable[Sequence[str | None]], docs: Sequence[dict[str, Any]]) -> list[list[str]]:
        """Return, per document and response, a label word, a prior word, or the marker of an invalid answer."""
        return [
            [self._read(response, doc) for response in responses] for responses, doc in zip(resps, docs, strict=True)
        ]

    def _read(self, response: str | None, doc: dict[str, Any]) -> str:
        prompt, starts = self._prompts[doc.get(PARAPHRASE, 1) - 1 if len(self._prompts) > 1 else 0]
        for words in (self._labels, self._prior):
            # An API that withholds a completion gives None.
            answer = read_answer(response or "", words, self._reads, starts) if words else None
            if answer is not None:
                return answer
        full_prompt, row = (template(text).render(doc) for text in (prompt, row_part(prompt)))
        return marker(kind_of(response, self._labels, full_prompt, row))


lm.register(ANSWER_FILTER, VerbalizerAnswer)
