"""The reference model's scores, end to end through the harness, are the ones that its policies imply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.ifbench.rows import ONE_TURN, TWO_TURNS, published_rows
from lm_eval_ext.families.ifbench.scores import score as scored
from lm_eval_ext.turns import Turns
from tests.conftest import Harness
from tests.harness.tasks import evaluate

pytestmark = pytest.mark.harness

LEVELS = [f"{level}_level_{kind}_acc" for level in ("prompt", "inst") for kind in ("strict", "repaired", "loose")]


def evaluated(arguments: str, task: str, source: str = "embedded", model: str = "reference", **options: Any) -> Any:
    metadata = {"source": source, "details": True}
    return evaluate(model, [task], metadata, model_args=arguments, bootstrap_iters=0, **options)


@pytest.fixture(scope="module")
def runs() -> Mapping[str, Any]:
    """Return the results of each policy, and of two turns."""
    found = {}
    for policy in ("oracle", "drop_one"):
        found[policy] = evaluated(f"policy={policy}", ONE_TURN)
    for policy in ("oracle", "ignore"):
        arguments = f"base=reference,policy={policy}"
        found[f"{policy}, two turns"] = evaluated(arguments, TWO_TURNS, model="two_turns", apply_chat_template=True)
    return found


def scores(run: Any, task: str = "ifbench") -> list[Any]:
    return [run["results"][task][f"{metric},none"] for metric in LEVELS]


def test_the_oracle_follows_every_instruction_in_every_edition(runs: Mapping[str, Any]) -> None:
    run = runs["oracle"]
    assert scores(run) == [1.0] * 6
    groups = {name: value for name, value in run["results"]["ifbench"].items() if name.startswith("loose_acc_")}
    assert {name: value for name, value in groups.items() if "stderr" not in name} == dict.fromkeys(
        [f"loose_acc_{group},none" for group in ("count", "ratio", "words", "sentence", "format", "custom", "repeat")],
        1.0,
    )
    assert run["results"]["ifbench"]["instructions,none"] == 98 / 80
    assert run["n-samples"]["ifbench"] == {"original": 80, "effective": 80}


@pytest.mark.parametrize(
    ("source", "policy", "expected"),
    [
        # 18 of the 80 rows have a second instruction, which drop_one follows. To IFBench's loose verdict, the one row
        # with sub-bullets alone follows without asterisks; so are they in one row of two instructions.
        ("embedded", "drop_one", (0, 0, 1 / 80, 18 / 98, 18 / 98, 19 / 98)),
        ("embedded", "ignore", (0, 0, 1 / 80, 0, 0, 2 / 98)),
        # In two rows, of which the instructions exclude each other, one of two is followed.
        ("published", "oracle", (*[298 / 300] * 3, *[342 / 344] * 3)),
        # 44 rows have two instructions. Seven rows have sub-bullets alone; five have them with another.
        ("published", "drop_one", (0, 0, 7 / 300, 44 / 344, 44 / 344, 51 / 344)),
        ("published", "ignore", (0, 0, 7 / 300, 0, 0, 12 / 344)),
    ],
)
def test_a_policys_scores_are_those_that_it_implies(
    source: str, policy: str, expected: Sequence[float], request: pytest.FixtureRequest
) -> None:
    where = source if source == "embedded" else str(request.getfixturevalue("real_ifeval"))
    assert scores(evaluated(f"policy={policy}", ONE_TURN, where)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("task", "policy", "expected"),
    [
        # Six published rows have instructions that exclude each other; of the 834 instructions, one of each is broken.
        ("ifeval_published", "oracle", (*[535 / 541] * 3, *[828 / 834] * 3)),
        ("ifeval_repaired", "oracle", [1] * 6),
        ("ifbench_repaired", "oracle", [1] * 6),
    ],
)
def test_every_repaired_row_can_be_followed_and_not_every_published_one(
    task: str, policy: str, expected: Sequence[float], real_ifeval: str
) -> None:
    run = evaluated(f"policy={policy}", task, real_ifeval)
    assert scores(run, task) == pytest.approx(expected, rel=1e-12)
    # The groups are IFBench's.
    assert any(name.startswith("loose_acc_") for name in run["results"][task]) == task.startswith("ifbench")


@pytest.mark.parametrize(("policy", "expected"), [("oracle", 1.0), ("drop_one", 0.0), ("ignore", 0.0)])
def test_the_rows_of_ifeval_that_were_written_here_have_every_known_answer(policy: str, expected: float) -> None:
    run = evaluated(f"policy={policy}", "ifeval_published")
    assert scores(run, "ifeval_published")[:2] == [expected] * 2


def test_the_second_of_two_turns_counts_and_the_first_is_recorded(runs: Mapping[str, Any]) -> None:
    found = published_rows("embedded", TWO_TURNS).rows
    for policy, expected in (("oracle", 1.0), ("ignore", 0.0)):
        run = runs[f"{policy}, two turns"]
        assert scores(run, TWO_TURNS)[:2] == [expected] * 2
        # The first answer ignores the instructions, of which one can be followed loosely.
        assert run["results"][TWO_TURNS]["prompt_level_loose_acc_first_turn,none"] == pytest.approx(1 / 44)
        assert run["results"][TWO_TURNS]["turns,none"] == 2.0
        for sample, row in zip(sorted(run["samples"][TWO_TURNS], key=itemgetter("doc_id")), found, strict=True):
            assert sample["arguments"][0][0] == f"user: {row.prompt}\nassistant:"
            first, last = (turn["answer"] for turn in sample["turns"])
            assert sample["resps"] == [[last]]
            assert (first == last) == (policy == "ignore")


def test_a_sample_holds_the_verdict_on_each_instruction(runs: Mapping[str, Any]) -> None:
    found = published_rows("embedded", ONE_TURN).rows
    for sample, row in zip(
        sorted(runs["drop_one"]["samples"]["ifbench"], key=itemgetter("doc_id")), found, strict=True
    ):
        assert [one["id"] for one in sample["instructions"]] == [one.id for one in row.instructions]
        assert sum(one["strict"] for one in sample["instructions"]) == len(row.instructions) - 1
        assert sample["inst_level_strict_acc"] == (len(row.instructions) - 1, len(row.instructions))


def test_a_chat_model_with_weights_is_asked_twice_and_scored(harness: Harness, tiny_model: Path) -> None:
    run = harness(
        *("--model", "two_turns", "--model_args", f"base=hf,pretrained={tiny_model}", "--device", "cpu"),
        *("--tasks", TWO_TURNS, "--apply_chat_template", "--limit", "3", "--gen_kwargs", "max_gen_toks=24"),
        source="embedded",
    )
    assert run.status == 0, run.output[-3000:]
    for sample in run.samples[TWO_TURNS]:
        first, last = (turn["answer"] for turn in sample["turns"])
        assert sample["resps"] == [[last]]
        expected = json.loads(json.dumps(scored(sample["doc"], [Turns(first, last)])))
        # Its random answers never end by themselves.
        cut_off = {"ended": "limit", "truncated_rate": 1.0}
        assert {metric: sample[metric] for metric in sample["metrics"]} == expected | cut_off
