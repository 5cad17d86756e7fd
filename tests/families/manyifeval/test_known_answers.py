"""The reference model's scores, end to end through the harness, are the ones that its policies imply."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.manyifeval.rows import Selection, demonstrated, rows_of
from lm_eval_ext.families.manyifeval.schema import OF_TYPES
from lm_eval_ext.families.manyifeval.scores import score as scored
from lm_eval_ext.regrade.regrade import accuracies, regrade
from lm_eval_ext.sources import RowsError
from lm_eval_ext.verifiers import Response
from lm_eval_ext.verifiers.reasoning import without_reasoning
from tests.conftest import SHARED, EvaluateEach, Harness, Run
from tests.families.jsonl import write_jsonl
from tests.families.manyifeval.files import published_rows

pytestmark = pytest.mark.harness

REAL = str(SHARED / "data" / "ifeval")
DISTINCT = {f"manyifeval_n{count:02d}": count for count in range(1, 11)}
REPEATED = {f"manyifeval_repeat_n{count:02d}": count for count in range(2, 11)}
LEVELS = [f"{level}_level_{kind}_acc" for level in ("prompt", "inst") for kind in ("strict", "loose", "repaired")]
STRICT = ("prompt_level_strict_acc", "inst_level_strict_acc")

Sample = Mapping[str, Any]


def score(run: Run, name: str, metric: str) -> float:
    """Return a score; there is no filter, so the harness calls it "none"."""
    value = run.results["results"][name][f"{metric},none"]
    assert isinstance(value, float)
    return value


def near(expected: float) -> Any:
    """Return a mean of equal shares: exact except for the last digits of their sum."""
    return pytest.approx(expected, rel=1e-12, abs=1e-12)


def in_order(run: Run, task: str) -> list[dict[str, Any]]:
    return sorted(run.samples[task], key=itemgetter("doc_id"))


@dataclass(frozen=True)
class Asked:
    """The policies that are asked, and how many of each task's 100 rows."""

    policies: tuple[str, ...]
    rows: int


POLICIES = ("oracle", "drop_one", "ignore")
# The oracle shows that a source is read and shown whole; the others' verdicts are the same on every source.
SOME = {
    "embedded": Asked(("oracle", "drop_one"), 25),
    "reconstructed": Asked(("oracle",), 25),
    "published": Asked(("oracle", "ignore"), 25),
}
EVERYTHING = {kind: Asked(POLICIES, 100) for kind in SOME}
SETTINGS = [
    pytest.param((kind, asked[kind]), id=f"{kind}-{extent}", marks=marks)
    for extent, asked, marks in (("some", SOME, ()), ("everything", EVERYTHING, pytest.mark.slow))
    for kind in SOME
]


def source_of(kind: str, folder: Path) -> str:
    """Return each kind of source: our rows, a folder with IFEval's, a file of finished rows."""
    if kind == "published":
        return write_jsonl(folder / "finished.jsonl", published_rows())
    if kind == "reconstructed" and not Path(REAL).is_dir():
        pytest.skip(f"the real rows are not at {REAL}")
    return "embedded" if kind == "embedded" else REAL


def groups_on(source: str) -> tuple[str, dict[str, int]]:
    """Return the groups to run and their tasks: one instruction several times is the same on every source."""
    if source == "embedded":
        return "manyifeval,manyifeval_repeat", DISTINCT | REPEATED
    return "manyifeval", DISTINCT


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_policys_scores_are_those_that_it_implies_in_every_task_and_group(
    setting: tuple[str, Asked], evaluate_each: EvaluateEach, tmp_path: Path
) -> None:
    kind, asked = setting
    source = source_of(kind, tmp_path)
    shared = ("--tasks", groups_on(source)[0], "--metadata", json.dumps({"source": source, "details": True}))
    options = {
        policy: ("--model", "reference", "--model_args", f"policy={policy}", "--limit", str(asked.rows), *shared)
        for policy in asked.policies
    }
    for policy, run in evaluate_each(tmp_path, options).items():
        tasks = groups_on(source)[1]
        assert set(run.samples) == set(tasks)
        for task in tasks:
            assert run.results["n-samples"][task] == {"original": 100, "effective": asked.rows}
        {"oracle": check_oracle, "drop_one": check_drop_one, "ignore": check_ignore}[policy](run, source)


def check_oracle(run: Run, source: str) -> None:
    """It scores one on every level."""
    groups, tasks = groups_on(source)
    for task in tasks:
        assert score(run, task, "curse_residual") == 0.0
    for task in tasks:
        assert [score(run, task, metric) for metric in LEVELS] == [1.0] * 6, task
    for group in groups.split(","):
        assert [score(run, group, metric) for metric in STRICT] == [1.0] * 2, group
    check_types(run, dict.fromkeys(tasks, 1.0))


