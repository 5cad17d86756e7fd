"""The task folder: every leaf loads and is generated; names and counts are the paper's."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import lm_eval
import pytest
import yaml
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.verbalizer.rows import GOLDEN
from lm_eval_ext.harness.versions import task_index
from tests.across_versions import arguments_of, tasks_of
from tests.families.verbalizer.table_1 import GOLDEN_NAMES, VERBALIZERS

pytestmark = pytest.mark.harness

DATASETS = tuple(GOLDEN_NAMES)
KINDS = (
    "empty_rate",
    *(f"invalid_{kind}" for kind in ("prior", "echo", "refusal", "multiple", "inflected", "other")),
)
FAMILIES = ("verbalizer", "verbalizer_cot")
LEAVES = {
    f"{family}_{dataset}_{naturalness}_{verbalizer}"
    for family, dataset, naturalness in product(FAMILIES, DATASETS, VERBALIZERS)
    for verbalizer in VERBALIZERS[naturalness]
}


@pytest.fixture(scope="module")
def manager() -> TaskManager:
    """Return a manager of only the family's tasks, on embedded rows."""
    folder = str(Path(tasks_dir()) / "verbalizer")
    return TaskManager(include_path=folder, include_defaults=False, metadata={"source": "embedded"})


@pytest.fixture(scope="module")
def tasks(manager: TaskManager) -> dict[str, Any]:
    return tasks_of(manager, list(FAMILIES))


def test_exactly_the_expected_leaves_load_under_their_names(tasks: dict[str, Any]) -> None:
    assert len(LEAVES) == 216  # 9 datasets x 12 verbalizers x 2 ways of prompting
    assert set(tasks) == LEAVES


def test_the_index_contains_exactly_the_leaves_and_groups(manager: TaskManager) -> None:
    groups = {family + suffix for family in FAMILIES for suffix in ("", *(f"_{name}" for name in VERBALIZERS))}
    groups |= {f"{family}_{dataset}" for family, dataset in product(FAMILIES, DATASETS)}
    groups |= {
        f"{family}_{naturalness}_{verbalizer}"
        for family, (naturalness, verbalizers) in product(FAMILIES, VERBALIZERS.items())
        for verbalizer in verbalizers
    }
    assert set(manager.all_subtasks) == LEAVES
    assert set(manager.all_groups) == groups
    assert not manager.all_tags


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    ("naturalness", "leaves", "rows"), [("natural", 27, 2700), ("neutral", 54, 5400), ("unnatural", 27, 2700)]
)
def test_a_group_has_the_papers_tasks_and_rows(
    manager: TaskManager, family: str, naturalness: str, leaves: int, rows: int
) -> None:
    members = tasks_of(manager, [f"{family}_{naturalness}"])
    assert len(members) == leaves
    assert sum(len(task.eval_docs) for task in members.values()) == rows
    assert all(name.startswith(family) and f"_{naturalness}_" in name for name in members)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_top_group_contains_three_groups(manager: TaskManager, family: str) -> None:
    loaded = manager.load([family])
    assert len(loaded["tasks"]) == 108
    assert loaded["group_map"][family] == [f"{family}_{naturalness}" for naturalness in VERBALIZERS]
    # Nothing is between these and the leaves, although there are groups of verbalizers and datasets.
    assert set(loaded["group_map"]) == {family, *loaded["group_map"][family]}


@pytest.mark.parametrize(
    ("group", "leaves"), [("sst2", "_sst2_"), ("natural_golden", "_natural_golden"), ("neutral_foo_bar", "_foo_bar")]
)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_dataset_or_verbalizer_group_contains_its_leaves(
    manager: TaskManager, family: str, group: str, leaves: str
) -> None:
    of_family = {name for name in LEAVES if name.startswith("verbalizer_cot_") == (family == "verbalizer_cot")}
    assert set(tasks_of(manager, [f"{family}_{group}"])) == {name for name in of_family if leaves in name}


