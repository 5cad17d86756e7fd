"""The default reader on answers of a real model, each labeled by reading it before a verdict on it was seen.

``smollm2_answers.jsonl`` has 250 answers of SmolLM2-135M-Instruct to the embedded questions, drawn at random. Those of
the ``sample`` "first" were labeled before the rules for contradictions were in place, those of "second" after it.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from lm_eval_ext.classifier.encoder.reader import default_reader
from lm_eval_ext.classifier.evaluation import agree
from lm_eval_ext.classifier.labelled import labelled_file
from lm_eval_ext.classifier.rules import reader as rules

PATH = Path(__file__).parent / "smollm2_answers.jsonl"
ROWS = labelled_file(PATH)
SAMPLES = [json.loads(line)["sample"] for line in PATH.read_text(encoding="utf-8").splitlines()]


def test_there_are_answers_of_every_kind_but_refusals() -> None:
    assert Counter(SAMPLES) == {"first": 150, "second": 100}
    assert Counter(row.label.kind for row in ROWS) == {"option": 163, "contradiction": 62, "several": 21, "none": 4}


@pytest.mark.usefixtures("encoder_installed")
@pytest.mark.parametrize(("sample", "correct"), [("first", 137), ("second", 89)])
def test_as_many_answers_as_documented_are_read_as_labeled(sample: str, correct: int) -> None:
    rows = [row for row, its in zip(ROWS, SAMPLES, strict=True) if its == sample]
    readings = default_reader()([row.answer for row in rows])
    assert sum(agree(row.label, reading) for row, reading in zip(rows, readings, strict=True)) >= correct


def test_the_rules_read_every_choice_of_one_option_that_they_do_not_leave_to_the_encoder() -> None:
    read = [(row, rules.decide(row.answer)) for row in ROWS if row.label.kind == "option"]
    decided = [(row, reading) for row, reading in read if reading is not None]
    assert len(decided) >= 159
    assert all(agree(row.label, reading) for row, reading in decided)


def test_a_letter_with_another_options_text_is_a_contradiction_and_no_choice() -> None:
    readings = [rules.decide(row.answer) for row in ROWS if row.label.kind == "contradiction"]
    kinds = Counter(reading.kind if reading else None for reading in readings)
    assert kinds["contradiction"] >= 50
