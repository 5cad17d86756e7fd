"""How texts were decoded, as the real harness records it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.results.load import load
from lm_eval_ext.results.sampling import Decoding, decoding
from tests.conftest import save

pytestmark = pytest.mark.harness
TASK = "text_mcq_opinionqa_low"


def test_draws_of_a_real_model_are_told_apart_by_temperature_and_seed(tiny_model: Path, tmp_path: Path) -> None:
    manager = TaskManager(
        include_path=tasks_dir(),
        include_defaults=False,
        metadata={"source": "embedded", "answer_classifier": "rules"},
    )
    texts = {}
    for temperature, seed in ((None, 1), (0.7, 1), (0.7, 2)):
        folder = tmp_path / f"{temperature}-{seed}"
        tracker = EvaluationTracker(output_path=str(folder))
        drawn = f",do_sample=true,temperature={temperature}" if temperature else ""
        results = simple_evaluate(
            "hf",
            model_args=f"pretrained={tiny_model},device=cpu",
            tasks=[TASK],
            task_manager=manager,
            limit=2,
            bootstrap_iters=0,
            gen_kwargs=f"max_gen_toks=8{drawn}",
            random_seed=seed,
            numpy_random_seed=seed,
            torch_random_seed=seed,
            evaluation_tracker=tracker,
            log_samples=True,
        )
        texts[temperature, seed] = [sample["resps"] for sample in results["samples"][TASK]]
        save(results, tracker)
    assert texts[0.7, 1] != texts[0.7, 2]
    runs = load([tmp_path])
    assert len(runs.models) == 1
    assert [decoding(run) for run in runs.draws] == [Decoding(0.0), Decoding(0.7, "1/1/1"), Decoding(0.7, "2/2/2")]
    assert [decoding(run) for run in runs.runs] == [Decoding(0.0)]
