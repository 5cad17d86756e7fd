"""What only these leaves have: levels, readers, columns of one's own; and what is wrong with a wrong one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from lm_eval_ext.classifier.availability import ReaderError
from lm_eval_ext.families.paired_mcq.datasets import DATASETS
from lm_eval_ext.families.paired_mcq.prompt import Prompt
from lm_eval_ext.families.paired_mcq.rows import rows, rows_hash
from tests.across_versions import arguments_of
from tests.families.jsonl import write_jsonl
from tests.harness.tasks import make, make_own
from tests.leaves import TRIVIA, WRONG_LEAVES
from tests.tables import tables

pytestmark = pytest.mark.harness

FAMILIES = ("paired_mcq", "text_mcq")
LEVELS = ("low", "medium", "high", "example", "example_abc")
WRONG_READERS = tables(__file__, "wrong_readers")


@pytest.mark.parametrize(("family", "dataset", "level"), list(product(FAMILIES, DATASETS, LEVELS)))
def test_a_leaf_combines_its_datasets_rows_with_its_levels_instruction(family: str, dataset: str, level: str) -> None:
    task = make(f"{family}_{dataset}_{level}")
    found = rows(DATASETS[dataset], "embedded")
    assert task.eval_docs.to_list() == list(found)
    for row in found[:20]:
        assert task.doc_to_text(row) == Prompt(level)(row)
        assert task.doc_to_target(row) == row["gold"]
    assert task.config.metadata["rows_hash"] == rows_hash(DATASETS[dataset], "embedded")


# A leaf of one's own

COLUMNS = {"doc_to_text": "stem", "doc_to_choice": "{{[first, second]}}", "doc_to_target": "right"}
LEAF = {**TRIVIA, "task": "toy_leaf", "dataset_path": "toy", **COLUMNS}
TOY = [{"stem": f"Number {number}?", "first": "odd", "second": "even", "right": 1 - number % 2} for number in range(8)]


def load(
    folder: Path,
    changes: dict[str, Any],
    drop: tuple[str, ...] = (),
    metadata: Mapping[str, object] = MappingProxyType({}),
) -> Any:
    write_jsonl(folder / "toy_test.jsonl", TOY)
    leaf = {key: value for key, value in (LEAF | changes).items() if key not in drop}
    return make_own(folder, leaf, **metadata)


def test_the_unmodified_leaf_is_valid(tmp_path: Path) -> None:
    task = load(tmp_path, {})
    assert len(task.eval_docs) == 80
    for doc in task.eval_docs:
        number = int(doc["question"].split()[1].rstrip("?"))
        assert doc["options"]["ABC".index(doc["gold"])] == ("even" if number % 2 == 0 else "odd")


def test_template_syntax_in_a_row_is_plain_text(tmp_path: Path) -> None:
    # The leaf reads columns by templates; the contents of the columns are not templates.
    texts = ["{{}}", "{{second}}", "{% if %}", "{0} %s"]
    rows = [{"stem": text, "first": text, "second": "even", "right": text} for text in texts]
    write_jsonl(tmp_path / "braces_test.jsonl", rows)
    task = load(tmp_path, {"dataset_path": "braces", "doc_to_text": "{{stem}}?"})
    assert {doc["question"] for doc in task.eval_docs} == {f"{text}?" for text in texts}
    for doc in task.eval_docs:
        text = doc["question"].removesuffix("?")
        assert doc["options"]["ABC".index(doc["gold"])] == text
        assert f"Question: {text}?\n\n" in task.doc_to_text(doc)
        assert f"{doc['gold']}. {text} \n" in task.doc_to_text(doc)


def test_without_a_correct_option_there_is_no_accuracy(tmp_path: Path) -> None:
    task = load(tmp_path, {}, drop=("doc_to_target",))
    assert {doc["gold"] for doc in task.eval_docs} == {""}
    assert "text_acc" not in task.higher_is_better()


@pytest.mark.parametrize(("changes", "message"), WRONG_LEAVES["paired_mcq"])
def test_errors_name_the_problem(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(tmp_path, changes)


def test_the_results_record_how_many_published_questions_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good = {"question": "Which?", "choices": ["a", "b"], "answer": 1}
    write_jsonl(tmp_path / "mmlu_test.jsonl", [good, good | {"choices": ["a", "a"]}])
    for level in LEVELS:
        task = make(f"paired_mcq_mmlu_{level}", {"source": str(tmp_path)})
        assert (len(task.eval_docs), task.config.metadata["left_out"]) == (10, 1)
    (message,) = [record.getMessage() for record in caplog.records if "left out" in record.getMessage()]
    assert message.startswith("left out 1 of 2 questions as unusable")
    assert message.endswith("mmlu_test.jsonl, row 2: expected options that differ from one another")


# How answers are read


def names(task: Any) -> list[str]:
    return [pipeline["name"] for pipeline in task.config.filter_list]


def test_choosing_the_rules_leaves_the_classifier_out(tmp_path: Path) -> None:
    assert names(load(tmp_path, {})) == ["string_match", "rules"]


def test_a_custom_reader_replaces_the_classifier(tmp_path: Path) -> None:
    task = load(tmp_path, {}, metadata={"answer_classifier": "string_match"})
    assert names(task) == ["string_match", "rules", "classifier"]
    step, *_ = task.config.filter_list[-1]["filter"]
    assert arguments_of(step)["name"] == task.config.metadata["answer_classifier"] == "string_match"


@pytest.mark.parametrize(("metadata", "message"), WRONG_READERS["unavailable"])
def test_an_unavailable_reader_is_rejected_before_the_run(
    tmp_path: Path, metadata: dict[str, str], message: str
) -> None:
    with pytest.raises(ReaderError, match=message):
        load(tmp_path, {}, metadata=metadata)


@pytest.mark.parametrize(("metadata", "message"), WRONG_READERS["invalid"])
def test_an_invalid_reader_is_named(tmp_path: Path, metadata: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(tmp_path, {}, metadata=metadata)


def test_draws_that_would_not_be_what_was_asked_for_are_rejected(tmp_path: Path) -> None:
    task = load(tmp_path, {})
    task.set_config("generation_kwargs", {"do_sample": False, "temperature": 0.7})
    message = "temperature=0.7 with do_sample=False, .*; pass --gen_kwargs do_sample=true,temperature=0.7"
    with pytest.raises(ValueError, match=f"task 'toy_leaf': {message}"):
        task.build_all_requests()


def test_few_shot_examples_are_rejected(tmp_path: Path) -> None:
    task = load(tmp_path, {})
    task.set_config("num_fewshot", 2)
    with pytest.raises(ValueError, match="task 'toy_leaf': --num_fewshot 2; these tasks have no few-shot examples"):
        task.build_all_requests()
