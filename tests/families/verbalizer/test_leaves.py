"""What only these leaves have: the label words of Table 1 over the same rows."""

from __future__ import annotations

from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import lm_eval
import pytest
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.verbalizer.rows import GOLDEN
from tests.across_versions import arguments_of, tasks_of
from tests.families.verbalizer.table_1 import GOLDEN_NAMES, VERBALIZERS, meaning, words

pytestmark = pytest.mark.harness

DATASETS = tuple(GOLDEN_NAMES)


@pytest.fixture(scope="module")
def manager() -> TaskManager:
    """Return a manager of only the family's tasks, on embedded rows."""
    folder = str(Path(tasks_dir()) / "verbalizer")
    return TaskManager(include_path=folder, include_defaults=False, metadata={"source": "embedded"})


@pytest.fixture(scope="module")
def tasks(manager: TaskManager) -> dict[str, Any]:
    return tasks_of(manager, ["verbalizer", "verbalizer_cot"])


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
    rows = [task.eval_docs.to_list() for task in of_dataset]
    assert len(rows[0]) == 100
    assert all(other == rows[0] for other in rows)
    texts = Counter(str({key: value for key, value in row.items() if key not in ("label", GOLDEN)}) for row in rows[0])
    assert set(texts.values()) == {1}


def test_a_chain_of_thought_is_read_at_its_end(tasks: dict[str, Any]) -> None:
    for name, task in tasks.items():
        (pipeline,) = task.config.filter_list
        reads = "final" if name.startswith("verbalizer_cot_") else "first"
        assert arguments_of(pipeline["filter"][0])["reads"] == reads, name


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_label_words_are_those_of_table_1(tasks: dict[str, Any], dataset: str) -> None:
    golden = GOLDEN_NAMES[dataset]
    for prefix, (kind, verbalizers) in product(("verbalizer", "verbalizer_cot"), VERBALIZERS.items()):
        for verbalizer in verbalizers:
            task = tasks[f"{prefix}_{dataset}_{kind}_{verbalizer}"]
            demanded = dict(zip(golden, words(dataset, verbalizer), strict=True))
            assert {label: task.doc_to_target({GOLDEN: label}) for label in golden} == demanded
            assert task.config.metadata["label_words"] == demanded
            assert task.config.metadata["prior_words"] == dict(zip(golden, meaning(dataset, verbalizer), strict=True))
