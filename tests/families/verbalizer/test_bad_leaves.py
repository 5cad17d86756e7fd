"""The error for an invalid leaf names leaf, key and what was expected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest

from lm_eval_ext import tasks_dir
from tests.families.jsonl import write_jsonl
from tests.harness.tasks import make, make_own
from tests.leaves import TOPIC

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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"doc_to_choice": {"yes": "foo", "no": "foo"}}, r"'toy_leaf'.*gives the word 'foo' to both 'yes' and 'no'"),
        ({"doc_to_choice": {"yes": "Foo", "no": "foo"}}, r"gives the word 'foo' to both"),
        ({"doc_to_choice": {"yes": "not_foo", "no": "not foo"}}, r"gives the word 'not foo' to both"),
        ({"doc_to_choice": {"yes": 1, "no": 0}}, r"'toy_leaf'.*the word 1 at 'yes', which is not text; quote"),
        ({"doc_to_choice": {"yes": True, "no": False}}, r"the word True at 'yes', which is not text; quote"),
        (
            {"doc_to_choice": {True: "foo", False: "bar"}},
            r"the label name (True|False) at .*, which is not text; quote",
        ),
        ({"doc_to_choice": {"yes": "", "no": "bar"}}, r"the word '' at 'yes', which is not text"),
        ({"doc_to_choice": {"yes": "foo"}}, r"doc_to_choice must map two or more golden label names"),
        ({"doc_to_choice": ["foo", "bar"]}, r"doc_to_choice must map two or more golden label names"),
        ({"doc_to_choice": None}, r"doc_to_choice must map two or more golden label names to words"),
        ({"prior": {"yes": "1", "maybe": "0"}}, r"'toy_leaf': prior names .*maybe.*expected the labels .*yes, no"),
        ({"prior": {"yes": "1", "no": "1"}}, r"'toy_leaf': prior gives the word '1' to both"),
        ({"dataset_path": None}, r"'toy_leaf': dataset_path None .*expected one of sst2, fp"),
        ({"test_split": None}, r"'toy_leaf': dataset_path 'toy' with test_split None"),
        ({"doc_to_text": "no field"}, r"'toy_leaf': doc_to_text must be a prompt that shows the row"),
        ({"doc_to_text": "Text: {{body}}"}, r"toy_test\.jsonl has no column 'body'; expected body, label"),
        ({"doc_to_target": "topic"}, r"toy_test\.jsonl has no column 'topic'; expected text, topic"),
        ({"dataset_kwargs": "main"}, r"'toy_leaf': dataset_kwargs 'main'; expected only revision and data_files"),
        ({"dataset_kwargs": {"data_files": "a.parquet"}}, r"'toy_leaf': dataset_kwargs .*expected only revision"),
        ({"dataset_kwargs": {"data_files": {"test": ["a"]}}}, r"'toy_leaf': dataset_kwargs .*expected only revision"),
        ({"dataset_kwargs": {"data_dir": "a"}}, r"'toy_leaf': dataset_kwargs .*data_dir.*expected only revision"),
        ({"dataset_path": "sst2"}, r"'toy_leaf': dataset_path 'sst2' is one of the nine.*remove test_split"),
        ({"doc_to_text": "Text: {{text"}, r"'toy_leaf': doc_to_text is not a valid template"),
        (
            {"filter_list": [{"name": "answer", "filter": [{"function": "verbalizer_answer", "reads": "last"}]}]},
            r"'toy_leaf': verbalizer_answer has reads 'last'; expected one of first, final",
        ),
        ({"naturalness": "un-natural"}, r"'toy_leaf': naturalness 'un-natural'; expected one of natural, neut"),
        ({"verbalizer": 3}, r"'toy_leaf': verbalizer 3; expected a name, or leave it out"),
        ({"filter_list": []}, r"'toy_leaf': no verbalizer_answer in its filter_list"),
    ],
)
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


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("verbalizer_cot_rte_unnatural_no_yes", r"Use verbalizer_rte_unnatural_no_yes with --num_fewshot 4"),
        ("toy_leaf", r"Use a leaf that includes the template _direct with --num_fewshot 4"),
    ],
)
def test_a_chain_of_thought_takes_no_few_shot_examples(tmp_path: Path, name: str, instead: str) -> None:
    cot = {"include": f"{tasks_dir()}/verbalizer/_cot", "training_split": "train"}
    task = load(tmp_path, cot) if name == "toy_leaf" else make(name)
    task.set_config("num_fewshot", 4)
    with pytest.raises(ValueError, match=rf"task '{name}': --num_fewshot 4; .*Let's think step by step.*{instead}"):
        task.build_all_requests(limit=2)
    task.set_config("num_fewshot", 0)
    task.build_all_requests(limit=2)
    assert len(task.instances) == 2
