"""Instructions about a section that neither IFEval nor IFBench has, and how an instruction is built from its id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lm_eval_ext.verifiers import Checker, instruction
from lm_eval_ext.verifiers.text import Text

_QUESTION = re.compile(r"\w[\"'\u2019\u201d\u00bb)\]*_]*\?")


@dataclass(frozen=True, slots=True)
class FirstLetter(Checker):
    """The first letter is ``letter``, in either case; marks and digits before it do not count."""

    id: ClassVar[str] = "section:first_letter"
    letter: str

    def describe(self) -> str:
        return f"Start with the letter {self.letter}."

    def faithful(self, text: Text) -> bool:
        return next(filter(str.isalpha, text.raw), "").lower() == self.letter


@dataclass(frozen=True, slots=True)
class ExactSentences(Checker):
    """Exactly ``num_sentences`` sentences, as NLTK's Punkt splitter delimits them."""

    id: ClassVar[str] = "section:exact_sentences"
    num_sentences: int

    def describe(self) -> str:
        return f"Write exactly {self.num_sentences} sentences."

    def faithful(self, text: Text) -> bool:
        return text.has_sentences(self.num_sentences) and not text.has_sentences(self.num_sentences + 1)


@dataclass(frozen=True, slots=True)
class Lowercase(Checker):
    """There are letters, and none is a capital.

    IFEval's instruction of this kind also asks for English, which nobody can tell for sure of a few sentences.
    """

    id: ClassVar[str] = "section:lowercase"

    def describe(self) -> str:
        return "Use no capital letters."

    def faithful(self, text: Text) -> bool:
        return text.raw.islower()


@dataclass(frozen=True, slots=True)
class Capitals(Checker):
    """There are letters, and all are capitals; see ``Lowercase``."""

    id: ClassVar[str] = "section:capitals"

    def describe(self) -> str:
        return "Use capital letters only."

    def faithful(self, text: Text) -> bool:
        return text.raw.isupper()


@dataclass(frozen=True, slots=True)
class Question(Checker):
    """There is a question mark after a word."""

    id: ClassVar[str] = "section:question"

    def describe(self) -> str:
        return "Ask a question."

    def faithful(self, text: Text) -> bool:
        return _QUESTION.search(text.raw) is not None


_OWN: Mapping[str, type[Checker]] = {
    cls.id: cls for cls in (FirstLetter, ExactSentences, Lowercase, Capitals, Question)
}
"""Not in the registry of ``verifiers``, which has the published instructions only."""


def section_instruction(instruction_id: str, arguments: Mapping[str, Any]) -> Checker:
    """Return the checker of an instruction about a section.

    Args:
        instruction_id: one of IFEval, of IFBench, or of this module.
        arguments: its arguments; nulls, with which a table pads its rows, are ignored.

    Raises:
        TypeError, ValueError: as ``verifiers.instruction``.
    """
    if instruction_id not in _OWN:
        return instruction(instruction_id, arguments)
    return _OWN[instruction_id](**{name: value for name, value in arguments.items() if value is not None})
