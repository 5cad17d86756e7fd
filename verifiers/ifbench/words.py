"""words: which words a response may use, how they follow each other and where they stand."""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from functools import lru_cache
from itertools import islice, pairwise

from lm_eval_ext.verifiers import tokenization
from lm_eval_ext.verifiers.checker import Checker, Count, OneRule, Positive, Trimmed, checker
from lm_eval_ext.verifiers.structure import BLANK_LINES
from lm_eval_ext.verifiers.text import AROUND, Text, without_punctuation

PRIMES = frozenset({2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97})
"""Those below 100; IFBench knows no longer words."""
PALINDROMES = 10
PALINDROME_LENGTH = 5
VOWELS = frozenset("aeiou")
MOST_VOWELS = 3
_CLUSTER = re.compile("[b-df-hj-np-tv-z]{2}")
_VERBS = ("VB", "MD")
"""The beginnings of the tags of verbs; MD is an auxiliary such as "can"."""


def _with_letters(text: Text) -> list[str]:
    """Return the words as a reader sees them that have a letter, in lower case."""
    return [word for word in text.small_words if any(map(str.isalpha, word))]


def initials(text: Text) -> list[str]:
    """Return the first letter of each word that a reader sees, in lower case and without its accent."""
    return [unicodedata.normalize("NFD", word[0])[0].lower() for word in text.whole_words]


def is_palindrome(letters: str) -> bool:
    """Return whether letters are the same backwards."""
    return letters[:1] == letters[-1:] and letters == letters[::-1]


def letters_of(word: str) -> str:
    """Return the letters of a word without their accents."""
    # Letter by letter: sorting the accents of a whole word takes quadratic time.
    return "".join(filter(str.isalpha, (part for letter in word for part in unicodedata.normalize("NFD", letter))))


@checker("words:alphabet", "Each word must start with the next letter of the alphabet, looping back to 'A' after 'Z'.")
class Alphabet(OneRule):
    """Each word begins with the letter after that of the word before; "a" follows "z". Any letter may be the first.

    Faithful: marks other than ASCII punctuation are words, or the first letter of one. Repaired: they are not, dashes
    divide words, accents do not matter, and there is a next word.
    """

    def holds(self, text: Text, repaired: bool) -> bool:
        if repaired:
            first = initials(text)
        else:
            words = text.unpunctuated.split()
            # One letter can be two in lower case; IFBench makes a whole word small, except for the first.
            first = [words[0][0].lower(), *(word.lower()[0] for word in words[1:])] if words else []
        if len(first) < (2 if repaired else 1):
            return False
        alphabet = string.ascii_lowercase
        start = alphabet.find(first[0])
        return start >= 0 and all(letter == alphabet[index % 26] for index, letter in enumerate(first, start=start))


@checker("words:vowel", "Write a paragraph using words that contain only three types of vowels.")
class Vowel(Checker):
    """One paragraph with at most three of the vowels a, e, i, o, u.

    Faithful: one line; letters with accents are no vowels. Repaired: blank lines divide paragraphs, a letter with an
    accent counts as that letter, and a paragraph has more than one word.
    """

    def faithful(self, text: Text) -> bool:
        return "\n" not in text.stripped and len(VOWELS.intersection(text.lower)) <= MOST_VOWELS

    def repaired(self, text: Text) -> bool:
        if BLANK_LINES.search(text.stripped) or len(_with_letters(text)) < 2:
            return False
        letters = {unicodedata.normalize("NFD", letter)[0] for letter in set(text.lower)}
        return len(VOWELS & letters) <= MOST_VOWELS


@checker(
    "words:consonants",
    "Ensure each word in your response has at least one consonant cluster (two or more consonants together).",
)
class Consonants(OneRule):
    """Each word has two consonants in a row; "y" is one.

    Faithful: a word is what is between white space, even a number or a dash. Repaired: only what has a letter is one.
    """

    def holds(self, text: Text, repaired: bool) -> bool:
        words = _with_letters(text) if repaired else text.lower.split()
        return bool(words) and all(map(_CLUSTER.search, words))


@checker("words:palindrome", "Include at least 10 single-word palindromes, each at least 5 characters long.")
class Palindrome(OneRule):
    """Ten palindromes of five or more characters, each a single word, ignoring case.

    Faithful: the same one counts again, and so do numbers and runs of a mark that is not ASCII. Repaired: ten different
    ones, of letters.
    """

    def holds(self, text: Text, repaired: bool) -> bool:
        words = set(map(letters_of, _with_letters(text))) if repaired else text.unpunctuated.lower().split()
        return sum(len(word) >= PALINDROME_LENGTH and is_palindrome(word) for word in words) >= PALINDROMES


