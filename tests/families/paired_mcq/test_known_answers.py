"""The reference model's scores, end to end through the harness, are the ones that its policies imply."""

from __future__ import annotations

import json
import logging
import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.classifier import readers
from lm_eval_ext.classifier.availability import ReaderError
from lm_eval_ext.families.paired_mcq.datasets import DATASETS, OPINIONQA
from lm_eval_ext.families.paired_mcq.prompt import LETTERS, prompt_of
from lm_eval_ext.families.paired_mcq.rows import rows
from lm_eval_ext.families.paired_mcq.scores import REFUSAL
from tests.across_versions import filtered
from tests.conftest import EvaluateEach, Harness, Run
from tests.families.jsonl import write_jsonl

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
        metrics = {"refusal", "no_answer", "contradiction", "several", "empty_rate", "entropy_text", "text_acc"}
        assert set(alone) == metrics
    check_samples(run, OPINION, "opinionqa", "medium", policy)
    check_samples(run, FACTS, "arc_challenge", "example", policy)
    for task, count in ((OPINION, 66), (FACTS, 16), (TEXT, 16)):
        assert run.results["n-samples"][task] == {"original": count * 10, "effective": count * 10}
        assert "0x" not in str(run.results["configs"][task]), "a memory address would make two equal runs differ"
        assert run.results["configs"][task]["metadata"]["answer_classifier"] == "rules"


def check_samples(run: Run, task: str, dataset: str, level: str, policy: str) -> None:
    """Every sample tells prompt, letters, text and reading, and they belong together."""
    found = rows(DATASETS[dataset], "embedded")
    for reader in READERS:
        samples = [sample for sample in run.samples[task] if sample["filter"] == reader]
        for sample, row in zip(sorted(samples, key=itemgetter("doc_id")), found, strict=True):
            assert sample["doc"] == dict(row)
            *letters, text = sample["arguments"].values()
            prompt = prompt_of(level, row["question"], row["options"])
            assert [letter["arg_0"] for letter in letters] == [prompt] * len(row["options"])
            assert [letter["arg_1"] for letter in letters] == [f" {letter}" for letter in LETTERS[: len(letters)]]
            assert text["arg_0"] == prompt
            *loglikelihoods, (response,) = sample["resps"]
            likeliest = [
                letter for letter, ((_, greedy),) in zip(LETTERS, loglikelihoods, strict=False) if greedy == "True"
            ]
            assert likeliest == [sample["position_bias"][0]]
            reading = json.loads(filtered(sample)[-1])["reading"]
            if (policy, reader) == ("refuser", "rules"):
                assert (response, reading) == (REFUSAL, LETTERS[row["options"].index("Refused")])
            elif policy != "refuser":
                assert response.endswith(f"{reading}. {row['options'][LETTERS.index(reading)]}")


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


def simply_evaluate(source: str, task: str, classifier: str = "rules", **settings: Any) -> Any:
    """Run the harness in this process, without the seconds in which it indexes its own tasks."""
    metadata = {"source": source, "answer_classifier": classifier, "details": True}
    manager = TaskManager(include_path=tasks_dir(), include_defaults=False, metadata=metadata)
    return simple_evaluate(model="reference", tasks=[task], task_manager=manager, bootstrap_iters=0, **settings)


@pytest.mark.parametrize(
    ("policy", "asked"),
    [
        ("oracle", 4140),  # its answers name every option of every question
        *((policy, 500) for policy in ("chatty", "refuser")),
        *(pytest.param(policy, 4140, marks=pytest.mark.slow) for policy in ("chatty", "refuser")),
    ],
)
def test_a_policys_scores_are_exact_on_the_papers_414_questions(policy: str, asked: int, shared_data: Path) -> None:
    source, told = str(shared_data / "mcq" / "opinionqa_questions.jsonl"), f"policy={policy}"
    results = simply_evaluate(source, "paired_mcq_opinionqa_low", limit=asked, model_args=told, log_samples=False)
    assert results["n-samples"]["paired_mcq_opinionqa_low"] == {"original": 4140, "effective": asked}
    for reader, expected in POLICIES[policy][0].items():
        check(figures(results, "paired_mcq_opinionqa_low", reader), expected)


