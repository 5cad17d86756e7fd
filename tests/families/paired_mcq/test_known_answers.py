"""The reference model's scores, end to end through the harness, are the ones that its policies imply."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Any

import pytest

from lm_eval_ext.classifier import readers
from lm_eval_ext.classifier.availability import ReaderError
from lm_eval_ext.families.paired_mcq.datasets import DATASETS
from lm_eval_ext.families.paired_mcq.rows import rows
from tests.across_versions import filtered
from tests.conftest import EvaluateEach, Harness, Run
from tests.harness.tasks import evaluate
from tests.sampling import sampled

pytestmark = pytest.mark.harness

OPINION, FACTS, TEXT = "paired_mcq_opinionqa_medium", "paired_mcq_arc_challenge_example", "text_mcq_arc_challenge_low"
READERS = ("string_match", "rules")

Sample = Mapping[str, Any]
# metric -> value; "N/A" where there is none
Figures = Mapping[str, float | str]

AGREES: Figures = {"mismatch": 0, "mismatch_sd": 0, "mismatch_refusal": 0, "mismatch_refusal_share": "N/A"}
DISAGREES: Figures = {"mismatch": 1, "mismatch_sd": 0, "mismatch_refusal": 0, "mismatch_refusal_share": 0}
BY_REFUSAL: Figures = {**DISAGREES, "mismatch_refusal": 1, "mismatch_refusal_share": 1}
ANSWERS: Figures = {"refusal": 0, "no_answer": 0, "contradiction": 0, "several": 0, "empty_rate": 0}
REFUSES: Figures = {**ANSWERS, "refusal": 1}
SAYS_NOTHING: Figures = {**ANSWERS, "no_answer": 1}
STEADY: Figures = {"entropy_text": 0, "entropy_first_token": 0, "refusal_first_token": 0}

# policy -> reader -> figures; and where an option is right: first_token_acc, text_acc
POLICIES: dict[str, tuple[dict[str, Figures], tuple[int, int]]] = {
    "oracle": ({reader: {**AGREES, **ANSWERS, **STEADY, "position_bias": 0} for reader in READERS}, (1, 1)),
    "chatty": ({reader: {**DISAGREES, **ANSWERS, **STEADY} for reader in READERS}, (1, 0)),
    "refuser": (
        {
            # A baseline that knows only letters sees no refusal, and no letter.
            "string_match": {**DISAGREES, **SAYS_NOTHING, **STEADY, "position_bias": 1},
            "rules": {**BY_REFUSAL, **REFUSES, **STEADY},
        },
        (1, 0),
    ),
}


@pytest.fixture(scope="module")
def by_policy(evaluate_each: EvaluateEach, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    """Return the runs of each policy."""
    metadata = json.dumps({"source": "embedded", "answer_classifier": "rules", "details": True})
    shared = ("--tasks", ",".join([OPINION, FACTS, TEXT]), "--metadata", metadata)
    options = {
        policy: ("--model", "reference", "--model_args", f"policy={policy}", *shared)
        for policy in (*POLICIES, "always_a")
    }
    folder = tmp_path_factory.mktemp("policies")
    return evaluate_each(folder, options)


def figures(results: Mapping[str, Any], task: str, reader: str) -> dict[str, float | str]:
    """Return a task's figures by one reader."""
    return {
        name.removesuffix(f",{reader}"): value
        for name, value in results["results"][task].items()
        if name.endswith(f",{reader}") and "_stderr" not in name
    }


def check(found: Mapping[str, float | str], expected: Figures) -> None:
    for metric, value in expected.items():
        # Means of equal values: exact.
        assert found[metric] == value, metric


@pytest.mark.parametrize("policy", POLICIES)
def test_every_reader_gives_the_exact_scores_of_a_policy(by_policy: Mapping[str, Run], policy: str) -> None:
    expected, (token_acc, text_acc) = POLICIES[policy]
    run = by_policy[policy]
    for reader, of_reader in expected.items():
        check(figures(run.results, OPINION, reader), of_reader)
        right = {"first_token_acc": token_acc, "text_acc": text_acc}
        check(figures(run.results, FACTS, reader), {**of_reader, **right})
        alone = figures(run.results, TEXT, reader)
        shared = {metric: value for metric, value in of_reader.items() if metric in alone}
        check(alone, {**shared, "text_acc": text_acc})
        metrics = {"refusal", "no_answer", "contradiction", "several", "empty_rate", "truncated_rate", "entropy_text"}
        assert set(alone) == {*metrics, "text_acc"}
    for task, count in ((OPINION, 66), (FACTS, 16), (TEXT, 16)):
        assert run.results["n-samples"][task] == {"original": count * 10, "effective": count * 10}
        assert run.results["configs"][task]["metadata"]["answer_classifier"] == "rules"


