"""The rows written for this project: enough, balanced, no two alike, none taken from the real datasets."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.verbalizer.datasets import DATASETS
from lm_eval_ext.sources import EMBEDDED_FOLDER

# dataset -> its text columns, the two labels of Table 1
LAYOUT = {
    "sst2": (("sentence",), (0, 1)),
    "fp": (("sentence",), (0, 2)),
    "emotion": (("text",), (0, 1)),
    "snli": (("premise", "hypothesis"), (0, 2)),
    "sick": (("sentence_A", "sentence_B"), (0, 2)),
    "rte": (("sentence1", "sentence2"), (0, 1)),
    "qqp": (("question1", "question2"), (0, 1)),
    "mrpc": (("sentence1", "sentence2"), (0, 1)),
    "subj": (("text",), (0, 1)),
}

# split of manyifeval -> its task prompts
MANYIFEVAL = {"test": 100, "train": 10, "fewshot": 6}

# multiple-choice dataset -> its split, least number of questions, columns
MULTIPLE_CHOICE = {
    "opinionqa": ("test", 60, ("question", "options", "option_ordinal")),
    "arc_challenge": ("test", 14, ("id", "question", "choices", "answerKey")),
    "commonsense_qa": ("validation", 14, ("id", "question", "question_concept", "choices", "answerKey")),
    "mmlu": ("test", 14, ("question", "subject", "choices", "answer")),
}


@cache
def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def embedded(dataset: str) -> dict[str, list[dict[str, Any]]]:
    evaluation = DATASETS[dataset].evaluation_split
    return {split: rows(EMBEDDED_FOLDER / f"{dataset}_{split}.jsonl") for split in (evaluation, "train")}


def all_texts(dataset: str) -> list[str]:
    columns, _ = LAYOUT[dataset]
    return [" ".join(row[column] for column in columns) for split in embedded(dataset).values() for row in split]


def words(text: str) -> list[str]:
    return "".join(character.lower() if character.isalnum() else " " for character in text).split()


def runs(text: str, length: int) -> set[tuple[str, ...]]:
    found = words(text)
    return {tuple(found[start : start + length]) for start in range(len(found) - length + 1)}


def jaccard(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other)


def test_nine_datasets_task_prompts_and_four_sets_of_questions_are_embedded_and_nothing_else() -> None:
    expected = {f"{name}_{split}.jsonl" for name in LAYOUT for split in (DATASETS[name].evaluation_split, "train")}
    expected |= {f"manyifeval_{split}.jsonl" for split in MANYIFEVAL}
    expected |= {f"{name}_{split}.jsonl" for name, (split, _, _) in MULTIPLE_CHOICE.items()}
    assert {path.name for path in EMBEDDED_FOLDER.iterdir()} == expected


@pytest.mark.parametrize("dataset", LAYOUT)
def test_there_are_enough_rows_balanced_in_the_hubs_columns(dataset: str) -> None:
    columns, labels = LAYOUT[dataset]
    evaluation, train = embedded(dataset).values()
    for split, least in ((evaluation, 120), (train, 20)):
        counts = Counter(row["label"] for row in split)
        assert set(counts) == set(labels)
        assert len(set(counts.values())) == 1
        assert len(split) >= least
        for row in split:
            assert tuple(row) == (*columns, "label")
            assert all(row[column].strip() for column in columns)


@pytest.mark.parametrize("dataset", LAYOUT)
def test_no_two_rows_are_near_duplicates(dataset: str) -> None:
    texts = all_texts(dataset)
    bags = [set(words(text)) for text in texts]
    long_runs = [runs(text, 6) for text in texts]
    for one, other in combinations(range(len(texts)), 2):
        assert jaccard(bags[one], bags[other]) < 0.5, (texts[one], texts[other])
        assert not long_runs[one] & long_runs[other], (texts[one], texts[other])


@pytest.mark.parametrize("dataset", LAYOUT)
def test_the_length_of_a_pair_does_not_tell_its_label(dataset: str) -> None:
    columns, labels = LAYOUT[dataset]
    evaluation, _ = embedded(dataset).values()
    lengths = [
        [sum(len(words(row[column])) for column in columns) for row in evaluation if row["label"] == label]
        for label in labels
    ]
    pairs = [(one, other) for one in lengths[0] for other in lengths[1]]
    # The chance that a row of one label is longer than one of the other; 0.5 tells nothing.
    longer = sum((one > other) + (one == other) / 2 for one, other in pairs) / len(pairs)
    assert 0.3 < longer < 0.7


@pytest.mark.parametrize("dataset", LAYOUT)
def test_no_row_is_taken_from_the_real_dataset(dataset: str, shared_data: Path) -> None:
    columns, _ = LAYOUT[dataset]
    real = [
        " ".join(row[column] for column in columns)
        for path in sorted((shared_data / "classification").glob(f"{dataset}_*.jsonl"))
        for row in rows(path)
    ]
    assert len(real) > 1000
    bags = [set(words(text)) for text in real]
    ours = [set(words(text)) for text in all_texts(dataset)]
    assert max(jaccard(one, other) for one in ours for other in bags) < 0.5
    # Ten words in a row are nobody's stock phrase.
    real_runs = set().union(*(runs(text, 10) for text in real))
    assert not [text for text in all_texts(dataset) if runs(text, 10) & real_runs]


def task_prompts() -> dict[str, list[dict[str, Any]]]:
    return {split: rows(EMBEDDED_FOLDER / f"manyifeval_{split}.jsonl") for split in MANYIFEVAL}


def test_there_are_enough_task_prompts_with_keys_of_their_own() -> None:
    assert {split: len(found) for split, found in task_prompts().items()} == MANYIFEVAL
    everything = [row for found in task_prompts().values() for row in found]
    assert [row["key"] for row in everything] == sorted({row["key"] for row in everything})
    for row in everything:
        assert tuple(row) == ("key", "task_prompt")
        text = row["task_prompt"]
        assert text == " ".join(text.split())
        assert text[0].isupper()
        assert text[-1] in ".?!"


def test_no_two_task_prompts_are_near_duplicates() -> None:
    texts = [row["task_prompt"] for found in task_prompts().values() for row in found]
    for one, other in combinations(texts, 2):
        assert jaccard(set(words(one)), set(words(other))) < 0.5, (one, other)
        assert not runs(one, 7) & runs(other, 7), (one, other)


def test_no_task_prompt_is_taken_from_the_real_ones(shared_data: Path) -> None:
    real = [row["prompt"] for row in rows(shared_data / "ifeval" / "ifeval_input_data.jsonl")]
    assert len(real) == 541
    real_runs = set().union(*(runs(text, 8) for text in real))
    bags = [set(words(text)) for text in real]
    for row in (row for found in task_prompts().values() for row in found):
        assert not runs(row["task_prompt"], 8) & real_runs, row
        assert max(jaccard(set(words(row["task_prompt"])), bag) for bag in bags) < 0.5, row


def questions(name: str) -> list[dict[str, Any]]:
    return rows(EMBEDDED_FOLDER / f"{name}_{MULTIPLE_CHOICE[name][0]}.jsonl")


def options(row: dict[str, Any]) -> list[str]:
    """Return a question's options, in whichever columns its dataset has them."""
    found: list[str] = row["options"] if "options" in row else row["choices"]
    return found["text"] if isinstance(found, dict) else found


