"""Texts that follow IFBench's instructions, one or two at once, or ignore them.

Most are whole answers to a task of their own (``texts.jsonl``); the others are put together from the arguments. Of the
texts for a row's instructions, the verifiers choose: one is only returned if every verdict is as intended, strictly and
in both editions. ``witnesses`` says what they are for.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain, cycle, islice
from string import ascii_lowercase

from lm_eval_ext.families.instructions import bank, is_as_intended, lines_of
from lm_eval_ext.verifiers import Checker
from lm_eval_ext.verifiers.ifbench.count import NAMES

IGNORING = (
    "four four four four four four four four four four four four.\n" * 4,
    'it is what it is and it was what it was, it is "it"\n* it\n* it is four four four four four "no"\n' * 3,
    "It rains. Trees grow. Birds sing.",
    "No.",
)
"""Texts that ignore nearly every instruction."""


def respond(instructions: Sequence[Checker], broken: Collection[int] = ()) -> str | None:
    """Return a response that follows all instructions except those at the indices ``broken``, which it breaks.

    Args:
        instructions: instructions of IFBench, at most two that differ.
        broken: indices into ``instructions``.

    Returns:
        A response whose strict verdicts are exactly these in both editions, or ``None`` if none was found. Of several,
        one that also breaks them under loose verdicts is preferred.
    """
    followed = [instruction for index, instruction in enumerate(instructions) if index not in broken]
    singles = [[instruction] for instruction in followed] if broken else []
    strictly: str | None = None
    for text in chain(*map(_texts, [followed, *singles]), IGNORING if broken else ()):
        if not is_as_intended(text, instructions, broken):
            continue
        if is_as_intended(text, instructions, broken, loose=True):
            return text
        strictly = strictly or text
    return strictly


def _texts(instructions: Sequence[Checker]) -> Iterable[str]:
    """Yield texts that are meant to follow all of some instructions; none if there are none for them."""
    by_id = {instruction.id: instruction for instruction in instructions}
    if texts := _fixed().get(frozenset(by_id)):
        return texts
    ids = next((ids for ids in COMPOSED if set(ids) == set(by_id)), None)
    if ids is None:
        return ()
    arguments: dict[str, list[object]] = {}
    for id_ in ids:
        for name, value in by_id[id_].arguments().items():
            arguments.setdefault(name, []).append(value)
    composed = COMPOSED[ids](**{name: values[0] if len(values) == 1 else values for name, values in arguments.items()})
    return [composed] if isinstance(composed, str) else composed


@cache
def _fixed() -> Mapping[frozenset[str], Sequence[str]]:
    """Return, by the instructions' ids, the texts that depend on no argument, the best first."""
    return {frozenset(line["ids"]): line["texts"] for line in map(json.loads, lines_of(__package__, "texts.jsonl"))}


# Texts that are put together from the arguments

CONJUNCTIONS = (
    "Rain fell and wind rose, but ships sailed, for trade called, nor did sailors rest, yet none sank, so all sang or "
    "danced."
)
"""All seven coordinating conjunctions."""
PRONOUNS = "She told him that they saw us, and we told her that it was his."
FEW_VOWELS = "She left him when we met them, for he hid it."
"""Pronouns in words with only three vowels: e, i and o."""
SMILE = " \N{GRINNING FACE}."


def words(number: int) -> list[str]:
    """Return so many content words, all different as long as there are enough."""
    return list(islice(cycle(bank()), number))


def sentence(chosen: Sequence[str], mark: str = ".") -> str:
    """Return words as one sentence."""
    text = " ".join(chosen)
    return text[:1].upper() + text[1:] + mark


def sentences(lengths: Iterable[int], mark: str = ".") -> Iterator[str]:
    """Yield sentences of the given numbers of words, with different words as long as there are enough."""
    stock = cycle(bank())
    return (sentence(list(islice(stock, length)), mark) for length in lengths)


