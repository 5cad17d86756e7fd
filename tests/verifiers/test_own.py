"""The instructions that no benchmark has."""

from __future__ import annotations

from tests.verifiers.cases import Case, judged

# Instruction id -> cases: arguments, text, faithful, repaired; the same verdicts here.
CASES: dict[str, list[Case]] = {
    "section:first_letter": [
        ({"letter": "m"}, "Many things.", True, True),
        ({"letter": "m"}, '1. **"more', True, True),
        ({"letter": "m"}, "A map.", False, False),
        ({"letter": "m"}, "12 - !", False, False),
    ],
    "section:lowercase": [
        ({}, "all of it, 12.", True, True),
        ({}, "all of It", False, False),
        ({}, "12.", False, False),
    ],
    "section:capitals": [
        ({}, "ALL OF IT!", True, True),
        ({}, "ALL OF iT!", False, False),
    ],
    "section:question": [
        ({}, "Why? Because.", True, True),
        ({}, "He asked “why”? Yes.", True, True),
        ({}, "Is it **so**?", True, True),
        ({}, "No question.", False, False),
        ({}, "? !", False, False),
    ],
    "section:exact_sentences": [
        ({"num_sentences": 2}, "Dr. Sharp came. Did he stay", True, True),
        ({"num_sentences": 2}, "Dr. Sharp came; did he stay", False, False),
        ({"num_sentences": 1}, "Dr. Sharp came. Did he stay", False, False),
        ({"num_sentences": 3}, "Dr. Sharp came. Did he stay", False, False),
    ],
}


test_both_editions = judged(CASES)
