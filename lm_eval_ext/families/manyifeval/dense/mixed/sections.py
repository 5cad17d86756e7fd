"""Divides a report into its numbered sections."""

from __future__ import annotations

import re
from collections.abc import Mapping

# What follows the number is a mark, perhaps with a title; "Section 3 shows" begins a sentence.
_HEADING = re.compile(r"[\s#*_>]*section\s+(\d{1,3})(?![^\W_])[*_\s]*(?:[:.)\u2013\u2014-](.*))?", re.IGNORECASE)
_DIVIDER = re.compile(r"[\s*_=#-]*")
"""A line of marks, such as those with which Markdown divides the parts of a text."""


def sections_of(report: str) -> Mapping[int, str]:
    """Return the text of each section that a report has, by its number.

    A section is what is below its heading, a line such as ``Section 3``, ``## Section 3: Staff`` or ``**Section 3.**``,
    without lines of marks at its end. Of several sections with one number, as in a report that begins with its table of
    contents, the first with a text counts. If none has a text, it is what follows the mark after the number.
    """
    found: list[tuple[int, str, list[str]]] = []
    for line in report.split("\n"):
        if heading := _HEADING.fullmatch(line):
            found.append((int(heading[1]), (heading[2] or "").strip("*_ \t\r"), []))
        elif found:
            found[-1][2].append(line)
    texts = [(number, _trimmed(lines)) for number, _, lines in found]
    sections: dict[int, str] = {}
    for number, text in (*texts, *((number, title) for number, title, _ in found)):
        if text:
            sections.setdefault(number, text)
    return sections


def _trimmed(lines: list[str]) -> str:
    while lines and _DIVIDER.fullmatch(lines[-1]):
        lines.pop()
    return "\n".join(lines).strip()
