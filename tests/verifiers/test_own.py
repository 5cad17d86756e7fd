"""The instructions that no benchmark has."""

from __future__ import annotations

import pytest

from lm_eval_ext.verifiers import instruction
from lm_eval_ext.verifiers.text import Text


@pytest.mark.parametrize(
    ("name", "arguments", "text", "follows"),
    [
        ("first_letter", {"letter": "m"}, "Many things.", True),
        ("first_letter", {"letter": "m"}, '1. **"more', True),
        ("first_letter", {"letter": "m"}, "A map.", False),
        ("first_letter", {"letter": "m"}, "12 - !", False),
        ("lowercase", {}, "all of it, 12.", True),
        ("lowercase", {}, "all of It", False),
        ("lowercase", {}, "12.", False),
        ("capitals", {}, "ALL OF IT!", True),
        ("capitals", {}, "ALL OF iT!", False),
        ("question", {}, "Why? Because.", True),
        ("question", {}, "He asked \N{LEFT DOUBLE QUOTATION MARK}why\N{RIGHT DOUBLE QUOTATION MARK}? Yes.", True),
        ("question", {}, "Is it **so**?", True),
        ("question", {}, "No question.", False),
        ("question", {}, "? !", False),
    ],
)
def test_verdicts(name: str, arguments: dict[str, object], text: str, follows: bool) -> None:
    checker = instruction(f"section:{name}", {**arguments, "num_words": None})
    assert checker.follows(Text(text), "repaired") is checker.follows(Text(text), "faithful") is follows


@pytest.mark.usefixtures("sentence_data")
@pytest.mark.parametrize(("count", "follows"), [(1, False), (2, True), (3, False)])
def test_sentences_are_counted_exactly(count: int, follows: bool) -> None:
    checker = instruction("section:exact_sentences", {"num_sentences": count})
    assert checker.follows(Text("Dr. Sharp came. Did he stay"), "repaired") is follows


@pytest.mark.parametrize(
    ("name", "arguments", "description"),
    [
        ("first_letter", {"letter": "M"}, "Start with the letter m."),
        ("exact_sentences", {"num_sentences": 3.0}, "Write exactly 3 sentences."),
        ("lowercase", {}, "Use no capital letters."),
        ("capitals", {}, "Use capital letters only."),
        ("question", {}, "Ask a question."),
    ],
)
def test_descriptions(name: str, arguments: dict[str, object], description: str) -> None:
    assert instruction(f"section:{name}", arguments).describe() == description


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("first_letter", {"letter": "mn"}, "letter must be one character, found 'mn'"),
        ("exact_sentences", {"num_sentences": "two"}, "num_sentences must be a whole number, found 'two'"),
        ("question", {"letter": "m"}, "unknown argument 'letter'; it takes no arguments"),
    ],
)
def test_arguments_are_checked(name: str, arguments: dict[str, object], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^section:{name}: {message}$"):
        instruction(f"section:{name}", arguments)
