"""Verdicts depend on what three libraries know: whoever moves their pins sees here that verdicts may change.

An exact pin in the package's own requirements would keep users from what else needs these libraries, so the pins are in
``constraints.txt`` alone. If one of these digests changes, look at ``test_repaired_on_real_responses.py``, and bump the
version of the tasks if a verdict changes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path

import emoji
import pytest
import syllapy
from langdetect.detector_factory import PROFILES_DIRECTORY


def characters() -> Iterable[str]:
    """Yield the characters that are an emoji on their own, as the published code of ``format:emoji`` asks."""
    return (character for character in sorted(emoji.EMOJI_DATA) if len(character) == 1)


def syllables() -> Iterable[str]:
    return (f"{word} {count}" for word, count in sorted(syllapy.WORD_DICT.items()))


def profiles() -> Iterable[str]:
    """Yield the profiles by which languages are told apart, by name."""
    for path in sorted(Path(PROFILES_DIRECTORY).iterdir()):
        if path.is_file() and "." not in path.name:
            yield f"{path.name} {path.read_text(encoding='utf-8')}"


@pytest.mark.parametrize(
    ("known", "digest"),
    [(characters, "7cfc98994a9857fa"), (syllables, "beb1e2acf98b50fa"), (profiles, "a9cea87c12709225")],
)
def test_what_a_library_knows_is_what_verdicts_were_compared_with(
    known: Callable[[], Iterable[str]], digest: str
) -> None:
    assert hashlib.sha256("\n".join(known()).encode()).hexdigest()[:16] == digest
