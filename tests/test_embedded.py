"""The rows written for this project: enough, balanced, without duplicates, none taken from the real datasets."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.natural_instructions.scores import has_words
from lm_eval_ext.families.natural_instructions.subtasks import EVALUATION
from lm_eval_ext.families.verbalizer.rows import DATASETS
from lm_eval_ext.sources import EMBEDDED_FOLDER
from tests.sampling import sampled
from tests.tables import tables

TABLES = tables(__file__)
LAYOUT = TABLES["layout"]
MANYIFEVAL = TABLES["manyifeval"]
MULTIPLE_CHOICE = TABLES["multiple choice"]
EXAMPLES = TABLES["examples"]
SUBTASKS = (*EVALUATION, *TABLES["other subtasks"])
INSTRUCTIONS = EMBEDDED_FOLDER / "natural_instructions"
LETTERS_AND_DIGITS = re.compile(r"[^\W_]+")


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
    return [word.lower() for word in LETTERS_AND_DIGITS.findall(text)]


@cache
def bag(text: str) -> frozenset[str]:
    return frozenset(words(text))


@cache
def runs(text: str, length: int) -> frozenset[tuple[str, ...]]:
    found = words(text)
    return frozenset(zip(*(found[start:] for start in range(length)), strict=False))


def runs_of(texts: Iterable[str], length: int) -> frozenset[tuple[str, ...]]:
    return frozenset().union(*(runs(text, length) for text in texts))


def are_near(one: frozenset[str], other: frozenset[str], near: float) -> bool:
    """Return whether two bags of words have at least that share of their words in common (Jaccard's index)."""
    if min(len(one), len(other)) < near * max(len(one), len(other)):
        return False
    common = len(one & other)
    return common >= near * (len(one) + len(other) - common)


def require_distinct(texts: Sequence[str], run: int) -> None:
    """Fail if two texts have half of their words in common, or so many words in a row."""
    for one, other in combinations(texts, 2):
        assert not are_near(bag(one), bag(other), 0.5), (one, other)
    texts_with = Counter(chain.from_iterable(runs(text, run) for text in texts))
    assert [found for found, count in texts_with.items() if count > 1] == []


def require_own(texts: Sequence[str], real: Sequence[str], run: int, near: float = 0.5) -> None:
    """Fail if a text has so many words in a row, or that share of its words, in common with a real one."""
    real_runs = runs_of(real, run)
    real_bags = [bag(other) for other in real]
    for text in texts:
        assert not runs(text, run) & real_runs, text
        words_of_text = bag(text)
        assert not any(are_near(words_of_text, other, near) for other in real_bags), text


def test_exactly_the_expected_files_are_embedded() -> None:
    expected = {f"{name}_{split}.jsonl" for name in LAYOUT for split in (DATASETS[name].evaluation_split, "train")}
    expected |= {f"manyifeval_{split}.jsonl" for split in MANYIFEVAL}
    expected |= {f"{name}_{split}.jsonl" for name, (split, _, _) in MULTIPLE_CHOICE.items()}
    expected |= {"ifbench_test.jsonl", "ifbench_two_turns_test.jsonl", "ifeval_train.jsonl", "multi_if_train.jsonl"}
    expected.add("natural_instructions")
    assert {path.name for path in EMBEDDED_FOLDER.iterdir()} == expected


@pytest.mark.parametrize("dataset", LAYOUT)
def test_there_are_enough_balanced_rows_with_the_hubs_columns(dataset: str) -> None:
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
    require_distinct(all_texts(dataset), 6)


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


@pytest.mark.parametrize("dataset", sampled(LAYOUT, 9))
def test_no_row_is_taken_from_the_real_dataset(dataset: str, shared_data: Path) -> None:
    columns, _ = LAYOUT[dataset]
    real = [
        " ".join(row[column] for column in columns)
        for path in sorted((shared_data / "classification").glob(f"{dataset}_*.jsonl"))
        for row in rows(path)
    ]
    assert len(real) > 1000
    # Ten words in a row are nobody's stock phrase.
    require_own(all_texts(dataset), real, 10)


def task_prompts() -> dict[str, list[dict[str, Any]]]:
    return {split: rows(EMBEDDED_FOLDER / f"manyifeval_{split}.jsonl") for split in MANYIFEVAL}


def test_there_are_enough_task_prompts_with_their_own_keys() -> None:
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
    require_distinct([row["task_prompt"] for found in task_prompts().values() for row in found], 7)


def test_no_task_prompt_is_taken_from_the_real_ones(shared_data: Path) -> None:
    real = [row["prompt"] for row in rows(shared_data / "ifeval" / "ifeval_input_data.jsonl")]
    assert len(real) == 541
    require_own([row["task_prompt"] for found in task_prompts().values() for row in found], real, 8)


def questions(name: str) -> list[dict[str, Any]]:
    return rows(EMBEDDED_FOLDER / f"{name}_{MULTIPLE_CHOICE[name][0]}.jsonl")


def options(row: dict[str, Any]) -> list[str]:
    """Return a question's options, in whichever columns its dataset has them."""
    found: list[str] = row["options"] if "options" in row else row["choices"]
    return found["text"] if isinstance(found, dict) else found


@pytest.mark.parametrize("name", MULTIPLE_CHOICE)
def test_there_are_enough_questions_with_their_datasets_columns(name: str) -> None:
    _, least, columns = MULTIPLE_CHOICE[name]
    assert len(questions(name)) >= least
    for row in questions(name):
        assert list(row) == columns
        assert row["question"].strip()
        assert 2 <= len(options(row)) == len({option.strip().casefold() for option in options(row)})


def test_the_correct_letters_of_the_factual_questions_are_spread() -> None:
    for name in ("arc_challenge", "commonsense_qa", "mmlu"):
        right = [
            row["answer"] if name == "mmlu" else row["choices"]["label"].index(row["answerKey"])
            for row in questions(name)
        ]
        counts = Counter(right)
        assert set(counts) == set(range(len(options(questions(name)[0])))), name
        assert max(counts.values()) <= len(right) / 2, name


def test_no_two_questions_are_near_duplicates() -> None:
    require_distinct([row["question"] for name in MULTIPLE_CHOICE for row in questions(name)], 8)


def test_no_opinion_question_is_taken_from_the_real_survey(shared_data: Path) -> None:
    real = [row["question"] for row in rows(shared_data / "mcq" / "opinionqa_questions.jsonl")]
    assert len(real) == 414
    require_own([row["question"] for row in questions("opinionqa")], real, 10, near=0.6)


# Natural Instructions


@cache
def subtask(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((INSTRUCTIONS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def inputs(name: str) -> list[str]:
    """Return the inputs of a subtask's instances and examples."""
    content = subtask(name)
    given = [*content["Instances"], *(example for kind in EXAMPLES for example in content["Examples"][kind])]
    return [each["input"] for each in given]


def strings(value: object) -> Iterator[str]:
    """Yield every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def test_exactly_fourteen_subtasks_are_embedded() -> None:
    assert len(SUBTASKS) == 14
    assert {path.name for path in INSTRUCTIONS.iterdir()} == {f"{name}.json" for name in SUBTASKS}


@pytest.mark.parametrize("name", SUBTASKS)
def test_a_subtask_has_all_fields_of_version_1_and_enough_examples_and_instances(name: str) -> None:
    content = subtask(name)
    assert set(content) == {*TABLES["instruction"], "Examples", "Instances"}
    assert set(content["Examples"]) == set(EXAMPLES)
    for kind, (least, fields) in EXAMPLES.items():
        assert len(content["Examples"][kind]) >= least
        assert {tuple(example) for example in content["Examples"][kind]} == {tuple(fields)}
    assert len(content["Instances"]) >= 20
    for instance in content["Instances"]:
        assert set(instance) == {"input", "output"}
        assert instance["output"]
    # "-" is what a file has where there is nothing; and a blank line would end an answer before its end.
    assert not [text for text in strings(content) if not text.strip(" -") or "\n\n" in text]


@pytest.mark.parametrize("name", SUBTASKS)
def test_references_are_visible_to_rouge_and_distinct_within_an_instance(name: str) -> None:
    for instance in subtask(name)["Instances"]:
        assert all(map(has_words, instance["output"])), instance
        assert len({tuple(words(reference)) for reference in instance["output"]}) == len(instance["output"]), instance


@pytest.mark.parametrize("name", TABLES["yes or no"])
def test_yes_and_no_answers_are_balanced(name: str) -> None:
    counts = Counter(tuple(instance["output"]) for instance in subtask(name)["Instances"])
    assert set(counts) == {("Yes.",), ("No.",)}
    assert len(set(counts.values())) == 1
    shown = {example["output"] for kind in EXAMPLES for example in subtask(name)["Examples"][kind]}
    assert {"Yes.", "No."} <= shown


def asked(one: str, other: str) -> tuple[str, str]:
    """Return two inputs, or only what each asks where they ask it of one passage, as examples may."""
    passage, question, _ = one.partition("\nQuestion: ")
    if question and other.startswith(passage + question):
        return one.removeprefix(passage), other.removeprefix(passage)
    return one, other


@pytest.mark.parametrize("name", SUBTASKS)
def test_no_two_inputs_of_a_subtask_are_near_duplicates(name: str) -> None:
    instances = len(subtask(name)["Instances"])
    texts = inputs(name)
    for (number, one), (_, other) in combinations(enumerate(texts), 2):
        require_distinct(asked(one, other) if number >= instances else (one, other), 8)


@cache
def real_runs_of_instructions(folder: Path) -> frozenset[tuple[str, ...]]:
    """Return all runs of ten words in the real tasks and the published prompts."""
    contents = [json.loads(path.read_text(encoding="utf-8")) for path in sorted((folder / "eval_tasks").glob("*.json"))]
    assert len(contents) == 11
    contents += rows(folder / "tasks_instructions_first20.jsonl") + rows(folder / "gpt3_encoded_prompt_samples.jsonl")
    return runs_of(strings(contents), 10)


@pytest.mark.parametrize("name", sampled(SUBTASKS, 7))
def test_no_text_of_a_subtask_is_taken_from_the_real_ones(name: str, shared_data: Path) -> None:
    real = real_runs_of_instructions(shared_data / "natural_instructions")
    assert len(real) > 300_000
    assert not [text for text in strings(subtask(name)) if runs(text, 10) & real]
