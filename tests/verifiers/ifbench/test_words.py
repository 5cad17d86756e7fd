"""words: their letters, lengths, syllables, order and place, in both editions.

``test_differences.py`` judges the texts of the documentation.
"""

from __future__ import annotations

import pytest

from lm_eval_ext.verifiers.ifbench.words import PRIMES, spoken_syllables, syllables


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        *[("walked", 1), ("makes", 1), ("zapped", 1), ("blended", 2), ("knotted", 2), ("horses", 2), ("settled", 2)],
        *[("tables", 2), ("called", 1), ("miles", 1), ("tried", 1), ("red", 1), ("bed", 1), ("yes", 1), ("agreed", 2)],
        *[("judges", 2), ("wishes", 2), ("shoes", 1), ("well-known", 2)],
    ],
)
def test_the_silent_e_is_no_syllable(word: str, expected: int) -> None:
    assert spoken_syllables(word) == expected


def test_syllables_are_syllapys() -> None:
    assert [syllables(word) for word in ("big", "rivers", "x2", "—")] == [1, 2, 0, 1]


def test_the_prime_lengths_are_all_below_100() -> None:
    assert {number for number in range(2, 100) if all(number % part for part in range(2, number))} == PRIMES
