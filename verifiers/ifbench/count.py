"""count: how many words, names, numbers, pronouns and marks."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Annotated

import regex

from lm_eval_ext.verifiers import tokenization
from lm_eval_ext.verifiers.checker import Checker, Count, OneRule, Positive, Trimmed, checker, whole_number
from lm_eval_ext.verifiers.text import AROUND, Text, spoken

CONJUNCTIONS = frozenset({"and", "but", "for", "nor", "or", "so", "yet"})
NAMES = tuple((files(__package__) / "names.txt").read_text(encoding="utf-8").split())
PRONOUNS = frozenset((files(__package__) / "pronouns.txt").read_text(encoding="utf-8").split())
"""Those that IFBench counts."""
OTHER_PRONOUNS = frozenset({"another", "others", "oneself", "themself", "whosoever"})
"""Those that a reader counts, too; "no one" is a word that is written as two."""
TIMES = (1, 2, 3, 5, 7)
"""How often each keyword of ``keywords_multiple`` occurs."""

_NAME = {name: re.compile(rf"\b{name}\b") for name in NAMES}
_DIGITS = re.compile(r"\d+")
# Digits that continue a word, as in H2O, are no number. Full stops and commas between digits are part of one.
_NUMBER = regex.compile(r"(?<![\p{L}\p{N}])(?:\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*)")
_LETTERS = re.compile(r"[a-z]+")
_THAT_IS = re.compile(r"\bi\.\s?e\.")
_NO_ONE = re.compile(r"\bno one\b", re.IGNORECASE)
_MARKS = frozenset(".,!?;:")
_INTERROBANGS = ("?!", "!?", "‽")
_JAPANESE = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
# With the iteration mark of kanji, and katakana of half width.
_ANY_JAPANESE = re.compile(r"[\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9d]")


@checker("count:word_count_range", "The response must contain between {min_words} and {max_words} words.")
class WordCountRange(OneRule):
    r"""From ``min_words`` to ``max_words`` words.

    Faithful: a word is a maximal run of ``\\w`` ("don't" is two). Repaired: apostrophes and hyphens join a word.
    """

    min_words: Count
    max_words: Annotated[int, whole_number()]

    def require_consistent(self) -> None:
        if self.max_words < self.min_words:
            raise ValueError(f"{self.id}: max_words must be {self.min_words} or more, found {self.max_words}")

    def holds(self, text: Text, repaired: bool) -> bool:
        return self.min_words <= (len(text.whole_words) if repaired else text.words) <= self.max_words


@checker("count:unique_word_count", "Use at least {N} unique words in the response.")
class UniqueWordCount(OneRule):
    """At least ``N`` different words, ignoring case.

    Faithful: a word is what is between white space, without ASCII punctuation around it; nothing but punctuation is one
    more word. Repaired: only what has a letter or digit is one, dashes divide words and no marks around a word count.
    """

    N: Count

    def holds(self, text: Text, repaired: bool) -> bool:
        words = text.small_words if repaired else (chunk.strip(AROUND) for chunk in text.lower.split())
        return len(set(words)) >= self.N


@checker("count:conjunctions", "Use at least {small_n} different coordinating conjunctions in the response.")
class Conjunctions(OneRule):
    """At least ``small_n`` different ones of the seven coordinating conjunctions.

    Faithful: "and", "And" and "and," are three. Repaired: they are the same.
    """

    small_n: Count

    def holds(self, text: Text, repaired: bool) -> bool:
        words = set(text.small_words) if repaired else (chunk.strip(AROUND).lower() for chunk in set(text.chunks))
        return sum(word in CONJUNCTIONS for word in words) >= self.small_n


@checker(
    "count:person_names",
    "Mention at least {N} different person names in the response, from this list of person names: "
    f"{', '.join(NAMES)} .",
)
class PersonNames(OneRule):
    """At least ``N`` different names of a list of fifty.

    Faithful: written as in the list, not touching an underscore. Repaired: also in capitals.
    """

    N: Count

    def holds(self, text: Text, repaired: bool) -> bool:
        if repaired:
            words = {part for word in text.whole_words for part in re.split(r"\W", word)}
            names = [name for name in NAMES if name in words or name.upper() in words]
        else:
            names = [name for name, pattern in _NAME.items() if name in text.raw and pattern.search(text.raw)]
        return len(names) >= self.N


@checker("count:numbers", "Include exactly {N} numbers in the response.")
class Numbers(OneRule):
    """Exactly ``N`` numbers, written in digits.

    Faithful: ASCII punctuation is removed first, so "1-2" and "10:30" are one number each. Repaired: only decimal
    points and the commas of thousands are inside a number; the digits of a word such as H2O are none.
    """

    N: Count

    def holds(self, text: Text, repaired: bool) -> bool:
        return len(_NUMBER.findall(text.raw) if repaired else _DIGITS.findall(text.unpunctuated)) == self.N


@checker(
    "count:punctuation",
    "Use every standard punctuation mark at least once, including semicolons, colons, and the interrobang (?!).",
)
class Punctuation(Checker):
    """Every one of ``. , ! ? ; :`` and an interrobang (``?!``, ``!?`` or ``‽``).

    Faithful: the first ``?!`` (else the first ``!?``) is not counted for ``?`` and ``!``, even if there is a ``‽``.
    Repaired: one of the three is the interrobang, and the rest has all six marks.
    """

    def faithful(self, text: Text) -> bool:
        if not any(interrobang in text.raw for interrobang in _INTERROBANGS):
            return False
        used = "?!" if "?!" in text.raw else "!?"
        return _MARKS.issubset(text.raw.replace(used, "", 1))

    def repaired(self, text: Text) -> bool:
        return any(
            interrobang in text.raw and _MARKS.issubset(text.raw.replace(interrobang, "", 1))
            for interrobang in _INTERROBANGS
        )


@checker("count:pronouns", "The response should include at least {N} pronouns.")
class Pronouns(Checker):
    """At least ``N`` pronouns, the same ones counted again.

    Faithful: they are NLTK's word tokens in lower case ("US" and "IT" are pronouns, ``_it_`` is none). Repaired: words
    as a reader sees them; "US" and "IT" in a text that is not all in capitals, and the "i" of "i.e.", are none.
    """

    N: Count

    def faithful(self, text: Text) -> bool:
        spaced = text.lower.replace("/", " ")
        # A token of letters is a run of letters, unless NLTK divides one: "hen't" is "he" and "n't", "gimme" has "me".
        runs = sum(run in PRONOUNS for run in _LETTERS.findall(spaced))
        if runs + spaced.count("n't") + spaced.count("mme") < self.N:
            return False
        # NLTK always divides a chunk from one of these marks at its end.
        if sum((chunk[:-1] if chunk[-1] in ",;:!?" else chunk) in PRONOUNS for chunk in spaced.split()) >= self.N:
            return True
        return sum(token in PRONOUNS for token in tokenization.word_tokens(spaced)) >= self.N

    def repaired(self, text: Text) -> bool:
        words = Text(_THAT_IS.sub("", text.folded)).whole_words
        abbreviations = () if text.raw.isupper() else ("US", "IT")
        named = [word.partition("'")[0] for word in words]
        pronouns = sum(word.lower() in PRONOUNS | OTHER_PRONOUNS for word in named if word not in abbreviations)
        return pronouns + len(_NO_ONE.findall(text.raw)) >= self.N


@checker("count:words_japanese")
class WordsJapanese(Checker):
    """Every ``N``-th word has a Japanese character, unless it is a number; words are divided by white space.

    Faithful: marks without a letter or digit count as words, and if they are not ASCII they are not Japanese. Repaired:
    such marks are no words; the iteration mark and katakana of half width are Japanese; and there is an ``N``-th word.
    """

    N: Positive

    def describe(self) -> str:
        return f"Every {ordinal(self.N)} word of your response must be in Japanese."

    def faithful(self, text: Text) -> bool:
        words = (chunk.strip(AROUND) for chunk in text.chunks[self.N - 1 :: self.N])
        return all(not word or word.isdigit() or _JAPANESE.search(word) for word in words)

    def repaired(self, text: Text) -> bool:
        words = spoken(text.raw)[self.N - 1 :: self.N]
        return bool(words) and all(_ANY_JAPANESE.search(word) or not any(map(str.isalpha, word)) for word in words)


def ordinal(number: int) -> str:
    """Return a number with its English ending: 1st, 2nd, 11th."""
    endings = {1: "st", 2: "nd", 3: "rd"}
    return f"{number}{'th' if 10 < number % 100 < 20 else endings.get(number % 10, 'th')}"


@checker(
    "count:keywords_multiple",
    "Include keyword {keyword1} once in your response, keyword {keyword2} twice in your response, keyword {keyword3} "
    "three times in your response, keyword {keyword4} five times in your response, and keyword {keyword5} seven times "
    "in your response.",
)
class KeywordsMultiple(OneRule):
    """Five keywords, ignoring case, exactly once, twice, three, five and seven times.

    Faithful: also inside other words. Repaired: as whole words.
    """

    keyword1: Trimmed
    keyword2: Trimmed
    keyword3: Trimmed
    keyword4: Trimmed
    keyword5: Trimmed

    def holds(self, text: Text, repaired: bool) -> bool:
        keywords = self.keyword1, self.keyword2, self.keyword3, self.keyword4, self.keyword5
        return all(
            (text.count_phrase(keyword) if repaired else text.lower.count(keyword.lower())) == times
            for keyword, times in zip(keywords, TIMES, strict=True)
        )
