"""The reference model's figures in conversations, end to end through the harness, are those of its policies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from statistics import fmean

import pytest

from lm_eval_ext.families.conversation.rows import WITHDRAWN
from lm_eval_ext.floors import CONTENT_FREE_ANSWERS
from lm_eval_ext.verifiers import verify
from tests.conftest import EvaluateEach, Run

pytestmark = pytest.mark.harness

TASK = "manyifeval_turns"
TURNS = 10
POLICIES = ("oracle", "last", "ignore", "forgets_after_2", "forgets_after_4", "forgets_after_8")
FOLLOWS_NOTHING = {("last", 18): {9}, ("last", 97): {5}}
"""By policy and row, the turns in which no text follows the newest instruction alone."""


# The oracle is asked all rows; the others, of which every row has a known score, all of them in the slow tests only.
@pytest.fixture(scope="module", params=[8, pytest.param(100, marks=pytest.mark.slow)])
def runs(
    request: pytest.FixtureRequest, evaluate_each: EvaluateEach, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Run]:
    metadata = '{"source": "embedded", "details": true}'
    shared = ("--metadata", metadata, "--apply_chat_template", "--model", "conversation", "--tasks", TASK)
    options: dict[str, tuple[str, ...]] = {
        policy: (*shared, "--model_args", f"base=reference,policy={policy}", "--limit", str(request.param))
        for policy in (*POLICIES, *CONTENT_FREE_ANSWERS)
    }
    options["oracle"] = (*options["oracle"], "--limit", "100")
    options["batches of 8"] = (*options["forgets_after_4"], "--batch_size", "8")
    return evaluate_each(tmp_path_factory.mktemp("policies"), options)


def figures(run: Run) -> dict[str, float | str]:
    found = run.results["results"][TASK]
    return {name.removesuffix(",none"): value for name, value in found.items() if "_stderr" not in name}


def right(policy: str, turn: int) -> bool:
    """Return whether a policy follows all instructions in a turn, from 0 on."""
    until = {"oracle": TURNS, "last": 1, "ignore": 0}
    return turn < until.get(policy, int(policy.rpartition("_")[2]) if "_" in policy else 0)


@pytest.mark.parametrize("policy", POLICIES)
def test_every_figure_of_a_policy_is_known_to_the_digit(runs: Mapping[str, Run], policy: str) -> None:
    docs = [line["doc"] for line in runs[policy].samples[TASK]]
    assert len(docs) == int(runs[policy].results["config"]["limit"])
    by_turn = [float(right(policy, turn)) for turn in range(TURNS)]
    newest = {
        doc["key"]: [
            float(policy == "last" and turn not in FOLLOWS_NOTHING.get((policy, doc["key"]), ())) / len(in_force)
            for turn, in_force in enumerate(doc["in_force"])
        ]
        for doc in docs
    }
    loses = policy not in {"oracle", "ignore"}
    # The first turn that follows nothing of before loses the first instruction that is still in force.
    lost_at = sum(right(policy, turn) for turn in range(TURNS))
    expected: dict[str, object] = {f"prompt_level_strict_acc_turn_{n:02d}": each for n, each in enumerate(by_turn, 1)}
    expected |= dict.fromkeys(("prompt_level_strict_acc", "prompt_level_repaired_acc"), pytest.approx(fmean(by_turn)))
    share = fmean(max(by_turn[turn], newest[doc["key"]][turn]) for doc in docs for turn in range(TURNS))
    expected |= dict.fromkeys(("inst_level_strict_acc", "inst_level_repaired_acc"), pytest.approx(share))
    expected |= {"loss_rate": float(loses), "empty_rate": 0.0, "truncated_rate": 0.0, "turns": TURNS}
    expected["first_loss_turn"] = lost_at + 1 if loses else "N/A"
    expected["first_loss_place"] = fmean(min(doc["in_force"][lost_at]) + 1 for doc in docs) if loses else "N/A"
    expected["first_loss_recovered"] = 0.0 if loses else "N/A"
    found = figures(runs[policy])
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize("floor", CONTENT_FREE_ANSWERS)
def test_an_answer_without_content_has_the_figures_that_the_verdicts_on_it_give(
    runs: Mapping[str, Run], floor: str
) -> None:
    right = []
    for line in runs[floor].samples[TASK]:
        doc = line["doc"]
        for message, in_force in zip(doc["messages"], doc["in_force"], strict=True):
            ids, kwargs = ([doc[name][place] for place in in_force] for name in ("instruction_id_list", "kwargs"))
            right.append(verify(CONTENT_FREE_ANSWERS[floor](message), ids, kwargs).follow_all_instructions)
    assert figures(runs[floor])["prompt_level_strict_acc"] == pytest.approx(fmean(right))


def test_a_batch_of_eight_rows_has_the_same_answers(runs: Mapping[str, Run]) -> None:
    alone, together = (runs[name].samples[TASK] for name in ("forgets_after_4", "batches of 8"))
    assert [line["turns"] for line in together] == [line["turns"] for line in alone]


def test_a_tenth_of_the_rows_withdraws_an_instruction_and_a_response_follows_all_of_every_row(
    runs: Mapping[str, Run],
) -> None:
    docs = [line["doc"] for line in runs["oracle"].samples[TASK]]
    withdrawing = [doc for doc in docs if WITHDRAWN.partition(",")[0] in json.dumps(doc["messages"])]
    assert (len(docs), len(withdrawing)) == (100, 10)
    for doc in docs:
        assert verify(doc["witness"], doc["instruction_id_list"], doc["kwargs"]).follow_all_instructions
        assert len(doc["messages"]) == len(doc["in_force"]) == TURNS
        gone = {place for places in doc["in_force"] for place in range(max(places)) if place not in places}
        assert len(gone) == (doc in withdrawing)
