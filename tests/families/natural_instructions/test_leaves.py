"""The task folder: it is generated, every leaf loads as its name says, every group has its members."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.natural_instructions.encodings import ALL_ENCODINGS
from lm_eval_ext.families.natural_instructions.subtasks import SUBTASKS
from tests.across_versions import group_map
from tests.families.natural_instructions.tides import folder_with, tides

pytestmark = pytest.mark.harness

FAMILY = "natural_instructions"
TASKS = Path(tasks_dir()) / FAMILY
FIVE = ("instance", "prompt", "prompt_definition", "all", "positive")
# By their numbers, as the paper's section 4.2 and the published folder of the evaluation split have them.
TWELVE = ("002", "003", "005", "008", "022", "033", "034", "039", "040", "044", "045", "052")
ABLATED = ("019", "033", "040")
# Category -> how many of the 61 are of it.
CATEGORIES = {
    "question_generation": 13,
    "answer_generation": 16,
    "incorrect_answer_generation": 8,
    "classification": 12,
    "minimal_text_modification": 7,
    "long_text_generation": 3,
    "verification": 2,
}
# Source dataset -> how many of the 61 were made from it (section 3.1; Table 8).
SOURCE_DATASETS = {
    "quoref": 2,
    "mctaco": 19,
    "cosmosqa": 4,
    "drop": 3,
    "winogrande": 7,
    "qasc": 7,
    "essential_terms": 2,
    "miscellaneous": 3,
    "multirc": 11,
    "ropes": 3,
}
GROUPS = {FAMILY, f"{FAMILY}_ablation", *(f"{FAMILY}_{name}" for name in (*FIVE, *CATEGORIES, *SOURCE_DATASETS))}


def named(*numbers: str) -> list[str]:
    """Return the subtasks with these numbers, in order."""
    return [name for name in SUBTASKS if name.removeprefix("subtask").split("_")[0] in numbers]


def leaves(subtasks: list[str], encoding: str) -> list[str]:
    return [f"{FAMILY}_{subtask}_{encoding}" for subtask in subtasks]


def of_category(category: str) -> list[str]:
    return [name for name, subtask in SUBTASKS.items() if subtask.category == category]


LEAVES = {
    f"{FAMILY}_{subtask}_{encoding}": (subtask, encoding)
    for encoding in ALL_ENCODINGS
    for subtask in (SUBTASKS if encoding in FIVE else named(*ABLATED))
}


@pytest.fixture(scope="module")
def manager(tmp_path_factory: pytest.TempPathFactory) -> TaskManager:
    """Return a manager of only the family's tasks, over a folder with a small file for each subtask."""
    folder = tmp_path_factory.mktemp("files")
    for subtask in SUBTASKS:
        folder_with(folder, tides(Title=subtask), subtask)
    return TaskManager(include_path=str(TASKS), include_defaults=False, metadata={"source": str(folder)})


@pytest.fixture(scope="module")
def tasks(manager: TaskManager) -> dict[str, Any]:
    loaded: dict[str, Any] = manager.load(sorted(manager.all_subtasks))["tasks"]
    return loaded


def test_there_are_61_subtasks_under_five_encodings_and_three_under_thirteen_more(manager: TaskManager) -> None:
    assert (len(SUBTASKS), len(ALL_ENCODINGS)) == (61, 18)
    assert len(LEAVES) == 344  # 61 x 5 + 3 x 13
    assert set(manager.all_subtasks) == set(LEAVES)


def test_no_group_has_the_name_of_a_leaf(manager: TaskManager) -> None:
    assert set(manager.all_groups) == GROUPS
    # The harness would put both under one name, and one of them out of reach.
    assert not GROUPS & set(LEAVES)
    assert not manager.all_tags
    # The family, five encodings, seven categories, ten source datasets, the ablation: each has a name of its own.
    assert len(GROUPS) == 1 + 5 + 7 + 10 + 1


def test_every_leaf_loads_with_the_subtask_and_encoding_of_its_name(tasks: dict[str, Any]) -> None:
    assert set(tasks) == set(LEAVES)
    for name, (subtask, encoding) in LEAVES.items():
        config = tasks[name].config
        assert (config.task, config.dataset_name) == (name, subtask)
        metadata = config.metadata
        found = (metadata["subtask"], metadata["category"], metadata["encoding"])
        assert found == (subtask, SUBTASKS[subtask].category, encoding)


def test_leaves_of_one_subtask_differ_only_in_their_prompts(tasks: dict[str, Any]) -> None:
    (subtask,) = named("040")
    asked = {encoding: tasks[f"{FAMILY}_{subtask}_{encoding}"] for encoding in ALL_ENCODINGS}
    prompts = {encoding: task.doc_to_text(task.eval_docs[0]) for encoding, task in asked.items()}
    bare = "input: The gulls wade.\noutput:"
    assert all(prompt.endswith(bare) for prompt in prompts.values())
    assert [encoding for encoding, prompt in prompts.items() if prompt == bare] == ["instance"]
    # The small task has no "Emphasis & Caution": two pairs of encodings show the same of it.
    for one, other in (("all", "all_minus_emphasis"), ("prompt", "prompt_emphasis")):
        assert prompts[one] == prompts[other]
    assert len(set(prompts.values())) == 18 - 2
    assert len({task.config.metadata["instances_hash"] for task in asked.values()}) == 1


