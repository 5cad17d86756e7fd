"""Figure 2 from the paper's own first-token scores and answers, and from its human labels.

The published figures are of 414 questions. The data here are the paper's training part, 331 of them; the rest is kept
aside. Level medium, shuffle 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.classifier import readers
from lm_eval_ext.classifier.availability import ReaderError
from lm_eval_ext.classifier.labelled import labelled_row
from lm_eval_ext.classifier.reading import Reading
from lm_eval_ext.families.paired_mcq.filters import as_json
from lm_eval_ext.families.paired_mcq.scores import score
from tests.families.jsonl import read_jsonl

Row = Mapping[str, Any]
MODELS = ("llama2-7b", "llama2-13b", "llama2-70b", "mixtral")
ANSWERS = (331, 331, 331, 326)


@pytest.fixture(scope="module")
def answers(shared_data: Path) -> list[Row]:
    return [*read_jsonl(shared_data / "mcq" / "mismatch_train.jsonl")]


def figures(rows: Sequence[Row], readings: Sequence[Reading]) -> tuple[list[int], list[int]]:
    """Return how many answers of each model are mismatches, and how many are refusals."""
    mismatches, refusals = Counter[str](), Counter[str]()
    for row, reading in zip(rows, readings, strict=True):
        texts = [option["text"] for option in row["options"]]
        document = {"key": row["question"], "shuffle": 0, "options": texts, "gold": ""}
        # As the harness hands over log-likelihoods: each with whether it is the most probable text.
        found = score(
            document, [*((value, False) for value in row["first_token_scores"].values()), as_json(reading)], ("",)
        )
        mismatches[row["model"]] += found["mismatch"] == 1
        refusals[row["model"]] += found["refusal"] == 1
    return [mismatches[model] for model in MODELS], [refusals[model] for model in MODELS]


def test_there_are_331_answers_of_each_model(answers: Sequence[Row]) -> None:
    assert tuple(Counter(row["model"] for row in answers)[model] for model in MODELS) == ANSWERS


def test_the_letter_of_the_most_probable_token_is_the_letter_with_the_highest_published_score(
    answers: Sequence[Row],
) -> None:
    """So the paper scored the token that the model writes."""
    tops = [row for row in answers if (row["max_first_token"] or "").strip() in row["first_token_scores"]]
    assert Counter(row["model"] for row in tops) == {"llama2-7b": 46, "llama2-70b": 228}
    for row in tops:
        scores = row["first_token_scores"]
        assert max(scores, key=scores.__getitem__) == row["max_first_token"].strip()


def test_the_mismatches_from_the_human_labels(answers: Sequence[Row]) -> None:
    labels = [labelled_row("mismatch_train", row).label for row in answers]
    assert figures(answers, labels) == ([200, 150, 58, 65], [174, 92, 38, 52])


def read(answers: Sequence[Row], name: str) -> list[Reading]:
    try:
        readers.require(name)
    except ReaderError as error:
        pytest.skip(str(error))
    reader: Callable[..., list[Reading]] = readers.reader(name)
    return reader([labelled_row("mismatch_train", row).answer for row in answers])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # The encoder takes seconds to read all that the rules leave to it.
        pytest.param("default", ([199, 149, 58, 65], [172, 93, 38, 49]), marks=pytest.mark.slow),
        ("rules", ([201, 151, 58, 68], [167, 92, 37, 32])),
        # A reader that knows only letters followed by a period sees hardly any refusal.
        ("string_match", ([268, 191, 96, 77], [0, 1, 0, 7])),
    ],
)
def test_the_mismatches_by_each_reader(
    answers: Sequence[Row], name: str, expected: tuple[list[int], list[int]]
) -> None:
    assert figures(answers, read(answers, name)) == expected
