"""What holds for every checker on any text: a verdict, always the same one, in linear time."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lm_eval_ext.verifiers import EDITIONS, Checker, Edition, Response, detection, instruction
from lm_eval_ext.verifiers.text import Text
from tests.sampling import sampled
from tests.verifiers.test_contract import EXAMPLES

CHECKERS = tuple(instruction(name, arguments) for name, (arguments, _, _) in EXAMPLES.items())

# Lone surrogates, marks that turn the direction of writing, joiners, emoji, NUL, every kind of line end and space, and
# what the checkers look for.
PIECES = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        [
            *("\ud800", "\udfff", "\u202e", "\u2066", "\u200f", "\u200d", "\ufeff", "👩‍👩‍👧", "😀", "\x00"),
            *("\x1c", "\x85"),
            *("\r", "\n", "\n\n", "\u2028", "\u00a0", "\t", "İ", "ß", "ŉ", "ǅ", "\u0301", "कि", "你", "𝔄", "Ⅷ", "²"),
            *("*", "**", "***", "******", "* ", "- ", "1. ", "•", "[", "]", "<<", ">>", '"', "“", "„", "'", "`", "```"),
            *("~~~", "{", "}", ":", ",", ".", "!", "?", "#", "\\", "(", ")", "|", "$", "^", "+", "NaN", "1e999", "-"),
            *("word", "WORD", "Mr.", "U.S.", "P.S.", "Section 1", "Day 2", "blue", "My answer is yes."),
            *("http://a.b", "@"),
        ]
    ),
)
TEXTS = st.lists(PIECES, max_size=12).map("".join)
SOME = 30
"""How many checkers judge one of the generated texts: each of them sees a hundred."""


def verdicts(text: str, checkers: tuple[Checker, ...] = CHECKERS) -> dict[tuple[str, Edition, bool], bool]:
    response = Response(text)
    return {
        (checker.id, edition, loose): response.follows([checker], edition, loose).follow_all_instructions
        for checker in checkers
        for edition in EDITIONS
        for loose in (False, True)
    }


@settings(derandomize=True, deadline=None, max_examples=200)
@given(TEXTS, st.randoms(use_true_random=False))
def test_every_checker_has_a_verdict_on_any_text(text: str, generator: random.Random) -> None:
    checkers = tuple(generator.sample(CHECKERS, SOME))
    found = verdicts(text, checkers)
    assert len(found) == SOME * 2 * 2
    for (name, edition, loose), followed in found.items():
        assert isinstance(followed, bool)
        if loose:
            assert followed >= found[name, edition, False]  # what follows strictly follows loosely
        if not text.strip():
            assert not followed


@settings(derandomize=True, deadline=None, max_examples=60)
@given(TEXTS, st.randoms(use_true_random=False))
def test_a_verdict_does_not_depend_on_what_was_judged_before(text: str, generator: random.Random) -> None:
    shuffled = tuple(generator.sample(CHECKERS, SOME))
    first = verdicts(text, shuffled[::-1])
    detection.detect.cache_clear()
    assert verdicts(text, shuffled) == first
    for checker in shuffled:
        for edition in EDITIONS:
            assert checker.follows(Text(text), edition) == first[checker.id, edition, False]


def test_a_verdict_is_the_same_in_threads_that_share_the_response() -> None:
    texts = [text for _, good, near_miss in EXAMPLES.values() for text in (good, near_miss)][::4]
    alone = [verdicts(text) for text in texts]
    detection.detect.cache_clear()
    shared = [Response(text) for text in texts]

    def judge(checker: Checker) -> list[bool]:
        return [
            response.follows([checker], edition, loose).follow_all_instructions
            for response in shared
            for edition in EDITIONS
            for loose in (False, True)
        ]

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(judge, CHECKERS))
    for checker, found in zip(CHECKERS, together, strict=True):
        expected = [
            by_name[checker.id, edition, loose] for by_name in alone for edition in EDITIONS for loose in (False, True)
        ]
        assert found == expected, checker.id


# What a text of a given length is made of.
SHAPES: dict[str, Callable[[int], str]] = {
    unit: lambda size, unit=unit: unit * (size // len(unit))
    for unit in (
        *("* ", "[", "<<", "\n", "*", "- a\n", "P.", "Section 1", '"', "```\n", "a. ", "word ", "a.-", "1.2"),
        *("<", "-", "a", ".", "#", "`", "{"),
    )
} | {
    # One thing to begin with, then a run of what it may be followed by.
    "É then !": lambda size: "É" + "!" * size,
    "WHAT'S then ?": lambda size: "WHAT'S" + "?" * size,
    "*a then spaces": lambda size: "*a" + " " * size,
    "[ then spaces, ]": lambda size: "[" + " " * size + "]",
    "<<a then spaces": lambda size: "<<a" + " " * size,
    "line feed, spaces, a": lambda size: "\n" + " " * size + "a",
    # A text of only white space is not judged.
    "line feeds, a": lambda size: "\n" * size + "a",
    "a, line feeds and spaces": lambda size: "a" + "\n " * (size // 2),
    "a, carriage returns": lambda size: "a" + "\r\n" * (size // 2),
    "a, line feeds, numbers": lambda size: "a" + "\n\n1." * (size // 4),
    "Mr., spaces, a": lambda size: "Mr." + " " * size + "a",
    "P.S. after marks": lambda size: "*" * size + "P.T.",
    "digits": lambda size: "1" * size,
    "nested lists": lambda size: "[" * (size // 2) + "]" * (size // 2),
    "capitals": lambda size: "WORD " * (size // 5),
    "accents": lambda size: "e" + "\u0301\u0316" * (size // 2),
    "apostrophes": lambda size: "A'b" * (size // 3),
}
MOST = 1_000
"""How many times as much a hundred times the text may cost: linear time is 100 times and quadratic time 10,000, so no
busy machine makes the one look like the other."""
LEAST = 0.0001
"""Seconds: less than this cannot be compared with a hundred times as much."""


@pytest.mark.parametrize("longest", [20_000, pytest.param(50_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", sampled(SHAPES, 6))
def test_no_verdict_takes_quadratic_time(shape: str, longest: int) -> None:
    # Each a hundred times the one before.
    texts = [SHAPES[shape](longest // shorter) for shorter in (10_000, 100, 1)]
    # What several checkers count in a text is counted once, and takes the time of the first of them.
    shared = [Text(text) for text in texts[1:]]
    detection.detect.cache_clear()
    for checker in CHECKERS:
        for edition in EDITIONS:
            if all(has_quick_verdict(checker, text, edition) for text in shared):
                continue
            if not grows_linearly(steps := [seconds(checker, text, edition) for text in texts]):
                # Another process may have been in the way: the best of three counts.
                steps = [min(seconds(checker, text, edition) for _ in range(3)) for text in texts]
            shown = [f"{step:.4f} s" for step in steps]
            assert grows_linearly(steps), f"{checker.id}, {edition}, {shape!r}: {shown}"


def has_quick_verdict(checker: Checker, text: Text, edition: Edition) -> bool:
    """Return whether a verdict takes so little time that it is not compared with that of a shorter text."""
    begin = time.perf_counter()
    checker.follows(text, edition)
    return time.perf_counter() - begin <= MOST * LEAST


def grows_linearly(steps: list[float]) -> bool:
    return all(after <= MOST * max(before, LEAST) for before, after in pairwise(steps))


def seconds(checker: Checker, raw: str, edition: Edition) -> float:
    """Return the processor's time for one verdict on a text never seen before."""
    detection.detect.cache_clear()
    gc.disable()  # collecting what other tests left is no cost of a verdict
    try:
        begin = time.process_time()
        checker.follows(Text(raw), edition)
        return time.process_time() - begin
    finally:
        gc.enable()
