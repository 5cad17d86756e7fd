"""The reference model's scores, end to end through the harness, are the ones that its policies imply."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.manyifeval.rows import Selection, demonstrated, rows_with_count
from lm_eval_ext.families.manyifeval.schema import OF_TYPES
from lm_eval_ext.families.manyifeval.scores import score as scored
from lm_eval_ext.regrade import accuracies, regrade
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import Response, without_reasoning
from tests.conftest import EvaluateEach, Harness, Run
from tests.families.jsonl import write_jsonl
from tests.families.manyifeval.files import published_rows
from tests.harness.tasks import make

pytestmark = pytest.mark.harness

DISTINCT = {f"manyifeval_n{count:02d}": count for count in range(1, 11)}
REPEATED = {f"manyifeval_repeat_n{count:02d}": count for count in range(2, 11)}
LEVELS = [f"{level}_level_{kind}_acc" for level in ("prompt", "inst") for kind in ("strict", "loose", "repaired")]
STRICT = ("prompt_level_strict_acc", "inst_level_strict_acc")


def score(run: Run, name: str, metric: str) -> float:
    """Return a score; there is no filter, so the harness calls it "none"."""
    value = run.results["results"][name][f"{metric},none"]
    assert isinstance(value, float)
    return value


def near(expected: float | list[float]) -> Any:
    """Return a mean of equal shares: exact except for the last digits of their sum."""
    return pytest.approx(expected, rel=1e-12, abs=1e-12)


POLICIES = ("oracle", "drop_one", "ignore")
# The oracle shows that a source is read and shown whole; the others' verdicts are the same on every source.
SOME = {"embedded": ("oracle", "drop_one"), "reconstructed": ("oracle",), "published": ("oracle", "ignore")}
SETTINGS = [
    *(pytest.param(kind, policies, 10, id=f"{kind}-some") for kind, policies in SOME.items()),
    *(pytest.param(kind, POLICIES, 100, id=f"{kind}-everything", marks=pytest.mark.slow) for kind in SOME),
]


@pytest.fixture
def source(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """Return each kind of source: our rows, a folder with IFEval's, a file of finished rows."""
    if request.param == "published":
        return write_jsonl(tmp_path / "finished.jsonl", published_rows())
    return "embedded" if request.param == "embedded" else str(request.getfixturevalue("real_ifeval"))


@pytest.mark.parametrize(("source", "policies", "asked"), SETTINGS, indirect=["source"])
def test_a_policys_scores_are_those_that_it_implies_in_every_task_and_group(
    source: str, policies: Sequence[str], asked: int, evaluate_each: EvaluateEach, tmp_path: Path
) -> None:
    # One instruction several times is the same on every source.
    groups = {"manyifeval": DISTINCT} | ({"manyifeval_repeat": REPEATED} if source == "embedded" else {})
    metadata = json.dumps({"source": source, "details": True})
    shared = ("--tasks", ",".join(groups), "--metadata", metadata, "--limit", str(asked))
    options = {policy: ("--model", "reference", "--model_args", f"policy={policy}", *shared) for policy in policies}
    for policy, run in evaluate_each(tmp_path, options).items():
        assert set(run.samples) == {task for tasks in groups.values() for task in tasks}
        for group, tasks in groups.items():
            expected = {task: implied(policy, count, group == "manyifeval_repeat") for task, count in tasks.items()}
            for task, (prompt, inst) in expected.items():
                assert run.results["n-samples"][task] == {"original": 100, "effective": asked}
                for edition in ("strict", "repaired"):
                    assert score(run, task, f"prompt_level_{edition}_acc") == prompt, task
                    assert score(run, task, f"inst_level_{edition}_acc") == near(inst), task
                assert score(run, task, "curse_residual") == near(prompt - inst ** tasks[task])
                # With two or more to choose from, one is dropped that no loose variant follows.
                if policy == "oracle" or (policy == "drop_one" and group == "manyifeval" and tasks[task] > 1):
                    assert [score(run, task, f"{level}_level_loose_acc") for level in ("prompt", "inst")] == [
                        prompt,
                        near(inst),
                    ]
                if inst in (0.0, 1.0):
                    check_types(run, task, inst)
            # A group is the mean over its tasks, which have the same number of rows; the variants explain the strict
            # accuracies, and groups have these alone.
            means = [math.fsum(each) / len(tasks) for each in zip(*expected.values(), strict=True)]
            assert [score(run, group, metric) for metric in STRICT] == near(means)


