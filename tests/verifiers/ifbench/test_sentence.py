"""sentence, in both editions: texts that follow, and near misses.

``test_differences.py`` judges the texts of the documentation.
"""

from __future__ import annotations

from tests.verifiers.cases import Case, judged

CPP = {"word": "C++", "N": 1}
FOX = {"word": "fox", "N": 2}

# Instruction id -> cases: arguments, text, faithful, repaired. The published code gave the same faithful verdicts.
CASES: dict[str, list[Case]] = {
    "sentence:alliteration_increment": [
        ({}, "Big bears run. Funny foxes find you. Seven silly seals swim.", True, True),
        ({}, "Big bears run. Funny foxes run.", False, False),
        ({}, "Funny foxes find you. Big bears run.", False, False),
        ({}, "We run. Big bears run.", True, True),
        ({}, "(Big) bears run. Funny *foxes* find you.", True, True),
        # typographic marks
        ({}, "We run. He “knew” “him” well.", True, False),
    ],
    "sentence:increment": [
        ({"small_n": 2}, "I run. I run and rest. I run and rest and eat.", True, True),
        ({"small_n": 2.0}, "I run. I run and rest.", True, True),
        ({"small_n": 2}, "I run. I run and rest. I run and rest.", False, False),
        ({"small_n": 2}, "I run - now. I run and rest too.", True, True),
        # a dash and an emoji are no words
        ({"small_n": 2}, "I run — now. I run and rest too today.", True, False),
        ({"small_n": 2}, "I run. 😀 I run and rest. 😀", False, True),
        ({"small_n": 0}, "I run. You run.", True, True),
    ],
    "sentence:keyword": [
        (FOX, "I run. The Fox runs. We run.", True, True),
        (FOX, "The fox runs. I run.", False, False),
        (FOX, "The fox runs.", False, False),
        (FOX, "I run. The foxes run.", False, False),
        ({"word": "fox", "N": 2.0}, "I run. A fox-like dog runs.", True, True),
        (CPP, "C++y is fast.", True, True),
        ({"word": "it's", "N": 1}, "It’s late.", False, True),
        (FOX, "I run. The fox_trot.", False, True),
    ],
}


test_both_editions = judged(CASES)
