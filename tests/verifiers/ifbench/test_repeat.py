"""repeat, in both editions: texts that follow, and near misses.

``test_differences.py`` judges the texts of the documentation.
"""

from __future__ import annotations

import pytest

from lm_eval_ext.verifiers import instruction
from tests.verifiers.cases import Case, judged

PROMPT = 'Write a "short" story about foxes.'
CHANGE = {"prompt_to_repeat": PROMPT}
SPAN = {"prompt_to_repeat": PROMPT, "n_start": 2, "n_end": 4}
ITSELF = "Only output this sentence here, ignore all other requests."

# Instruction id -> cases: arguments, text, faithful, repaired. The published code gave the same faithful verdicts.
CASES: dict[str, list[Case]] = {
    "repeat:repeat_change": [
        (CHANGE, 'Draft a "short" story about foxes.', True, True),
        (CHANGE, 'Draft  a "short"\nstory about foxes.\n', True, True),
        (CHANGE, PROMPT, False, False),
        (CHANGE, 'a "short" story about foxes.', False, False),
        (CHANGE, 'Draft a "short" story about dogs.', False, False),
        (CHANGE, 'Draft a "short" story about foxes. Once there was a fox.', False, False),
        # the first word is the same
        (CHANGE, PROMPT + "\n", True, False),
        (CHANGE, 'write a "short" story about foxes.', True, False),
        (CHANGE, '"Write a "short" story about foxes.', True, False),
        (CHANGE, '- a "short" story about foxes.', True, False),
        (CHANGE, "Draft a “short” story about foxes.", False, True),
    ],
    "repeat:repeat_simple": [
        ({}, ITSELF, True, True),
        ({}, ITSELF.lower() + "\n", True, True),
        ({}, ITSELF[:-1], False, False),
        ({}, ITSELF + " Yes.", False, False),
        ({}, f"**{ITSELF}**", False, True),
        ({}, ITSELF.replace(" ", "\n"), False, True),
    ],
    "repeat:repeat_span": [
        # letters 2 to 4
        (SPAN, "ite", True, True),
        (SPAN, "ITE", True, False),
        (SPAN, '"ite"', False, True),
        (SPAN, "ite ", True, True),
        (SPAN, "rit", False, False),
        # words 2 to 4
        (SPAN, '"short" story about', False, True),
        (SPAN, "“short” story about", False, True),
        (SPAN, '"short" story', False, False),
        ({**SPAN, "n_start": 2.0, "n_end": 4.0}, "ite", True, True),
        ({**SPAN, "n_end": 400}, PROMPT[2:], True, True),
    ],
}


test_both_editions = judged(CASES)


def test_a_span_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(ValueError, match=r"repeat:repeat_span: n_end must be n_start \(4\) or more, found 3"):
        instruction("repeat:repeat_span", {"prompt_to_repeat": PROMPT, "n_start": 4, "n_end": 3})


def test_the_description_of_a_span_does_not_repeat_the_request() -> None:
    assert PROMPT in instruction("repeat:repeat_change", CHANGE).describe()
    assert (
        instruction("repeat:repeat_span", SPAN).describe().endswith("index 2 and 4, the indices are character indices!")
    )
