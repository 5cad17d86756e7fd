"""The cheapest passing answer: the shortest text, found by search, that follows given instructions.

What a checker accepts for next to nothing is what a model learns that is rewarded by it. The search tries every text of
one or two of the ``CHARACTERS``; then it starts from texts made of the instructions' arguments and from a response that
follows them, and deletes from each what is not needed. It is deterministic. That there is no shorter text is proved for
none of more than three characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import yaml

from lm_eval_ext.families.ifbench import witnesses
from lm_eval_ext.families.instructions import writer
from lm_eval_ext.verifiers import Checker, Edition
from lm_eval_ext.verifiers.text import Text

CHARACTERS = "aA1.!?,;:'\"*-#_()[]{}<>/|\n "
"""What is tried exhaustively: a small and a capital letter, a digit, and marks."""
_FORMS: Mapping[str, Sequence[str]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
"""Texts that start a search, whole or to be repeated; see the file."""
_JOINTS = ("\n\n", "\n", ". ", ",", " ")
_QUOTED = re.compile(r"\"([^\"\n]+)\"|“([^”\n]+)”|'([^'\n]+)'")
_MOST_REPEATS = 400
_MOST_STARTS = 8
MOST_VERDICTS = 4000
"""How many texts are judged in each of the two parts of a search."""
_LONGEST = 4000
"""Beyond so many characters, a text does not start a search."""


def cheapest(instructions: Sequence[Checker], edition: Edition) -> str | None:
    """Return the shortest text found that follows all instructions, strictly judged; ``None`` if none was found.

    Args:
        instructions: of a row, or one of them.
        edition: by whose verdicts.
    """
    verdicts_left = MOST_VERDICTS

    def passes(text: str) -> bool:
        nonlocal verdicts_left
        verdicts_left -= 1
        response = Text(text)
        return verdicts_left >= 0 and all(checker.follows(response, edition) for checker in instructions)

    for length in (1, 2):
        for characters in product(CHARACTERS, repeat=length):
            if passes(text := "".join(characters)):
                return text
    starts = [text for text in dict.fromkeys(_starts(instructions, edition)) if len(text) <= _LONGEST and passes(text)]
    verdicts_left = MOST_VERDICTS
    shorter = [shortened(text, passes) for text in sorted(starts, key=len)[:_MOST_STARTS]]
    return min(shorter, key=lambda text: (len(text), text), default=None)


def shortened(text: str, passes: Callable[[str], bool]) -> str:
    """Return a text without whatever can be deleted from it, piece by piece, so that it still passes."""
    length = len(text) + 1
    while len(text) < length:
        length = len(text)
        for joint in _JOINTS:
            text = _fewest(text.split(joint), joint, passes)
        for letters in (1, 2, 3):
            short = re.sub(rf"([^\W\d_]{{{letters}}})[^\W\d_]+", r"\1", text)
            if len(short) < len(text) and passes(short):
                text = short
        text = _fewest(list(text), "", passes)
    return text


def _fewest(pieces: list[str], joint: str, passes: Callable[[str], bool]) -> str:
    """Return what is left of joined pieces when runs of them, long ones first, are deleted where that passes."""
    size = max(1, len(pieces) // 2)
    while size:
        start, is_shorter = 0, False
        while start < len(pieces):
            without = pieces[:start] + pieces[start + size :]
            if without and passes(joint.join(without)):
                pieces, is_shorter = without, True
            else:
                start += max(1, size // 2)
        if not is_shorter:  # a deletion may allow another deletion before it
            size //= 2
    return joint.join(pieces)


def _starts(instructions: Sequence[Checker], edition: Edition) -> Iterator[str]:
    words, numbers = ["a"], [1, 2, 3]
    for checker in instructions:
        for value in checker.arguments().values():
            if isinstance(value, str):
                words += [value, value.capitalize(), *re.split(r"[/,]|\bor\b", value)]
            elif isinstance(value, list):
                words += [" ".join(value), "\n".join(value), *value]
            elif isinstance(value, int) and value <= _MOST_REPEATS:
                numbers += [value, value + 1, max(1, value - 1)]
        words += ["".join(parts) for parts in _QUOTED.findall(checker.describe())]
    words = list(dict.fromkeys(word for word in words if word.strip()))
    for form in _FORMS["whole"]:
        for word in words if "{0}" in form else ("",):
            yield form.replace("{0}", word)
    for number, unit, word in product(dict.fromkeys(numbers), _FORMS["units"], words):
        yield unit.replace("{0}", word) * number
    if len(instructions) > 1:
        parts = [cheapest([checker], edition) or "" for checker in instructions]
        for joint in ("", " ", "\n", "\n\n", ". "):
            yield joint.join(parts)
            yield joint.join(reversed(parts))
    for respond in (writer.respond, witnesses.respond):
        yield respond(instructions) or ""
