"""From recorded predictions to means: which rows count, and the errors for invalid ones."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from lm_eval_ext.families.natural_instructions.predictions import score
from lm_eval_ext.sources import RowsError
from tests.families.natural_instructions.task_files import CASES


def row(prediction: str | None, *references: str, task: str = "t", encoding: Any = "e") -> dict[str, Any]:
    return {"task": task, "encoding": encoding, "prediction": prediction, "references": list(references)}


def scored(*rows: Mapping[str, Any], base: str | None = None) -> dict[str, Any]:
    return score([json.dumps(one).encode() + b"\n" for one in rows], "rows.jsonl", base=base)


QA, ALSO_QA = "subtask002_quoref_answer_generation", "subtask033_winogrande_answer_generation"


def test_means_are_per_task_and_encoding_and_weight_tasks_equally() -> None:
    found = scored(
        row("a cat", "a cat", task="u"),  # 1
        row("a cat", "a cat"),  # 1
        row("a dog", "a cat"),  # LCS 1 of 2 and 2: 1/2
        row("dog", "cat"),  # 0
        row("cat", "the cat", encoding="f"),  # precision 1, recall 1/2: 2/3
    )
    assert found["rouge_l"] == {"t": {"e": 0.5, "f": pytest.approx(2 / 3)}, "u": {"e": 1.0}}
    assert found["rows"] == {"t": {"e": 3, "f": 1}, "u": {"e": 1}}
    # e: the mean of 1/2 and 1, and not of the four rows (5/8); f: of the one task that has it.
    assert found["encodings"] == {"e": 0.75, "f": pytest.approx(2 / 3)}
    assert (found["scored"], found["skipped"]) == (5, 0)


def test_bleurt_has_the_same_means() -> None:
    asked: list[Sequence[str]] = []

    def length(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
        assert all(references)
        asked.append(predictions)
        return [len(prediction) / 10 for prediction in predictions]

    rows = [
        row("<think>no</think>cats", "a", task="u"),  # 0.4
        row("cat", "a"),  # 0.3
        row("dogs", "a"),  # 0.4
        row(None, "a", encoding="f"),  # 0
        {**row("unknown"), "references": None},
    ]
    found = score([json.dumps(one).encode() for one in rows], "rows.jsonl", length)
    assert found["bleurt"] == {"t": {"e": pytest.approx(0.35), "f": 0.0}, "u": {"e": 0.4}}
    assert found["encodings_bleurt"] == {"e": pytest.approx(0.375), "f": 0.0}
    assert asked == [["cats"], ["cat", "dogs"], [""]]
    assert (found["scored"], found["skipped"]) == (4, 1)


def test_an_encoding_is_a_string_or_a_list_of_parts() -> None:
    found = scored(*(row("cat", "cat", encoding=of) for of in ("prompt", ["Prompt"], ["Prompt", "Definition"])))
    assert found["encodings"] == {"Prompt": 1.0, "Prompt + Definition": 1.0, "prompt": 1.0}


def test_gains_are_relative_and_over_the_tasks_of_a_category_that_have_both_encodings() -> None:
    half, whole = row("a dog", "a cat"), row("a cat", "a cat")  # 1/2 and 1
    rows = [
        *(half | {"task": task, "encoding": "base"} for task in (QA, ALSO_QA, "mine")),
        half | {"task": QA, "encoding": "all"},
        whole | {"task": ALSO_QA, "encoding": "all"},
        whole | {"task": "mine", "encoding": "other"},
        whole | {"task": "yours", "encoding": "all"},  # it has no base
        row("dog", "cat", task="zero", encoding="base"),
        row("cat", "cat", task="zero", encoding="zeroed"),
    ]
    found = scored(*rows, base="base")
    assert found["categories"] == {
        "answer_generation": {"base": 0.5, "all": 0.75},
        # No category of the paper's.
        "uncategorised": {"base": 0.25, "other": 1.0, "all": 1.0, "zeroed": 1.0},
    }
    # all: (3/4 - 1/2) / (1/2); other: (1 - 1/2) / (1/2); there is no gain over 0.
    assert found["category_gains"] == {
        "answer_generation": {"base": 0.0, "all": 50.0},
        "uncategorised": {"base": 0.0, "other": 100.0, "zeroed": None},
    }
    assert found["gains"] == {"base": 0.0, "all": 50.0, "other": 100.0, "zeroed": None}


def test_without_a_base_there_are_no_gains_and_an_unknown_base_is_named() -> None:
    found = scored(row("cat", "cat"))
    assert found["gains"] is found["category_gains"] is None
    message = r"^rows.jsonl: no scored row has the base encoding 'Prompt'; found 'e' \(--bas"
    with pytest.raises(RowsError, match=message):
        scored(row("cat", "cat"), base="Prompt")


def test_rows_without_an_encoding_are_scored() -> None:
    bare = {key: value for key, value in row("cat", "cat", task=QA).items() if key != "encoding"}
    found = scored(bare, {**bare, "prediction": "dog"})
    assert found["rouge_l"] == {QA: {"not stated": 0.5}}
    assert found["categories"] == {"answer_generation": {"not stated": 0.5}}


def test_two_numbers_of_examples_are_not_mixed() -> None:
    few, many, plain = row("cat", "cat") | {"n_examples": 2}, row("cat", "cat") | {"n_examples": 46}, row("cat", "cat")
    assert scored(few, many | {"encoding": "f"}, few)["scored"] == 3
    for mixed in ([few, few, many], [plain, plain, few]):
        message = r"row 3, field 'n_examples': (46|2), but (2|None) in the first row of t, e"
        with pytest.raises(RowsError, match=message):
            scored(*mixed)


@pytest.mark.parametrize("without", [{"references": None}, {"references": []}, {}])
def test_rows_without_references_are_skipped_and_counted(without: dict[str, Any]) -> None:
    unscored = {key: value for key, value in row("dog").items() if key != "references"} | without
    found = scored(unscored, row("cat", "cat"), unscored | {"task": "u"})
    assert found["rouge_l"] == {"t": {"e": 1.0}}
    assert (found["scored"], found["skipped"]) == (1, 2)


@pytest.mark.parametrize(("prediction", "expected", "_empty"), CASES["answers"])
def test_reasoning_is_not_part_of_the_answer(prediction: str | None, expected: float, _empty: float) -> None:
    assert scored(row(prediction, "gone"))["encodings"] == {"e": expected}


def test_the_means_do_not_depend_on_the_order_of_the_rows() -> None:
    words = ["the", "cat", "sat", "on", "a", "mat"]
    chosen = random.Random(0)  # noqa: S311 # reproducible by design
    rows = [
        row(" ".join(chosen.choices(words, k=5)), " ".join(words), task=f"t{number % 7}", encoding=f"e{number % 3}")
        for number in range(300)
    ]
    assert scored(*rows) == scored(*rows[::-1])
    assert list(scored(*rows[::-1])["encodings"]) == ["e0", "e1", "e2"]


@pytest.mark.parametrize(("line", "complaint"), CASES["wrong_predictions"])
def test_a_bad_row_is_named_with_its_file_and_line(line: str, complaint: str) -> None:
    good = json.dumps(row("x", "x")).encode()
    with pytest.raises(RowsError, match=f"^rows.jsonl, row 3{complaint}"):
        score([good, b"\n", line.encode()], "rows.jsonl")  # a blank line is none, but counts in the numbering


@pytest.mark.parametrize("lines", [[], [b"\n", b"  \n"]])
def test_a_file_without_rows_is_an_error(lines: list[bytes]) -> None:
    with pytest.raises(RowsError, match=r"^rows.jsonl: no rows$"):
        score(lines, "rows.jsonl")
