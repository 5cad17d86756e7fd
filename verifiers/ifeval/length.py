"""length_constraints: words, sentences and paragraphs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated

import regex

from lm_eval_ext.verifiers import multi_if, structure
from lm_eval_ext.verifiers.checker import Checker, Count, OneRule, Positive, Relation, checker, compare, phrase
from lm_eval_ext.verifiers.text import Text, fold, has_word

_IFEVAL_DIVIDER = "***"
"""IFEval also removes one white space on either side, which does not change which paragraphs are blank."""
LowercasePhrase = Annotated[str, lambda value: phrase(value).lower()]
"""Text that is not blank, in lower case."""
_FIRST_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:['-][\p{L}\p{M}\p{N}]+)*")


@checker("length_constraints:number_words", "Answer with {relation} {num_words} words.")
class NumberWords(Checker):
    r"""At least, or less than, ``num_words`` words; a word is a maximal run of ``\\w`` ("don't" is two).

    Multi-IF: in Thai, Chinese and Japanese, see ``multi_if``.
    """

    num_words: Count
    relation: Relation

    def faithful(self, text: Text) -> bool:
        return compare(text.words, self.relation, self.num_words)

    def multi_if(self, text: Text) -> bool:
        words = multi_if.words(text)
        return self.faithful(text) if words is None else compare(words, self.relation, self.num_words)


@checker("length_constraints:number_sentences", "Your response should contain {relation} {num_sentences} sentences.")
class NumberSentences(Checker):
    """At least, or less than, ``num_sentences`` sentences, as NLTK's Punkt splitter delimits them.

    Multi-IF: in Thai, Hindi, Chinese and Japanese, see ``multi_if``.
    """

    num_sentences: Count
    relation: Relation

    def faithful(self, text: Text) -> bool:
        return text.has_sentences(self.num_sentences) == (self.relation == "at least")

    def multi_if(self, text: Text) -> bool:
        sentences = multi_if.sentences(text)
        return self.faithful(text) if sentences is None else compare(sentences, self.relation, self.num_sentences)


@checker(
    "length_constraints:number_paragraphs",
    "There should be {num_paragraphs} paragraphs. Paragraphs are separated with the markdown divider: ***",
)
class NumberParagraphs(OneRule):
    """Exactly ``num_paragraphs`` paragraphs, separated by ``***``; there must be text between two dividers.

    Faithful: any three asterisks divide, even those of ``***bold***``. Repaired: three asterisks divide unless they
    enclose text, and so does a line of three or more, with or without spaces between them (a Markdown thematic break);
    text without a letter or digit, such as a quotation mark, is not a paragraph.
    """

    num_paragraphs: Count

    def holds(self, text: Text, repaired: bool) -> bool:
        if repaired:
            pieces = [piece if has_word(piece) else "" for piece in structure.split_at_dividers(text.lines)]
        else:
            pieces = text.raw.split(_IFEVAL_DIVIDER)
        return are_paragraphs(pieces, self.num_paragraphs)


def are_paragraphs(pieces: Sequence[str], count: int) -> bool:
    """Return whether pieces of a text are so many paragraphs: only the first and the last one may be blank."""
    blank = [not piece.strip() for piece in pieces]
    if any(blank[1:-1]):
        return False
    at_the_ends = blank[0] + blank[-1] if len(blank) > 1 else blank[0]
    return len(pieces) - at_the_ends == count


@checker(
    "length_constraints:nth_paragraph_first_word",
    "There should be {num_paragraphs} paragraphs. Paragraphs and only paragraphs are separated with each other by two "
    "new lines as if it was '\\n\\n' in python. Paragraph {nth_paragraph} must start with word {first_word}.",
)
class NthParagraphFirstWord(Checker):
    """Exactly ``num_paragraphs`` paragraphs, and paragraph ``nth_paragraph`` (from 1) begins with ``first_word``.

    Faithful: two line feeds divide; blank paragraphs do not count, but are included when looking up the n-th; the word
    ends at one of ``.,?!'"``. Repaired: blank lines divide, text without a letter or digit is not a paragraph, even
    when looking up the n-th, and marks around its first word (quotes, asterisks, a colon …) are ignored.
    """

    num_paragraphs: Positive
    nth_paragraph: Positive
    first_word: LowercasePhrase

    def require_consistent(self) -> None:
        if self.nth_paragraph > self.num_paragraphs:
            raise ValueError(
                f"{self.id}: nth_paragraph must be at most num_paragraphs ({self.num_paragraphs}), "
                f"found {self.nth_paragraph}"
            )

    def faithful(self, text: Text) -> bool:
        paragraphs = text.raw.split("\n\n")
        count = sum(1 for paragraph in paragraphs if paragraph.strip())
        if count != self.num_paragraphs or not paragraphs[self.nth_paragraph - 1].strip():
            return False
        word = paragraphs[self.nth_paragraph - 1].split(maxsplit=1)[0].lstrip("'").lstrip('"')
        # Letter by letter, as in IFEval, which therefore ignores the special lower case of a final sigma.
        return "".join(map(str.lower, re.split(r"[.,?!'\"]", word, maxsplit=1)[0])) == self.first_word

    def repaired(self, text: Text) -> bool:
        words = [_FIRST_WORD.search(paragraph) for paragraph in structure.BLANK_LINES.split(text.folded)]
        first = [word[0].lower() for word in words if word]
        return len(first) == self.num_paragraphs and first[self.nth_paragraph - 1] == fold(self.first_word.strip())
