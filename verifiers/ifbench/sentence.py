"""sentence: alliteration and lengths that grow from sentence to sentence, and a keyword in a certain one."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from itertools import groupby, islice, pairwise

from lm_eval_ext.verifiers import phrases
from lm_eval_ext.verifiers.checker import Checker, Count, Phrase, Positive, checker
from lm_eval_ext.verifiers.text import Text, fold, without_punctuation

_AROUND = string.punctuation + " "


@checker(
    "sentence:alliteration_increment",
    "Each sentence must have a longer sequence of consecutive alliterative words than the previous one.",
)
class AlliterationIncrement(Checker):
    """The alliterations of each sentence are longer than those of the one before.

    Faithful: the words of all alliterations in a sentence are added up, words that begin with the same digit or
    typographic mark alliterate, and a single sentence follows. Repaired: the longest alliteration counts, only of
    words that begin with a letter, and there are at least two sentences.
    """

    def faithful(self, text: Text) -> bool:
        return _increases(sum(runs) for runs in map(_faithful_runs, text.each_sentence()))

    def repaired(self, text: Text) -> bool:
        longest = [max(_runs(Text(sentence).whole_words), default=0) for sentence in text.each_sentence()]
        return len(longest) > 1 and _increases(longest)


def _faithful_runs(sentence: str) -> list[int]:
    stripped = (word.lstrip(_AROUND) for word in sentence.lower().split())
    return [run for run in _lengths(word[0] for word in stripped if word) if run > 1]


def _runs(spoken: Iterable[str]) -> list[int]:
    return [run for run in _lengths(word[0].lower() if word[0].isalpha() else object() for word in spoken) if run > 1]


def _lengths(initials: Iterable[object]) -> list[int]:
    return [sum(1 for _ in run) for _, run in groupby(initials)]


def _increases(counts: Iterable[int]) -> bool:
    return all(before < after for before, after in pairwise(counts))


@checker("sentence:increment", "Each sentence must contain exactly {small_n} more words than the previous one.")
class Increment(Checker):
    """Each sentence has exactly ``small_n`` more words than the one before.

    Faithful: words are what white space divides once ASCII punctuation is removed, so that a lone dash "—" or emoji is
    one; a single sentence follows. Repaired: a word has a letter or digit, text without any is no sentence, and there
    are at least two sentences.
    """

    small_n: Count

    def faithful(self, text: Text) -> bool:
        return self._grow(len(without_punctuation(sentence).split()) for sentence in text.each_sentence())

    def repaired(self, text: Text) -> bool:
        counts = [count for count in map(_count_spoken, text.each_sentence()) if count]
        return len(counts) > 1 and self._grow(counts)

    def _grow(self, counts: Iterable[int]) -> bool:
        return all(after - before == self.small_n for before, after in pairwise(counts))


def _count_spoken(sentence: str) -> int:
    return sum(1 for chunk in sentence.split() if any(map(str.isalnum, chunk)))


@checker("sentence:keyword", 'The response must include keyword "{word}" in the {N}-th sentence.')
class Keyword(Checker):
    r"""The ``N``-th sentence contains ``word``, ignoring case.

    Faithful: between ``\\b``, so that "C++" is missed in "C++ is fast". Repaired: as a whole word; text without a
    letter or digit is no sentence.
    """

    word: Phrase
    N: Positive

    def faithful(self, text: Text) -> bool:
        if phrases.occurrences(self.word, text) == 0:  # most texts need not be split
            return False
        pattern = re.compile(rf"\b{re.escape(self.word)}\b", re.IGNORECASE)
        return any(pattern.search(sentence) for sentence in self._nth(text.each_sentence()))

    def repaired(self, text: Text) -> bool:
        spoken = (sentence for sentence in map(fold, text.each_sentence()) if any(map(str.isalnum, sentence)))
        return any(phrases.as_words(self.word).search(sentence) for sentence in self._nth(spoken))

    def _nth(self, split: Iterable[str]) -> Iterable[str]:
        return islice(split, self.N - 1, self.N)
