"""Rows of the larger pool through the real harness: known answers, and the report's figure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from lm_eval_ext.families.instructions.kinds import LARGER_POOL
from lm_eval_ext.families.manyifeval.prompts import task_prompts
from lm_eval_ext.families.manyifeval.rows import all_rows
from lm_eval_ext.reports.sections.manyifeval.section import section
from lm_eval_ext.sources import RowsError
from tests.conftest import EvaluateEach, Run
from tests.families.jsonl import write_jsonl
from tests.families.manyifeval.files import published_rows
from tests.harness.tasks import make
from tests.reports.sections.reading_tables import figure, numbers, section_on, values

pytestmark = pytest.mark.harness

LEAVES = {f"manyifeval_wide_n{count:02d}": count for count in range(1, 11)}
POLICIES = ("oracle", "drop_one", "ignore")
STRICT = [f"{level}_level_{kind}_acc" for level in ("prompt", "inst") for kind in ("strict", "repaired")]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a folder with a few bare task prompts."""
    folder = tmp_path_factory.mktemp("prompts")
    prompts = [{"key": prompt.key, "task_prompt": prompt.text} for prompt in task_prompts("embedded", "test")[::40]]
    for split in ("test", "fewshot"):
        write_jsonl(folder / f"manyifeval_{split}.jsonl", prompts)
    return str(folder)


@pytest.fixture(scope="module")
def runs(evaluate_each: EvaluateEach, tmp_path_factory: pytest.TempPathFactory, source: str) -> Mapping[str, Run]:
    options = ("--model", "reference", "--metadata", json.dumps({"source": source, "details": True}))
    found = {
        policy: (*options, "--model_args", f"policy={policy}", "--tasks", "manyifeval_wide,manyifeval_n02")
        for policy in POLICIES
    }
    return evaluate_each(tmp_path_factory.mktemp("wide"), found)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_scores_are_those_that_the_policy_implies(runs: Mapping[str, Run], policy: str) -> None:
    results = runs[policy].results["results"]
    for leaf, count in LEAVES.items():
        prompt, inst = {"oracle": (1, 1), "drop_one": (0, (count - 1) / count), "ignore": (0, 0)}[policy]
        scores = [results[leaf][f"{metric},none"] for metric in STRICT]
        assert scores == pytest.approx([prompt, prompt, inst, inst]), leaf
        assert results[leaf]["curse_residual,none"] == pytest.approx(prompt - inst**count)
        assert not [metric for metric in results[leaf] if metric.startswith("strict_acc_")]
    if policy == "oracle":
        loose = [results[leaf][f"{level}_level_loose_acc,none"] for leaf in LEAVES for level in ("prompt", "inst")]
        assert set(loose) == {1.0}


def test_the_report_shows_both_pools_and_the_larger_one_in_no_other_figure(
    runs: Mapping[str, Run],
) -> None:
    found = section_on(section, *(run.folder for run in runs.values()))
    shown = numbers(found, "manyifeval_wide")
    assert set(shown) == {(f"reference policy={policy}", count) for policy in POLICIES for count in range(1, 11)}
    # The fifteen types, the larger pool, and its instructions.
    assert [*values(shown["reference policy=drop_one", 2]).values()] == pytest.approx([0.0, 0.0, 0.5])
    assert {row[1] for row in figure(found, "manyifeval_curse").table.rows} == {2}


def test_few_shot_examples_follow_what_their_prompts_ask_for(source: str) -> None:
    task = make("manyifeval_wide_n03", {"source": source})
    shown = task.demonstrations(2)
    assert [len(doc["instruction_id_list"]) for doc in shown] == [3, 3]
    for doc in shown:
        scores = task.process_results(doc, [doc["witness"]])
        assert scores["prompt_level_strict_acc"] == scores["prompt_level_repaired_acc"] == 1.0


def test_finished_rows_cannot_be_drawn_anew(tmp_path: Path) -> None:
    finished = write_jsonl(tmp_path / "finished.jsonl", published_rows()[:10])
    with pytest.raises(RowsError, match=r"its rows are finished, .* use bare task prompts"):
        all_rows(finished, "test", None, LARGER_POOL)


@pytest.mark.parametrize("changes", [{"repeat": True}, {"single": True}])
def test_instructions_of_the_pool_are_neither_repeated_nor_alone(source: str, changes: dict[str, bool]) -> None:
    task = make("manyifeval_wide_n01", {"source": source})
    config = {**task.config.to_dict(), "instructions": 1, **changes}
    with pytest.raises(ValueError, match="repeat or single is set; expected neither"):
        task.configure(config)
