"""first_word, last_word, keywords, count and letters: which words there are, how often and where, and letters."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain, islice, pairwise

from lm_eval_ext.verifiers import tokenization
from lm_eval_ext.verifiers.checker import Checker, Count, OneRule, Relation, Trimmed, checker, compare
from lm_eval_ext.verifiers.ifbench.words import KeywordsSpecificPosition, initials, is_palindrome, letters_of
from lm_eval_ext.verifiers.ifeval.keywords import Frequency, LetterFrequency, OfKeywords
from lm_eval_ext.verifiers.text import Text

_SMALL_WORD = re.compile(r"\b[a-z]+\b")
_ASCII_LETTER = re.compile(r"[a-zA-Z]")
_NEITHER_WORD_NOR_SPACE = re.compile(r"[^\w\s]")
_SHORTEST_PALINDROME = 3


def _begins_with(text: Text, word: str, repaired: bool) -> bool:
    if repaired:
        wanted = Text(word).small_words
        return bool(wanted) and text.small_words[: len(wanted)] == wanted
    return "".join(text.raw.split(maxsplit=1)[:1]).lower() == word.lower()


def _ends_with(text: Text, word: str, repaired: bool) -> bool:
    if repaired:
        wanted = Text(word).small_words
        return bool(wanted) and text.small_words[-len(wanted) :] == wanted
    # IFEvalG removes marks even inside the text's last word.
    last = "".join(text.raw.rsplit(maxsplit=1)[-1:])
    return _NEITHER_WORD_NOR_SPACE.sub("", last).lower() == word.lower()


def _every_sentence(holds: Callable[[Text, str, bool], bool], text: Text, word: str, repaired: bool) -> bool:
    """Return whether a rule holds of all sentences, as an edition divides a text; for a reader, there is one."""
    if not repaired:
        return all(holds(Text(sentence), word, False) for sentence in text.ifeval_sentences)
    sentences = [sentence for sentence in map(Text, text.each_sentence()) if sentence.whole_words]
    return bool(sentences) and all(holds(sentence, word, True) for sentence in sentences)


@checker("first_word:first_word_answer", "The first word of your response should be the word {first_word}.")
class FirstWordAnswer(OneRule):
    """The response begins with ``first_word``, in any case.

    Faithful: white space follows the word. Repaired: marks around it do not matter.
    """

    first_word: Trimmed

    def holds(self, text: Text, repaired: bool) -> bool:
        return _begins_with(text, self.first_word, repaired)


@checker("first_word:first_word_sent", "The first word of each sentence should be the word {first_word}.")
class FirstWordSent(OneRule):
    """Each sentence begins with ``first_word``, in any case.

    Faithful: sentences are those of IFEval's rules, and white space follows the word. Repaired: sentences are Punkt's,
    text without a letter or digit is none, and marks around the word do not matter.
    """

    first_word: Trimmed

    def holds(self, text: Text, repaired: bool) -> bool:
        return _every_sentence(_begins_with, text, self.first_word, repaired)


@checker("last_word:last_word_answer", "The last word of your response should be the word {last_word}.")
class LastWordAnswer(OneRule):
    """The response ends with ``last_word``, in any case; marks after it do not matter.

    Faithful: marks inside the response's last word are removed, and those of ``last_word`` are not, so that nothing
    ends with "well-known". Repaired: they are part of both.
    """

    last_word: Trimmed

    def holds(self, text: Text, repaired: bool) -> bool:
        return _ends_with(text, self.last_word, repaired)


@checker(
    "last_word:last_word_sent",
    "The last word of each sentence, before punctuation, should be the word {last_word}.",
)
class LastWordSent(OneRule):
    """Each sentence ends with ``last_word``, in any case; marks after it do not matter.

    Faithful: sentences are those of IFEval's rules; marks as in ``LastWordAnswer``. Repaired: sentences are Punkt's,
    and text without a letter or digit is none.
    """

    last_word: Trimmed

    def holds(self, text: Text, repaired: bool) -> bool:
        return _every_sentence(_ends_with, text, self.last_word, repaired)


@checker("keywords:exclude_word_harder", "Do not include keyword {keyword} in the response.")
class ExcludeWordHarder(OneRule):
    """``keyword`` does not occur.

    Faithful: between blanks and as written; at the beginning, before a mark or in another case it may. Repaired: as a
    whole word, in any case.
    """

    keyword: Trimmed

    def holds(self, text: Text, repaired: bool) -> bool:
        return not (text.count_phrase(self.keyword) if repaired else f" {self.keyword} " in text.raw)


@checker(
    "keywords:keyword_specific_position",
    "Include keyword {keyword} in the {n}-th sentence, as the {m}-th word of that sentence.",
)
class KeywordSpecificPosition(KeywordsSpecificPosition):
    """``keyword`` is the ``m``-th word of the ``n``-th sentence.

    Faithful: as written; sentences are those of IFEval's rules, and words are NLTK's tokens, marks included. Repaired:
    as IFBench's instruction with this wording.
    """

    def faithful(self, text: Text) -> bool:
        sentence = "".join(text.ifeval_sentences[self.n - 1 : self.n])
        return next(islice(tokenization.word_tokens(sentence), self.m - 1, None), None) == self.keyword


@checker(
    "keywords:no_adjacent_consecutive",
    "No two adjacent words can start with consecutive letters of the alphabet.",
)
class NoAdjacentConsecutive(Checker):
    """No word begins with the letter of the alphabet that follows the first letter of the word before.

    Faithful: what is between white space is a word, and any character has one that follows it, as 2 follows 1.
    Repaired: marks are no words, only the letters a to z count, without their accents, and there are two words.
    """

    def faithful(self, text: Text) -> bool:
        first = [chunk[0].lower() for chunk in text.chunks]
        # A letter that is two in lower case ("İ") fails.
        return len(first) < 2 or (
            max(map(len, first)) == 1 and all(ord(after) != ord(letter) + 1 for letter, after in pairwise(first))
        )

    def repaired(self, text: Text) -> bool:
        first = initials(text)
        return len(first) > 1 and all(
            ord(after) != ord(letter) + 1 for letter, after in pairwise(first) if "a" <= letter < after <= "z"
        )


@checker("keywords:palindrome", "Include a palindrome in your response.")
class Palindrome(Checker):
    """There is a palindrome.

    Faithful: it is what is between white space, as written, so that "a", "I" or a lone mark is one, and "Level" and
    "level." are not. Repaired: a word, or a whole sentence, of three or more letters, in any case and without its
    marks, digits and accents.
    """

    def faithful(self, text: Text) -> bool:
        return any(map(is_palindrome, text.chunks))

    def repaired(self, text: Text) -> bool:
        pieces = map(letters_of, map(str.lower, chain(text.whole_words, text.each_sentence())))
        return any(len(letters) >= _SHORTEST_PALINDROME and is_palindrome(letters) for letters in pieces)


@checker(
    "keywords:start_end",
    "Start and end your response with the same word (do not write anything after the last word, not even punctuation).",
)
class StartEnd(Checker):
    """The response begins and ends with the same word, in any case.

    Faithful: words are NLTK's tokens, marks included, so that a response in asterisks follows; there are two. Repaired:
    the word is a word, occurs twice, and nothing is after it.
    """

    def faithful(self, text: Text) -> bool:
        first = next(text.each_token(), "").lower()
        # Most texts need not be tokenized: a token of ASCII letters and digits is part of the text.
        if not first or (first.isascii() and first.isalnum() and not text.stripped.lower().endswith(first)):
            return False
        return len(text.tokens) > 1 and first == text.tokens[-1].lower()

    def repaired(self, text: Text) -> bool:
        words = text.whole_words
        return len(words) > 1 and words[0].lower() == words[-1].lower() and text.folded.rstrip().endswith(words[-1])


@checker(
    "keywords:word_count_different_numbers",
    "In your response, the word {keyword} should appear {frequency} times.",
)
class WordCountDifferentNumbers(Frequency):
    """``keyword`` occurs ``frequency`` times, in any case.

    Faithful: at least, or less than, so often, as ``relation`` says, which the wording does not mention; anywhere, as a
    regular expression. Repaired: exactly so often, as a whole word, whatever ``relation`` says.
    """

    def repaired(self, text: Text) -> bool:
        return text.count_phrase(self.keyword) == self.frequency


@checker("keywords:word_once", "Include keyword {keyword} in your response.")
class WordOnce(OfKeywords):
    """``keyword`` occurs, in any case.

    Faithful: exactly once, anywhere, as a regular expression. Repaired: as a whole word, once or more.
    """

    keyword: Trimmed

    def holds(self, text: Text, repaired: bool) -> bool:
        count = self.count(self.keyword, text, repaired)
        return count > 0 if repaired else count == 1


@checker(
    "count:count_increment_word",
    "Include keyword {keyword1} once in your response, keyword {keyword2} twice in your response.",
)
class CountIncrementWord(OfKeywords):
    """``keyword1`` occurs exactly once and ``keyword2`` exactly twice, in any case.

    Faithful: anywhere, as regular expressions ("art" in "smart"). Repaired: as whole words.
    """

    keyword1: Trimmed
    keyword2: Trimmed

    def holds(self, text: Text, repaired: bool) -> bool:
        return self.count(self.keyword1, text, repaired) == 1 and self.count(self.keyword2, text, repaired) == 2


@checker("count:count_unique", "Only use unique words in your response, no word should be repeated!")
class CountUnique(Checker):
    """No word occurs twice.

    Faithful: words are NLTK's tokens as written, so that no mark may occur twice, and "The" and "the" are two words.
    Repaired: words as a reader sees them, in any case; there is one.
    """

    def faithful(self, text: Text) -> bool:
        seen: set[str] = set()
        for token in text.each_token():
            if token in seen:
                return False
            seen.add(token)
        return True

    def repaired(self, text: Text) -> bool:
        return 0 < len(text.small_words) == len(set(text.small_words))


@checker("count:lowercase_counting", "In your response, all lowercase words should appear at most {N} times.")
class LowercaseCounting(Checker):
    r"""At most ``N`` words in small letters, all of them counted together.

    Faithful: a word is a run of the letters a to z between ``\\b`` ("don't" is two, "été" none). Repaired: words as a
    reader sees them; there is a word, in whatever case.
    """

    N: Count

    def faithful(self, text: Text) -> bool:
        return sum(1 for _ in islice(_SMALL_WORD.finditer(text.raw), self.N + 1)) <= self.N

    def repaired(self, text: Text) -> bool:
        return bool(text.whole_words) and sum(map(str.islower, text.whole_words)) <= self.N


@checker("letters:letter_counting", "Answer with {relation} {N} letters.")
class LetterCounting(OneRule):
    """At least, or less than, ``N`` letters. Faithful: only a to z, small or capital. Repaired: of any alphabet."""

    N: Count
    relation: Relation

    def holds(self, text: Text, repaired: bool) -> bool:
        count = sum(map(str.isalpha, text.folded)) if repaired else len(_ASCII_LETTER.findall(text.raw))
        return compare(count, self.relation, self.N)


@checker(
    "letters:letter_counting2",
    "In your response, the letter {letter} should appear {let_relation} {let_frequency} times.",
)
class LetterCounting2(LetterFrequency):
    """``letter`` occurs at least, or less than, ``let_frequency`` times; in both editions as ``LetterFrequency``."""
