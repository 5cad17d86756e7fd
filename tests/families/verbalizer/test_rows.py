"""Which rows are evaluated and which are few-shot examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from lm_eval_ext.families.verbalizer.rows import (
    DATASETS,
    GOLDEN,
    Classification,
    Selection,
    demonstrations,
    evaluation_rows,
    rows_hash,
    usable_rows,
)
from lm_eval_ext.sources import HubDataset, RowsError
from tests.families.jsonl import write_jsonl
from tests.families.verbalizer.table_1 import GOLDEN_NAMES
from tests.families.verbalizer.test_prompts import ROWS as SHOWN
from tests.test_hub import DATASETS as OF_HUB
from tests.test_hub import Dataset

COLUMNS = {dataset: tuple(sorted(row)) for dataset, row in SHOWN.items()}


def selection(dataset: str, source: str) -> Selection:
    return Selection(DATASETS[dataset], COLUMNS[dataset], GOLDEN_NAMES[dataset], source)


def text(dataset: str, row: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(" ".join(row[column].lower().split()) for column in COLUMNS[dataset])


@pytest.mark.parametrize("dataset", DATASETS)
def test_real_rows_give_100_evaluation_rows_with_the_two_golden_labels(dataset: str, real_rows: str) -> None:
    rows = evaluation_rows(selection(dataset, real_rows))
    assert len(rows) == 100
    labels = Counter(row[GOLDEN] for row in rows)
    assert set(labels) == set(GOLDEN_NAMES[dataset])
    names = DATASETS[dataset].labels
    assert names is not None
    assert all(names[row["label"]] == row[GOLDEN] for row in rows)


@pytest.mark.parametrize("dataset", DATASETS)
@pytest.mark.parametrize("source", ["real", "embedded"])
def test_few_shot_examples_are_fixed_balanced_and_never_evaluated(dataset: str, source: str, real_rows: str) -> None:
    chosen = selection(dataset, real_rows if source == "real" else "embedded")
    evaluated = {text(dataset, row) for row in evaluation_rows(chosen)}
    four = demonstrations(chosen, 4)
    assert Counter(row[GOLDEN] for row in four) == dict.fromkeys(GOLDEN_NAMES[dataset], 2)
    assert len({text(dataset, row) for row in four}) == 4
    assert not evaluated & {text(dataset, row) for row in four}
    assert demonstrations(chosen, 6)[:4] == four
    more = demonstrations(chosen, 18)
    assert not evaluated & {text(dataset, row) for row in more}


@pytest.mark.parametrize(
    ("dataset", "row_seeds"),
    [("sst2", range(5)), *(pytest.param(name, range(50), marks=pytest.mark.slow) for name in DATASETS)],
)
def test_under_every_row_seed_labels_and_lengths_are_those_of_the_split(
    dataset: str, row_seeds: range, real_rows: str
) -> None:
    whole = evaluation_rows(replace(selection(dataset, real_rows), rows=None))
    labels, length = Counter(row[GOLDEN] for row in whole), mean_length(dataset, whole)
    for row_seed in row_seeds:
        found = evaluation_rows(replace(selection(dataset, real_rows), row_seed=row_seed))
        for label, count in Counter(row[GOLDEN] for row in found).items():
            assert abs(count - 100 * labels[label] / len(whole)) <= 1, (row_seed, label)
        assert mean_length(dataset, found) == pytest.approx(length, rel=0.05), row_seed


def mean_length(dataset: str, rows: Sequence[Mapping[str, Any]]) -> float:
    return fmean(len(row[column]) for row in rows for column in COLUMNS[dataset])


@pytest.mark.parametrize("dataset", DATASETS)
def test_a_row_seed_draws_other_rows_and_few_shot_examples_of_the_same_parts(dataset: str, real_rows: str) -> None:
    default = selection(dataset, real_rows)
    fresh = [replace(default, row_seed=row_seed) for row_seed in (0, 7)]
    assert len({rows_hash(each) for each in (default, *fresh)}) == 3
    for each in fresh:
        evaluated = {text(dataset, row) for row in evaluation_rows(each)}
        assert len(evaluation_rows(each)) == 100
        assert {row[GOLDEN] for row in evaluation_rows(each)} == set(GOLDEN_NAMES[dataset])
        assert not evaluated & {text(dataset, row) for row in demonstrations(each, 18)}
        # The held-out part stays held out, for models that were trained on the rest.
        assert usable_rows(each) == usable_rows(default)


def test_the_held_out_fifth_of_fp_shares_no_row_with_its_few_shot_examples(tmp_path: Path) -> None:
    rows = [{"sentence": f"sentence {number}", "label": number % 3} for number in range(1000)]
    write_jsonl(tmp_path / "fp_train.jsonl", rows)
    chosen = selection("fp", str(tmp_path))
    evaluated = {row["sentence"] for row in evaluation_rows(chosen)}
    # 1,000 rows: 200 held out, two thirds of them positive or negative; 800 left, 533 of them usable.
    demonstrating = {row["sentence"] for row in demonstrations(chosen, 400)}
    assert len(demonstrating) == 400
    assert not evaluated & demonstrating
    # Nor do held-out rows demonstrate that are not evaluated: with them there would be about 667 - 100 = 567.
    with pytest.raises(RowsError, match="--num_fewshot 545 asks for more"):
        demonstrations(chosen, 545)


@pytest.mark.parametrize("dataset", OF_HUB, ids=lambda dataset: dataset.name)
def test_a_label_number_means_what_the_dataset_says(dataset: Dataset) -> None:
    rows = evaluation_rows(selection(dataset.name, "embedded"))
    assert {row["label"]: row[GOLDEN] for row in rows} == dataset.labels


def test_the_draw_is_over_all_rows_and_never_changes(tmp_path: Path) -> None:
    drawn = [int(row["text"].removeprefix("text ")) for row in evaluation_rows(toy(tmp_path, numbered(1000), []))]
    # Of 1,000 rows a tenth each hundred, about; and these very ones, or published scores would mean something else.
    assert all(2 <= sum(low <= number < low + 100 for number in drawn) <= 20 for low in range(0, 1000, 100))
    assert drawn[:5] == [127, 67, 59, 712, 928]


def toy(tmp_path: Path, evaluation: list[dict[str, object]], train: list[dict[str, object]]) -> Selection:
    for split, rows in (("test", evaluation), ("train", train)):
        write_jsonl(tmp_path / f"toy_{split}.jsonl", rows)
    dataset = Classification("toy", HubDataset("nobody/toy"), "test", labels=("no", "maybe", "yes"), unlabelled=-1)
    return Selection(dataset, ("text",), ("yes", "no"), str(tmp_path))


def numbered(count: int, label: object = 0) -> list[dict[str, object]]:
    return [{"text": f"text {number}", "label": label} for number in range(count)]


def test_rows_with_other_or_no_labels_are_left_out(tmp_path: Path) -> None:
    rows = [
        {"text": f"{name} {number}", "label": label}
        for name, label in (("no", 0), ("maybe", 1), ("yes", 2), ("none", -1))
        for number in range(50)
    ]
    evaluated = evaluation_rows(toy(tmp_path, rows, []))
    assert Counter(row[GOLDEN] for row in evaluated) == {"no": 50, "yes": 50}
    assert all(row["text"].startswith(row[GOLDEN]) for row in evaluated)


def test_the_draw_does_not_depend_on_the_order_of_the_golden_labels(tmp_path: Path) -> None:
    one = toy(tmp_path, numbered(300), [])
    other = Selection(one.dataset, one.text_columns, one.golden[::-1], one.source)
    assert evaluation_rows(one) == evaluation_rows(other)


def test_labels_may_be_names(tmp_path: Path) -> None:
    evaluated = evaluation_rows(toy(tmp_path, numbered(100, "yes"), []))
    assert {row[GOLDEN] for row in evaluated} == {"yes"}


@pytest.mark.parametrize("count", [0, 1, 99])
def test_fewer_than_100_rows_are_an_error_with_the_count(tmp_path: Path, count: int) -> None:
    rows = [*numbered(count), {"text": "other", "label": 1}]
    message = rf"toy_test\.jsonl: {count} rows with a label among yes, no; expected at least 100"
    with pytest.raises(RowsError, match=message):
        evaluation_rows(toy(tmp_path, rows, []))


@pytest.mark.parametrize("label", [3, -2, "nope", None, True, 0.0])
def test_an_unknown_label_is_named_by_file_row_and_field(tmp_path: Path, label: object) -> None:
    rows = [*numbered(100), {"text": "odd", "label": label}]
    with pytest.raises(RowsError, match=r"toy_test\.jsonl, row 101, field 'label': (unknown|expected a) label"):
        evaluation_rows(toy(tmp_path, rows, []))


def test_a_label_that_contradicts_its_row_is_an_error(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{**row, "label_text": "no"} for row in numbered(120)]
    assert len(evaluation_rows(toy(tmp_path, rows, []))) == 100
    (tmp_path / "swapped").mkdir()
    rows[7]["label_text"] = "yes"
    with pytest.raises(RowsError, match=r"row 8, field 'label': 0 means 'no' here, .* label_text is 'yes'"):
        evaluation_rows(toy(tmp_path / "swapped", rows, []))


def test_too_few_training_rows_for_the_requested_shots_are_an_error(tmp_path: Path) -> None:
    train = [{"text": "a", "label": 0}, {"text": "b", "label": 0}, {"text": "c", "label": 2}]
    chosen = toy(tmp_path, numbered(100), train)
    assert len(demonstrations(chosen, 2)) == 2
    with pytest.raises(RowsError, match=r"--num_fewshot 4 asks for more few-shot examples than the 2"):
        demonstrations(chosen, 4)


def test_training_rows_with_the_text_of_an_evaluated_row_or_of_another_example_are_not_examples(tmp_path: Path) -> None:
    train = [{"text": "TEXT  5", "label": 0}, {"text": "new", "label": 0}, {"text": "newer", "label": 2}]
    train += [{"text": " New", "label": 2}] * 9
    assert {row["text"] for row in demonstrations(toy(tmp_path, numbered(100), train), 2)} == {"new", "newer"}
