"""The default reader on answers that it was never trained on, each labeled before a verdict on it was seen.

``hedged_answers.jsonl`` imitates chat models that hedge. It was written by hand before any reader saw it; its wordings
are in no frame of the corpus. ``smollm2_answers.jsonl`` has 250 answers of SmolLM2-135M-Instruct to the embedded
questions, drawn at random. Those of the ``sample`` "first" were labeled before the rules for contradictions were in
place, those of "second" after it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.answers.generated import frames
from lm_eval_ext.classifier.encoder.reader import default_reader
from lm_eval_ext.classifier.evaluation import agree
from lm_eval_ext.classifier.labelled import Labelled, labelled_file
from lm_eval_ext.classifier.reading import REFUSED, Reading
from lm_eval_ext.classifier.rules import reader as rules
from tests.test_embedded import runs_of

FOLDER = Path(__file__).parent
HEDGED, SMOLLM2 = (labelled_file(FOLDER / f"{name}_answers.jsonl") for name in ("hedged", "smollm2"))
LINES = (FOLDER / "smollm2_answers.jsonl").read_text(encoding="utf-8").splitlines()
SAMPLES = [json.loads(line)["sample"] for line in LINES]


def kind(row: Labelled) -> str:
    texts = {option.letter: option.text for option in row.answer.options}
    return "refused" if [texts[letter] for letter in row.label.letters] == [REFUSED] else row.label.kind


@pytest.fixture(scope="module", params=[3, pytest.param(1, marks=pytest.mark.slow)])
def every(request: pytest.FixtureRequest) -> int:
    """Return the step in which answers are read: every third quickly, or all."""
    step: int = request.param
    return step


@pytest.fixture(scope="module")
def right(encoder_installed: None, every: int) -> dict[tuple[str, str], list[bool]]:
    """Return, by kind of hedged answer and by sample of the others, which of the answers are read rightly."""
    found: dict[tuple[str, str], list[bool]] = {}
    groups = [("hedged", kind(row)) for row in HEDGED] + [("smollm2", sample) for sample in SAMPLES]
    groups, rows = groups[::every], [*HEDGED, *SMOLLM2][::every]
    for group, row, reading in zip(groups, rows, default_reader()([row.answer for row in rows]), strict=True):
        found.setdefault(group, []).append(agree(row.label, reading))
    return found


@pytest.mark.parametrize(
    ("group", "rows", "least"),
    [
        # Measured when this was written: 46 of 50, 43 of 45, 35 of 35, 9 of 11, 9 of 9.
        (("hedged", "option"), {1: 50, 3: 17}, {1: 44, 3: 14}),
        (("hedged", "several"), {1: 45, 3: 15}, {1: 42, 3: 13}),
        (("hedged", "refused"), {1: 35, 3: 12}, {1: 34, 3: 11}),
        (("hedged", "none"), {1: 11, 3: 3}, {1: 8, 3: 1}),
        (("hedged", "contradiction"), {1: 9, 3: 3}, {1: 8, 3: 2}),
        # All of them as documented.
        (("smollm2", "first"), {1: 150, 3: 50}, {1: 141, 3: 48}),
        (("smollm2", "second"), {1: 100, 3: 34}, {1: 90, 3: 28}),
    ],
)
def test_answers_of_every_kind_are_read(
    right: dict[tuple[str, str], list[bool]],
    every: int,
    group: tuple[str, str],
    rows: Mapping[int, int],
    least: Mapping[int, int],
) -> None:
    assert len(right[group]) == rows[every]
    assert sum(right[group]) >= least[every]


def test_no_hedged_answer_shares_more_than_a_stock_phrase_with_a_frame() -> None:
    # "as an ai language model i do not" has eight words.
    texts = [frame.text for of_kind in frames().values() for frame in of_kind]
    assert runs_of(texts, 9) & runs_of((row.answer.text for row in HEDGED), 9) == set()


def decided(rows: list[Labelled]) -> list[tuple[Labelled, Reading]]:
    return [(row, reading) for row in rows if (reading := rules.decide(row.answer)) is not None]


def test_the_rules_are_right_where_they_read() -> None:
    hedged = [agree(row.label, reading) for row, reading in decided(HEDGED)]
    assert len(hedged) >= 48  # 51, of which 50 are right
    assert sum(hedged) / len(hedged) >= 0.95
    choices = [pair for pair in decided(SMOLLM2) if pair[0].label.kind == "option"]
    assert len(choices) >= 159  # of 163
    assert all(agree(row.label, reading) for row, reading in choices)


def test_a_letter_with_another_options_text_is_a_contradiction_and_no_choice() -> None:
    assert Counter(row.label.kind for row in SMOLLM2) == {"option": 163, "contradiction": 62, "several": 21, "none": 4}
    kinds = Counter(reading.kind for row, reading in decided(SMOLLM2) if row.label.kind == "contradiction")
    assert kinds["contradiction"] >= 50
