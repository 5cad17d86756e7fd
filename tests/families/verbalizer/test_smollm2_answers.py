"""Answers of a real model are read as they were labeled by reading each, before the verdict on it was seen.

``smollm2_answers.jsonl`` has 355 answers of SmolLM2-135M-Instruct to embedded rows, drawn at random. Those of the
``sample`` "first" were labeled before the reader was last changed, those of "second" after it. A label ``none:...``
says what the answer was taken for.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.verbalizer.answer import read_answer
from lm_eval_ext.families.verbalizer.prompt import Reads

ROWS: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parent / "smollm2_answers.jsonl").read_text(encoding="utf-8").splitlines()
]


def is_read_as_labeled(row: dict[str, Any]) -> bool:
    reads: Reads = "final" if row["task"].startswith("verbalizer_cot_") else "first"
    labeled = None if row["label"].startswith("none:") else row["label"]
    return read_answer(row["response"], row["labels"], reads) == labeled


def test_half_of_the_answers_name_a_label() -> None:
    named = Counter((row["sample"], row["label"].startswith("none:")) for row in ROWS)
    assert named == {("first", False): 102, ("first", True): 153, ("second", False): 40, ("second", True): 60}


@pytest.mark.parametrize(("sample", "correct"), [("first", 246), ("second", 94)])
def test_as_many_answers_as_documented_are_read_as_labeled(sample: str, correct: int) -> None:
    assert sum(is_read_as_labeled(row) for row in ROWS if row["sample"] == sample) >= correct


def test_every_answer_that_chooses_a_label_is_read() -> None:
    assert all(is_read_as_labeled(row) for row in ROWS if not row["label"].startswith("none:"))