@checker("words:prime_lengths", "Use only words with lengths that are prime numbers.")
class PrimeLengths(Checker):
    """The length of each word is a prime number.

    Faithful: words are divided by white space, and only ASCII punctuation is not counted. Repaired: only what has a
    letter or digit is a word, and its letters and digits are counted; dashes divide words.
    """

    def faithful(self, text: Text) -> bool:
        return PRIMES.issuperset(map(len, text.unpunctuated.split()))

    def repaired(self, text: Text) -> bool:
        lengths = [sum(map(str.isalnum, word)) for word in text.whole_words]
        return bool(lengths) and PRIMES.issuperset(lengths)


@checker("words:repeats", "The response should not repeat any word more than {small_n} times.")
class Repeats(OneRule):
    """No word, ignoring case, occurs more than ``small_n`` times.

    Faithful: a word is what is between white space, without ASCII punctuation; so are numbers, dashes and bullets.
    Repaired: only what has a letter is one, and no marks around it count.
    """

    small_n: Count

    def holds(self, text: Text, repaired: bool) -> bool:
        words = _with_letters(text) if repaired else without_punctuation(text.lower).split()
        return max(Counter(words).values(), default=0) <= self.small_n


@checker("words:no_consecutive", "No two consecutive words can share the same first letter.")
class NoConsecutive(Checker):
    """No two words in a row begin with the same letter, ignoring case.

    Faithful: digits and marks other than ASCII punctuation count as letters. Repaired: they do not, accents do not
    matter, and there are two words.
    """

    def faithful(self, text: Text) -> bool:
        words = without_punctuation(text.lower).split()
        return all(word[0] != after[0] for word, after in pairwise(words))

    def repaired(self, text: Text) -> bool:
        first = initials(text)
        return len(first) > 1 and all(letter != after or not letter.isalpha() for letter, after in pairwise(first))


@checker("words:odd_even_syllables", "Alternate between words with odd and even numbers of syllables.")
class OddEvenSyllables(Checker):
    """Words with an odd and an even number of syllables alternate; syllapy counts them.

    Faithful: a number has none, and a mark that is not ASCII has one. Repaired: marks are no words, a number fits
    anywhere, the silent "e" of words such as "walked" and "makes" that syllapy does not know is no syllable, and there
    are two words.
    """

    def faithful(self, text: Text) -> bool:
        return all(
            syllables(word) % 2 != syllables(after) % 2 for word, after in pairwise(text.unpunctuated.lower().split())
        )

    def repaired(self, text: Text) -> bool:
        words = [word.replace("'", "") for word in text.small_words]
        # Whether the first word is even, as each of the others says it.
        first = {
            (spoken_syllables(word) + index) % 2 for index, word in enumerate(words) if not any(map(str.isdigit, word))
        }
        return len(words) > 1 and len(first) <= 1


@lru_cache(maxsize=65_536)
def syllables(word: str) -> int:
    """Return syllapy's number of syllables of a word in lower case; 0 if it has a digit."""
    import syllapy  # noqa: PLC0415 # reads its dictionary

    return int(syllapy.count(word))


def spoken_syllables(word: str) -> int:
    """Return syllapy's number, without the silent "e" of a last "-ed" or "-es" where syllapy guesses."""
    import syllapy  # noqa: PLC0415 # as above

    counts = [(syllables(part), part) for part in re.split(r"\W", word)]
    # Only the end matters; a word has at least one syllable.
    return sum(
        count - (count > 1 and part not in syllapy.WORD_DICT and _SILENT.search(part[-4:]) is not None)
        for count, part in counts
    )


# After t and d, after hissing sounds and after an l that ends a syllable of its own ("settled"), the e is spoken.
_SILENT = re.compile(r"(?:[^aeioutdl]|[aeiouyl]l)ed$|(?:[^aeioulszxcgh]|[aeiouyl]l)es$")