def check_drop_one(run: Run, source: str) -> None:
    """It scores zero on prompts, and n minus 1 of n on instructions."""
    for task, count in DISTINCT.items():
        share = (count - 1) / count
        for kind in ("strict", "repaired"):
            assert score(run, task, f"prompt_level_{kind}_acc") == 0.0
            assert score(run, task, f"inst_level_{kind}_acc") == near(share)
        assert score(run, task, "curse_residual") == near(0 - share**count)
        # With two or more to choose from, one is dropped that no loose variant follows.
        if count > 1:
            assert score(run, task, "prompt_level_loose_acc") == 0.0
            assert score(run, task, "inst_level_loose_acc") == near(share)
    # A group is the mean over its tasks, which have the same number of rows.
    assert score(run, "manyifeval", "prompt_level_strict_acc") == 0.0
    mean = sum((count - 1) / count for count in range(1, 11)) / 10
    assert score(run, "manyifeval", "inst_level_strict_acc") == near(mean)
    if source == "embedded":
        # Who drops the one instruction that is repeated drops it everywhere.
        check_nothing_is_followed(run, REPEATED, "manyifeval_repeat")
        assert all(score(run, task, "curse_residual") == 0.0 for task in REPEATED)
        check_types(run, dict.fromkeys(REPEATED, 0.0))


def check_ignore(run: Run, _source: str) -> None:
    """It scores zero."""
    check_nothing_is_followed(run, DISTINCT, "manyifeval")
    assert all(score(run, task, "curse_residual") == 0.0 for task in DISTINCT)
    check_types(run, dict.fromkeys(DISTINCT, 0.0))


def check_nothing_is_followed(run: Run, tasks: Iterable[str], group: str) -> None:
    for kind, level in product(("strict", "repaired"), ("prompt", "inst")):
        # The variants explain the strict accuracies; groups have these alone.
        names = [*tasks, group] if kind == "strict" else tasks
        assert {name: score(run, name, f"{level}_level_{kind}_acc") for name in names} == dict.fromkeys(names, 0.0)


def check_types(run: Run, expected: Mapping[str, float]) -> None:
    """Each instruction type that the evaluated rows have has the one score, and no other type has any."""
    for task, value in expected.items():
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


def simply_evaluate(source: str, task: str, **settings: Any) -> Any:
    """Run the harness in this process, without the seconds in which it indexes its own tasks."""
    manager = TaskManager(include_path=tasks_dir(), include_defaults=False, metadata={"source": source})
    return simple_evaluate(model="reference", tasks=[task], task_manager=manager, bootstrap_iters=0, **settings)


def test_more_few_shot_examples_than_available_are_an_error() -> None:
    with pytest.raises(RowsError, match=r"'embedded': --num_fewshot 7 asks for more few-shot examples than the 6"):
        simply_evaluate("embedded", "manyifeval_n03", num_fewshot=7, limit=2)


def test_a_chat_model_with_weights_is_asked_and_scored(harness: Harness, tiny_model: Path) -> None:
    run = harness(
        *("--model", "hf", "--model_args", f"pretrained={tiny_model}", "--device", "cpu", "--tasks", "manyifeval_n03"),
        *("--apply_chat_template", "--limit", "4", "--gen_kwargs", "max_gen_toks=48"),
        source="embedded",
        details=True,
    )
    assert run.status == 0, run.output[-3000:]
    samples = in_order(run, "manyifeval_n03")
    assert len(samples) == 4
    for sample, row in zip(samples, rows_of(Selection("embedded", 3)), strict=False):
        arguments = sample["arguments"]["gen_args_0"]
        assert arguments["arg_0"] == f"user: {row.prompt}\nassistant:"
        assert arguments["arg_1"]["max_gen_toks"] == 48
        assert (arguments["arg_1"]["do_sample"], arguments["arg_1"]["temperature"]) == (False, 0.0)
        ((response,),) = sample["resps"]
        assert without_reasoning(response)
        expected = json.loads(json.dumps(scored(sample["doc"], [response])))
        assert {metric: sample[metric] for metric in sample["metrics"]} == expected
    for metric in LEVELS:
        assert score(run, "manyifeval_n03", metric) == near(math.fsum(sample[metric] for sample in samples) / 4)
    judged = list(regrade([json.dumps(sample).encode() for sample in samples], "samples"))
    regraded = accuracies([each.strict for each in judged], [each.loose for each in judged], "faithful")
    assert regraded == {metric: near(score(run, "manyifeval_n03", metric)) for metric in regraded}
    # Gibberish forbids little: "less than" and "no commas" it follows, a title it has not.
    assert 0 < score(run, "manyifeval_n03", "inst_level_strict_acc") < 1
