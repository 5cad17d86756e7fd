"""Word tokens: those of ``nltk.word_tokenize``, sentence by sentence; words in capitals; the first one's tag.

The tokenizer rewrites a whole sentence some thirty times, which takes a third of a millisecond. What is between white
space is divided the same in every sentence, except at the sentence's two ends, so it is divided once and remembered.

Words in capitals are counted without it where that is possible. Almost every word is delimited by white space and plain
punctuation, so only the chunks (between white space) that contain a capital letter are examined. Of those, only the
ones that the tokenizer could split are passed to it.

The tests compare the tokens, and the count, with NLTK's own on real and on adversarial text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from lm_eval_ext.verifiers import nltk_data, sentences

if TYPE_CHECKING:
    from nltk.tag.perceptron import PerceptronTagger
    from nltk.tokenize import NLTKWordTokenizer

_CHUNK = re.compile(r"\S+")
# White space in Python, but not in every rule of the tokenizer.
_SEPARATORS = re.compile(r"[\x1c-\x1f]")
# Words of letters that NLTK divides.
_CONTRACTED = {"cannot", "gimme", "gonna", "gotta", "lemme", "wanna"}
# A full stop before nothing but these is the last of its sentence.
_CLOSERS = "])}>\"'»”’"
_BLANKS = re.compile(r"(\s)\s+(\s)")
# How most sentences end.
_PLAIN_END = re.compile(r"([A-Za-z]+)([.?!:;,]?)")
_REMEMBERED_LENGTH = 100
"""The length of the longest remembered chunk, in characters."""
# Letters and digits between punctuation that is never part of a contraction: one token with letters in it.
_PLAIN = re.compile(r"[.,!?;:()\[\]{}<>\"*#/$%@&+=~^|\\-]*([A-Za-z0-9]+)[.,!?;:()\[\]{}<>\"*#/$%@&+=~^|\\-]*")
_LETTER = re.compile(r"\w")
_POSSIBLE_END = re.compile(r"[.?!][^\w\s]")
_POSSIBLE_CLITIC = re.compile(r"'.*[.']|(?i:wanna)")
_SEEN = 3
"""The tagger decides on a token by those before it and the two that follow it."""
_START = 1000
"""Characters in which the first tokens of a text are looked for before the whole text is tokenized."""


def word_tokens(text: str) -> Iterator[str]:
    """Yield the word tokens of a text; reads no further than the sentence of the last one asked for.

    Raises:
        MissingDataError: NLTK's sentence data are not installed.
    """
    for sentence in sentences.split(text):
        yield from in_sentence(sentence)


def in_sentence(sentence: str) -> list[str]:
    """Return the word tokens of one sentence."""
    if _SEPARATORS.search(sentence):
        return _divided(sentence)
    chunks = list(_CHUNK.finditer(sentence))
    last = len(chunks) - 1
    while last > 0 and not chunks[last][0].strip(_CLOSERS):
        last -= 1
    found: list[str] = []
    for chunk in chunks[:last]:
        word = chunk[0]
        if word.isalpha() and word.isascii() and word.lower() not in _CONTRACTED:
            found.append(word)
        else:
            # Of the white space around it, only blanks matter, and only to marks.
            before = sentence[chunk.start() - 1] == " " if chunk.start() else None
            inside = _inside if len(word) <= _REMEMBERED_LENGTH else _inside.__wrapped__
            found += inside(word, before, sentence[chunk.end()] == " ")
    return found + _ending(sentence, chunks[last].start()) if chunks else found


def _ending(sentence: str, start: int) -> list[str]:
    """Return the tokens of a sentence from its last word on, which begins at ``start``."""
    end = sentence[start:].rstrip()
    plain = _PLAIN_END.fullmatch(end)
    if plain and plain[1].lower() not in _CONTRACTED:
        return [part for part in plain.groups() if part]
    return _divided(f"x{sentence[start - 1]}{end}")[1:] if start else _divided(end)


@lru_cache(maxsize=16_384)
def _inside(chunk: str, after_blank: bool | None, before_blank: bool) -> tuple[str, ...]:
    """Return the tokens of a chunk inside a sentence, or at its beginning (``after_blank`` is ``None``)."""
    before = "" if after_blank is None else "x " if after_blank else "x\n"
    tokens = _divided(f"{before}{chunk}{' x' if before_blank else chr(10) + 'x'}")
    return tuple(tokens[bool(before) : -1])


def _divided(text: str) -> list[str]:
    if not _SEPARATORS.search(text):
        # Only the first and the last of a run of blanks are next to anything else that the tokenizer looks at, and NLTK
        # before 3.10 takes quadratic time in the run.
        text = _BLANKS.sub(r"\1\2", text)
    tokens: list[str] = tokenizer().tokenize(text)
    return tokens


@cache
def tokenizer() -> NLTKWordTokenizer:
    """Return NLTK's word tokenizer, which divides a sentence."""
    from nltk.tokenize import NLTKWordTokenizer  # noqa: PLC0415 # takes a second to import

    return NLTKWordTokenizer()


def count_capital_words(text: str) -> int:
    """Return how many word tokens contain letters, all of them capitals ("3D", "U.S", "I")."""
    if text.islower():
        return 0
    if _SEPARATORS.search(text):
        return _count_with_neighbors(text)
    count = 0
    for chunk in text.split():
        if chunk.islower():
            continue
        plain = _PLAIN.fullmatch(chunk)
        if plain and plain[1].lower() not in _CONTRACTED:
            count += plain[1].isupper()
        elif any(map(str.isupper, chunk)):
            # Neighboring chunks may affect how a chunk is split if a sentence can end inside it, or if a clitic
            # precedes its period.
            end = _POSSIBLE_END.search(chunk)
            if (end and _LETTER.search(chunk, end.end())) or _POSSIBLE_CLITIC.search(chunk):
                return _count_with_neighbors(text)
            count += _count_in_chunk(chunk)
    return count


@lru_cache(maxsize=4096)  # "I'm" and "It's" are frequent
def _count_in_chunk(chunk: str) -> int:
    return sum(map(str.isupper, in_sentence(chunk)))


def _count_with_neighbors(text: str) -> int:
    return sum(map(str.isupper, word_tokens(text)))


def first_tag(text: str) -> str | None:
    """Return the tag of the first word token of a text; ``None`` if it has none.

    Raises:
        MissingDataError: NLTK's sentence or tagger data are not installed.
    """
    context: list[str] = []
    if len(text) > _START:
        # What follows cannot affect these tokens if there are two more before the letter that stands for it.
        context = list(islice(word_tokens(text[:_START] + "x"), _SEEN + 3))
    if len(context) < _SEEN + 3:
        context = list(islice(word_tokens(text), _SEEN))
    return str(_tagger().tag(context[:_SEEN])[0][1]) if context else None


@cache
def _tagger() -> PerceptronTagger:
    from nltk.tag.perceptron import PerceptronTagger  # noqa: PLC0415 # takes a second to import

    nltk_data.find(nltk_data.TAGGER)
    return PerceptronTagger(lang="eng")
