"""Two data-parallel processes give the samples and scores of one, in every family.

All evaluations run in one pair of processes, one after the other: starting a pair costs more than they do. The quick
tests fork the pair, with the variables that a launcher sets, and the slow ones launch it.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.harness.versions import HAS_SCORERS
from tests.conftest import (
    SEQUENTIALLY,
    WITHOUT_TABLES,
    EvaluateEach,
    Run,
    evaluate_sequentially,
    finished,
    offline_environment,
    options_of,
)
from tests.forks import Forks
from tests.harness.tasks import make
from tests.tables import tables

# The instructions of some are judged with them, and all evaluations are of one process.
pytestmark = [pytest.mark.harness, pytest.mark.usefixtures("sentence_data")]

# Data-parallel without any GPU. Port 0: accelerate takes a free one, so that several tests may run at once.
TWO_PROCESSES = ("-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--main_process_port", "0")

# In a fork of the warm harness: a second process, which only its rank tells from the first.
IN_TWO_FORKS = f"""
import os, sys
second = os.fork()
rank = "0" if second else "1"
os.environ.update(RANK=rank, LOCAL_RANK=rank)
{WITHOUT_TABLES}
{SEQUENTIALLY}
if second:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(second, 0)[1]))
"""


@dataclass(frozen=True)
class Evaluation:
    """What is evaluated; no task is in two evaluations, so that the log says of which a line is."""

    model: str
    model_args: str
    tasks: Sequence[str]
    rows: int
    details: bool = False

    def options(self) -> list[str]:
        metadata = json.dumps({"source": "embedded", "answer_classifier": "rules", "details": self.details})
        return [
            *("--model", self.model, "--model_args", self.model_args, "--tasks", ",".join(self.tasks)),
            *("--limit", str(self.rows), "--metadata", metadata),
        ]


EVALUATIONS = {name: Evaluation(**given) for name, given in tables(__file__).items()}


ANSWERED = "manyifeval_n04"
"""The task whose answers are recorded: those to the first rows of an odd number, so that each process lacks some."""


def recorded_options(folder: Path) -> list[str]:
    """Record answers to some rows of a task, and return the options with which they are scored again."""
    rows = make(ANSWERED).eval_docs.select(range(4))
    lines = [json.dumps({"prompt": row["prompt"], "response": row["witness"]}) for row in rows]
    path = folder / "recorded.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return Evaluation("recorded", f"samples={path},missing=empty", (ANSWERED,), 7).options()


@dataclass(frozen=True)
class Runs:
    """The same evaluations by one process and by two; by name of an evaluation, its run."""

    one: Mapping[str, Run]
    two: Mapping[str, Run]


@pytest.fixture(scope="module", params=["forked", pytest.param("launched", marks=pytest.mark.slow)])
def runs(
    request: pytest.FixtureRequest,
    warm: Forks,
    small_harness: str,
    evaluate_each: EvaluateEach,
    tmp_path_factory: pytest.TempPathFactory,
) -> Runs:
    pytest.importorskip("accelerate", reason="accelerate is not installed (extra: hf)")
    one, two = tmp_path_factory.mktemp("one"), tmp_path_factory.mktemp("two")
    options = {name: evaluation.options() for name, evaluation in EVALUATIONS.items()}
    options["recorded"] = recorded_options(tmp_path_factory.mktemp("answers"))
    # The spelling of two processes on a CPU: without the variable, or with accelerate's own --cpu, one would start.
    # 0.5 says which process builds which requests at the level DEBUG.
    environment = offline_environment(ACCELERATE_USE_CPU="true", LMEVAL_LOG_LEVEL="DEBUG", PYTHONPATH=small_harness)

    def by_two_processes(some: Mapping[str, Sequence[str]]) -> dict[str, Run]:
        if request.param == "launched":
            return evaluate_sequentially(two, some, environment, TWO_PROCESSES)
        return _by_two_forks(warm, two, some, environment)

    # 0.5 ends the processes' group with a run, and no other can follow in the same processes.
    at_once = [{name: of_one} for name, of_one in options.items()] if HAS_SCORERS else [options]
    of_two = {name: run for some in at_once for name, run in by_two_processes(some).items()}
    return Runs(evaluate_each(one, options), of_two)


def _by_two_forks(
    warm: Forks, folder: Path, options: Mapping[str, Sequence[str]], environment: Mapping[str, str]
) -> dict[str, Run]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # What a launcher tells all of its processes.
    variables = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    script, arguments = IN_TWO_FORKS, json.dumps(options_of(folder, options))
    process = warm.run("-c", script, arguments, folder=folder, environment={**environment, **variables})
    return finished(folder, options, process.returncode, process.stdout + process.stderr)


@pytest.mark.parametrize("name", EVALUATIONS)
def test_the_processes_share_the_rows_and_one_writes_the_results(runs: Runs, name: str) -> None:
    for task in EVALUATIONS[name].tasks:
        assert ranks(runs.two[name], task) == {"0", "1"}
    assert len(list(runs.two[name].folder.glob("*/results_*.json"))) == 1
    assert len(list(runs.two[name].folder.glob("*/samples_*.jsonl"))) == len(EVALUATIONS[name].tasks)


def ranks(run: Run, task: str) -> set[str]:
    """Return the ranks that built requests of a task, as the harness logs them."""
    return set(re.findall(rf"Building contexts for {task} on rank (\d+)", run.output))


def in_order(run: Run, task: str) -> list[dict[str, Any]]:
    """Return a task's samples in the order of the rows."""
    return sorted(run.samples[task], key=lambda sample: (sample["filter"], sample["doc_id"]))


