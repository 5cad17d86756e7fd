"""detectable_format, paragraphs, punctuation: brackets around words, hyphens between sentences, dividers, marks.

So is count:counting_composition, which counts paragraphs, the sentences in them and the words in those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from lm_eval_ext.verifiers import structure
from lm_eval_ext.verifiers.checker import Checker, OneRule, Positive, checker
from lm_eval_ext.verifiers.ifeval.length import NumberParagraphs, are_paragraphs
from lm_eval_ext.verifiers.text import Text, has_word, spoken
from lm_eval_ext.verifiers.tokenization import ifeval_sentences

_COMPOSED = 3
"""The number of paragraphs of ``counting_composition``."""
_DIVIDER = re.compile(r"\s?\*\*\*\s?")
_ANGULAR = re.compile(r"<<([^<>]*)>>")
_SQUARE = re.compile(r"\[([^\[\]]*)\]")
_JOINT = re.compile(r"([.!?][\"'”’)\]*_]*)-(?=\S)")


def _wrapped(text: str, brackets: re.Pattern[str]) -> list[int] | None:
    """Return the number of words in each pair of brackets that has any; ``None`` if there is a word outside."""
    parts = brackets.split(text)
    if any(map(has_word, parts[::2])):
        return None
    return [len(words) for words in map(spoken, parts[1::2]) if words]


@checker(
    "detectable_format:bigram_wrapping",
    "Wrap every word bigram in double angular brackets, such as <<I am>> <<at home>> <<with my>> <<cute dog>>.",
)
class BigramWrapping(Checker):
    """Two words after two are in double angular brackets; words are divided by white space.

    Faithful: of each two, the first begins with ``<<`` and the second ends with ``>>``; a lone mark is a word, and the
    last word of an odd number may be anything, so that a single word follows. Repaired: no word is outside brackets,
    each pair has two, the last one may have one, and there is a bigram.
    """

    def faithful(self, text: Text) -> bool:
        pairs = zip(text.chunks[::2], text.chunks[1::2], strict=False)
        return all(first.startswith("<<") and second.endswith(">>") for first, second in pairs)

    def repaired(self, text: Text) -> bool:
        counts = _wrapped(text.raw, _ANGULAR) or [0]
        return counts[0] == 2 and set(counts[:-1]) <= {2} and counts[-1] <= 2


@checker("detectable_format:square_brackets", "Enclose every word in your response within square brackets.")
class SquareBrackets(Checker):
    """Each word is in square brackets; words are divided by white space.

    Faithful: it begins with ``[`` and ends with ``]``, so that a mark after the bracket fails, and ``[red]-[blue]`` is
    one word. Repaired: no word is outside brackets, each pair has one, and there is one.
    """

    def faithful(self, text: Text) -> bool:
        return all(chunk[0] == "[" and chunk[-1] == "]" for chunk in text.chunks)

    def repaired(self, text: Text) -> bool:
        return set(_wrapped(text.raw, _SQUARE) or ()) == {1}


@checker(
    "detectable_format:sentence_hyphens",
    "All sentences must be connected using hyphens, with no spaces between them.",
)
class SentenceHyphens(Checker):
    """A hyphen, without white space around it, is between each two sentences.

    Faithful: sentences are those of IFEval's rules, and every hyphen divides them, even that of "well-known"; a single
    sentence follows. Repaired: a hyphen divides after the mark that ends a sentence, and there are two sentences.
    """

    def faithful(self, text: Text) -> bool:
        sentences = ifeval_sentences(text.raw.replace("-", " "))
        # Of what there is more on one side, nothing is compared.
        return all(
            piece == sentence and piece == piece.strip()
            for piece, sentence in zip(text.raw.split("-"), sentences, strict=False)
        )

    def repaired(self, text: Text) -> bool:
        parts = _JOINT.split(text.stripped)
        pieces = list(map("".join, zip(parts[::2], [*parts[1::2], ""], strict=True)))
        return len(pieces) > 1 and all(
            piece == piece.strip() and has_word(piece) and not Text(piece).has_sentences(2) for piece in pieces
        )


@checker(
    "paragraphs:paragraphs",
    "There should be 2 paragraphs. Paragraphs are separated with the markdown divider: ***",
)
class Paragraphs(OneRule):
    """Exactly two paragraphs, separated by ``***``; in both editions as in IFEval's ``NumberParagraphs``."""

    def holds(self, text: Text, repaired: bool) -> bool:
        return NumberParagraphs(num_paragraphs=2).holds(text, repaired)


