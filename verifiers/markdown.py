"""The few Markdown constructs that instructions refer to, parsed in linear time."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ITEM = re.compile(r"\s*(?:(?P<bullet>[*+•◦●▪‣-])|\d{1,3}[.)])\s+\S")
_BREAK = re.compile(r"[^\S\n]*(?:(?:\*[^\S\n]*){3,}|(?:-[^\S\n]*){3,}|(?:_[^\S\n]*){3,})")
_STAR_BREAK = re.compile(r"[^\S\n]*(?:\*[^\S\n]*){3,}")
_FENCE = re.compile(r"[^\S\n]*(```+(?=[^`]*$)|~~~+)")
_FREE_DIVIDER = re.compile(r"(?<!\S)\*\*\*(?!\S)")
_ANY_DIVIDER = re.compile(r"(?<!\*)\*\*\*(?!\*)")
_NO_EMPHASIS = re.compile(r"\\[*_]|`[^`\n]*`")
_RUN = re.compile(r"\*+|_+")
BLANK_LINES = re.compile(r"\n[^\S\n]*\n")
"""What divides paragraphs."""
NESTED = 2
"""Minimum indentation of a nested item, in columns."""
_OPENING_QUOTES = "\"“'‘"


def split_at_dividers(lines: Iterable[str]) -> list[str]:
    """Return the text between dividers.

    A line of three or more asterisks divides, and so does ``***`` that touches no text or is the only one on its line:
    if there are two, they may enclose the text between them.
    """
    pieces: list[list[str]] = [[]]
    for line in lines:
        if _STAR_BREAK.fullmatch(line):
            pieces.append([])
            continue
        divider = _ANY_DIVIDER if line.count("***") == 1 else _FREE_DIVIDER
        first, *others = divider.split(line)
        pieces[-1].append(first)
        pieces.extend([other] for other in others)
    return ["\n".join(piece) for piece in pieces]


def count_outer_items(lines: Iterable[str]) -> int:
    """Return how many list items are not nested in another item; fenced code and thematic breaks do not count.

    Numbered items count only if there are no other outer items.
    """
    bullets = numbers = 0
    open_items: list[int] = []  # the indents of the items that may contain the line, outermost first
    for number, line in enumerate(divide_code(lines)[0]):
        # A response in quotation marks may begin with an item.
        row = line.lstrip(_OPENING_QUOTES) if number == 0 else line.expandtabs(4)
        if not row.strip():
            continue
        indent = len(row) - len(row.lstrip())
        while open_items and indent < open_items[-1] + NESTED:
            open_items.pop()
        item = None if _BREAK.fullmatch(row) else _ITEM.match(row)
        if item:
            if not open_items:
                bullets += item["bullet"] is not None
                numbers += item["bullet"] is None
            open_items.append(indent)
    return bullets or numbers


def count_emphases(lines: Iterable[str]) -> int:
    """Return how many pieces of text are emphasized with asterisks or underscores, counting nested ones.

    A piece may span lines, but not a blank one; code and escaped marks are skipped.
    """
    text = _NO_EMPHASIS.sub("", "\n".join(divide_code(lines)[0]))
    return sum(map(_count_in_paragraph, BLANK_LINES.split(text)))


def _count_in_paragraph(text: str) -> int:
    count = 0
    opened: dict[str, list[int]] = {"*": [], "_": []}  # the lengths of the runs that may still be closed
    for run in _RUN.finditer(text):
        before, after = text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
        stack, length = opened[run[0][0]], len(run[0])
        if before and not before.isspace() and not _is_ascii_letter(after):
            while stack and length:
                used = min(stack[-1], length)
                count += 1
                length -= used
                stack[-1] -= used
                if not stack[-1]:
                    stack.pop()
        if length and after and not after.isspace() and not _is_ascii_letter(before):
            stack.append(length)
    return count


def _is_ascii_letter(character: str) -> bool:
    """Return whether a mark next to the character would be inside a word or product; other scripts need no space."""
    return character.isascii() and character.isalnum()


def divide_code(lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the lines outside code fenced by backticks or tildes, and the contents of the closed blocks."""
    outside: list[str] = []
    blocks: list[str] = []
    body: list[str] = []
    fence = ""
    for line in lines:
        if fence:
            closing = line.strip()
            if len(closing) >= len(fence) and set(closing) == {fence[0]}:
                blocks.append("\n".join(body))
                fence = ""
            else:
                body.append(line)
        elif opened := _FENCE.match(line):
            fence, body = opened[1], []
        else:
            outside.append(line)
    return outside, blocks
