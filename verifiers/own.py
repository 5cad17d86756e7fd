"""Instructions that no benchmark has published; each group belongs to tasks of this package.

``section`` belongs to the reports in sections of ``manyifeval_dense``, and ``hierarchy`` asks for some of it. No
verdicts were published that would have to be repeated, so the two editions are the same.
"""

from __future__ import annotations

import re

from lm_eval_ext.verifiers.checker import Checker, Count, Letter, checker
from lm_eval_ext.verifiers.text import Text

_QUESTION = re.compile(r"\w[\"'\u2019\u201d\u00bb)\]*_]*\?")


@checker("section:first_letter", "Start with the letter {letter}.")
class FirstLetter(Checker):
    """The first letter is ``letter``, in either case; marks and digits before it do not count."""

    letter: Letter

    def faithful(self, text: Text) -> bool:
        return next(filter(str.isalpha, text.raw), "").lower() == self.letter


@checker("section:exact_sentences", "Write exactly {num_sentences} sentences.")
class ExactSentences(Checker):
    """Exactly ``num_sentences`` sentences, as NLTK's Punkt splitter delimits them."""

    num_sentences: Count

    def faithful(self, text: Text) -> bool:
        return text.has_sentences(self.num_sentences) and not text.has_sentences(self.num_sentences + 1)


@checker("section:lowercase", "Use no capital letters.")
class Lowercase(Checker):
    """There are letters, and none is a capital.

    IFEval's instruction of this kind also asks for English, which nobody can tell for sure of a few sentences.
    """

    def faithful(self, text: Text) -> bool:
        return text.raw.islower()


@checker("section:capitals", "Use capital letters only.")
class Capitals(Checker):
    """There are letters, and all are capitals; see ``Lowercase``."""

    def faithful(self, text: Text) -> bool:
        return text.raw.isupper()


@checker("section:question", "Ask a question.")
class Question(Checker):
    """There is a question mark after a word."""

    def faithful(self, text: Text) -> bool:
        return _QUESTION.search(text.raw) is not None
