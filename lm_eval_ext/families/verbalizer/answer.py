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
from collections.abc import Iterable, Sequence
from typing import Any

from lm_eval_ext.families.verbalizer.mentions import REACH, LabelMention, mentions, occurrences, plain, plain_label
from lm_eval_ext.families.verbalizer.prompt import Prompt, Reads
from lm_eval_ext.families.verbalizer.schema import PARAPHRASE
from lm_eval_ext.families.verbalizer.verbalizer import Invalid, marker
from lm_eval_ext.harness import lm
from lm_eval_ext.verifiers.reasoning import is_empty, without_reasoning

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
    """Return the kind of a response that ``answer.read_answer`` reads as none of the labels.

    Args:
        response: what the model generated; ``None`` if an API withheld it.
        labels: the label words.
        prompt: what the model was asked, without the chat template.
        row: the part of it that shows the row.

    Returns:
        The first that applies: ``empty`` (see ``verifiers.reasoning.is_empty``); ``echo``: most of it is copied from
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
    words = {word for label in labels for word in _WORD.findall(plain(label)) if _has_forms(word)}
    stems = {_stem(word) for word in words}
    others = set(_WORD.findall(text)) - words
    return any(word.startswith(stem) and _ENDING.fullmatch(word, len(stem)) for word in others for stem in stems)


def _has_forms(word: str) -> bool:
    return len(word) >= SHORTEST and word.isalpha() and word != "not"


def _stem(word: str) -> str:
    stem = _DERIVED.sub("", word)
    return stem if len(stem) >= SHORTEST else word


ANSWER_FILTER = "verbalizer_answer"


class VerbalizerAnswer(lm.Filter):  # type: ignore[misc] # the harness ships no types
    """Replaces each response by the label word that it gives as its answer.

    Args:
        labels: the label words.
        prior: words to look for if no label is named: in a neutral task, the golden names.
        reads: see ``answer.read_answer``.
        prompt: the template of the prompt, by which a repetition is recognized.
        paraphrases: the same prompt in other wordings, if every row is asked in several.
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
        self._prompts = [Prompt.of(text) for text in (prompt, *paraphrases)]

    def apply(self, resps: Iterable[Sequence[str | None]], docs: Sequence[dict[str, Any]]) -> list[list[str]]:
        """Return, per document and response, a label word, a prior word, or the marker of an invalid answer."""
        return [
            [self._read(response, doc) for response in responses] for responses, doc in zip(resps, docs, strict=True)
        ]

    def _read(self, response: str | None, doc: dict[str, Any]) -> str:
        prompt = self._prompts[doc.get(PARAPHRASE, 1) - 1 if len(self._prompts) > 1 else 0]
        for words in (self._labels, self._prior):
            # An API that withholds a completion gives None.
            answer = read_answer(response or "", words, self._reads, prompt.row_starts) if words else None
            if answer is not None:
                return answer
        return marker(kind_of(response, self._labels, prompt.whole.render(doc), prompt.row.render(doc)))


lm.register(ANSWER_FILTER, VerbalizerAnswer)
