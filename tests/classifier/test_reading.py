"""The terms: what a reading is, how it is written as JSON, and which option represents a refusal."""

from __future__ import annotations

import json

import pytest

from lm_eval_ext.classifier.reading import Option, Reading, ReadingKind, refusal_option


@pytest.mark.parametrize(
    ("letters", "kind", "chosen", "value"),
    [
        ((), "none", (), "none"),
        (("B",), "option", ("B",), "B"),
        # The same option twice is one option.
        (("B", "B"), "option", ("B",), "B"),
        (("C", "A"), "several", ("A", "C"), ["A", "C"]),
        (("C", "A", "C"), "several", ("A", "C"), ["A", "C"]),
    ],
)
def test_a_reading_of_letters_is_one_several_or_none(
    letters: tuple[str, ...], kind: ReadingKind, chosen: tuple[str, ...], value: str | list[str]
) -> None:
    reading = Reading.of(letters, 0.75)
    assert reading == Reading(kind, chosen, 0.75)
    assert reading.value == value
    assert json.loads(json.dumps(reading.value)) == value


@pytest.mark.parametrize(
    ("texts", "letter"),
    [
        (("Tea", "Coffee"), None),
        (("Tea", "Refused"), "B"),
        (("Refused", "Tea"), "A"),
        ((" refused ", "Tea"), "A"),
        (("REFUSED", "Tea"), "A"),
        # Near misses: an option about refusing is an answer.
        (("Refused.", "Tea"), None),
        (("He refused", "Refuse"), None),
    ],
)
def test_the_refused_option_represents_a_refusal(texts: tuple[str, ...], letter: str | None) -> None:
    options = [Option(name, text) for name, text in zip("AB", texts, strict=True)]
    assert refusal_option(options) == letter
    expected = Reading("refused", (), 0.5) if letter is None else Reading("option", (letter,), 0.5)
    assert Reading.refusal(options, 0.5) == expected
    assert expected.value == (letter or "refused")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (Reading("option", ("A",), 0.2), Reading("option", ("A",), 0.9), True),
        (Reading("option", ("A",)), Reading("option", ("B",)), False),
        (Reading("several", ("A", "B")), Reading("option", ("A",)), False),
        (Reading("refused"), Reading("none"), False),
        (Reading("none", (), 0.0), Reading("none"), True),
    ],
)
def test_readings_are_equal_regardless_of_certainty(one: Reading, other: Reading, same: bool) -> None:
    assert one.matches(other) is same
    assert other.matches(one) is same
