"""The task folder: every leaf loads, is generated, and has the paper's prompts and metrics."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
import yaml
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.manyifeval.rows import rows, rows_hash
from lm_eval_ext.families.manyifeval.scores import type_metric
from lm_eval_ext.verifiers import instructions_of
from tests.across_versions import bare_name, tasks_of
from tests.families.manyifeval.table_4 import FIFTEEN

pytestmark = pytest.mark.harness

TASKS = Path(tasks_dir()) / "manyifeval"
GROUPS = {
    "manyifeval": {f"manyifeval_n{count:02d}": count for count in range(1, 11)},
    "manyifeval_repeat": {f"manyifeval_repeat_n{count:02d}": count for count in range(2, 11)},
}
LEVELS = {f"{level}_level_{kind}_acc" for level in ("prompt", "inst") for kind in ("strict", "loose", "repaired")}
TYPES = {type_metric(name) for name in FIFTEEN}


@pytest.fixture(scope="module")
def manager() -> TaskManager:
    """Return a manager of only our tasks, on embedded rows."""
    return TaskManager(include_path=tasks_dir(), include_defaults=False, metadata={"source": "embedded"})


@pytest.fixture(scope="module")
def tasks(manager: TaskManager) -> dict[str, Any]:
    return tasks_of(manager, list(GROUPS))


def test_the_folder_is_what_the_generator_writes() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in TASKS.rglob("*.yaml")}
    assert written == dict(runpy.run_path(str(TASKS / "_generate.py"))["files"]())


def test_the_leaves_have_one_to_ten_instructions_or_repeat_one_two_to_ten_times(tasks: dict[str, Any]) -> None:
    assert set(tasks) == {leaf for leaves in GROUPS.values() for leaf in leaves}
    assert len(tasks) == 19


def test_the_index_contains_exactly_the_leaves_and_two_groups_of_this_family(manager: TaskManager) -> None:
    def ours(names: list[str]) -> set[str]:
        return {name for name in names if "ifeval" in name}

    assert ours(manager.all_subtasks) == {leaf for leaves in GROUPS.values() for leaf in leaves}
    assert ours(manager.all_groups) == set(GROUPS)
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
            assert metadata["rows_hash"] == rows_hash("embedded", "test", count, group == "manyifeval_repeat")


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


@pytest.mark.parametrize("repeat", ["maybe", "false", 3], ids=repr)
def test_an_invalid_value_of_repeat_names_the_leaf(tmp_path: Path, repeat: object) -> None:
    with pytest.raises(ValueError, match=r"task 'toy_leaf': repeat must be .*found"):
        load(tmp_path, {"instructions": 3, "repeat": repeat})
