"""Parses a judge's reply: whether an instruction is followed or not, or the reply does not say."""

from __future__ import annotations

import re

from lm_eval_ext.verifiers import without_reasoning

# All quantifiers are bounded, so that matching takes linear time on any reply.
_MARKS = re.compile(r"\\[a-z]{1,10}|[*_`\"'{}$\u201c\u201d\u2018\u2019]")
"""Markdown, quotation marks, and what surrounds an answer in LaTeX."""
_EITHER = re.compile(r"\b(?:yes|no) ?(?:/|\||or|and) ?(?:verdict:? ?)?(?:yes|no)\b", re.IGNORECASE)
_STATED = re.compile(
    r"\bverdict\b[^\w.,;!?]{0,8}(?:is\b[^\w.,;!?]{0,8})?((?-i:YES|NO)\b|(?:yes|no)(?=[^\S\n]{0,4}(?:[^\w\s]|\n|\Z)))",
    re.IGNORECASE,
)
_FIRST = re.compile(r"\W{0,8}(yes|no)[^\S\n]{0,4}(?:[^\w\s]|\n|\Z)", re.IGNORECASE)
_LAST = re.compile(r"\b(yes|no)\W{0,8}\Z", re.IGNORECASE)
_LONGEST_LAST = len("yes") + 8
_NUMBERED = re.compile(
    r"\W{0,8}(?:(?:constraint|instruction|item|line|number|requirement|rule)[\s#]{0,3})?(\d{1,3})\s?(?:[^\w\s]+|\s|\Z)(.*)",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^\W{0,8}(?:final\s)?verdicts\b[^\w\n]{0,8}", re.IGNORECASE | re.MULTILINE)
_PART = re.compile(
    r"^[^\w\n]{0,8}(?:(?:constraint|instruction|item|requirement|rule)[^\S\n]{1,3}#?)?(\d{1,3})"
    r"(?:[^\S\n]?[.:()]|[^\S\n]{1,3}[-\u2013|]|(?=[^\S\n]{0,8}$))",
    re.IGNORECASE | re.MULTILINE,
)
"""How the part of a judge's reasoning on one instruction begins."""
_PAIR = re.compile(r"(\d{1,3})\W{0,4}\b(yes|no)\b", re.IGNORECASE)
_NOTHING_BUT_PAIRS = re.compile(r"\W*(?:\d{1,3}\W{0,4}\b(?:yes|no)\b\W*)+", re.IGNORECASE)


def verdict(reply: str) -> bool | None:
    """Return whether one instruction is judged to be followed; ``None`` if the reply does not say.

    The last stated "verdict: yes" or "verdict: no" counts if it is in capitals or is followed by punctuation or the end
    of the line (unlike "Verdict: No commas are used"). If there is none, the verdict is the reply's last word, or its
    first word if that is followed by punctuation or the end of the line ("No, it has …", but not "No commas are used
    …"). If these two disagree, the one in capitals counts, because the prompt asks for capitals; if both or neither are
    in capitals, there is no verdict. Reasoning blocks, Markdown and quotation marks are ignored, and "yes or no" is not
    a verdict.
    """
    text = _EITHER.sub("", _MARKS.sub("", without_reasoning(reply))).strip()
    stated: list[str] = _STATED.findall(text)
    if stated:
        return _is_yes(stated[-1])
    ends = (_FIRST.match(text), _LAST.search(text, max(0, len(text) - _LONGEST_LAST)))
    words = [end[1] for end in ends if end]
    for candidates in (words, filter(str.isupper, words)):
        stated_ends = set(map(_is_yes, candidates))
        if len(stated_ends) == 1:
            return stated_ends.pop()
    return None


def verdicts(reply: str, count: int) -> tuple[bool | None, ...]:
    """Return, for each of the instructions 1 to ``count``, whether it is judged followed; ``None`` if not stated.

    Each verdict is on a separate line that begins with the instruction's number ("2: NO") or, if that line has no
    verdict, on the next non-empty line. Alternatively, all of them are on one line that contains nothing else. The text
    after the number, or the next line, is parsed like a reply by ``verdict``. An instruction with two different
    verdicts counts as not judged. If there is no verdict with a number, and the reply has as many lines as there are
    instructions, the lines are taken in order. A reply about a single instruction may have several lines.
    """
    text = _MARKS.sub("", without_reasoning(reply))
    numbered = _numbered(text)
    if numbered:
        by_number = [{judged for number, judged in numbered if number == wanted} for wanted in range(1, count + 1)]
        return tuple(judged.pop() if len(judged) == 1 else None for judged in by_number)
    lines = [verdict(line) for line in text.splitlines() if line.strip()]
    if len(lines) == count:
        return tuple(lines)
    return (verdict(text),) if count == 1 else (None,) * count


def concluded(reply: str, count: int) -> tuple[bool | None, ...]:
    """Return the verdicts on the instructions 1 to ``count`` with which a judge's reasoning ends.

    If the reply has the line "Verdicts:", what follows the last one is parsed by ``verdicts``. If nothing follows it,
    or there is no such line, each part of the reply that begins with an instruction's number and a punctuation mark,
    or is below a line with only the number, is parsed like a reply by ``verdict``. The last part that states a verdict
    on an instruction counts: it is what the reasoning arrives at.
    """
    text = _MARKS.sub("", without_reasoning(reply))
    headings = list(_HEADING.finditer(text))
    if headings:
        below = verdicts(text[headings[-1].end() :], count)
        if any(judged is not None for judged in below):
            return below
    starts = list(_PART.finditer(text))
    if not starts:
        return verdicts(text, count)
    ends = [start.start() for start in starts[1:]] + [len(text)]
    by_number: dict[int, bool] = {}
    for start, end in zip(starts, ends, strict=True):
        judged = verdict(text[start.end() : end])
        if judged is not None:
            by_number[int(start[1])] = judged
    return tuple(by_number.get(number) for number in range(1, count + 1))


def _numbered(text: str) -> list[tuple[int, bool]]:
    """Return the instructions that are judged by number, with their verdicts, in the order of the lines."""
    judgments: list[tuple[int, bool]] = []
    waiting = ""  # the number on the previous line, if that line had no verdict
    for line in filter(str.strip, text.splitlines()):
        if _NOTHING_BUT_PAIRS.fullmatch(line):
            judgments += [(int(number), _is_yes(word)) for number, word in _PAIR.findall(line)]
            waiting = ""
            continue
        match = _NUMBERED.match(line)
        number, text_after = (match[1], match[2]) if match else (waiting, line)
        judged = verdict(text_after) if number else None
        if judged is not None:
            judgments.append((int(number), judged))
        waiting = number if match and judged is None else ""
    return judgments


def _is_yes(word: str) -> bool:
    return word[0] in "Yy"  # only the first letter, because a case-insensitive s also matches a long s