def implied(policy: str, count: int, repeated: bool) -> tuple[float, float]:
    """Return the shares of prompts and of instructions that a policy follows: it drops a repeated one everywhere."""
    dropped = 0.0 if repeated else (count - 1) / count
    return {"oracle": (1.0, 1.0), "drop_one": (0.0, dropped), "ignore": (0.0, 0.0)}[policy]


def check_types(run: Run, task: str, value: float) -> None:
    """Each instruction type that the evaluated rows have has the one score, and no other type has any."""
    found = {
        name.removesuffix(",none"): number
        for name, number in run.results["results"][task].items()
        if name.startswith("strict_acc_") and name.endswith(",none") and "_stderr" not in name
        if number != "N/A"
    }
    types = {OF_TYPES[name] for sample in run.samples[task] for name in sample["doc"]["instruction_id_list"]}
    assert found == dict.fromkeys(types, value), task


def test_few_shot_examples_precede_every_row_and_follow_their_instructions(harness: Harness) -> None:
    options = ("--tasks", "manyifeval_n03,manyifeval_repeat_n03", "--num_fewshot", "2", "--limit", "5")
    run = harness("--model", "reference", *options, source="embedded")
    assert run.status == 0, run.output[-3000:]
    for task, repeat in (("manyifeval_n03", False), ("manyifeval_repeat_n03", True)):
        assert run.results["n-shot"][task] == 2
        shown = list(demonstrated(Selection("embedded", 3, repeat), 2))
        assert all(Response(row.witness or "").follows(row.instructions).follow_all_instructions for row in shown)
        # Each follows what its prompt asks for and no more: the rows' own witnesses follow all ten.
        before = "".join(f"{row.prompt} {row.witness}\n\n" for row in shown)
        for sample in run.samples[task]:
            assert sample["arguments"]["gen_args_0"]["arg_0"] == before + sample["doc"]["prompt"]
            assert sample["prompt_level_strict_acc"] == 1.0


def test_more_few_shot_examples_than_available_are_an_error() -> None:
    with pytest.raises(RowsError, match=r"'embedded': --num_fewshot 7 asks for more few-shot examples than the 6"):
        make("manyifeval_n03").demonstrations(7)


def test_a_chat_model_with_weights_is_asked_and_scored(harness: Harness, tiny_model: Path) -> None:
    run = harness(
        *("--model", "hf", "--model_args", f"pretrained={tiny_model}", "--device", "cpu", "--tasks", "manyifeval_n03"),
        *("--apply_chat_template", "--limit", "4", "--gen_kwargs", "max_gen_toks=48"),
        source="embedded",
        details=True,
    )
    assert run.status == 0, run.output[-3000:]
    samples = sorted(run.samples["manyifeval_n03"], key=itemgetter("doc_id"))
    assert len(samples) == 4
    for sample, row in zip(samples, rows_with_count(Selection("embedded", 3)), strict=False):
        arguments = sample["arguments"]["gen_args_0"]
        assert arguments["arg_0"] == f"user: {row.prompt}\nassistant:"
        assert arguments["arg_1"]["max_gen_toks"] == 48
        assert (arguments["arg_1"]["do_sample"], arguments["arg_1"]["temperature"]) == (False, 0.0)
        ((response,),) = sample["resps"]
        assert without_reasoning(response)
        expected = json.loads(json.dumps(scored(sample["doc"], [response])))
        # Its random answers never end by themselves.
        cut_off = {"ended": "limit", "truncated_rate": 1.0}
        assert {metric: sample[metric] for metric in sample["metrics"]} == expected | cut_off
    for metric in LEVELS:
        assert score(run, "manyifeval_n03", metric) == near(math.fsum(sample[metric] for sample in samples) / 4)
    judged = list(regrade([json.dumps(sample).encode() for sample in samples], "samples"))
    regraded = accuracies([each.strict for each in judged], [each.loose for each in judged], "faithful")
    assert regraded == {metric: near(score(run, "manyifeval_n03", metric)) for metric in regraded}
    # Gibberish forbids little: "less than" and "no commas" it follows, a title it has not.
    assert 0 < score(run, "manyifeval_n03", "inst_level_strict_acc") < 1
