"""The instructions about a section that no benchmark has."""

from __future__ import annotations

import pytest

from lm_eval_ext.families.manyifeval.dense.mixed.checkers import section_instruction
from lm_eval_ext.verifiers import instruction_ids
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
    checker = section_instruction(f"section:{name}", {**arguments, "num_words": None})
    assert checker.follows(Text(text), "repaired") is checker.follows(Text(text), "faithful") is follows


@pytest.mark.usefixtures("sentence_data")
@pytest.mark.parametrize(("count", "follows"), [(1, False), (2, True), (3, False)])
def test_sentences_are_counted_exactly(count: int, follows: bool) -> None:
    checker = section_instruction("section:exact_sentences", {"num_sentences": count})
    assert checker.follows(Text("Dr. Sharp came. Did he stay"), "repaired") is follows


def test_published_instructions_are_those_of_the_verifiers() -> None:
    checker = section_instruction("keywords:existence", {"keywords": ["budget"], "letter": None})
    assert checker.follows(Text("The budget."), "repaired")
    with pytest.raises(ValueError, match="unknown instruction 'section:nothing'"):
        section_instruction("section:nothing", {})
    assert not [name for name in instruction_ids() if name.startswith("section:")]
