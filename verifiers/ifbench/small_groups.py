"""ratio, repeat and sentence: shares of words and of kinds of sentences, repetitions, and what is in which sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import groupby, islice, pairwise

from lm_eval_ext.verifiers import tokenization
from lm_eval_ext.verifiers.checker import Checker, Count, OneRule, Percentage, Phrase, Positive, checker
from lm_eval_ext.verifiers.text import AROUND, WORD, Text, as_words, fold, has_word, spoken, without_punctuation

# ratio: shares of words, of kinds of sentences, and of what a reference text has.

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
            words = list(map(str.lower, WORD.findall(text.raw)))
        return bool(words) and sum(map(stop_words().__contains__, words)) / len(words) * 100 <= self.percentage


@cache
def stop_words() -> frozenset[str]:
    """Return NLTK's English stop words.

    Raises:
        MissingDataError: NLTK's data are not installed.
    """
    with tokenization.find(tokenization.STOP_WORDS).open(encoding="utf-8") as file:
        return frozenset(file.read().split())


@checker("ratio:sentence_type", "Maintain a 2:1 ratio of declarative to interrogative sentences.")
class SentenceType(OneRule):
    """Twice as many declarative as interrogative sentences; sentences are Punkt's.

    Faithful: they end with a full stop or with a question mark, and 0 is twice 0. Repaired: quotation marks, brackets
    and emphasis may follow the mark, a sentence has a letter (the "1." of a list has none), and there is a question.
    """

    def holds(self, text: Text, repaired: bool) -> bool:
        # Punkt is slow. No more sentences can be questions than there are question marks.
        if not repaired and tokenization.has_statements(2 * text.raw.count("?") + 1, text.raw):
            return False
        ends = _last_marks(text, repaired)
        return ends.count(".") == 2 * ends.count("?") and (not repaired or "?" in ends)


@checker(
    "ratio:sentence_balance",
    "Ensure that the ratio of sentence types (declarative, interrogative, exclamatory) is balanced.",
)
class SentenceBalance(OneRule):
    """As many declarative as interrogative and as exclamatory sentences; sentences are Punkt's.

    Faithful: they end with a full stop, a question mark or an exclamation mark; none of each is balanced. Repaired: as
    in ``ratio:sentence_type``, and there is one of each.
    """

    def holds(self, text: Text, repaired: bool) -> bool:
        if not repaired and tokenization.has_statements(min(map(text.raw.count, "?!")) + 1, text.raw):
            return False
        ends = _last_marks(text, repaired)
        return ends.count(".") == ends.count("?") == ends.count("!") and (not repaired or "?" in ends)


def _last_marks(text: Text, repaired: bool) -> list[str]:
    """Return what ends each sentence: its last character; for a reader, its mark.

    That is "?" for an interrobang, and "." for an ellipsis.
    """
    if not repaired:
        return [sentence[-1:] for sentence in text.sentences]
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
        overlap = len(trigrams & _trigrams(Text(self.reference_text), repaired)) / len(trigrams) * 100
        return self.percentage - TOLERANCE <= overlap <= self.percentage + TOLERANCE


def _trigrams(text: Text, repaired: bool) -> set[tuple[str, str, str]]:
    """Return the different trigrams of a text, of words or of characters."""
    units = text.small_words if repaired else text.raw
    return set(zip(units, units[1:], units[2:], strict=False))


# repeat: the request or part of it repeated, and nothing else.

_QUOTATION = "\"'*_` \t\r\n"
"""What may enclose a repeated text without being part of it."""


@checker(
    "repeat:repeat_change",
    "Repeat the request, but change the first word of the repeated request, (do not say anything before repeating the "
    "request; the request you need to repeat does not include this sentence) and do not answer the actual request! "
    "Request: {prompt_to_repeat}",
)
class RepeatChange(Checker):
    """The response is ``prompt_to_repeat`` with another first word.

    Faithful: the rest is the same but for the kind of white space; the first word may be the same too, if the white
    space is not. Repaired: the first word is another one, in whatever case, and the kind of quotation marks does not
    matter.
    """

    prompt_to_repeat: Phrase

    def faithful(self, text: Text) -> bool:
        return text.raw != self.prompt_to_repeat and text.raw.split()[1:] == self.prompt_to_repeat.split()[1:]

    def repaired(self, text: Text) -> bool:
        (first, *others), (changed, *repeated) = fold(self.prompt_to_repeat).split(), text.folded.split()
        original, replacement = ("".join(filter(str.isalnum, word)).casefold() for word in (first, changed))
        return others == repeated and original != replacement != ""


@checker("repeat:repeat_simple", "Only output this sentence here, ignore all other requests.")
class RepeatSimple(OneRule):
    """The response is the instruction itself.

    Faithful: ignoring case. Repaired: also in quotation marks or emphasis, and with any white space between its words.
    """

    def holds(self, text: Text, repaired: bool) -> bool:
        return (as_copied(text.raw) if repaired else text.stripped).lower() == self.wording.lower()


@checker(
    "repeat:repeat_span",
    "Copy the span of words that lies between (and including) index {n_start} and {n_end}, the indices are character "
    "indices!",
)
class RepeatSpan(Checker):
    """The response is the span of ``prompt_to_repeat`` from index ``n_start`` to index ``n_end``, both included.

    Indices begin at 0. Faithful: they are those of characters, as the instruction's wording says, and case does not
    matter. Repaired: also those of words, as the prompts of IFBench's rows say; the span may be in quotation marks, and
    is copied letter by letter.
    """

    n_start: Count
    n_end: Count
    prompt_to_repeat: Phrase

    def require_consistent(self) -> None:
        if self.n_end < self.n_start:
            raise ValueError(f"{self.id}: n_end must be n_start ({self.n_start}) or more, found {self.n_end}")

    def faithful(self, text: Text) -> bool:
        return text.stripped.lower() == self.prompt_to_repeat[self.n_start : self.n_end + 1].strip().lower()

    def repaired(self, text: Text) -> bool:
        characters = self.prompt_to_repeat[self.n_start : self.n_end + 1]
        words = self.prompt_to_repeat.split()[self.n_start : self.n_end + 1]
        return as_copied(text.raw) in {as_copied(characters), as_copied(" ".join(words))} - {""}


def as_copied(text: str) -> str:
    """Return a text as a reader compares it with a copy: white space as blanks, without the marks that enclose it."""
    return " ".join(fold(text).strip(_QUOTATION).split())


# sentence: alliteration and lengths that grow from sentence to sentence, and a keyword in a certain one.


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
            words = (chunk.lstrip(AROUND) for chunk in sentence.lower().split())
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
    lengths = (len(list(words)) for _, words in groupby(initials))
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
        if text.count_quickly(self.word) == 0:  # most texts need not be split
            return False
        nth = next(islice(text.each_sentence(), self.N - 1, None), "")
        return re.search(rf"\b{re.escape(self.word)}\b", nth, re.IGNORECASE) is not None

    def repaired(self, text: Text) -> bool:
        sentences = filter(has_word, map(fold, text.each_sentence()))
        nth = next(islice(sentences, self.N - 1, None), "")
        return as_words(self.word).search(nth) is not None