def test_a_leaf_is_greedy_and_zero_shot_with_16_new_tokens_and_stops_at_a_blank_line(tasks: dict[str, Any]) -> None:
    expected = {"until": ["\n\n"], "do_sample": False, "temperature": 0.0, "max_gen_toks": 16}
    for name, task in tasks.items():
        assert task.config.num_fewshot is None, name
        assert task.config.output_type == "generate_until", name
        assert task.config.generation_kwargs == expected, name
        assert task.higher_is_better() == {"rouge_l": True, "empty_rate": False, "examples": None}, name
        assert {metric: mean([0.0, 0.0, 0.9]) for metric, mean in task.aggregation().items()} == {
            "rouge_l": pytest.approx(0.3),
            "empty_rate": pytest.approx(0.3),
            "examples": pytest.approx(0.3),
        }, name


def aggregated(group: Any) -> list[tuple[str, list[str], str, bool]]:
    """Return of what a group is a mean: metric, filters, how, and whether larger leaves count more."""
    found = group.aggregate_metric_list or []
    return [(each.metric, each.filter_list, each.aggregation, each.weight_by_size) for each in found]


# BLEURT's filter is found by the harness, and where no leaf has the metric, the group has none.
MEAN_OF_LEAVES = [("rouge_l", ["none"], "mean", False), ("bleurt", None, "mean", False)]


@pytest.mark.parametrize("encoding", FIVE)
def test_the_group_of_an_encoding_is_the_twelve_evaluation_subtasks(manager: TaskManager, encoding: str) -> None:
    loaded = manager.load([f"{FAMILY}_{encoding}"])
    assert group_map(loaded) == {f"{FAMILY}_{encoding}": leaves(named(*TWELVE), encoding)}
    assert len(loaded["tasks"]) == 12
    assert aggregated(loaded["groups"][f"{FAMILY}_{encoding}"]) == MEAN_OF_LEAVES


def test_the_familys_group_is_the_five_encodings_without_an_overall_score(manager: TaskManager) -> None:
    loaded = manager.load([FAMILY])
    encodings = {f"{FAMILY}_{encoding}": leaves(named(*TWELVE), encoding) for encoding in FIVE}
    assert group_map(loaded) == {FAMILY: list(encodings), **encodings}
    assert len(loaded["tasks"]) == 12 * 5
    assert aggregated(loaded["groups"][FAMILY]) == []
    assert all(aggregated(loaded["groups"][name]) == MEAN_OF_LEAVES for name in encodings)


@pytest.mark.parametrize(
    ("group", "subtasks", "encodings"),
    [
        *(pytest.param(f"{FAMILY}_{name}", of_category(name), FIVE, id=name) for name in CATEGORIES),
        pytest.param(f"{FAMILY}_ablation", named(*ABLATED), tuple(ALL_ENCODINGS), id="ablation"),
    ],
)
def test_other_groups_have_a_score_per_encoding_but_no_overall_score(
    manager: TaskManager, group: str, subtasks: list[str], encodings: tuple[str, ...]
) -> None:
    assert len(subtasks) == {**CATEGORIES, "ablation": 3}[group.removeprefix(f"{FAMILY}_")]
    loaded = manager.load([group])
    inner = {f"{group}::{encoding}": leaves(subtasks, encoding) for encoding in encodings}
    assert group_map(loaded) == {group: list(inner), **inner}
    assert len(loaded["tasks"]) == len(subtasks) * len(encodings)
    assert aggregated(loaded["groups"][group]) == []
    assert all(aggregated(loaded["groups"][name]) == MEAN_OF_LEAVES for name in inner)


@pytest.mark.parametrize("dataset", SOURCE_DATASETS)
def test_the_subtasks_of_a_source_dataset_have_a_mean_under_each_of_the_five_encodings(
    manager: TaskManager, dataset: str
) -> None:
    subtasks = [name for name, subtask in SUBTASKS.items() if subtask.source_dataset == dataset]
    assert len(subtasks) == SOURCE_DATASETS[dataset]
    group = f"{FAMILY}_{dataset}"
    loaded = manager.load([group])
    inner = {f"{group}::{encoding}": leaves(subtasks, encoding) for encoding in FIVE}
    assert group_map(loaded) == {group: list(inner), **inner}
    assert all(aggregated(loaded["groups"][name]) == MEAN_OF_LEAVES for name in inner)


def test_each_subtask_is_in_the_group_of_one_category(manager: TaskManager) -> None:
    members = [
        leaf
        for category in CATEGORIES
        for leaf in group_map(manager.load([f"{FAMILY}_{category}"]))[f"{FAMILY}_{category}::prompt"]
    ]
    assert sorted(members) == leaves(list(SUBTASKS), "prompt")