def test_each_leaf_is_once_in_the_groups_of_its_dataset_and_verbalizer(manager: TaskManager) -> None:
    kinds = [f"{naturalness}_{verbalizer}" for naturalness, names in VERBALIZERS.items() for verbalizer in names]
    members = Counter[str]()
    for family, suffix in product(FAMILIES, [*DATASETS, *kinds]):
        listed = task_index(manager)[f"{family}_{suffix}"].cfg["task"]
        assert len(set(listed)) == len(listed)
        members.update(listed)
    assert members == dict.fromkeys(LEAVES, 2)


def test_a_dataset_group_reports_the_mean_of_its_leaves(manager: TaskManager) -> None:
    found = lm_eval.simple_evaluate(
        model="reference", model_args="policy=prior", tasks=["verbalizer_sst2"], task_manager=manager, limit=4
    )
    # The prior is right under 3 natural verbalizers of 12, wrong under 3 unnatural ones, invalid under 6 neutral ones.
    scores = found["groups"]["verbalizer_sst2"]
    assert [scores[f"{metric},answer"] for metric in ("acc", "prior_rate", "invalid_rate")] == [0.25, 1, 0.5]


@pytest.mark.parametrize("dataset", DATASETS)
def test_every_verbalizer_sees_the_same_100_rows(tasks: dict[str, Any], dataset: str) -> None:
    of_dataset = [task for name, task in tasks.items() if f"_{dataset}_" in name]
    assert len(of_dataset) == 24
    rows = [list(task.eval_docs) for task in of_dataset]
    assert len(rows[0]) == 100
    assert all(other == rows[0] for other in rows)
    texts = Counter(str({key: value for key, value in row.items() if key not in ("label", GOLDEN)}) for row in rows[0])
    assert set(texts.values()) == {1}


def test_a_task_is_greedy_and_zero_shot_and_lists_its_metrics(tasks: dict[str, Any]) -> None:
    for name, task in tasks.items():
        assert task.config.num_fewshot is None, name
        (pipeline,) = task.config.filter_list
        assert arguments_of(pipeline["filter"][0])["reads"] == (
            "final" if name.startswith("verbalizer_cot_") else "first"
        )
        assert task.config.generation_kwargs["max_gen_toks"] == (512 if name.startswith("verbalizer_cot_") else 64)
        assert task.config.generation_kwargs["until"] == ["You are a helpful assistant"]
        assert task.config.generation_kwargs["do_sample"] is False
        assert task.config.generation_kwargs["temperature"] == 0.0
        assert task.higher_is_better() == {"acc": True} | dict.fromkeys(("prior_rate", "invalid_rate", *KINDS), False)


def test_every_yaml_file_is_strict_and_quotes_its_words() -> None:
    for path in (Path(tasks_dir()) / "verbalizer").rglob("*.yaml"):
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
        for word in [*content.get("doc_to_choice", {}).values(), *content.get("prior", {}).values()]:
            assert isinstance(word, str), path


# Table 1: what each verbalizer makes of the affirmative label, and what that label's word means by itself.
TABLE_1 = {
    "golden": ("affirmative", "affirmative"),
    "1_0": ("1", "1"),
    "yes_no": ("yes", "yes"),
    "foo_bar": ("foo", "affirmative"),
    "bar_foo": ("bar", "affirmative"),
    "sfo_lax": ("sfo", "affirmative"),
    "lax_sfo": ("lax", "affirmative"),
    "lake_river": ("lake", "affirmative"),
    "river_lake": ("river", "affirmative"),
    "flipped": ("other", "affirmative"),
    "0_1": ("0", "1"),
    "no_yes": ("no", "yes"),
}


@pytest.mark.parametrize("verbalizer", TABLE_1)
@pytest.mark.parametrize("dataset", DATASETS)
def test_the_label_words_are_those_of_table_1(tasks: dict[str, Any], dataset: str, verbalizer: str) -> None:
    affirmative, other = GOLDEN_NAMES[dataset]
    names = {"affirmative": affirmative, "other": other}
    word, prior = (names.get(text, text) for text in TABLE_1[verbalizer])
    for name, task in tasks.items():
        if f"_{dataset}_" in name and name.endswith(f"_{verbalizer}"):
            table = task.config.doc_to_target.verbalizer
            assert table.word(affirmative) == word
            assert table.prior_word(affirmative) == prior
            assert set(table.golden) == {affirmative, other}
            assert table.word(other) != word
