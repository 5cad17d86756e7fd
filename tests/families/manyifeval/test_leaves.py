"""What only these leaves have: instructions by number, repeated or alone; and what is wrong with a wrong one."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.manyifeval.rows import Selection, evaluated, prompt_of, rows_hash, rows_with_count
from lm_eval_ext.families.manyifeval.task import row_of
from lm_eval_ext.verifiers import instructions_of
from tests.across_versions import plain_instance
from tests.families.manyifeval.table_4 import FIFTEEN
from tests.harness.tasks import make, make_own
from tests.leaves import WRONG_LEAVES

pytestmark = pytest.mark.harness

LEAVES = {f"manyifeval_n{count:02d}": (count, False) for count in range(1, 11)} | {
    f"manyifeval_repeat_n{count:02d}": (count, True) for count in range(2, 11)
}
LEAF = {"include": f"{tasks_dir()}/manyifeval/_manyifeval", "task": "toy_leaf"}


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_leaf_has_the_number_of_instructions_in_its_name(leaf: str) -> None:
    task, (count, repeat) = make(leaf), LEAVES[leaf]
    expected = rows_with_count(Selection("embedded", count, repeat=repeat))
    for doc, row in zip(task.eval_docs, expected, strict=True):
        # The nulls with which a table pads its rows do not matter.
        assert row_of(doc) == row
        assert task.doc_to_text(doc) == doc["prompt"] == row.prompt
        assert task.doc_to_target(doc) == row.witness
        # A stop may be a part neither of an answer nor of a prompt that a model repeats.
        assert "<|endoftext|>" not in doc["prompt"] + doc["witness"]
    assert len({each.id for each in expected[0].instructions}) == (1 if repeat else count)
    metadata = task.config.metadata
    assert metadata["rows_origin"] == "bare task prompts, instructions composed"
    assert metadata["rows_hash"] == rows_hash(evaluated(Selection("embedded", count, repeat)))


def test_the_leaf_of_single_instructions_has_each_of_the_ten_alone() -> None:
    task = make("manyifeval_single")
    docs = list(task.eval_docs)
    assert len({(doc["key"], doc["prompt"]) for doc in docs}) == 1000
    ten = rows_with_count(Selection("embedded", 10))
    in_order = [(row.key, instruction) for row in ten for instruction in row.instructions]
    asked = [(doc["key"], *instructions_of(doc["instruction_id_list"], doc["kwargs"])) for doc in docs]
    assert asked == in_order
    for doc in docs[::97]:
        (instruction,) = instructions_of(doc["instruction_id_list"], doc["kwargs"])
        assert doc["prompt"] == prompt_of(doc["task_prompt"], (instruction,))
        # Its request carries the row of this instruction, not another one of the task prompt.
        (request,) = task.requests(doc, plain_instance("generate_until", doc, ("shown", {}), task=task.config.task))
        assert request.row.instructions == (instruction,)
    # Table 4 has an accuracy for each of the 15 types. Each of our 100 prompts has ten of them.
    counts = Counter(doc["instruction_id_list"][0] for doc in docs)
    assert set(counts) == set(FIFTEEN)
    assert min(counts.values()) >= 20


@pytest.mark.parametrize(("keys", "message"), WRONG_LEAVES["manyifeval"], ids=str)
def test_a_wrong_leaf_says_what_is_wrong(tmp_path: Path, keys: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"task 'toy_leaf': {message}"):
        make_own(tmp_path, {**LEAF, **keys}, source="embedded")


# Some of the task prompts


@pytest.mark.parametrize("single", [False, True])
def test_keys_select_task_prompts_in_the_order_of_the_source(single: bool) -> None:
    everything = make("manyifeval_single" if single else "manyifeval_n03")
    keys = [7, 3, 99]
    chosen = make("manyifeval_single" if single else "manyifeval_n03", {"keys": keys})
    expected = [(doc["key"], doc["prompt"]) for doc in everything.eval_docs if doc["key"] in keys]
    assert len(expected) == (30 if single else 3)
    assert [(doc["key"], doc["prompt"]) for doc in chosen.eval_docs] == expected
    assert chosen.config.metadata["rows_hash"] != everything.config.metadata["rows_hash"]
    assert chosen.config.metadata["keys"] == keys


def test_keys_may_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "keys.json"
    file.write_text("[3, 7, 99]", encoding="utf-8")
    from_file, given = (make("manyifeval_n02", {"keys": keys}) for keys in (str(file), [7, 3, 99]))
    assert [doc["key"] for doc in from_file.eval_docs] == [3, 7, 99]
    assert from_file.config.metadata["rows_hash"] == given.config.metadata["rows_hash"]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            [],
            r"'manyifeval_n01': keys: \[\]; expected a list of the task prompts' keys, or the name of a JSON file",
        ),
        ([1, 2.5], r"keys: \[1, 2\.5\]; expected a list"),
        ([1, True], r"keys: \[1, True\]; expected a list"),
        (3, r"keys: 3; expected a list"),
        ([1, 2, 1], r"keys: 1 is there more than once"),
        ("nowhere.json", r"keys in nowhere\.json cannot be read \(.*No such file.*\); expected a list"),
        (
            [1, 4242, 4243],
            r"source 'embedded': no task prompt with the key 4242, the first of 2 missing",
        ),
        (["1"], r"no task prompt with the key '1'.* among its 100, for example 1, 2, 3"),
    ],
)
def test_invalid_keys_are_named_with_what_was_expected(keys: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make("manyifeval_n01", {"keys": keys})
