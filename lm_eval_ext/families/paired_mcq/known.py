"""What each policy of the ``reference`` LM says to a row: a letter by its first token, and a text.

* ``oracle``: both say the right option, or where none is right one and the same option of the question.
* ``chatty``: the first token says that option, the text another one, in every shuffle the same two.
* ``refuser``: the first token says that option, the text refuses in words, without a letter.
* ``always_a``: both say A, whatever stands there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lm_eval_ext.classifier.reading import Option, is_refusal

REFUSAL = "I'm sorry, but I cannot answer this question."


@dataclass(frozen=True)
class Known:
    """What every policy says to one row: ``letters`` by its first token, ``texts`` in full."""

    letters: Mapping[str, str]
    texts: Mapping[str, str]


def known(options: tuple[Option, ...], gold: str | None) -> Known:
    """Return what every policy says.

    Args:
        options: as they are shown, at least two besides the refusal.
        gold: the letter of the right one, if one is right.
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
