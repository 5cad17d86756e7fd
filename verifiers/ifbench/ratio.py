"""ratio: shares of words, of kinds of sentences, and of what a reference text has."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from itertools import chain

import regex

from lm_eval_ext.verifiers import tokenization
from lm_eval_ext.verifiers.checker import Checker, OneRule, Percentage, Phrase, checker
from lm_eval_ext.verifiers.text import Text

_WORD = regex.compile(r"\w+")  # the words that NLTK, and therefore IFBench, counts
_THREE = re.compile("...", re.DOTALL)
TOLERANCE = 2
"""Percentage points by which an overlap may differ from what is asked for."""
_AFTER_END = "\"'”’»)]}*_`~ "
"""What may follow the last mark of a sentence."""


@checker(
    "ratio:stop_words",
    "Ensure that stop words constitute no more than {percentage}% of the total words in your response.",
)
class StopWords(OneRule):
    r"""At most ``percentage`` percent of the words are stop words, as NLTK lists them.

    Faithful: a word is a maximal run of ``\\w`` ("don't" is two stop words). Repaired: apostrophes and hyphens join a
    word, and a contraction is a stop word if its first part is one.
    """

    percentage: Percentage

    def holds(self, text: Text, repaired: bool) -> bool:
        if repaired:
            words = [word.partition("'")[0] for word in text.small_words]
        else:
            words = list(map(str.lower, _WORD.findall(text.raw)))
        return bool(words) and sum(map(stop_words().__contains__, words)) / len(words) * 100 <= self.percentage


@cache
def stop_words() -> frozenset[str]:
    """Return NLTK's English stop words.

    Raises:
        MissingDataError: they are not installed.
    """
    with tokenization.find(tokenization.STOP_WORDS).open(encoding="utf-8") as file:
        return frozenset(file.read().split())


@checker("ratio:sentence_type", "Maintain a 2:1 ratio of declarative to interrogative sentences.")
class SentenceType(Checker):
    """Twice as many declarative as interrogative sentences; sentences are Punkt's.

    Faithful: they end with a full stop or with a question mark, and 0 is twice 0. Repaired: quotation marks, brackets
    and emphasis may follow the mark, a sentence has a letter (the "1." of a list has none), and there is a question.
    """

    def faithful(self, text: Text) -> bool:
        # Punkt is slow. No more sentences can be questions than there are question marks.
        if text.has_statements(2 * text.raw.count("?") + 1):
            return False
        ends = [sentence[-1:] for sentence in text.sentences]
        return ends.count(".") == 2 * ends.count("?")

    def repaired(self, text: Text) -> bool:
        ends = _last_marks(text)
        return ends.count(".") == 2 * ends.count("?") > 0


@checker(
    "ratio:sentence_balance",
    "Ensure that the ratio of sentence types (declarative, interrogative, exclamatory) is balanced.",
)
class SentenceBalance(Checker):
    """As many declarative as interrogative and as exclamatory sentences; sentences are Punkt's.

    Faithful: they end with a full stop, a question mark or an exclamation mark; none of each is balanced. Repaired: as
    in ``ratio:sentence_type``, and there is one of each.
    """

    def faithful(self, text: Text) -> bool:
        if text.has_statements(min(text.raw.count("?"), text.raw.count("!")) + 1):
            return False
        ends = [sentence[-1:] for sentence in text.sentences]
        return ends.count(".") == ends.count("?") == ends.count("!")

    def repaired(self, text: Text) -> bool:
        ends = _last_marks(text)
        return ends.count(".") == ends.count("?") == ends.count("!") > 0


def _last_marks(text: Text) -> list[str]:
    """Return the mark that ends each sentence for a reader: "?" for an interrobang, "." for an ellipsis."""
    marks = []
    for sentence in text.sentences:
        if any(map(str.isalpha, sentence)):
            body = sentence.rstrip(_AFTER_END)
            end = body[len(body.rstrip(".!?…‽。！？")) :].replace("…", ".")
            marks.append("?" if "?" in end or "‽" in end else end[-1:])
    return marks


@checker(
    "ratio:sentence_words",
    "Respond with three sentences, all containing the same number of characters but using all different words.",
)
class SentenceWords(Checker):
    """Three sentences with the same number of characters; sentences are Punkt's.

    Faithful: their words do not matter. Repaired: no word occurs twice, ignoring case.
    """

    def faithful(self, text: Text) -> bool:
        if not text.has_sentences(3) or text.has_sentences(4):
            return False
        return len({len(sentence.strip()) for sentence in text.sentences}) == 1

    def repaired(self, text: Text) -> bool:
        folded = Text(text.folded)
        return self.faithful(folded) and len(set(folded.small_words)) == len(folded.small_words)


@checker("ratio:overlap", "Maintain a trigram overlap of {percentage}% (±2%) with the provided reference text.")
class Overlap(OneRule):
    """``percentage`` percent of the response's different trigrams, give or take two, are in ``reference_text``.

    Faithful: trigrams of characters. Repaired: of words, ignoring case.
    """

    reference_text: Phrase
    percentage: Percentage

    def holds(self, text: Text, repaired: bool) -> bool:
        trigrams = _trigrams(text, repaired)
        if not trigrams:
            return False
        overlap = len(trigrams & _trigrams_of_reference(self.reference_text, repaired)) / len(trigrams) * 100
        return self.percentage - TOLERANCE <= overlap <= self.percentage + TOLERANCE


def _trigrams(text: Text, repaired: bool) -> frozenset[object]:
    """Return the different trigrams of a text, of words or of characters."""
    if repaired:
        words = text.small_words
        return frozenset(zip(words, words[1:], words[2:], strict=False))
    # Every third of them at a time: the quickest way in Python.
    return frozenset(chain.from_iterable(_THREE.findall(text.raw, start) for start in range(3)))


@lru_cache(maxsize=512)
def _trigrams_of_reference(reference: str, repaired: bool) -> frozenset[object]:
    return _trigrams(Text(reference), repaired)