@pytest.mark.parametrize("name", MULTIPLE_CHOICE)
def test_there_are_enough_questions_in_their_datasets_columns(name: str) -> None:
    _, least, columns = MULTIPLE_CHOICE[name]
    assert len(questions(name)) >= least
    for row in questions(name):
        assert tuple(row) == columns
        assert row["question"].strip()
        assert 2 <= len(options(row)) == len({option.strip().casefold() for option in options(row)})


def test_there_are_sixty_opinions_and_forty_facts() -> None:
    counts = {name: len(questions(name)) for name in MULTIPLE_CHOICE}
    opinions = counts.pop("opinionqa")
    assert opinions >= 60
    assert sum(counts.values()) >= 40


def test_the_right_letters_of_the_factual_questions_are_spread() -> None:
    for name in ("arc_challenge", "commonsense_qa", "mmlu"):
        right = [
            row["answer"] if name == "mmlu" else row["choices"]["label"].index(row["answerKey"])
            for row in questions(name)
        ]
        counts = Counter(right)
        assert set(counts) == set(range(len(options(questions(name)[0])))), name
        assert max(counts.values()) <= len(right) / 2, name


def test_no_two_questions_are_near_duplicates() -> None:
    texts = [row["question"] for name in MULTIPLE_CHOICE for row in questions(name)]
    for one, other in combinations(texts, 2):
        assert jaccard(set(words(one)), set(words(other))) < 0.5, (one, other)
        assert not runs(one, 8) & runs(other, 8), (one, other)


def test_no_opinion_is_asked_as_in_the_real_survey(shared_data: Path) -> None:
    real = [row["question"] for row in rows(shared_data / "mcq" / "opinionqa_questions.jsonl")]
    assert len(real) == 414
    real_runs = set().union(*(runs(text, 10) for text in real))
    bags = [set(words(text)) for text in real]
    for row in questions("opinionqa"):
        assert not runs(row["question"], 10) & real_runs, row
        assert max(jaccard(set(words(row["question"])), bag) for bag in bags) < 0.6, row
