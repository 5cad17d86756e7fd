"""The reference model's scores, end to end through the harness, are the ones that its policies imply."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import pytest

from tests.across_versions import filtered
from tests.conftest import SHARED, EvaluateEach, Harness, Run, offline_environment

pytestmark = pytest.mark.harness

REAL = str(SHARED / "data" / "classification")
GROUPS = {"natural": 27, "neutral": 54, "unnatural": 27}

# naturalness -> acc, prior_rate, invalid_rate: of an LM that does what the prompt says, and of one with its prior
ORACLE = {"natural": (1.0, 1.0, 0.0), "neutral": (1.0, 0.0, 0.0), "unnatural": (1.0, 0.0, 0.0)}
# In a neutral task the golden word is neither label.
PRIOR = {"natural": (1.0, 1.0, 0.0), "neutral": (0.0, 1.0, 1.0), "unnatural": (0.0, 1.0, 0.0)}


KNOWN = {"oracle": ORACLE, "prior": PRIOR}
DIRECT, COT = "verbalizer", "verbalizer_cot"


Asked = tuple[tuple[str, ...], int]
"""The groups that a policy is asked, and how many of the 100 rows of each of their tasks."""

# The oracle is asked everywhere; the others once, because their scores depend on no source and no prompting. A few rows
# show what each row shows; random answers are counted over more of them.
SOME: Mapping[str, Mapping[str, Asked]] = {
    "embedded": {"oracle": ((DIRECT, COT), 5), "prior": ((COT,), 5), "random": ((DIRECT,), 50)},
    REAL: {"oracle": ((DIRECT,), 5)},
}
EVERYTHING: Mapping[str, Mapping[str, Asked]] = {
    source: dict.fromkeys((*KNOWN, "random"), ((DIRECT, COT), 100)) for source in SOME
}
SETTINGS = [
    pytest.param(source, asked[source], id=f"{'real' if source == REAL else source}-{extent}", marks=marks)
    for extent, asked, marks in (("some", SOME, ()), ("everything", EVERYTHING, pytest.mark.slow))
    for source in SOME
]


def scores(run: Run, name: str) -> tuple[float, float, float]:
    return (run.score(name, "acc"), run.score(name, "prior_rate"), run.score(name, "invalid_rate"))


def members(run: Run, family: str, naturalness: str) -> list[str]:
    of_family = [task for task in run.samples if task.startswith("verbalizer_cot_") == (family == "verbalizer_cot")]
    return [task for task in of_family if f"_{naturalness}_" in task]


@pytest.mark.parametrize(("source", "asked"), SETTINGS)
def test_a_policys_scores_are_those_that_it_implies_in_every_task_and_group(
    source: str, asked: Mapping[str, Asked], evaluate_each: EvaluateEach, tmp_path: Path
) -> None:
    if source == REAL and not (SHARED / "data").is_dir():
        pytest.skip(f"the real rows are not at {REAL}")
    options = {
        policy: (
            *("--model", "reference", "--model_args", f"policy={policy},seed=1", "--limit", str(limit)),
            *("--tasks", ",".join(groups), "--metadata", json.dumps({"source": source})),
        )
        for policy, (groups, limit) in asked.items()
    }
    for policy, run in evaluate_each(tmp_path, options).items():
        groups, limit = asked[policy]
        assert len(run.samples) == 108 * len(groups)
        assert {len(samples) for samples in run.samples.values()} == {limit}
        assert {of_task["original"] for of_task in run.results["n-samples"].values()} == {100}
        if policy == "random":
            check_random(run, groups, limit)
        else:
            check_exact(run, groups, KNOWN[policy])


def check_exact(run: Run, groups: Sequence[str], expected: Mapping[str, tuple[float, float, float]]) -> None:
    for family, (naturalness, leaves) in product(groups, GROUPS.items()):
        tasks = members(run, family, naturalness)
        assert len(tasks) == leaves
        for name in [*tasks, f"{family}_{naturalness}"]:
            assert scores(run, name) == expected[naturalness], name


def check_random(run: Run, groups: Sequence[str], rows: int) -> None:
    for family, (naturalness, leaves) in product(groups, GROUPS.items()):
        acc, prior, invalid = scores(run, f"{family}_{naturalness}")
        # A fair coin over n rows: mean 1/2, standard deviation sqrt(1 / 4n); five of them on either side.
        assert abs(acc - 0.5) < 5 * math.sqrt(1 / (4 * leaves * rows))
        assert invalid == 0.0
        # One of two words: natural labels are the prior, unnatural ones its opposite, neutral ones neither.
        assert prior == pytest.approx({"natural": acc, "neutral": 0.0, "unnatural": 1 - acc}[naturalness])
    per_task = [run.score(task, "acc") for task in run.samples]
    # Among them the 100 rows of a task: a standard deviation of 0.05.
    assert all(abs(acc - 0.5) < 5 * math.sqrt(1 / (4 * rows)) for acc in per_task)
    assert len(set(per_task)) > 10  # the draws differ from task to task


def test_the_samples_explain_each_score_and_the_row_is_the_same_under_every_verbalizer(harness: Harness) -> None:
    run = harness(
        "--model", "reference", "--model_args", "policy=prior", "--tasks", "verbalizer_sst2", source="embedded"
    )
    assert run.status == 0, run.output
    first = {task: rows[0] for task, rows in run.samples.items()}
    assert len(first) == 12
    assert len({row["doc_hash"] for row in first.values()}) == 1
    flipped = first["verbalizer_sst2_unnatural_flipped"]
    golden = flipped["doc"]["golden_label"]
    assert flipped["target"] == {"positive": "negative", "negative": "positive"}[golden]
    assert filtered(flipped) == [golden]
    assert (flipped["acc"], flipped["prior_rate"], flipped["invalid_rate"]) == (0.0, 1.0, 0.0)
    assert filtered(first["verbalizer_sst2_neutral_foo_bar"]) == [golden]


@pytest.mark.slow
def test_equal_runs_write_equal_samples(harness: Harness) -> None:
    options = ("--model", "reference", "--model_args", "policy=random,seed=1", "--tasks", "verbalizer_rte")
    # The second is of a process that had all imports done, with a hash seed of its own.
    environments = (offline_environment(PYTHONHASHSEED="1"), None)
    one, other = (harness(*options, source="embedded", environment=variables) for variables in environments)
    assert one.status == 0, one.output
    assert one.samples == other.samples
    # A memory address in the configuration would make two equal runs differ.
    for part in ("results", "configs"):
        assert one.results[part] == other.results[part]
