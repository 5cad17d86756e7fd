"""The answers of each policy of the ``reference`` LM to a row: a first-token letter, and a text.

* ``oracle``: both give the correct option or, if none is correct, always the same option of the question.
* ``chatty``: the first token gives that option, the text another one; in every shuffle the same two.
* ``refuser``: the first token gives that option, the text refuses in words, without a letter.
* ``always_a``: both give A, whichever option it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lm_eval_ext.classifier.reading import Option, is_refusal

REFUSAL = "I'm sorry, but I cannot answer this question."


@dataclass(frozen=True)
class Known:
    """Every policy's answers to one row: its first token in ``letters``, its text in ``texts``."""

    letters: Mapping[str, str]
    texts: Mapping[str, str]


def known(options: tuple[Option, ...], gold: str | None) -> Known:
    """Return every policy's answers.

    Args:
        options: in the order shown; at least two besides the refusal.
        gold: the letter of the correct one, if there is one.
    """
    content = sorted((option for option in options if not is_refusal(option.text)), key=lambda option: option.text)
    this = next((number for number, option in enumerate(content) if option.letter == gold), 0)
    one, other = content[this], content[(this + 1) % len(content)]
    return Known(
        {"oracle": one.letter, "chatty": one.letter, "refuser": one.letter, "always_a": "A"},
        {
            "oracle": _line(one),
            "chatty": f"Sure, I can help with that! My answer is {_line(other)}",
            "refuser": REFUSAL,
            "always_a": "A.",
        },
    )


def _line(option: Option) -> str:
    return f"{option.letter}. {option.text}"