def test_always_a_has_the_entropy_of_the_contents_placed_first(by_policy: Mapping[str, Run]) -> None:
    run = by_policy["always_a"]
    for task, dataset in ((OPINION, "opinionqa"), (FACTS, "arc_challenge")):
        found = rows(DATASETS[dataset], "embedded")
        first: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for row in found:
            first[row["key"]][row["options"][0]] += 1
        entropy = fmean(
            sum(-times / 10 * math.log(times / 10) for times in contents.values()) for contents in first.values()
        )
        refusals = fmean(row["options"][0] == "Refused" for row in found)
        assert 1 < entropy < math.log(6)
        for reader in READERS:
            by_reader = figures(run.results, task, reader)
            for metric in ("entropy_text", "entropy_first_token"):
                assert by_reader[metric] == pytest.approx(entropy, rel=1e-12)
            for metric in ("refusal", "refusal_first_token"):
                assert by_reader[metric] == pytest.approx(refusals, rel=1e-12)
            check(by_reader, {**AGREES, "no_answer": 0, "several": 0, "position_bias": 0})
            if dataset == "arc_challenge":
                right = fmean(row["gold"] == "A" for row in found)
                assert by_reader["text_acc"] == by_reader["first_token_acc"] == pytest.approx(right, rel=1e-12)


def simply_evaluate(task: str, metadata: Mapping[str, object] = MappingProxyType({}), **options: Any) -> Any:
    return evaluate("reference", [task], {"details": True, **metadata}, bootstrap_iters=0, **options)


@pytest.mark.parametrize(
    ("policy", "asked"),
    [
        *((policy, 250) for policy in POLICIES),
        *(pytest.param(policy, 4140, marks=pytest.mark.slow) for policy in POLICIES),
    ],
)
def test_a_policys_scores_are_exact_on_the_papers_414_questions(policy: str, asked: int, shared_data: Path) -> None:
    source = {"source": str(shared_data / "mcq" / "opinionqa_questions.jsonl")}
    results = simply_evaluate("paired_mcq_opinionqa_low", source, limit=asked, model_args=f"policy={policy}")
    assert results["n-samples"]["paired_mcq_opinionqa_low"] == {"original": 4140, "effective": asked}
    for reader, expected in POLICIES[policy][0].items():
        check(figures(results, "paired_mcq_opinionqa_low", reader), expected)


@pytest.mark.parametrize("policy", sampled(POLICIES, 3))
def test_the_shipped_classifier_reads_known_answers_as_the_rules_do(policy: str) -> None:
    try:
        readers.require("default")
    except ReaderError as error:
        pytest.skip(str(error))
    for task in (OPINION, FACTS):
        results = simply_evaluate(task, {"answer_classifier": "default"}, model_args=f"policy={policy}")
        check(figures(results, task, "classifier"), POLICIES[policy][0]["rules"])
        assert figures(results, task, "classifier") == figures(results, task, "rules")


def test_a_language_model_can_be_an_additional_reader(tiny_model: Path) -> None:
    placement = {"answer_device": "cpu", "answer_dtype": "bfloat16", "answer_batch_size": 2}
    results = simply_evaluate(FACTS, {"answer_llm": str(tiny_model), **placement}, limit=3)
    assert results["configs"][FACTS]["metadata"].items() >= {"answer_llm_shots": 4, **placement}.items()
    assert set(figures(results, FACTS, "llm")) == set(figures(results, FACTS, "rules"))
    said = [filtered(sample)[-1] for sample in results["samples"][FACTS] if sample["filter"] == "llm"]
    assert len(said) == 3
    for reading in map(json.loads, said):  # a model of random weights reads at random, but it does read
        assert set(reading) == {"reading", "certainty"}


def test_predict_only_records_the_readings() -> None:
    results = simply_evaluate(FACTS, limit=10, predict_only=True)
    for sample in results["samples"][FACTS]:
        assert json.loads(filtered(sample)[-1])["reading"] == sample["target"]


def test_opinionqa_without_a_source_ends_with_instructions(harness: Harness) -> None:
    rules = json.dumps({"answer_classifier": "rules"})
    run = harness("--model", "reference", "--tasks", OPINION, "--metadata", rules)
    assert run.status != 0
    assert "'opinionqa' are not on the Hugging Face Hub" in run.output
    for source in ("/path/to/file", "embedded"):
        assert f'--metadata \'{{"source": "{source}"}}\'' in run.output
    assert not run.results