def by_row(run: Run, task: str) -> list[dict[str, Any]]:
    """Return a task's samples in the order of the rows, each with the set of its responses.

    The harness gives a rank with fewer rows copies of its last request, and logs what is answered to them too.
    """
    return [sample | {"resps": set(sample["resps"][0])} for sample in in_order(run, task)]


def near(expected: float) -> Any:
    """Return a mean or a sum over the rows in the order of the ranks: equal except for the last digits."""
    return pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", ["verbalizer, even", "verbalizer, odd"])
def test_the_verbalizer_tasks_have_the_samples_and_scores_of_one_process(runs: Runs, name: str) -> None:
    one, two, rows = runs.one[name], runs.two[name], EVALUATIONS[name].rows
    for task in EVALUATIONS[name].tasks:
        assert [sample["doc_id"] for sample in by_row(two, task)] == list(range(rows))
        assert by_row(two, task) == by_row(one, task)
        assert {sample["ended"] for sample in by_row(two, task)} == {"itself"}
        assert two.results["n-samples"][task] == one.results["n-samples"][task] == {"original": 100, "effective": rows}
        for metric in ("acc", "prior_rate", "invalid_rate"):
            assert two.score(task, metric) == one.score(task, metric), metric
            error = two.results["results"][task][f"{metric}_stderr,answer"]
            assert error == pytest.approx(one.results["results"][task][f"{metric}_stderr,answer"], rel=1e-12)
        assert 0 < two.score(task, "acc") < 1, "answers all alike would match whichever row they were given to"


def test_the_manyifeval_tasks_have_the_samples_and_scores_of_one_process(runs: Runs) -> None:
    one, two = runs.one["manyifeval"], runs.two["manyifeval"]
    for task in EVALUATIONS["manyifeval"].tasks:
        assert by_row(two, task) == by_row(one, task)
        scored = [metric for metric in one.results["results"][task] if metric.endswith(",none")]
        assert set(two.results["results"][task]) == set(one.results["results"][task])
        for metric in (metric for metric in scored if "_stderr" not in metric):
            alone, together = (run.results["results"][task][metric] for run in (one, two))
            assert together == (near(alone) if isinstance(alone, float) else alone), metric
    # One of two instructions dropped: 0 - (1/2) ** 2.
    assert two.results["results"]["manyifeval_n02"]["curse_residual,none"] == near(-0.25)


def test_answers_are_refined_as_with_one_process(runs: Runs) -> None:
    one, two = runs.one["self_refine"], runs.two["self_refine"]
    (task,) = EVALUATIONS["self_refine"].tasks
    assert [without_padding(sample) for sample in in_order(two, task)] == in_order(one, task)
    assert len(in_order(one, task)) == 7
    assert sum(len(sample["resps"][0]) for sample in in_order(two, task)) == 7 + 1
    assert two.results["results"] == one.results["results"]
    assert one.results["results"][task]["feedback_f1,none"] == 1.0


def test_recorded_answers_are_given_and_missed_as_with_one_process(runs: Runs) -> None:
    one, two = runs.one["recorded"], runs.two["recorded"]
    assert [without_padding(sample) for sample in in_order(two, ANSWERED)] == in_order(one, ANSWERED)
    assert two.results["results"] == one.results["results"]
    assert ranks(two, ANSWERED) == {"0", "1"}
    said = [run.results["config"]["recorded"] for run in (one, two)]
    assert said[0] == said[1]
    assert (said[0]["answers"], said[0]["missing"]) == ({"recorded.jsonl": 4}, {ANSWERED: 3})


def without_padding(sample: dict[str, Any]) -> dict[str, Any]:
    ((first, *padding),) = sample["resps"]
    assert padding in ([], [first])
    return sample | {"resps": [[first]]}


def test_the_natural_instructions_tasks_have_the_scores_of_one_process(runs: Runs) -> None:
    one, two = runs.one["natural_instructions"], runs.two["natural_instructions"]
    for task in EVALUATIONS["natural_instructions"].tasks:
        of_one, of_two = ({row["doc_hash"]: row["rouge_l"] for row in run.samples[task]} for run in (one, two))
        assert of_two == of_one
        assert len(of_one) == 7
        alone, together = (run.results["results"][task]["rouge_l,none"] for run in (one, two))
        assert together == pytest.approx(alone, rel=1e-12)


def test_the_multiple_choice_tasks_have_the_figures_of_one_process(runs: Runs) -> None:
    one, two = runs.one["paired_mcq"], runs.two["paired_mcq"]
    for task in EVALUATIONS["paired_mcq"].tasks:
        alone, together = (figures(run, task) for run in (one, two))
        assert set(together) == set(alone)
        for metric, value in alone.items():
            assert together[metric] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value), metric
        # The copies are of any of a row's requests, the letters' too.
        scored = [[{**sample, "resps": None} for sample in in_order(run, task)] for run in (one, two)]
        assert scored[0] == scored[1]
        assert len(scored[0]) == 37 * len(("string_match", "rules"))
    assert figures(two, "paired_mcq_opinionqa_medium")["entropy_text,rules"] > 0


def figures(run: Run, task: str) -> dict[str, Any]:
    return {name: value for name, value in run.results["results"][task].items() if "_stderr" not in name}