@checker("words:last_first", "The last word of each sentence must become the first word of the next sentence.")
class LastFirst(Checker):
    """The last word of each sentence is the first of the next, ignoring case; sentences are Punkt's.

    Faithful: marks after the first word ("end,") and marks other than ASCII punctuation are part of it. Repaired: they
    are not, and there is a next sentence.
    """

    def faithful(self, text: Text) -> bool:
        for sentence, following in pairwise(text.each_sentence()):
            last, first = sentence.rstrip(AROUND).split(), following.lstrip(AROUND).split()
            if not last or not first or last[-1].lower() != first[0].lower():
                return False
        return True

    def repaired(self, text: Text) -> bool:
        spoken = [words for sentence in text.sentences if (words := _with_letters(Text(sentence)))]
        return len(spoken) > 1 and all(words[-1] == after[0] for words, after in pairwise(spoken))


@checker(
    "words:paragraph_last_first",
    "Each paragraph must end with the same word it started with, separate paragraphs with a newline.",
)
class ParagraphLastFirst(Checker):
    """Each paragraph ends with the word that it begins with, ignoring case; a paragraph is a line.

    Faithful: marks after the first word, marks before the last one, and marks other than ASCII punctuation are part of
    them. Repaired: they are not, and some paragraph has more than one word.
    """

    def faithful(self, text: Text) -> bool:
        paragraphs = (line.strip().lower().strip(AROUND).split() for line in text.lines)
        return all(words[0] == words[-1] for words in paragraphs if words)

    def repaired(self, text: Text) -> bool:
        paragraphs = [words for line in text.lines if (words := _with_letters(Text(line)))]
        return max(map(len, paragraphs), default=0) > 1 and all(words[0] == words[-1] for words in paragraphs)


@checker("words:start_verb", "The response must start with a verb.")
class StartVerb(Checker):
    """The first word is a verb, as NLTK's tagger says.

    Faithful: the first token, which may be a mark, as it is written. Repaired: the first word, with its capital or
    without: the tagger takes many verbs with one for names. Auxiliaries ("can") are verbs.
    """

    def faithful(self, text: Text) -> bool:
        return "VB" in (tokenization.first_tag(text.raw) or "")

    def repaired(self, text: Text) -> bool:
        body = text.folded.lstrip("\n\t0123456789" + AROUND)
        small = body[:1].lower() + body[1:]
        return any((tokenization.first_tag(start) or "").startswith(_VERBS) for start in (body, small))


def _is_missing(keyword: str, text: Text) -> bool:
    """Return whether no token can be a keyword, which is quick to see: a token of ASCII letters is part of the text."""
    return keyword.isascii() and keyword.isalnum() and keyword not in text.lower


@checker(
    "words:keywords_specific_position",
    "Include keyword {keyword} in the {n}-th sentence, as the {m}-th word of that sentence.",
)
class KeywordsSpecificPosition(Checker):
    """``keyword`` is the ``m``-th word of the ``n``-th sentence, ignoring case; sentences are Punkt's.

    Faithful: words are NLTK's tokens that have a letter or digit ("don't" is two). Repaired: words as a reader sees
    them.
    """

    keyword: Trimmed
    n: Positive
    m: Positive

    def faithful(self, text: Text) -> bool:
        keyword = self.keyword.lower()
        if _is_missing(keyword, text):
            return False
        words = (token for token in tokenization.word_tokens(self._sentence(text)) if any(map(str.isalnum, token)))
        return next(islice(words, self.m - 1, None), "").lower() == keyword

    def repaired(self, text: Text) -> bool:
        words = Text(self._sentence(text)).small_words
        return "".join(words[self.m - 1 : self.m]) == Text(self.keyword).folded.lower()

    def _sentence(self, text: Text) -> str:
        if not text.has_sentences(self.n):
            return ""
        return next(islice(text.each_sentence(), self.n - 1, None))


@checker(
    "words:words_position",
    "The second word in your response and the second to last word in your response should be the word {keyword}.",
)
class WordsPosition(Checker):
    """The second word and the last but one are ``keyword``, ignoring case.

    Faithful: words are NLTK's tokens, marks included, except for one mark at the end. Repaired: words as a reader sees
    them.
    """

    keyword: Trimmed

    def faithful(self, text: Text) -> bool:
        keyword = self.keyword.lower()
        if _is_missing(keyword, text) or next(islice(text.each_token(), 1, None), "").lower() != keyword:
            return False
        # A mark, or several in their order in string.punctuation, such as "./".
        ending = 2 + (text.tokens[-1] in string.punctuation)
        return len(text.tokens) >= ending and text.tokens[-ending].lower() == keyword

    def repaired(self, text: Text) -> bool:
        words = text.small_words
        return len(words) > 1 and words[1] == words[-2] == Text(self.keyword).folded.lower()