@pytest.mark.parametrize("policy", POLICIES)
def test_the_shipped_classifier_reads_known_answers_as_the_rules_do(policy: str) -> None:
    try:
        readers.require("default")
    except ReaderError as error:
        pytest.skip(str(error))
    for task in (OPINION, FACTS):
        results = simply_evaluate(
            "embedded", task, classifier="default", model_args=f"policy={policy}", log_samples=False
        )
        check(figures(results, task, "classifier"), POLICIES[policy][0]["rules"])
        assert figures(results, task, "classifier") == figures(results, task, "rules")


def test_a_language_model_can_be_an_additional_reader(tiny_model: Path) -> None:
    placement = {"answer_device": "cpu", "answer_dtype": "bfloat16", "answer_batch_size": 2}
    metadata = {"source": "embedded", "answer_classifier": "rules", "answer_llm": str(tiny_model), **placement}
    manager = TaskManager(include_path=tasks_dir(), include_defaults=False, metadata=metadata)
    results = simple_evaluate(model="reference", tasks=[FACTS], task_manager=manager, limit=3, bootstrap_iters=0)
    assert results["configs"][FACTS]["metadata"].items() >= {"answer_llm_shots": 4, **placement}.items()
    assert set(figures(results, FACTS, "llm")) == set(figures(results, FACTS, "rules"))
    said = [filtered(sample)[-1] for sample in results["samples"][FACTS] if sample["filter"] == "llm"]
    assert len(said) == 3
    for reading in map(json.loads, said):  # a model of random weights reads at random, but it does read
        assert set(reading) == {"reading", "certainty"}


def test_a_limit_selects_complete_questions(shared_data: Path) -> None:
    source = str(shared_data / "mcq" / "opinionqa_questions.jsonl")
    results = simply_evaluate(source, OPINION, limit=100, model_args="policy=always_a")
    samples = [sample for sample in results["samples"][OPINION] if sample["filter"] == "rules"]
    assert sorted(Counter(sample["doc"]["key"] for sample in samples).values()) == [10] * 10


def test_equal_rows_have_equal_hashes_at_every_level_paired_or_not() -> None:
    hashes = []
    for task in (OPINION, "text_mcq_opinionqa_low"):
        results = simply_evaluate("embedded", task, limit=20)
        hashes.append([sample["doc_hash"] for sample in results["samples"][task]])
    assert hashes[0] == hashes[1]


def test_predict_only_records_the_readings() -> None:
    results = simply_evaluate("embedded", FACTS, limit=10, predict_only=True)
    for sample in results["samples"][FACTS]:
        assert json.loads(filtered(sample)[-1])["reading"] == sample["target"]


def test_cached_requests_of_one_source_are_not_served_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("lm_eval.caching.cache.PATH", str(tmp_path / "cache"))
    caplog.set_level(logging.DEBUG, "lm_eval")  # where 0.5 says that it builds
    other = write_jsonl(tmp_path / "other.jsonl", [{"question": "Is it so?", "options": ["Yes", "Perhaps", "No"]}])
    shown, built = [], []
    for source in ("embedded", other, other):
        caplog.clear()
        results = simply_evaluate(source, OPINION, cache_requests=True)
        shown.append({sample["arguments"][0][0].split("\nQuestion: ")[1] for sample in results["samples"][OPINION]})
        built.append("Building contexts" in caplog.text)
    assert len(shown[0]) > 600
    assert all(prompt.startswith("Is it so?") for prompt in shown[1])
    assert shown[2] == shown[1]
    assert len(shown[1]) == 10
    assert built == [True, True, False]  # the third time the cache did serve


def test_metrics_that_some_rows_lack_cause_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    simply_evaluate("embedded", FACTS, limit=20)
    assert "not scored on the same number of documents" not in caplog.text


def test_opinionqa_without_a_source_ends_with_instructions(harness: Harness) -> None:
    rules = json.dumps({"answer_classifier": "rules"})
    run = harness("--model", "reference", "--tasks", OPINION, "--metadata", rules)
    assert run.status != 0
    assert "'opinionqa' are not on the Hugging Face Hub" in run.output
    assert '--metadata \'{"source": "/path/to/file"}\'' in run.output
    assert not run.results


def test_the_number_of_embedded_rows_is_that_of_the_readme() -> None:
    assert len(rows(OPINIONQA, "embedded")) == 660
    factual = [name for name in DATASETS if name != "opinionqa"]
    assert [len(rows(DATASETS[name], "embedded")) for name in factual] == [160, 160, 160]
