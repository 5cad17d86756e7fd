"""The cheapest passing answers pass, are no longer than known ones, and are those that the appendix lists."""

from __future__ import annotations

import json

import pytest

from lm_eval_ext.cheapest import cheapest, shortened
from lm_eval_ext.verifiers import EDITIONS, instruction
from lm_eval_ext.verifiers.text import Text
from tests.conftest import ROOT
from tests.sampling import sampled
from tests.verifiers.test_contract import EXAMPLES

PAGE = (ROOT / "docs/appendix/cheapest-answers.md").read_text(encoding="utf-8")
LONGER = {"custom:reverse_newline"}
"""Of which a known answer is shorter than the one that is found: it has other names of countries."""


def line(name: str) -> str:
    """Return the line of an instruction type in the appendix's table."""
    arguments, _, _ = EXAMPLES[name]
    checker = instruction(name, arguments)
    cells = []
    for edition in EDITIONS:
        text = cheapest([checker], edition)
        assert text is not None
        assert checker.follows(Text(text), edition)
        assert name in LONGER or len(text) <= len(EXAMPLES[name][1])
        shown = json.dumps(text if len(text) <= 60 else f"{text[:60]}…", ensure_ascii=False).replace("|", "\\|")
        cells += [str(len(text)), f"`` {shown} ``"]
    given = ", ".join(f"{argument}: {json.dumps(value)}" for argument, value in arguments.items())
    return f"| `{name}` | {given} | {' | '.join(cells)} |".replace("|  |", "| |")


@pytest.mark.parametrize("name", sampled(sorted(EXAMPLES), 9))
def test_the_appendix_has_the_cheapest_answer(name: str) -> None:
    assert line(name) in PAGE.splitlines()


def test_a_row_has_an_answer_that_follows_all_of_it() -> None:
    row = (
        instruction("keywords:existence", {"keywords": ["red"]}),
        instruction("detectable_format:title"),
        instruction("length_constraints:number_words", {"num_words": 3, "relation": "at least"}),
    )
    assert cheapest(row, "faithful") == "1<<a>>red"


def test_what_cannot_be_followed_has_none() -> None:
    row = (
        instruction("punctuation:no_comma"),
        instruction("keywords:letter_frequency", {"letter": ",", "let_frequency": 1, "let_relation": "at least"}),
    )
    assert cheapest(row, "repaired") is None


def test_a_text_is_shortened_as_far_as_it_passes() -> None:
    assert shortened("one two three. four, five", lambda text: "two" in text and "ve" in text) == "twove"
