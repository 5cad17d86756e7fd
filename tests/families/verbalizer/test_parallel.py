"""Two data-parallel processes give the same samples and scores as one."""

from __future__ import annotations

import re
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import TWO_PROCESSES, Harness, Run, offline_environment

TASKS = ("verbalizer_snli_unnatural_flipped", "verbalizer_sst2_neutral_lake_river", "verbalizer_cot_qqp_natural_golden")


def evaluate(harness: Harness, rows: int, launcher: tuple[str, ...] = ()) -> Run:
    run = harness(
        *("--model", "reference", "--model_args", "policy=random,seed=7"),
        *("--tasks", ",".join(TASKS), "--limit", str(rows)),
        source="embedded",
        launcher=launcher,
        # The spelling of two processes on a CPU: with --cpu, accelerate starts one.
        environment=offline_environment(ACCELERATE_USE_CPU="true"),
    )
    assert run.status == 0, run.output
    return run


def by_row(run: Run, task: str) -> list[dict[str, Any]]:
    """Return a task's samples in the order of the rows, each with the set of its responses.

    The harness gives a rank with fewer rows copies of its last request, and logs what is answered to them too.
    """
    samples = sorted(run.samples[task], key=itemgetter("doc_id"))
    return [sample | {"resps": set(sample["resps"][0])} for sample in samples]


def ranks(run: Run, task: str) -> set[str]:
    """Return the ranks that built requests of a task, as the harness logs them."""
    return set(re.findall(rf"Building contexts for {task} on rank (\d+)", run.output))


@pytest.mark.parametrize("rows", [100, 7], ids=["even", "odd"])
def test_two_processes_share_the_rows_and_give_the_samples_and_scores_of_one(
    harness: Harness, tmp_path: Path, rows: int
) -> None:
    pytest.importorskip("accelerate", reason="accelerate is not installed (extra: hf)")
    one = evaluate(harness, rows)
    two = evaluate(harness, rows, TWO_PROCESSES)

    for task in TASKS:
        assert (ranks(one, task), ranks(two, task)) == ({"0"}, {"0", "1"})
        assert [sample["doc_id"] for sample in by_row(two, task)] == list(range(rows))
        assert by_row(two, task) == by_row(one, task)
        assert two.results["n-samples"][task] == one.results["n-samples"][task] == {"original": 100, "effective": rows}
        for metric in ("acc", "prior_rate", "invalid_rate"):
            assert two.score(task, metric) == one.score(task, metric), metric
            # A standard error is a sum over the rows in the order of the ranks: equal but for the last digit.
            error = two.results["results"][task][f"{metric}_stderr,answer"]
            assert error == pytest.approx(one.results["results"][task][f"{metric}_stderr,answer"], rel=1e-12)
        assert 0 < two.score(task, "acc") < 1, "answers all alike would match whichever row they were given to"

    # The fixture's second output folder: written by one process, once.
    assert len(list(tmp_path.glob("out1/*/results_*.json"))) == 1
    assert len(list(tmp_path.glob("out1/*/samples_*.jsonl"))) == len(TASKS)
