"""The error for an invalid leaf names leaf, key and what was expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest

from lm_eval_ext import tasks_dir
from tests.families.jsonl import write_jsonl
from tests.harness.tasks import make, make_own
from tests.leaves import TOPIC, WRONG_LEAVES

pytestmark = pytest.mark.harness

PROMPT = 'Output "foo" if yes, "bar" if no.\n\nText: {{text}}\n\nAnswer:'
LEAF = {**TOPIC, "task": "toy_leaf", "dataset_path": "toy", "doc_to_text": PROMPT}


def load(folder: Path, changes: dict[str, Any]) -> Any:
    for split in ("train", "test"):
        rows = [{"text": f"{split} text {number}", "label": number % 2} for number in range(100)]
        write_jsonl(folder / f"toy_{split}.jsonl", rows)
    return make_own(folder, LEAF | changes)


def test_the_unmodified_leaf_is_valid(tmp_path: Path) -> None:
    task = load(tmp_path, {})
    doc = task.eval_docs[0]
    assert task.doc_to_target(doc) == {"yes": "foo", "no": "bar"}[doc["golden_label"]]
    # Numbers without declared names count the labels in the leaf's order: 0 is "yes".
    assert doc["golden_label"] == ("yes", "no")[doc["label"]]


@pytest.mark.parametrize(("changes", "message"), WRONG_LEAVES["verbalizer"])
def test_errors_name_the_problem(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(tmp_path, changes)


def test_the_label_column_may_differ_from_an_existing_column_named_label(tmp_path: Path) -> None:
    rows = [{"text": f"text {number}", "topic": "no", "label": 7, "label_text": "en"} for number in range(100)]
    write_jsonl(tmp_path / "other_test.jsonl", rows)
    task = make_own(tmp_path, LEAF | {"dataset_path": "other", "doc_to_target": "topic"})
    assert {doc["golden_label"] for doc in task.eval_docs} == {"no"}


def test_declared_labels_take_precedence_over_the_leafs_order(tmp_path: Path) -> None:
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["no", "yes"])})
    rows = [{"text": f"text {number}", "label": number % 2} for number in range(100)]
    datasets.Dataset.from_list(rows, features=features).to_parquet(str(tmp_path / "declared_test.parquet"))
    # The leaf's doc_to_choice says yes first.
    task = make_own(tmp_path, LEAF | {"dataset_path": "declared"})
    assert all(doc["golden_label"] == ("no", "yes")[doc["label"]] for doc in task.eval_docs)


def test_the_functions_of_templates_are_no_columns(tmp_path: Path) -> None:
    task = load(tmp_path, {"doc_to_text": "{{range(3) | list}} {{text}}"})
    assert task.doc_to_text({"text": "a"}) == "[0, 1, 2] a"


def test_few_shot_examples_may_have_their_own_template(tmp_path: Path) -> None:
    task = load(tmp_path, {"fewshot_config": {"doc_to_text": "Short: {{text}}"}, "training_split": "train"})
    assert task.fewshot_context(task.eval_docs[0], num_fewshot=1).startswith("Short: train text ")
    assert task.doc_to_text({"text": "a"}).endswith("Text: a\n\nAnswer:")


def test_few_shot_examples_without_a_training_split_are_rejected(tmp_path: Path) -> None:
    task = load(tmp_path, {})
    with pytest.raises(ValueError, match="'toy' names no training_split to draw few-shot examples from"):
        task.sampler.sample(4)


@pytest.mark.parametrize("name", ["verbalizer_cot_rte_unnatural_no_yes", "toy_leaf"])
def test_a_chain_of_thought_takes_no_few_shot_examples(tmp_path: Path, name: str) -> None:
    cot = {"include": f"{tasks_dir()}/verbalizer/_cot", "training_split": "train"}
    task = load(tmp_path, cot) if name == "toy_leaf" else make(name)
    task.set_config("num_fewshot", 4)
    with pytest.raises(ValueError, match=rf"task '{name}': --num_fewshot 4; .*Use a task without cot in its name"):
        task.build_all_requests(limit=2)
    task.set_config("num_fewshot", 0)
    task.build_all_requests(limit=2)
    assert len(task.instances) == 2
