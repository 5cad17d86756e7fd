"""Measures texts and shortens them to fit.

The reader's font is unknown; the one shipped with matplotlib is wider than most.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from matplotlib.font_manager import findfont, get_font

from lm_eval_ext.reports.wording import readable

ELLIPSIS = "…"
_PIECE = re.compile(r"[^\s\-_/,:=]*[\s\-_/,:=]*")
"""The parts of a name, each up to and including its separator."""
_LAST_PARTS = 0.75
"""The share of a shortened name's width that its last parts may take."""


@lru_cache(maxsize=4096)
def _advance(letter: str) -> float:
    """Return the width of a character at font size 1."""
    font = get_font(findfont("DejaVu Sans"))
    font.set_size(100, 72)
    # The font has no East Asian characters; those are square.
    return float(font.load_char(ord(letter)).linearHoriAdvance / 6553600) if font.get_char_index(ord(letter)) else 1.0


def width(text: str, size: float) -> float:
    """Return the width of a line of text in pixels."""
    return size * sum(map(_advance, text))


def widest(texts: Iterable[str], size: float) -> float:
    """Return the width of the widest line; 0 if there is none."""
    return max((width(text, size) for text in texts), default=0.0)


def shortened(text: str, size: float, room: float) -> str:
    """Return a text as one line that fits, with its middle elided if necessary: names differ at their ends.

    The last parts of a name are kept whole where possible, because half a number is another number.
    """
    text = _on_one_line(text)
    if width(text, size) <= room:
        return text
    end = _end(text, size, room * _LAST_PARTS) or _letters(text, size, room / 2, from_end=True)
    beginning = _letters(text, size, room - width(ELLIPSIS + end, size))
    return f"{beginning.rstrip()}{ELLIPSIS}{end}"


def wrapped(text: str, size: float, room: float, lines: int) -> list[str]:
    """Return a text broken between its parts into a limited number of lines, shortened if necessary."""
    text = _on_one_line(text)
    done: list[str] = []
    for piece in _PIECE.findall(text):
        if done and width((done[-1] + piece).rstrip(), size) <= room:
            done[-1] += piece
        elif piece:
            done.append(piece)
    stripped = [line.strip() for line in done]
    if len(stripped) <= lines and widest(stripped, size) <= room:
        return stripped
    if lines == 1:
        return [shortened(text, size, room)]
    # The last line is the end of the text; the line before it is cut short.
    kept = stripped[: lines - 2] if widest(stripped[: lines - 2], size) <= room else []
    broken = _letters("".join(done[len(kept) :]), size, room - width(ELLIPSIS, size)).rstrip() + ELLIPSIS
    return [*kept, broken, _end(text, size, room) or _letters(text, size, room, from_end=True)]


def told_apart(texts: Sequence[str], fit: Callable[[str], list[str]]) -> list[list[str]]:
    """Return the lines of several texts; a number is appended to those that become identical.

    Args:
        texts: texts to be written under or beside each other.
        fit: breaks a text into lines.
    """
    fitted = [fit(text) for text in texts]
    seen: dict[str, list[str]] = {}
    for text, lines in zip(texts, fitted, strict=True):
        alike = seen.setdefault("\n".join(lines), [])
        if text not in alike:
            alike.append(text)
        if place := alike.index(text):
            lines[-1] = f"{lines[-1][: -len(str(place)) - 3]}{ELLIPSIS}({place + 1})"
    return fitted


def _end(text: str, size: float, room: float) -> str:
    """Return as many of a name's last parts as fit; none if the last one does not."""
    end = ""
    for piece in reversed(_PIECE.findall(text)):
        if width(piece + end, size) > room:
            break
        end = piece + end
    return end


def _letters(text: str, size: float, room: float, *, from_end: bool = False) -> str:
    """Return as many characters as fit, from the beginning or the end."""
    count = 0
    for letter in reversed(text) if from_end else text:
        room -= width(letter, size)
        if room < 0:
            break
        count += 1
    return text[len(text) - count :] if from_end else text[:count]


def _on_one_line(text: str) -> str:
    return " ".join(readable(text).split())
