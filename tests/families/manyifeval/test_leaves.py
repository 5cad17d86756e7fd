"""The task folder: every leaf loads, is generated, and has the paper's prompts and metrics."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.manyifeval.dense.rows import COUNTS
from lm_eval_ext.families.manyifeval.instruction_row import prompt_of
from lm_eval_ext.families.manyifeval.rows import Selection, rows, rows_hash
from lm_eval_ext.families.manyifeval.schema import OF_TYPES
from lm_eval_ext.verifiers import instructions_of
from tests.across_versions import bare_name, plain_instance, tasks_of
from tests.families.manyifeval.table_4 import FIFTEEN
from tests.harness.tasks import make

pytestmark = pytest.mark.harness

TASKS = Path(tasks_dir()) / "manyifeval"
COUSINS = tuple(f"manyifeval_cousins_n{count:02d}" for count in (1, 2, 3, 5, 10))
DENSE = tuple(f"manyifeval_dense_n{count:03d}" for count in COUNTS)
WIDE = tuple(f"manyifeval_wide_n{count:02d}" for count in range(1, 11))
GROUPS = {
    "manyifeval": {f"manyifeval_n{count:02d}": count for count in range(1, 11)},
    "manyifeval_repeat": {f"manyifeval_repeat_n{count:02d}": count for count in range(2, 11)},
}
LEVELS = {f"{level}_level_{kind}_acc" for level in ("prompt", "inst") for kind in ("strict", "loose", "repaired")}
TYPES = {OF_TYPES[name] for name in FIFTEEN}


@pytest.fixture(scope="module")
def manager() -> TaskManager:
    """Return a manager of only our tasks, on embedded rows."""
    return TaskManager(include_path=tasks_dir(), include_defaults=False, metadata={"source": "embedded"})


@pytest.fixture(scope="module")
def tasks(manager: TaskManager) -> dict[str, Any]:
    return tasks_of(manager, list(GROUPS))


def test_the_leaves_have_one_to_ten_instructions_or_repeat_one_two_to_ten_times(tasks: dict[str, Any]) -> None:
    assert set(tasks) == {leaf for leaves in GROUPS.values() for leaf in leaves}
    assert len(tasks) == 19


def test_the_index_contains_exactly_the_leaves_and_five_groups_of_this_family(manager: TaskManager) -> None:
    def ours(names: list[str]) -> set[str]:
        return {name for name in names if "ifeval" in name}

    others = {"manyifeval_single", *COUSINS, *DENSE, *WIDE}
    assert ours(manager.all_subtasks) == {leaf for leaves in GROUPS.values() for leaf in leaves} | others
    assert ours(manager.all_groups) == {*GROUPS, "manyifeval_cousins", "manyifeval_dense", "manyifeval_wide"}
    group = manager.load(["manyifeval_cousins"])["group_map"]["manyifeval_cousins"]
    assert [bare_name(leaf) for leaf in group] == list(COUSINS)
    assert ours(manager.all_tags) == set()


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_has_its_leaves_in_order(manager: TaskManager, group: str) -> None:
    assert [bare_name(leaf) for leaf in manager.load([group])["group_map"][group]] == list(GROUPS[group])


@pytest.mark.parametrize("group", GROUPS)
def test_a_leaf_has_100_rows_with_the_number_of_instructions_in_its_name(tasks: dict[str, Any], group: str) -> None:
    for leaf, count in GROUPS[group].items():
        docs = list(tasks[leaf].eval_docs)
        assert len(docs) == 100
        expected = rows("embedded", "test", count, repeat=group == "manyifeval_repeat")
        for doc, row in zip(docs, expected, strict=True):
            assert (doc["key"], doc["task_prompt"], doc["witness"]) == (row.key, row.task_prompt, row.witness)
            # The nulls with which a table pads its rows do not matter.
            assert instructions_of(doc["instruction_id_list"], doc["kwargs"]) == row.instructions
            assert tasks[leaf].doc_to_text(doc) == doc["prompt"] == row.prompt
            assert tasks[leaf].doc_to_target(doc) == row.witness
        different = {each.id for each in expected[0].instructions}
        assert len(different) == (1 if group == "manyifeval_repeat" else count)


def test_the_leaf_of_single_instructions_has_each_of_the_ten_alone(manager: TaskManager) -> None:
    task = tasks_of(manager, ["manyifeval_single"])["manyifeval_single"]
    assert (task.config.metadata["instructions"], task.config.metadata["single"]) == (1, True)
    docs = list(task.eval_docs)
    assert len(docs) == 1000
    assert len({(doc["key"], doc["prompt"]) for doc in docs}) == 1000
    ten = rows("embedded", "test", 10)
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


def test_the_first_of_the_single_instructions_is_the_row_with_one(manager: TaskManager) -> None:
    single = tasks_of(manager, ["manyifeval_single"])["manyifeval_single"]
    one = tasks_of(manager, ["manyifeval_n01"])["manyifeval_n01"]
    assert [dict(doc) for doc in list(single.eval_docs)[::10]] == [dict(doc) for doc in one.eval_docs]
    assert single.config.metadata["rows_hash"] != one.config.metadata["rows_hash"]
    assert one.config.metadata["single"] is False


def test_a_leaf_is_greedy_and_zero_shot_with_ifevals_token_limit(tasks: dict[str, Any]) -> None:
    for task in tasks.values():
        assert task.config.num_fewshot is None
        assert task.config.output_type == "generate_until"
        settings = task.config.generation_kwargs
        assert (settings["do_sample"], settings["temperature"], settings["max_gen_toks"]) == (False, 0.0, 1280)
        # Some servers refuse an empty list of stops; and none may be a part of an answer or of a prompt repeated.
        (stop,) = settings["until"]
        assert not [doc["key"] for doc in task.eval_docs if stop in doc["prompt"] + doc["witness"]]


def test_a_leaf_has_six_levels_the_residual_empty_answers_and_a_score_per_instruction_type(
    tasks: dict[str, Any],
) -> None:
    assert len(LEVELS) == 6
    assert len(TYPES) == 15
    for task in tasks.values():
        assert task.higher_is_better() == {"empty_rate": False} | dict.fromkeys(
            LEVELS | TYPES | {"curse_residual"}, True
        )


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_reports_the_mean_of_the_six_levels_and_of_empty_answers(group: str) -> None:
    content = yaml.safe_load((TASKS / f"{group}.yaml").read_text(encoding="utf-8"))
    assert {entry["metric"] for entry in content["aggregate_metric_list"]} == LEVELS | {"empty_rate"}
    assert {entry["filter_list"] for entry in content["aggregate_metric_list"]} == {"none"}


def test_the_results_record_source_rows_version_and_hash(tasks: dict[str, Any]) -> None:
    for group, leaves in GROUPS.items():
        version = yaml.safe_load((TASKS / f"{group}.yaml").read_text(encoding="utf-8"))["metadata"]["version"]
        for leaf, count in leaves.items():
            metadata = tasks[leaf].config.metadata
            assert metadata["source"] == "embedded"
            assert metadata["rows_origin"] == "bare task prompts, instructions composed"
            assert metadata["note"].endswith("do not compare scores on them with any others")
            assert metadata["version"] == f"{version}+embedded"
            assert metadata["rows_hash"] == rows_hash(Selection("embedded", count, group == "manyifeval_repeat"))


# Leaves that say something wrong


def load(folder: Path, changes: dict[str, Any]) -> Any:
    leaf = {"include": f"{tasks_dir()}/manyifeval/_manyifeval", "task": "toy_leaf", **changes}
    (folder / "leaf.yaml").write_text(yaml.safe_dump(leaf, sort_keys=False), encoding="utf-8")
    manager = TaskManager(include_path=str(folder), include_defaults=False, metadata={"source": "embedded"})
    return tasks_of(manager, ["toy_leaf"])["toy_leaf"]


@pytest.mark.parametrize("count", [1, 10])
def test_a_custom_leaf_may_have_one_to_ten_instructions(tmp_path: Path, count: int) -> None:
    assert len(load(tmp_path, {"instructions": count}).eval_docs[0]["instruction_id_list"]) == count


@pytest.mark.parametrize("count", [0, 11, -1, "3", 2.0, True, None, [3]], ids=repr)
def test_an_invalid_number_of_instructions_names_the_leaf_and_the_expected_range(tmp_path: Path, count: object) -> None:
    message = r"task 'toy_leaf': instructions must be a number from 1 to 10, found "
    with pytest.raises(ValueError, match=message):
        load(tmp_path, {"instructions": count})


def test_a_leaf_without_a_number_of_instructions_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"task 'toy_leaf': instructions must be .* found None"):
        load(tmp_path, {})


@pytest.mark.parametrize(("repeat", "types"), [(True, 1), (False, 3)])
def test_repeat_selects_one_instruction_several_times(tmp_path: Path, repeat: bool, types: int) -> None:
    doc = load(tmp_path, {"instructions": 3, "repeat": repeat}).eval_docs[0]
    assert len(doc["instruction_id_list"]) == 3
    assert len(set(doc["instruction_id_list"])) == types


@pytest.mark.parametrize("key", ["repeat", "single"])
@pytest.mark.parametrize("value", ["maybe", "false", 3], ids=repr)
def test_an_invalid_value_of_repeat_or_single_names_the_leaf(tmp_path: Path, key: str, value: object) -> None:
    with pytest.raises(ValueError, match=rf"task 'toy_leaf': {key} must be .*found"):
        load(tmp_path, {"instructions": 3, key: value})


@pytest.mark.parametrize("changes", [{"instructions": 2}, {"instructions": 1, "repeat": True}])
def test_single_instructions_are_neither_several_nor_repeated(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"task 'toy_leaf': single, but not with instructions: 1 and repeat: false"):
        load(tmp_path, {**changes, "single": True})


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
