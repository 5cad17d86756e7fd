"""The types that all readers share: their input, an answer, and their output, a reading."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

REFUSED = "Refused"
"""The option with which OpinionQA's questions offer not to answer."""

ReadingKind = Literal["option", "several", "refused", "none", "contradiction"]


@dataclass(frozen=True, slots=True)
class Option:
    """One line of a multiple-choice question: ``A. Somewhat favorable``."""

    letter: str
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A free-text answer and the options to choose from.

    Attributes:
        text: the response, without reasoning blocks.
        options: the options, at least one, with distinct letters.
    """

    text: str
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer says.

    Attributes:
        kind: ``option``: it chooses one option; ``several``: it chooses more than one; ``refused``: it declines to
            answer and no option says so; ``none``: its answer is not among the options (nonsense, or "none of these");
            ``contradiction``: it gives one option's letter with another option's text. Annotators call that no answer.
        letters: the letters of the chosen options, in alphabetical order; empty for the other kinds.
        certainty: the reader's own estimate, from 0 to 1, that the reading is right.
    """

    kind: ReadingKind
    letters: tuple[str, ...] = ()
    certainty: float = 1.0

    @classmethod
    def of(cls, letters: Sequence[str], certainty: float = 1.0) -> Reading:
        """Return the reading that chooses these letters: ``option``, ``several``, or ``none`` if there are none."""
        chosen = tuple(sorted(set(letters)))
        kind: ReadingKind = "option" if len(chosen) == 1 else "several" if chosen else "none"
        return cls(kind, chosen, certainty)

    @classmethod
    def refusal(cls, options: Sequence[Option], certainty: float = 1.0) -> Reading:
        """Return the reading of a refusal: the option that offers it, if there is one (paper, appendix A.2)."""
        letter = refusal_option(options)
        return cls("refused", (), certainty) if letter is None else cls("option", (letter,), certainty)

    @property
    def value(self) -> str | list[str]:
        """The reading as JSON: a letter, a list of letters, ``"refused"``, ``"none"`` or ``"contradiction"``."""
        if self.kind == "option":
            return self.letters[0]
        return list(self.letters) if self.kind == "several" else self.kind

    def matches(self, reading: Reading) -> bool:
        """Tell whether both readings say the same, regardless of their certainty."""
        return replace(self, certainty=reading.certainty) == reading


ABSTAINED = Reading("none", (), 0.0)
"""The reading of a reader that cannot tell."""
Reader = Callable[[Sequence[Answer]], "list[Reading]"]
"""Reads a batch of answers and returns one reading per answer, in the same order."""


def refusal_option(options: Sequence[Option]) -> str | None:
    """Return the letter of the option that offers a refusal (``Refused``), if any does."""
    return next((option.letter for option in options if is_refusal(option.text)), None)


def is_refusal(text: str) -> bool:
    """Tell whether an option's text offers a refusal."""
    return text.strip().casefold() == REFUSED.casefold()
