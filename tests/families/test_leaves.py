"""The task folders: every leaf, group and tag is what the manifest says, in every family."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.release_check import SETS, TASKS, group_of
from tests.across_versions import group_map, tasks_of
from tests.conftest import ROOT
from tests.families.manifest import MANIFEST, Family
from tests.families.natural_instructions.task_files import folder_with, version_1

pytestmark = pytest.mark.harness


EMBEDDED = '{"source": "embedded"}'
ROWS: Mapping[str, Mapping[str, str]] = json.loads((ROOT / "tests/families/rows.json").read_text(encoding="utf-8"))
"""The hash of a leaf's rows, by what is given with ``--metadata``: of one leaf for all that share their rows."""


@dataclass(frozen=True)
class Loaded:
    """A family as the harness has it, on embedded or small rows, beside what it should be."""

    expected: Family
    source: str
    manager: TaskManager
    tasks: Mapping[str, Any]


@pytest.fixture(scope="module", params=MANIFEST)
def family(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    expected, source = MANIFEST[request.param], "embedded"
    if request.param == "natural_instructions":
        folder = tmp_path_factory.mktemp("subtasks")
        for subtask in {str(leaf.facts["subtask"]) for leaf in expected.leaves.values()}:
            source = folder_with(folder, version_1(Title=subtask), subtask)
    manager = TaskManager(
        include_path=str(Path(tasks_dir()) / request.param),
        include_defaults=False,
        metadata={"source": source, "answer_classifier": "rules"},
    )
    return Loaded(expected, source, manager, tasks_of(manager, sorted(manager.all_subtasks)))


def test_the_index_contains_exactly_the_leaves_groups_and_tags(family: Loaded) -> None:
    manager, expected = family.manager, family.expected
    groups = {group for group in expected.groups if "::" not in group}
    assert (len(expected.leaves), len(groups), len(expected.tags)) == expected.size
    found = (set(manager.all_subtasks), set(manager.all_groups), set(manager.all_tags))
    assert found == (set(expected.leaves), groups, set(expected.tags))
    # The harness would put both under one name, and one of them out of reach.
    assert not groups & set(expected.leaves)


def test_no_leaf_or_group_is_outside_the_families() -> None:
    manager = TaskManager(include_path=tasks_dir(), include_defaults=False)
    assert set(manager.all_subtasks) == {leaf for family in MANIFEST.values() for leaf in family.leaves}
    groups = {group for family in MANIFEST.values() for group in family.groups if "::" not in group}
    over_families = {*SETS, *map(group_of, TASKS)}
    assert set(manager.all_groups) == groups | over_families


def test_every_leaf_loads_with_the_rows_and_facts_of_its_name(family: Loaded) -> None:
    assert set(family.tasks) == set(family.expected.leaves)
    for name, leaf in family.expected.leaves.items():
        task = family.tasks[name]
        assert (task.config.task, len(task.eval_docs)) == (name, leaf.rows)
        assert {fact: task.config.metadata.get(fact) for fact in leaf.facts} == leaf.facts, name


def test_a_leaf_is_greedy_and_zero_shot_with_its_limit_and_stop(family: Loaded) -> None:
    for name, leaf in family.expected.leaves.items():
        config = family.tasks[name].config
        expected = {
            "until": [family.expected.stop],
            "do_sample": False,
            "temperature": 0.0,
            "max_gen_toks": leaf.tokens,
        }
        assert config.generation_kwargs == expected, name
        assert (config.num_fewshot, config.output_type) == (None, "generate_until"), name


def test_a_leaf_has_its_metrics_and_readers_and_reports_four_at_most(family: Loaded) -> None:
    for name, leaf in family.expected.leaves.items():
        task = family.tasks[name]
        assert task.higher_is_better() == leaf.metrics, name
        assert len(leaf.metrics) <= 4, name
        assert {one.name: one.direction_in_tables for one in task.metrics.values()} == {
            **leaf.metrics,
            **leaf.details,
        }, name
        assert set(task.aggregation()) == {*leaf.metrics, *leaf.details}, name
        # Without a filter, the harness's own has this name.
        readers = [pipeline["name"] for pipeline in task.config.filter_list or []] or ["none"]
        assert tuple(readers) == family.expected.filters, name


def test_the_results_record_source_version_and_hash_of_the_rows(family: Loaded) -> None:
    rows: dict[str, str] = {}
    for name, leaf in family.expected.leaves.items():
        task = family.tasks[name]
        metadata = task.config.metadata
        embedded = family.source == "embedded"
        assert metadata["source"] == family.source, name
        assert metadata["version"] == (f"{leaf.version}+embedded" if embedded else leaf.version), name
        warning = "do not compare scores on them with any others"
        assert metadata.get("note", "").endswith(warning if embedded else ""), name
        # A memory address would make two equal runs differ.
        assert "0x" not in str(task.dump_config()), name
        # One hash for the same rows, another one for others.
        docs = json.dumps(task.eval_docs.to_list(), sort_keys=True)
        assert rows.setdefault(metadata["rows_hash"], docs) == docs, name
    assert len(set(rows.values())) == len(rows)
    assert family.source != "embedded" or rows.keys() <= set(ROWS[EMBEDDED].values()), "rows.json lacks a leaf"


@pytest.mark.parametrize("given", ROWS)
def test_rows_are_what_they_were(given: str) -> None:
    # Other rows are other scores. Whoever means to change them bumps the version of the leaves.
    manager = TaskManager(include_path=tasks_dir(), include_defaults=False, metadata=json.loads(given))
    tasks = tasks_of(manager, sorted(ROWS[given]))
    assert {name: task.config.metadata["rows_hash"] for name, task in tasks.items()} == ROWS[given]


def test_a_group_has_its_parts_in_order_and_the_mean_of_its_leaves(family: Loaded) -> None:
    groups, means = family.expected.groups, family.expected.means
    for name in sorted(set(family.manager.all_groups)):
        loaded = family.manager.load([name])
        parts = {name: groups[name], **{part: groups[part] for part in groups[name] if part in groups}}
        # Nothing is between a group and these.
        assert group_map(loaded) == parts
        assert len(loaded["tasks"]) == sum(part in family.expected.leaves for of in parts.values() for part in of)
        versions = {str(task.config.metadata["version"]) for task in loaded["tasks"].values()}
        assert {group.version for group in loaded["groups"].values()} == versions, name
        for group in parts:
            found = loaded["groups"][group]
            by_size = family.expected.by_size
            assert [
                (mean.metric, mean.filter_list, mean.aggregation, mean.weight_by_size)
                for mean in found.aggregate_metric_list or []
            ] == [(metric, reader and [reader], "mean", by_size) for metric, reader in means.get(group, ())], group


def test_a_tag_gathers_its_leaves(family: Loaded) -> None:
    for tag, leaves in family.expected.tags.items():
        assert set(tasks_of(family.manager, [tag])) == set(leaves)
