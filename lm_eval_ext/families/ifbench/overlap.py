"""Texts that share a given part of their trigrams, of characters and of words alike, with a reference text.

The share of words depends on how many words of the reference are followed by how many others; the share of characters
on how long those others are. The others are invented words of consonants, whose trigrams no reference has.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from string import ascii_lowercase

SEED = 20250703
CONSONANTS = "".join(letter for letter in ascii_lowercase if letter not in "aeiouy")
FEWEST, MOST = 4, 30
"""How many words of the reference are best for the lowest and the highest percentage."""
TRIES = 50
"""The most beginnings of a reference to try; the first or second is typical."""
STRETCHES = (1.0, 0.97, 1.03, 0.94, 1.06, 0.9, 1.1, 0.85, 1.15, 0.8, 1.2, 0.7, 1.3)
"""By how much the invented words may have to be longer than estimated."""
_CLUSTER = re.compile(f"[{CONSONANTS}y]{{2}}")


def overlap(reference_text: str, percentage: float) -> Iterator[str]:
    """Yield texts that share a part of a reference."""
    for taken, invented in _parts(_beginnings(reference_text, percentage), percentage):
        yield " ".join([taken, *invented])


def overlap_with_keyword(reference_text: str, percentage: float, word: str, N: int) -> Iterator[str]:
    """Yield texts that share a part of a reference, and whose sentence ``N`` has a word."""
    for taken, invented in _parts(_beginnings(reference_text, percentage), percentage, others=1):
        if len(invented) >= N:
            before = [f"{each.capitalize()}." for each in invented[: N - 1]]
            last = " ".join([*invented[N - 1 :], word])
            yield " ".join([*before, f"{last[:1].upper()}{last[1:]}.", taken])


def overlap_in_clusters(reference_text: str, percentage: float) -> Iterator[str]:
    """Yield texts that share a part of a reference, each of whose words has several consonants in a row."""
    runs: list[list[str]] = [[]]
    for word in reference_text.split():
        if _CLUSTER.search(word.lower()):
            runs[-1].append(word)
        elif runs[-1]:
            runs.append([])
    long = sorted((run for run in runs if len(run) > 2), key=len, reverse=True)
    chosen = [" ".join(word for run in long[:count] for word in run) for count in range(1, len(long) + 1)]
    for taken, invented in _parts(chosen, percentage):
        yield " ".join([taken, *invented])


def _beginnings(reference: str, percentage: float) -> list[str]:
    """Return beginnings of a text that end with a word; first those that make for a short whole."""
    ends = [match.end() for match in re.finditer(r"\S+", reference)][2:]
    best = FEWEST + percentage / 100 * (MOST - FEWEST)
    nearest = sorted(range(len(ends)), key=lambda place: abs(place + 3 - best))
    return [reference[: ends[place]].lstrip() for place in nearest[:TRIES]]


def _parts(taken: Sequence[str], percentage: float, others: int = 0) -> Iterator[tuple[str, list[str]]]:
    """Yield texts of the reference with the invented words that make them up to the percentage.

    Args:
        taken: texts of the reference, of three words or more.
        percentage: of the trigrams of the whole.
        others: how many words are added besides.
    """
    share = max(percentage, 0.5) / 100
    for text in taken:
        trigrams = max(len(text.split()) - 2, 1)
        count = max(round(trigrams / share) - trigrams - others, 0)
        missing = len(set(zip(text, text[1:], text[2:], strict=False))) * (1 / share - 1)
        for more in (0, 1, 2, -1):
            for stretch in STRETCHES:
                yield text, _invented(count + more, missing * stretch)


def _invented(count: int, trigrams: float) -> list[str]:
    """Return so many words, which together add about so many trigrams of characters."""
    if count < 1:
        return []
    generator = random.Random(f"{SEED}/{count}/{trigrams}")  # noqa: S311 # reproducible by design
    # A word has as many trigrams as letters, and one with the space around it.
    each, rest = divmod(round(trigrams) - count, count)
    lengths = (max(each + (place < rest), 2) for place in range(count))
    return ["".join(generator.choices(CONSONANTS, k=length)) for length in lengths]
