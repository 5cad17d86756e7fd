"""sentence: alliteration and lengths that grow from sentence to sentence, and a keyword in a certain one."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from itertools import groupby, islice, pairwise

from lm_eval_ext.verifiers import phrases
from lm_eval_ext.verifiers.checker import Checker, Count, OneRule, Phrase, Positive, checker
from lm_eval_ext.verifiers.text import Text, fold, has_word, spoken, without_punctuation

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
        before = -1
        for sentence in text.each_sentence():
            words = (chunk.lstrip(_AROUND) for chunk in sentence.lower().split())
            total = sum(_alliterations(word[0] for word in words if word))
            if total <= before:
                return False
            before = total
        return True

    def repaired(self, text: Text) -> bool:
        longest = []
        for sentence in text.each_sentence():
            words = Text(sentence).whole_words
            runs = _alliterations(word[0].lower() if word[0].isalpha() else object() for word in words)
            longest.append(max(runs, default=0))
        return len(longest) > 1 and all(before < after for before, after in pairwise(longest))


def _alliterations(initials: Iterable[object]) -> list[int]:
    """Return the number of words of each alliteration, in which two words or more in a row have the same initial."""
    lengths = (len(list(same)) for _, same in groupby(initials))
    return [length for length in lengths if length > 1]


@checker("sentence:increment", "Each sentence must contain exactly {small_n} more words than the previous one.")
class Increment(OneRule):
    """Each sentence has exactly ``small_n`` more words than the one before.

    Faithful: words are what white space divides once ASCII punctuation is removed, so that a lone dash "—" or emoji is
    one; a single sentence follows. Repaired: a word has a letter or digit, text without any is no sentence, and there
    are at least two sentences.
    """

    small_n: Count

    def holds(self, text: Text, repaired: bool) -> bool:
        counts: list[int] = []
        for sentence in text.each_sentence():
            words = spoken(sentence) if repaired else without_punctuation(sentence).split()
            if words or not repaired:
                counts.append(len(words))
            if len(counts) > 1 and counts[-1] - counts[-2] != self.small_n:
                return False
        return len(counts) > 1 or not repaired


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
        nth = next(islice(text.each_sentence(), self.N - 1, None), "")
        return re.search(rf"\b{re.escape(self.word)}\b", nth, re.IGNORECASE) is not None

    def repaired(self, text: Text) -> bool:
        sentences = filter(has_word, map(fold, text.each_sentence()))
        nth = next(islice(sentences, self.N - 1, None), "")
        return phrases.as_words(self.word).search(nth) is not None
