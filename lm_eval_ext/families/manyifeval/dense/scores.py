"""The metrics of a report: the share of its words, or instructions, that it follows, by their place in the list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

from nltk.stem.snowball import SnowballStemmer

from lm_eval_ext.families.instructions import occurrences
from lm_eval_ext.families.manyifeval.schema import OF_SECTION_TYPES, PRIMACY
from lm_eval_ext.families.schema import EMPTY_RATE, Occurrences
from lm_eval_ext.verifiers import Verdict, instructions_of, without_reasoning
from lm_eval_ext.verifiers.text import Text, fold
from lm_eval_ext.verifiers.verify import is_empty

_WORD = re.compile(r"[^\W\d_]+")
# What follows the number is a mark, perhaps with a title; "Section 3 shows" begins a sentence.
_HEADING = re.compile(r"[\s#*_>]*section\s+(\d{1,3})[*_\s]*(?:[:.)\u2013\u2014-](.*))?", re.IGNORECASE)
_DIVIDER = re.compile(r"[\s*_=#-]*")
"""A line of marks, such as those with which Markdown divides the parts of a text."""


def score_words(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, float]:
    """Return the metrics of a report that must contain words.

    Args:
        doc: the row: ``words``, in the prompt's order; at least three.
        results: the model's response, including reasoning, which is removed first. An API that withholds a completion
            returns ``None``, which counts as empty.

    Returns:
        ``words_followed``, the share of the words that the response contains as whole words, in any case; the same for
        each third of the list, and ``primacy``, the first third's minus the last one's; ``words_modified``, the share
        of those of which it has only another form ("margins", "marginal"), and ``words_omitted``, of which it has none;
        ``empty_rate``.
    """
    words, response = doc["words"], results[0]
    used = set(_WORD.findall(fold(without_reasoning(response or "")).lower()))
    stems = {stem(word) for word in used}
    followed = [word in used for word in words]
    modified = [not is_there and stem(word) in stems for word, is_there in zip(words, followed, strict=True)]
    return {
        **by_place("words_followed", followed),
        "words_modified": share(modified),
        "words_omitted": 1 - share(followed) - share(modified),
        EMPTY_RATE.name: float(is_empty(response)),
    }


def score_sections(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, float | Occurrences]:
    """Return the metrics of a report whose sections must follow instructions.

    Args:
        doc: the row: ``types`` and ``arguments`` of at least three instructions, in the prompt's order, and
            ``sections``, the number of the section that each is about.
        results: the model's response, as for ``score_words``.

    Returns:
        ``instructions_followed``, the share of the instructions that their sections follow (in the checkers' repaired
        edition: no verdicts were published that would have to be repeated); the same for each third of the list, and
        ``primacy``, the first third's minus the last one's; ``instructions_omitted``, the share whose section is not
        there, and ``instructions_broken``, that of which the section is there; ``empty_rate``; and for each type of
        instruction the number of followed ones and of all.
    """
    about, response = doc["sections"], results[0]
    texts = {number: Text(text) for number, text in sections_of(without_reasoning(response or "")).items()}
    followed = [
        number in texts and instruction.follows(texts[number], "repaired")
        for number, instruction in zip(about, instructions_of(doc["types"], doc["arguments"]), strict=True)
    ]
    is_there = [number in texts for number in about]
    return {
        **by_place("instructions_followed", followed),
        "instructions_broken": share([section and not good for section, good in zip(is_there, followed, strict=True)]),
        "instructions_omitted": share([not section for section in is_there]),
        EMPTY_RATE.name: float(is_empty(response)),
        **occurrences(OF_SECTION_TYPES, doc["types"], Verdict(tuple(followed))),
    }


def by_place(metric: str, verdicts: Sequence[bool]) -> dict[str, float]:
    """Return the share of at least three verdicts that are true, that of each third, and ``primacy``.

    Args:
        metric: the metric of the share of all; those of the thirds begin with its name.
        verdicts: the verdicts, in the order of the list.
    """
    ends = [round(len(verdicts) * third / 3) for third in range(4)]
    first, middle, last = (share(verdicts[start:end]) for start, end in pairwise(ends))
    return {
        metric: share(verdicts),
        f"{metric}_first_third": first,
        f"{metric}_middle_third": middle,
        f"{metric}_last_third": last,
        PRIMACY.name: first - last,
    }


def share(verdicts: Sequence[bool]) -> float:
    """Return the share of verdicts that are true; there is at least one."""
    return sum(verdicts) / len(verdicts)


@cache
def stem(word: str) -> str:
    """Return what a word's forms have in common (the Snowball stemmer for English)."""
    common: str = SnowballStemmer("english").stem(word)
    return common


def sections_of(report: str) -> Mapping[int, str]:
    """Return the text of each section that a report has, by its number.

    A section is what is below its heading, a line such as ``Section 3``, ``## Section 3: Staff`` or ``**Section 3.**``,
    without lines of marks at its end. Of several sections with one number, as in a report that begins with its table of
    contents, the first with a text counts. If none has a text, it is what follows the mark after the number.
    """
    parts: list[tuple[int, str, list[str]]] = []
    for line in report.split("\n"):
        if heading := _HEADING.fullmatch(line):
            parts.append((int(heading[1]), (heading[2] or "").strip("*_ \t\r"), []))
        elif parts:
            parts[-1][2].append(line)
    texts = [(number, _trimmed(lines)) for number, _, lines in parts]
    sections: dict[int, str] = {}
    for number, text in (*texts, *((number, title) for number, title, _ in parts)):
        if text:
            sections.setdefault(number, text)
    return sections


def _trimmed(lines: list[str]) -> str:
    while lines and _DIVIDER.fullmatch(lines[-1]):
        lines.pop()
    return "\n".join(lines).strip()
