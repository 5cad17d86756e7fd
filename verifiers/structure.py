"""How marks structure a text: the few Markdown constructs that instructions refer to, brackets and quotation marks.

Everything is read in linear time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from lm_eval_ext.verifiers.text import has_word

_ITEM = re.compile(r"\s*(?:(?P<bullet>[*+-](?=\s)|[•◦●▪‣](?![•◦●▪‣]))|\d{1,3}[.)](?=\s))\s*\S")
# Not a minus sign, nor the first asterisk of two, which may be emphasis.
_TOUCHING = re.compile(r"\s*(?P<bullet>\*(?=[^\s*][^*]*$)|-(?=[^\W\d]|[\[(\"']))")
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
        pieces.extend([line] for line in others)
    return ["\n".join(piece) for piece in pieces]


def count_outer_items(lines: Iterable[str]) -> int:
    """Return how many list items are not nested in another item; fenced code and thematic breaks do not count.

    Numbered items count only if there are no other outer items. A mark that touches its text makes an item if the line
    before or after it begins with the same mark.
    """
    rows = [line.expandtabs(4) for line in divide_code(lines)[0] if line.strip()]
    # A response in quotation marks may begin with an item.
    rows[:1] = [row.lstrip(_OPENING_QUOTES) for row in rows[:1]]
    items = [None if _BREAK.fullmatch(row) else _ITEM.match(row) or _TOUCHING.match(row) for row in rows]
    marks = [None, *(item["bullet"] if item else None for item in items), None]
    bullets = numbers = 0
    open_items: list[int] = []  # the indents of the items that may contain the line, outermost first
    for row, item, before, mark, after in zip(rows, items, marks, marks[1:], marks[2:], strict=False):
        indent = len(row) - len(row.lstrip())
        while open_items and indent < open_items[-1] + NESTED:
            open_items.pop()
        if item and (item.re is _ITEM or mark in (before, after)):
            if not open_items:
                bullets += mark is not None
                numbers += mark is None
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


# How deep brackets and quotation marks are nested.

_BRACKET = re.compile(r"[()\[\]{}]")
_BRACKET_OR_LABEL = re.compile(r"(?<![\w(])\w{1,2}\)|[()\[\]{}]")
_CLOSED_BY = {")": "(", "]": "[", "}": "{"}
_QUOTE = re.compile(r"[\"'“”‘’]")
_KINDS = {'"': '"', "“": '"', "”": '"', "'": "'", "‘": "'", "’": "'"}
_OPENING = "“‘"
_CLOSING = "”’"
_DOUBLE = re.compile(r"(?<!\d)\"")
_QUOTATION = re.compile(r"(?<!\d)\"[^\"]*\"")


def closes_after_reaching(depth: int, text: str) -> bool:
    """Return whether a bracket is closed after a depth was reached, as IFBench reads brackets.

    A closing bracket that does not match the innermost open one closes them all. The other brackets of the nest may
    remain open.
    """
    opened: list[str] = []
    reached = False
    for match in _BRACKET.finditer(text):
        bracket = match[0]
        if bracket not in _CLOSED_BY:
            opened.append(bracket)
            reached = reached or len(opened) >= depth
        elif not opened or opened.pop() != _CLOSED_BY[bracket]:
            opened, reached = [], False
        elif reached:
            return True
    return False


def bracket_depth(text: str) -> int:
    """Return the greatest number of brackets that are nested, each of them closed.

    A bracket that is never opened, or never closed, as in ":(", does not count, and neither does that of a label, "a)".
    """
    nest = _Nest()
    for match in _BRACKET_OR_LABEL.finditer(text):
        bracket = match[0][-1]
        if bracket not in _CLOSED_BY:
            nest.open(bracket)
        elif len(match[0]) == 1 or nest.innermost == "(":
            nest.close(_CLOSED_BY[bracket])
    return nest.deepest


class _Nest:
    """Open marks, each with the depth of what was closed in it."""

    def __init__(self) -> None:
        self.deepest = 0
        self._open: list[tuple[str, int]] = []
        self._count: Counter[str] = Counter()

    @property
    def innermost(self) -> str:
        """The kind of the innermost open mark; empty if none is open."""
        return self._open[-1][0] if self._open else ""

    def open(self, kind: str) -> None:
        self._open.append((kind, 0))
        self._count[kind] += 1

    def close(self, kind: str) -> None:
        """Close the innermost open mark of a kind; those inside it turn out to be none. Without one, do nothing."""
        if not self._count[kind]:
            return
        inside = 0
        while True:
            opened, depth = self._open.pop()
            self._count[opened] -= 1
            inside = max(inside, depth)
            if opened == kind:
                break
        self.deepest = max(self.deepest, inside + 1)
        if self._open:
            outer, depth = self._open.pop()
            self._open.append((outer, max(depth, inside + 1)))


def falls_back_after_reaching(depth: int, text: str) -> bool:
    """Return whether straight quotation marks, once nested so deep, are closed again, as IFBench reads them.

    Every straight mark counts, apostrophes too: one that equals the innermost open mark closes it, any other opens.
    """
    opened: list[str] = []
    reached = 0
    for match in _QUOTE.finditer(text):
        mark = match[0]
        if opened and opened[-1] == mark:
            opened.pop()
            if reached - len(opened) >= depth:
                return True
        elif mark in "\"'":
            opened.append(mark)
            reached = max(reached, len(opened))
    return False


def quotation_depth(text: str) -> int:
    """Return the greatest number of nested quotations, each closed, whose marks alternate between double and single.

    Apostrophes are no marks. A quotation does not go on over a blank line.
    """
    deepest = 0
    for paragraph in BLANK_LINES.split(text):
        nest = _Nest()
        innermost: list[str] = []
        for mark, opens in _marks(paragraph):
            kind = _KINDS[mark]
            if opens and innermost[-1:] != [kind]:
                innermost.append(kind)
                nest.open(kind)
            elif kind in innermost[-2:]:
                while innermost.pop() != kind:
                    pass
                nest.close(kind)
        deepest = max(deepest, nest.deepest)
    return deepest


def _marks(paragraph: str) -> Iterator[tuple[str, bool]]:
    """Yield the quotation marks, each with whether it opens: text follows and none precedes."""
    for match in _QUOTE.finditer(paragraph):
        mark = match[0]
        before = paragraph[match.start() - 1 : match.start()] if match.start() else ""
        after = paragraph[match.end() : match.end() + 1]
        if _KINDS[mark] == "'" and before.isalnum() and after.isalnum():
            continue  # an apostrophe
        if mark in _OPENING or mark in _CLOSING:
            yield mark, mark in _OPENING
        else:
            yield mark, (not before or before.isspace() or before in "([{—-\"'“‘*_") and bool(after.strip())


def quotations_are_followed_by_words(text: str) -> bool:
    """Return whether there are quotations in straight double marks, with a word after each of them.

    The word stands before the next quotation; and one stands after the last mark. A quotation does not go on over a
    blank line. A mark after a digit, of inches, begins none, and neither does one that is itself in single marks.
    """
    text = text.replace("'\"'", "")
    last = max((match.start() for match in _DOUBLE.finditer(text)), default=None)
    if last is not None and not has_word(text[last:]):
        return False
    unexplained = quoted = False
    for paragraph in BLANK_LINES.split(text):
        explained_from = 0
        for quotation in _QUOTATION.finditer(paragraph):
            begin, end = quotation.span()
            if unexplained and not has_word(paragraph[explained_from:begin]):
                return False
            unexplained, quoted, explained_from = True, True, end
        unexplained = unexplained and not has_word(paragraph[explained_from:])
    return quoted and not unexplained