def prose(number: int) -> str:
    """Return a text of so many words, in sentences of eight; the last may be shorter."""
    return " ".join(sentences([8] * (number // 8) + [number % 8] * (number % 8 > 0)))


def _numbered(N: int) -> str:
    """Return sentences with so many numbers."""
    return " ".join(f"Crate {crate} arrived." for crate in range(11, 11 + N))


def _names(N: int) -> str:
    return " ".join(f"{name} arrived." for name in NAMES[:N])


def _with_keyword(word: str, lengths: Sequence[int], mark: str = ".") -> str:
    """Return sentences of the given numbers of words, and a keyword at the end of the last one."""
    *before, last = lengths
    return " ".join([*sentences(before, mark), sentence([*words(last), word], mark)])


def _keyword_in_range(word: str, N: int, min_words: int, max_words: int) -> str:
    total = (min_words + max_words) // 2
    length = total // N
    return _with_keyword(word, [total - length * (N - 1), *[length] * (N - 2), length - 1][-N:])


def _items_in_range(min_words: int, max_words: int, sep: str) -> Iterator[str]:
    for per_line in range(2, max_words + 1):
        stock, lines = words(max_words), list[str]()
        while stock:
            lines.append(f"{sep} {' '.join(stock[:per_line])}")
            stock = stock[per_line:]
            yield "\n".join(lines)


def _increment_with_thesis(small_n: int) -> str:
    thesis, *others = words(2)
    return " ".join([f"<i>{thesis.title()}</i> {' '.join(others)}.", *sentences([2 + small_n, 2 + 2 * small_n])])


def _option(options: str) -> str:
    divider = next((mark for mark in ("/", " or ") if mark in options), ",")
    return options.rsplit(divider, maxsplit=1)[-1].strip()


def _changed(prompt_to_repeat: str) -> str:
    first = prompt_to_repeat.split(maxsplit=1)[0]
    return f"Kindly{prompt_to_repeat.lstrip()[len(first) :]}"


# Texts that share a given part of their trigrams, of characters and of words alike, with a reference text. The share of
# words depends on how many words of the reference are followed by how many others; the share of characters on how long
# those others are. The others are invented words of consonants, whose trigrams no reference has.

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
    for shared, invented in _parts(_beginnings(reference_text, percentage), percentage):
        yield " ".join([shared, *invented])


def overlap_with_keyword(reference_text: str, percentage: float, word: str, N: int) -> Iterator[str]:
    """Yield texts that share a part of a reference, and whose sentence ``N`` has a word."""
    for shared, invented in _parts(_beginnings(reference_text, percentage), percentage, others=1):
        if len(invented) >= N:
            before = [f"{invented_word.capitalize()}." for invented_word in invented[: N - 1]]
            last = " ".join([*invented[N - 1 :], word])
            yield " ".join([*before, f"{last[:1].upper()}{last[1:]}.", shared])


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
    for shared, invented in _parts(chosen, percentage):
        yield " ".join([shared, *invented])


def _beginnings(reference: str, percentage: float) -> list[str]:
    """Return beginnings of a text that end with a word; first those that make for a short whole."""
    ends = [match.end() for match in re.finditer(r"\S+", reference)][2:]
    best = FEWEST + percentage / 100 * (MOST - FEWEST)
    nearest = sorted(range(len(ends)), key=lambda index: abs(index + 3 - best))
    return [reference[: ends[index]].lstrip() for index in nearest[:TRIES]]


def _parts(texts: Sequence[str], percentage: float, others: int = 0) -> Iterator[tuple[str, list[str]]]:
    """Yield texts of the reference with the invented words that make them up to the percentage.

    Args:
        texts: texts of the reference, of three words or more.
        percentage: of the trigrams of the whole.
        others: how many words are added besides.
    """
    share = max(percentage, 0.5) / 100
    for text in texts:
        trigrams = max(len(text.split()) - 2, 1)
        count = max(round(trigrams / share) - trigrams - others, 0)
        missing = len(set(zip(text, text[1:], text[2:], strict=False))) * (1 / share - 1)
        for extra in (0, 1, 2, -1):
            for stretch in STRETCHES:
                yield text, _invented(count + extra, missing * stretch)


def _invented(count: int, trigrams: float) -> list[str]:
    """Return so many words, which together add about so many trigrams of characters."""
    if count < 1:
        return []
    generator = random.Random(f"{SEED}/{count}/{trigrams}")  # noqa: S311 # reproducible by design
    # A word has as many trigrams as letters, and one with the space around it.
    shortest, longer = divmod(round(trigrams) - count, count)
    lengths = (max(shortest + (index < longer), 2) for index in range(count))
    return ["".join(generator.choices(CONSONANTS, k=length)) for length in lengths]


COMPOSED: Mapping[tuple[str, ...], Callable[..., str | Iterable[str]]] = {
    ("count:keywords_multiple",): lambda **keywords: " ".join(
        f"Somebody wrote {word} down."
        for word, times in zip(keywords.values(), (1, 2, 3, 5, 7), strict=True)
        for _ in range(times)
    ),
    ("count:numbers",): _numbered,
    ("count:numbers", "count:conjunctions"): lambda N, small_n: f"{CONJUNCTIONS} {_numbered(N)}",
    ("count:numbers", "count:unique_word_count"): lambda N: f"{_numbered(N[0])} {prose(N[1] + 5)}",
    ("count:unique_word_count",): lambda N: prose(N + 5),
    ("count:person_names",): _names,
    ("words:start_verb", "count:person_names"): lambda N: (
        f"{verb} slowly. {_names(N)}" for verb in ("Consider", "Go", "Take", "Meet", "Be")
    ),
    ("count:pronouns",): lambda N: " ".join([PRONOUNS] * (N // 4 + 1)),
    ("words:vowel", "count:pronouns"): lambda N: " ".join([FEW_VOWELS] * (N // 4 + 1)),
    ("count:word_count_range",): lambda min_words, max_words: prose((min_words + max_words) // 2),
    ("count:words_japanese",): lambda N: sentence([*words(N - 1), "日本", *words(N - 1), "東京"], ""),
    ("format:list",): lambda sep: "\n".join(f"{sep} {word}" for word in words(6)),
    ("count:word_count_range", "format:list"): _items_in_range,
    ("format:list", "words:no_consecutive"): lambda sep: "\n".join(
        f"{sep} {word}" for word in ("apple", "melon", "cherry", "lemon", "peach", "grape")
    ),
    ("format:options",): _option,
    ("format:thesis", "count:word_count_range"): lambda min_words, max_words: (
        f"<i>{next(sentences([5]))}</i> {prose(number)}" for number in range(max_words, max(min_words - 10, 0), -1)
    ),
    ("ratio:overlap",): overlap,
    ("ratio:overlap", "sentence:keyword"): overlap_with_keyword,
    ("words:consonants", "ratio:overlap"): overlap_in_clusters,
    ("repeat:repeat_change",): _changed,
    ("repeat:repeat_span",): lambda n_start, n_end, prompt_to_repeat: prompt_to_repeat[n_start : n_end + 1],
    ("sentence:increment",): lambda small_n: " ".join(sentences([2, 2 + small_n, 2 + 2 * small_n])),
    ("sentence:increment", "format:thesis"): _increment_with_thesis,
    ("sentence:keyword",): lambda word, N: _with_keyword(word, [*[4] * (N - 1), 3]),
    ("format:emoji", "sentence:keyword"): lambda word, N: _with_keyword(word, [*[4] * (N - 1), 3], SMILE),
    ("sentence:keyword", "count:word_count_range"): _keyword_in_range,
    ("words:keywords_specific_position",): lambda keyword, n, m: " ".join(
        [*sentences([4] * (n - 1)), sentence([*words(m - 1), keyword, "everywhere"])]
    ),
    ("words:words_position",): lambda keyword: sentence(["clearly", keyword, *words(6), keyword, "again"]),
}
"""By the instructions' ids, what composes a text that is meant to follow them, or several, the best first. Arguments of
several instructions under one name are a list, in this order."""
