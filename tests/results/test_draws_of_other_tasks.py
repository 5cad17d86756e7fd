"""Several draws per row that the harness scored by itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from lm_eval import simple_evaluate
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from lm_eval_ext.harness.versions import HAS_SCORERS
from lm_eval_ext.results.load import load_apart
from lm_eval_ext.results.recognition import Choice
from lm_eval_ext.results.runs import TaskRun
from tests.conftest import save
from tests.other_files import STAMP, MadeUp, write_other_run
from tests.own_tasks import Scripted, write_tasks

TASK = "gsm8k"


def read(folder: Path, draws: list[list[object]]) -> TaskRun:
    """Write and read a run of rows with these draws; the harness's figure is that of the first."""
    first = [float(of_row[0] is True or of_row[0] == 1) for of_row in draws]
    write_other_run(folder, {TASK: MadeUp(first, metric="exact_match")})
    samples = folder / f"samples_{TASK}_{STAMP}.jsonl"
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    for line, of_row in zip(lines, draws, strict=True):
        line |= {"resps": [["x"] * len(of_row)], "scores_per_repeat": {"exact_match": of_row}}
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (runs,) = load_apart([[folder]], others=Choice())
    (run,) = runs.counting
    return run


def test_every_draw_counts(tmp_path: Path) -> None:
    run = read(tmp_path, [[1.0, 0.0], [0.0, 0.0]])
    assert run.rows is not None
    assert run.rows.draws["exact_match"].tolist() == [[1, 0], [0, 0]]
    assert run.rows.values["exact_match"].tolist() == [0.5, 0.0]
    assert run.rows.aggregates["exact_match"].figure == pytest.approx(0.25)
    assert not run.issues


@pytest.mark.parametrize("draws", [[[1.0, 0.0], [0.0, 0.0, 1.0]], [[1.0, "yes"], [0.0, 0.0]]])
def test_draws_that_are_not_the_same_number_of_numbers_do_not_count(tmp_path: Path, draws: list[list[object]]) -> None:
    run = read(tmp_path, draws)
    assert run.rows is not None
    assert not run.rows.draws
    assert run.rows.values["exact_match"].tolist() == [1.0, 0.0]


class Wavering(Scripted):
    """Answers every row rightly in the first of its draws, and wrongly in all others."""

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        texts, seen = super().generate_until(requests), set()
        found = []
        for request, text in zip(requests, texts, strict=True):
            found.append("no number" if id(request) in seen else text)
            seen.add(id(request))
        return found


@pytest.mark.harness
@pytest.mark.skipif(not HAS_SCORERS, reason="the harness has no --repeats")
def test_real_repeats_are_read(tmp_path: Path) -> None:
    tasks = write_tasks(tmp_path / "tasks")
    config = yaml.safe_load((tasks / "sums.yaml").read_text())
    # Its filters keep the first draw.
    del config["filter_list"]
    (tasks / "sums.yaml").write_text(yaml.safe_dump({**config, "doc_to_target": "{{answer}}"}))
    tracker = EvaluationTracker(output_path=str(tmp_path / "out"))
    results = simple_evaluate(
        Wavering(0),
        model_args="pretrained=owner/wavering",
        tasks=["sums"],
        task_manager=TaskManager(include_path=[str(tasks)], include_defaults=False),
        repeats=4,
        bootstrap_iters=10,
        evaluation_tracker=tracker,
        log_samples=True,
    )
    assert results is not None
    save(results, tracker)
    (runs,) = load_apart([[tmp_path / "out"]], others=Choice())
    (run,) = runs.counting
    assert run.rows is not None
    assert run.rows.drawn == 4
    # The harness's own name for the mean over draws.
    assert set(run.rows.values["pass@1(exact_match)"]) == {0.25}
    assert set(map(tuple, run.rows.draws["pass@1(exact_match)"])) == {(1, 0, 0, 0)}
