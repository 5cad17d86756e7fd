"""A run of lighteval gives the figures of verify."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lm_eval_ext.integrations.rows import RowError
from lm_eval_ext.regrade import accuracies
from lm_eval_ext.verifiers import verify
from tests.integrations.documentation import code
from tests.integrations.rows import pairs

pytest.importorskip("lighteval", reason="lighteval is not installed (extra: lighteval)")
# Only where the library is.
from lighteval.logging.evaluation_tracker import EvaluationTracker
from lighteval.models.dummy.dummy_model import DummyModel, DummyModelConfig
from lighteval.models.model_output import ModelResponse
from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters

from lm_eval_ext.integrations.lighteval_metrics import instruction_metrics, instruction_prompt

REACH_FOR_THE_NETWORK = ("tiny_benchmarks", "mt_bench.main", "mix_eval.main")
"""Tasks of lighteval's own that do so when they are imported, as they are in every run."""


class Answering(DummyModel):
    """Gives each numbered prompt its response."""

    def greedy_until(self, docs: list[Any]) -> list[Any]:
        return [ModelResponse(text=[pairs()[int(doc.query.partition(".")[0])][1]]) for doc in docs]


def test_the_documented_task_gives_the_figures_of_verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in REACH_FOR_THE_NETWORK:
        monkeypatch.setitem(sys.modules, f"lighteval.tasks.tasks.{name}", SimpleNamespace(TASKS_TABLE=[]))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    lines = [json.dumps(row | {"prompt": f"{number}. {row['prompt']}"}) for number, (row, _) in enumerate(pairs())]
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "train.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "followed.py").write_text(
        code("lighteval").replace("google/IFEval", str(tmp_path / "rows")), encoding="utf-8"
    )
    pipeline = Pipeline(
        tasks="followed|0",
        pipeline_parameters=PipelineParameters(
            launcher_type=ParallelismManager.NONE, custom_tasks_directory=str(tmp_path / "followed.py")
        ),
        evaluation_tracker=EvaluationTracker(output_dir=str(tmp_path)),
        model=Answering(DummyModelConfig()),
    )
    pipeline.evaluate()
    strict, loose = (
        [verify(response, row["instruction_id_list"], row["kwargs"], loose=is_loose) for row, response in pairs()]
        for is_loose in (False, True)
    )
    found = pipeline.get_results()["results"]["followed:0"]
    assert {name: value for name, value in found.items() if "stderr" not in name} == accuracies(
        strict, loose, "faithful"
    )


def test_the_repaired_edition_has_figures_of_its_own_names() -> None:
    row, _ = pairs()[0]
    response = ModelResponse(text=["<think>Red,</think>so tired *"])
    values = instruction_metrics("repaired").compute_sample(doc=instruction_prompt(row), model_response=response)
    assert values == {
        "prompt_level_repaired_acc": 0.0,
        "inst_level_repaired_acc": [True, False],
        "prompt_level_repaired_loose_acc": 0.0,
        "inst_level_repaired_loose_acc": [True, False],
    }


def test_a_malformed_row_is_an_error_that_names_it() -> None:
    with pytest.raises(RowError, match=r"^followed, row with key 1: kwargs has 0 entries; expected 2"):
        instruction_prompt(pairs()[0][0] | {"kwargs": []}, "followed")
    with pytest.raises(RowError, match=r"^followed, row without a key: 'prompt' must be text, found None"):
        instruction_prompt({}, "followed")


def test_a_document_without_a_response_is_an_error_that_names_it() -> None:
    document = instruction_prompt(pairs()[0][0], "followed")
    with pytest.raises(RowError, match=r"^followed, document '' \('Name two .*: no response; expected at least one"):
        instruction_metrics().compute_sample(doc=document, model_response=ModelResponse(text=[]))
