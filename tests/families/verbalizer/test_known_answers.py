"""The reference model's scores, end to end through the harness, are the ones that its policies imply."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest

from tests.across_versions import filtered
from tests.conftest import SHARED, EvaluateEach, Harness, Run, evaluate_sequentially, offline_environment

pytestmark = pytest.mark.harness

REAL = str(SHARED / "data" / "classification")
EMBEDDED = json.dumps({"source": "embedded"})
GROUPS = {"natural": 27, "neutral": 54, "unnatural": 27}

# naturalness -> acc, prior_rate, invalid_rate: of an LM that does what the prompt says, and of one with its prior
ORACLE = {"natural": (1.0, 1.0, 0.0), "neutral": (1.0, 0.0, 0.0), "unnatural": (1.0, 0.0, 0.0)}
# In a neutral task the golden word is neither label.
PRIOR = {"natural": (1.0, 1.0, 0.0), "neutral": (0.0, 1.0, 1.0), "unnatural": (0.0, 1.0, 0.0)}


# On real rows only the direct prompts, because chain of thought uses the same rows, and no random answers, which depend
# on none.
PROMPTINGS = {"embedded": ("verbalizer", "verbalizer_cot"), REAL: ("verbalizer",)}
POLICIES = {"embedded": ("oracle", "prior", "random"), REAL: ("oracle", "prior")}


@pytest.fixture(scope="module", params=PROMPTINGS, ids=["embedded", "real"])
def source(request: pytest.FixtureRequest) -> str:
    if request.param == REAL and not (SHARED / "data").is_dir():
        pytest.skip(f"the real rows are not at {REAL}")
    return str(request.param)


@pytest.fixture(scope="module")
def by_policy(source: str, evaluate_each: EvaluateEach, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    """Return the runs of each policy over all tasks on one source."""
    metadata = json.dumps({"source": source})
    options = {
        policy: (
            *("--model", "reference", "--model_args", f"policy={policy},seed=1"),
            *("--tasks", ",".join(PROMPTINGS[source]), "--metadata", metadata),
        )
        for policy in POLICIES[source]
    }
    folder = tmp_path_factory.mktemp("policies")
    return evaluate_each(folder, options)


def scores(run: Run, name: str) -> tuple[float, float, float]:
    return (run.score(name, "acc"), run.score(name, "prior_rate"), run.score(name, "invalid_rate"))


def members(run: Run, family: str, naturalness: str) -> list[str]:
    of_family = [task for task in run.samples if task.startswith("verbalizer_cot_") == (family == "verbalizer_cot")]
    return [task for task in of_family if f"_{naturalness}_" in task]


@pytest.mark.parametrize(("policy", "expected"), [("oracle", ORACLE), ("prior", PRIOR)])
def test_a_policys_scores_are_exact_in_every_task_and_group(
    by_policy: Mapping[str, Run], source: str, policy: str, expected: dict[str, tuple[float, float, float]]
) -> None:
    run = by_policy[policy]
    assert len(run.samples) == 108 * len(PROMPTINGS[source])
    for family, (naturalness, leaves) in product(PROMPTINGS[source], GROUPS.items()):
        tasks = members(run, family, naturalness)
        assert len(tasks) == leaves
        for name in [*tasks, f"{family}_{naturalness}"]:
            assert scores(run, name) == expected[naturalness], name
        assert sum(len(run.samples[name]) for name in tasks) == leaves * 100


@pytest.mark.parametrize("source", ["embedded"], indirect=True, scope="module")
def test_the_random_policy_stays_within_its_binomial_interval(by_policy: Mapping[str, Run], source: str) -> None:
    run = by_policy["random"]
    for family, (naturalness, leaves) in product(PROMPTINGS[source], GROUPS.items()):
        acc, prior, invalid = scores(run, f"{family}_{naturalness}")
        # A fair coin over n rows: mean 1/2, standard deviation sqrt(1 / 4n); five of them on either side.
        assert abs(acc - 0.5) < 5 * math.sqrt(1 / (4 * leaves * 100))
        assert invalid == 0.0
        # One of two words: natural labels are the prior, unnatural ones its opposite, neutral ones neither.
        assert prior == pytest.approx({"natural": acc, "neutral": 0.0, "unnatural": 1 - acc}[naturalness])
    per_task = [run.score(task, "acc") for task in run.samples]
    # sqrt(1 / 400) = 0.05 for the 100 rows of a task
    assert all(abs(acc - 0.5) < 5 * 0.05 for acc in per_task)
    assert len(set(per_task)) > 10  # the draws differ from task to task


@pytest.fixture(scope="module")
def small_runs(evaluate_each: EvaluateEach, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    """Return some small runs by what they are looked at for."""
    asked = {
        "samples": ("policy=prior,seed=1", "verbalizer_sst2"),
        "results": ("policy=oracle,seed=1", "verbalizer_sst2_natural_golden"),
        "predictions": ("policy=oracle", "verbalizer_rte_unnatural_flipped", "--limit", "3", "--predict_only"),
    }
    options = {
        name: ("--model", "reference", "--model_args", args, "--tasks", tasks, *more, "--metadata", EMBEDDED)
        for name, (args, tasks, *more) in asked.items()
    }
    folder = tmp_path_factory.mktemp("small")
    return evaluate_each(folder, options)


def test_the_samples_explain_each_score_and_the_row_is_the_same_under_every_verbalizer(
    small_runs: Mapping[str, Run],
) -> None:
    run = small_runs["samples"]
    first = {task: rows[0] for task, rows in run.samples.items()}
    assert len(first) == 12
    assert len({row["doc_hash"] for row in first.values()}) == 1
    flipped = first["verbalizer_sst2_unnatural_flipped"]
    golden = flipped["doc"]["golden_label"]
    assert flipped["target"] == {"positive": "negative", "negative": "positive"}[golden]
    assert filtered(flipped) == [golden]
    assert (flipped["acc"], flipped["prior_rate"], flipped["invalid_rate"]) == (0.0, 1.0, 0.0)
    assert filtered(first["verbalizer_sst2_neutral_foo_bar"]) == [golden]


def test_the_results_record_the_source_of_the_rows(small_runs: Mapping[str, Run]) -> None:
    run = small_runs["results"]
    config = run.results["configs"]["verbalizer_sst2_natural_golden"]
    assert config["metadata"]["source"] == "embedded"
    assert config["metadata"]["note"].endswith("do not compare scores on them with any others")
    assert run.results["versions"]["verbalizer_sst2_natural_golden"].endswith("+embedded")
    assert "0x" not in str(config), "a memory address would make two equal runs differ"


def test_cached_requests_of_one_source_are_not_served_for_another(
    small_harness: str, real_rows: str, tmp_path: Path
) -> None:
    options = ("--model", "reference", "--tasks", "verbalizer_rte_natural_golden", "--cache_requests", "true")
    evaluations = {
        name: (*options, "--metadata", json.dumps({"source": source}))
        for name, source in (("embedded", "embedded"), ("real", real_rows), ("again", real_rows))
    }
    # 0.5 says that it builds requests at this level.
    settings = {"LM_HARNESS_CACHE_PATH": str(tmp_path / "cache"), "LMEVAL_LOG_LEVEL": "DEBUG"}
    environment = offline_environment(PYTHONPATH=small_harness, **settings)
    runs = evaluate_sequentially(tmp_path, evaluations, environment).values()
    for run in runs:
        assert run.score("verbalizer_rte_natural_golden", "acc") == 1.0
        for row in run.samples["verbalizer_rte_natural_golden"]:
            assert row["doc"]["sentence1"] in row["arguments"]["gen_args_0"]["arg_0"]
    embedded, real, again = (run.results["configs"]["verbalizer_rte_natural_golden"]["metadata"] for run in runs)
    assert embedded["rows_hash"] != real["rows_hash"] == again["rows_hash"]
    (output,) = {run.output for run in runs}
    assert output.count("Building contexts for verbalizer_rte_natural_golden") == 2  # the last time the cache served


def test_predict_only_records_the_answers(small_runs: Mapping[str, Run]) -> None:
    samples = small_runs["predictions"].samples["verbalizer_rte_unnatural_flipped"]
    assert len(samples) == 3
    for row in samples:
        assert filtered(row) == [row["target"]]


def test_equal_runs_write_equal_samples(harness: Harness) -> None:
    options = ("--model", "reference", "--model_args", "policy=random,seed=1", "--tasks", "verbalizer_rte")
    environments = [offline_environment(PYTHONHASHSEED=seed) for seed in ("1", "2")]
    one, other = (harness(*options, source="embedded", environment=variables) for variables in environments)
    assert one.status == 0, one.output
    assert one.samples == other.samples
    assert one.results["results"] == other.results["results"]
