"""The few constructs of Markdown that instructions ask for, in time linear in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_ITEM = re.compile(r"([^\S\n]*)([*+•-]|\d{1,9}[.)])([^\S\n]+)(?=\S)")
_BREAK = re.compile(r"[^\S\n]*(?:(?:\*[^\S\n]*){3,}|(?:-[^\S\n]*){3,}|(?:_[^\S\n]*){3,})")
_STAR_BREAK = re.compile(r"[^\S\n]*(?:\*[^\S\n]*){3,}")
_FENCE = re.compile(r"[^\S\n]*(```+(?=[^`]*$)|~~~+)")
_FREE_DIVIDER = re.compile(r"(?<!\S)\*\*\*(?!\S)")
# Strongest first; an underscore may stand outside, as in _*both*_.
_EMPHASES = [
    re.compile(rf"(?<![^\W_])(?<!\*)\*{{{n}}}(?![\s*])([^\n*]*)(?<![\s*])\*{{{n}}}(?!\*)(?![^\W_])") for n in (3, 2, 1)
]
NESTED = 2
"""Columns by which an item is indented if it stands in another."""
_OPENING_QUOTES = "\"“'‘"


def split_at_dividers(text: str) -> list[str]:
    """Return what stands between dividers: lines of three or more asterisks, and ``***`` that touches no text."""
    pieces: list[list[str]] = [[]]
    for line in text.split("\n"):
        if _STAR_BREAK.fullmatch(line):
            pieces.append([])
            continue
        first, *others = _FREE_DIVIDER.split(line)
        pieces[-1].append(first)
        pieces.extend([other] for other in others)
    return ["\n".join(piece) for piece in pieces]


def count_outer_items(lines: Iterable[str]) -> int:
    """Return how many list items stand in no other item; fenced code and thematic breaks are no items."""
    count = 0
    open_items: list[int] = []  # the indents of the items that the line may stand in, outermost first
    for number, line in enumerate(_without_fenced_code(lines)):
        # A response in quotation marks may begin with an item.
        row = line.lstrip(_OPENING_QUOTES) if number == 0 else line.expandtabs(4)
        if not row.strip():
            continue
        indent = len(row) - len(row.lstrip())
        while open_items and indent < open_items[-1] + NESTED:
            open_items.pop()
        if _ITEM.match(row) and not _BREAK.fullmatch(row):
            count += not open_items
            open_items.append(indent)
    return count


def _without_fenced_code(lines: Iterable[str]) -> Iterator[str]:
    fence = ""
    for line in lines:
        if fence:
            fence = _after_fence(line, fence)
        elif opened := _FENCE.match(line):
            fence = opened[1]
        else:
            yield line


def _after_fence(line: str, fence: str) -> str:
    closing = line.strip()
    return "" if len(closing) >= len(fence) and set(closing) == {fence[0]} else fence


def count_emphases(text: str) -> int:
    """Return how many pieces of text are emphasised with asterisks (one to three), each on one line."""
    count = 0
    for emphasis in _EMPHASES:
        text, found = emphasis.subn(r"\1", text)  # so that *one **inside** another* counts too
        count += found
    return count


def fenced_blocks(lines: Iterable[str]) -> list[str]:
    """Return the contents of the closed code blocks fenced by backticks or tildes."""
    blocks: list[str] = []
    body: list[str] = []
    fence = ""
    for line in lines:
        if fence:
            fence = _after_fence(line, fence)
            if fence:
                body.append(line)
            else:
                blocks.append("\n".join(body))
        elif opened := _FENCE.match(line):
            fence, body = opened[1], []
    return blocks
