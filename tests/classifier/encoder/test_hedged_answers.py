"""The default reader on answers of hedging models: written by hand before any reader saw them, and never trained on.

The answers in ``hedged_answers.jsonl`` imitate chat models that hedge. Their wordings are in no frame of the corpus.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lm_eval_ext.classifier.corpus.generated import frames
from lm_eval_ext.classifier.encoder.reader import default_reader
from lm_eval_ext.classifier.evaluation import agree
from lm_eval_ext.classifier.labelled import Labelled, labelled_file
from lm_eval_ext.classifier.reading import REFUSED, Reading
from lm_eval_ext.classifier.rules import reader as rules
from tests.classifier.corpus.test_generated import runs

ROWS = labelled_file(Path(__file__).parent / "hedged_answers.jsonl")


def kind(row: Labelled) -> str:
    texts = {option.letter: option.text for option in row.answer.options}
    if [texts[letter] for letter in row.label.letters] == [REFUSED]:
        return "refused"
    return row.label.kind


@pytest.fixture(scope="module")
def readings(encoder_installed: None) -> list[Reading]:
    return default_reader()([row.answer for row in ROWS])


def test_there_are_answers_of_every_kind() -> None:
    assert Counter(map(kind, ROWS)) == {"option": 50, "several": 45, "refused": 35, "none": 11, "contradiction": 9}


def test_no_answer_shares_more_than_a_stock_phrase_with_a_frame() -> None:
    # "as an ai language model i do not" has eight words.
    texts = [frame.text for of_kind in frames().values() for frame in of_kind]
    assert runs(texts, 9) & runs((row.answer.text for row in ROWS), 9) == set()


@pytest.mark.parametrize(
    ("of_kind", "least"),
    # Measured when this was written: 43 of 50, 44 of 45, 35 of 35, 6 of 11, 9 of 9.
    [("option", 0.82), ("several", 0.95), ("refused", 0.88), ("none", 0.54), ("contradiction", 0.88)],
)
def test_hedged_answers_are_read(readings: list[Reading], of_kind: str, least: float) -> None:
    judged = [agree(row.label, reading) for row, reading in zip(ROWS, readings, strict=True) if kind(row) == of_kind]
    assert sum(judged) / len(judged) >= least


def test_the_rules_are_right_where_they_read() -> None:
    read = [(row, rules.decide(row.answer)) for row in ROWS]
    judged = [agree(row.label, reading) for row, reading in read if reading is not None]
    assert len(judged) >= 48  # 51, of which 50 are right
    assert sum(judged) / len(judged) >= 0.95