@checker(
    "paragraphs:paragraphs2",
    "There should be 2 paragraphs. Paragraphs and only paragraphs are separated with each other by two line breaks.",
)
class Paragraphs2(Checker):
    """Exactly two paragraphs, separated by two line feeds; a blank one may be at either end.

    Faithful: between four line feeds is a blank paragraph, so that they fail. Repaired: any number of blank lines
    divides, and text without a letter or digit is not a paragraph.
    """

    def faithful(self, text: Text) -> bool:
        return are_paragraphs(text.raw.split("\n\n"), 2)

    def repaired(self, text: Text) -> bool:
        return len(list(islice(filter(has_word, structure.BLANK_LINES.split(text.raw)), 3))) == 2


@checker(
    "count:counting_composition",
    "Write 3 paragraphs, delimited by the markdown divider: * * *, with exactly {n_sent} sentences each, with exactly "
    "{n_words} words in each sentence.",
)
class CountingComposition(Checker):
    """Three paragraphs of ``n_sent`` sentences of ``n_words`` words each.

    Faithful: ``***`` divides paragraphs, and the ``* * *`` of the wording does not; sentences are those of IFEval's
    rules; words are NLTK's tokens, so that the mark at a sentence's end is one. Repaired: both divide, sentences are
    Punkt's, and words are those that a reader sees.
    """

    n_sent: Positive
    n_words: Positive

    def faithful(self, text: Text) -> bool:
        paragraphs = _DIVIDER.split(text.raw)
        return len(paragraphs) == _COMPOSED and all(
            self._is_composed(Text(sentence).each_token() for sentence in Text(paragraph).ifeval_sentences)
            for paragraph in paragraphs
        )

    def repaired(self, text: Text) -> bool:
        paragraphs = structure.split_at_dividers(text.lines)
        return are_paragraphs(paragraphs, _COMPOSED) and all(
            self._is_composed(Text(sentence).whole_words for sentence in Text(paragraph).each_sentence())
            for paragraph in filter(str.strip, paragraphs)
        )

    def _is_composed(self, paragraph: Iterable[Iterable[str]]) -> bool:
        """Return whether a paragraph, given as the words of each sentence, has as many of both as is asked for."""
        sentences = (islice(words, self.n_words + 1) for words in islice(paragraph, self.n_sent + 1))
        return [len(list(words)) for words in sentences] == [self.n_words] * self.n_sent


@checker(
    "punctuation:punctuation_dot",
    "In your entire response, refrain from the use of . (i.e. dots) as punctuation and in general.",
)
class PunctuationDot(OneRule):
    """No full stop (U+002E), not even in a number. Repaired: nor other marks that show dots, such as the ellipsis."""

    def holds(self, text: Text, repaired: bool) -> bool:
        return not any(mark in text.raw for mark in (".…‥．" if repaired else "."))


@checker(
    "punctuation:punctuation_exclamation",
    "In your entire response, refrain from the use of ! (i.e. exclamation marks) as punctuation and in general.",
)
class PunctuationExclamation(OneRule):
    """No exclamation mark (U+0021). Repaired: nor others, such as the double and the fullwidth one."""

    def holds(self, text: Text, repaired: bool) -> bool:
        return not any(mark in text.raw for mark in ("!！‼⁉" if repaired else "!"))
