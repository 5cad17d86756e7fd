"""What a response is that gives no label word as its answer, so that a high ``invalid_rate`` explains itself."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lm_eval_ext.families.verbalizer.mentions import REACH, occurrences, plain
from lm_eval_ext.families.verbalizer.verbalizer import Invalid
from lm_eval_ext.verifiers.reasoning import is_empty, without_reasoning

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
