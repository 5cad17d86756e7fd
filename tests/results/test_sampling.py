"""How texts were decoded, as the real harness records it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.results.load import load, load_apart
from lm_eval_ext.results.runs_as_one import Draw, as_one
from lm_eval_ext.results.sampling import Decoding, decoding
from tests.conftest import save

pytestmark = pytest.mark.harness
TASK = "text_mcq_opinionqa_low"


def test_draws_of_a_real_model_are_told_apart_by_temperature_and_seed(tiny_model: Path, tmp_path: Path) -> None:
    texts = {}
    for temperature, seed, repeats in ((None, 1, 1), (0.7, 1, 1), (0.7, 2, 1), (0.7, 3, 3)):
        manager = TaskManager(
            include_path=tasks_dir(),
            include_defaults=False,
            metadata={"source": "embedded", "answer_classifier": "rules", "repeats": repeats},
        )
        folder = tmp_path / ("repeated" if repeats > 1 else "single") / f"{temperature}-{seed}"
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
    # Three draws of one run: another text each time.
    assert all(len(draws) == 3 and len(set(draws)) > 1 for (draws,) in texts[0.7, 3])
    runs = load([tmp_path / "single"])
    assert len(runs.models) == 1
    assert [decoding(run) for run in runs.draws] == [Decoding(0.0), Decoding(0.7, "1/1/1"), Decoding(0.7, "2/2/2")]
    assert [decoding(run) for run in runs.runs] == [Decoding(0.0)]
    # The same in two ways: several draws of each row.
    seeds = [tmp_path / "single" / f"0.7-{seed}" for seed in (1, 2)]
    together, (repeated,) = (
        as_one([Draw(one, "a run") for one in load_apart([[path] for path in paths])]).runs
        for paths in (seeds, [tmp_path / "repeated"])
    )
    assert [run.rows.drawn for run in (*together, repeated) if run.rows] == [2, 3]
