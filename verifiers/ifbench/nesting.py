"""How deep brackets and quotation marks are nested."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from lm_eval_ext.verifiers.text import has_word

_BRACKET = re.compile(r"[()\[\]{}]")
_BRACKET_OR_LABEL = re.compile(r"(?<![\w(])\w{1,2}\)|[()\[\]{}]")
_CLOSED_BY = {")": "(", "]": "[", "}": "{"}
_QUOTE = re.compile(r"[\"'“”‘’]")
_KINDS = {'"': '"', "“": '"', "”": '"', "'": "'", "‘": "'", "’": "'"}
_OPENING = "“‘"
_CLOSING = "”’"
_DOUBLE = re.compile(r"(?<!\d)\"")
_PARAGRAPH = re.compile(r"\n\s*\n")


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
    for paragraph in _PARAGRAPH.split(text):
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
    blank line. A mark after a digit, of inches, begins none.
    """
    last = max((match.start() for match in _DOUBLE.finditer(text)), default=None)
    if last is not None and not has_word(text[last:]):
        return False
    unexplained = quoted = False
    for paragraph in _PARAGRAPH.split(text):
        explained_from = 0
        for begin, end in _quotations(paragraph):
            if unexplained and not has_word(paragraph[explained_from:begin]):
                return False
            unexplained, quoted, explained_from = True, True, end
        unexplained = unexplained and not has_word(paragraph[explained_from:])
    return quoted and not unexplained


def _quotations(paragraph: str) -> Iterator[tuple[int, int]]:
    end = 0
    while opening := _DOUBLE.search(paragraph, end):
        end = paragraph.find('"', opening.end()) + 1
        if not end:
            return
        yield opening.start(), end
