"""The slots of a frame, and what a question and its options put into them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lm_eval_ext.classifier.reading import Option

PHRASES = frozenset({"opener", "disclaimer", "turn", "overview", "explanation", "closer"})
"""Slots that are filled with a sentence, or the beginning of one, from the corpus."""
LISTS = frozenset(
    {"letters", "letters_or", "letters_and", "letters_slash", "texts_or", "texts_and"}
    | {"options_or", "options_and", "lines", "bullets"}
)
"""Slots that are filled with all options that the frame chooses, of any number."""
LETTER_FORMS = ("{letter}",) * 7 + ("({letter})", '"{letter}"', "option {letter}", "{letter} ({text})", "**{letter}**")
"""How a list writes its letters, the usual way more often."""


@dataclass(frozen=True, slots=True)
class CorpusQuestion:
    """A multiple-choice question of the corpus; ``topic`` is a noun phrase."""

    text: str
    options: tuple[str, ...]
    topic: str


def slots(
    draw: random.Random,
    question: CorpusQuestion,
    options: Sequence[Option],
    chosen: Sequence[Option],
    others: Sequence[Option],
) -> dict[str, str]:
    """Return the texts of the slots that a question can fill.

    Args:
        draw: draws how lists are written.
        question: the question.
        options: all its options, as shown.
        chosen: those that the frame chooses.
        others: those that it does not.
    """
    filled = {"question": question.text, "topic": question.topic}
    filled["options"] = "\n".join(f"{option.letter}. {option.text}" for option in options)
    for prefix, suffix, option in [
        *zip(("", "", ""), ("", "2", "3"), chosen, strict=False),
        *zip(("other_", "third_"), ("", ""), others, strict=False),
    ]:
        filled |= {f"{prefix}{name}{suffix}": form for name, form in _forms(option).items()}
    return filled | _lists(draw, chosen)


def _forms(option: Option) -> Mapping[str, str]:
    core = option.text.rstrip(".!?")
    return {
        "letter": option.letter,
        "text": option.text,
        "text_core": core,
        "text_lower": core[:1].lower() + core[1:],
    }


def _lists(draw: random.Random, chosen: Sequence[Option]) -> dict[str, str]:
    if len(chosen) < 2:
        return {}
    form = draw.choice(LETTER_FORMS)
    comma = draw.choice((",", ""))
    letters = [form.format(letter=option.letter, text=option.text.rstrip(".!?")) for option in chosen]
    texts = [f'"{option.text.rstrip(".!?")}"' for option in chosen]
    named = [f"{option.letter}. {option.text.rstrip('.!?')}" for option in chosen]
    return {
        "letters": ", ".join(letters),
        "letters_slash": "/".join(option.letter for option in chosen),
        "letters_or": _joined(letters, comma, "or"),
        "letters_and": _joined(letters, comma, "and"),
        "texts_or": _joined(texts, comma, "or"),
        "texts_and": _joined(texts, comma, "and"),
        "options_or": _joined(named, comma, "or"),
        "options_and": _joined(named, comma, "and"),
        "lines": "\n".join(named),
        "bullets": "\n".join(f"- {name}" for name in named),
    }


def _joined(items: Sequence[str], comma: str, word: str) -> str:
    """Return items as in "A, B, or C", with or without the last comma."""
    if len(items) == 2:
        return f"{items[0]} {word} {items[1]}"
    return f"{', '.join(items[:-1])}{comma} {word} {items[-1]}"
