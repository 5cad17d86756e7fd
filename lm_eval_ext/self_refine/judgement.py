"""Reads a judge's reply: is an instruction followed, is it not, or does the reply not say?"""

from __future__ import annotations

import re

from lm_eval_ext.reasoning import without_reasoning

_MARKS = str.maketrans(dict.fromkeys("*_`\"'\u201c\u201d\u2018\u2019", ""))
_EITHER = re.compile(r"\b(?:yes|no) ?(?:/|\||or|and) ?(?:yes|no)\b", re.IGNORECASE)
_STATED = re.compile(r"\bverdict\b[^\w\n]{0,4}(?:is\b[^\w\n]{0,4})?(yes|no)\b", re.IGNORECASE)
_LAST = re.compile(r"\b(yes|no)\W{0,8}\Z", re.IGNORECASE)
_FIRST = re.compile(r"\W{0,8}(yes|no)[^\S\n]*(?:[^\w\s]|\n|\Z)", re.IGNORECASE)
_NUMBERED = re.compile(r"\W{0,8}(?:instruction\s{0,2})?(\d{1,3})\s?(?:[^\w\s]+|\s)(.*)", re.IGNORECASE)
_PAIR = re.compile(r"(\d{1,3})\W{0,4}\b(yes|no)\b", re.IGNORECASE)
_NOTHING_BUT_PAIRS = re.compile(r"\W*(?:\d{1,3}\W{0,4}\b(?:yes|no)\b\W*)+", re.IGNORECASE)


def verdict(reply: str) -> bool | None:
    """Return whether one instruction is judged to be followed; ``None`` if the reply does not say.

    In this order: the last "verdict: yes" or "verdict: no" that is stated; else the reply's last word; else its first,
    if punctuation or the end of the line follows it ("No, it has …", not "No commas are used …"). Case, quotation marks
    and markdown do not matter; "yes or no" in one breath is no verdict.
    """
    text = _EITHER.sub("", without_reasoning(reply).translate(_MARKS)).strip()
    stated = _STATED.findall(text)
    if stated:
        return _is_yes(stated[-1])
    found = _LAST.search(text[-20:]) or _FIRST.match(text)
    return _is_yes(found[1]) if found else None


def verdicts(reply: str, count: int) -> tuple[bool | None, ...]:
    """Return, for each of the instructions 1 to ``count``, whether it is judged to be followed; ``None`` if not said.

    Each stands on a line of its own that begins with its number ("2: NO"), or all stand one after the other on one.
    What follows the number is read as ``verdict`` reads a reply. An instruction that is judged twice and differently is
    not judged. Without any number, as many lines as instructions are read in their order.
    """
    text = without_reasoning(reply).translate(_MARKS)
    said: dict[int, set[bool]] = {}
    for number, judged in _numbered(text):
        if judged is not None:
            said.setdefault(number, set()).add(judged)
    if not said:
        lines = [verdict(line) for line in text.splitlines() if line.strip()]
        if len(lines) == count:
            return tuple(lines)
        return (verdict(text),) if count == 1 else (None,) * count
    return tuple(_only(said.get(number, set())) for number in range(1, count + 1))


def _numbered(text: str) -> list[tuple[int, bool | None]]:
    found: list[tuple[int, bool | None]] = []
    for line in text.splitlines():
        if _NOTHING_BUT_PAIRS.fullmatch(line):
            found += [(int(number), _is_yes(word)) for number, word in _PAIR.findall(line)]
        elif match := _NUMBERED.match(line):
            found.append((int(match[1]), verdict(match[2])))
    return found


def _only(said: set[bool]) -> bool | None:
    return next(iter(said)) if len(said) == 1 else None


def _is_yes(word: str) -> bool:
    return word.lower() == "yes"
