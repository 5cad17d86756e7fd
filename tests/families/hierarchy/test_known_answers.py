"""The reference model's scores in every arm, end to end through the harness, are those of whom its policy obeys."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from lm_eval_ext.floors import CONTENT_FREE_ANSWERS
from lm_eval_ext.verifiers import verify
from tests.conftest import EvaluateEach, Run

pytestmark = pytest.mark.harness

TURNS = (2, 4, 8, 12, 20)
OF_TURNS = {f"turns_{slipped}t{turns:02d}": turns for turns in TURNS for slipped in ("", "slipped_")}
EVERY_TASK = {*("system", "user", "aligned", "system_user", "user_later", "document", "tool"), *OF_TURNS}
# By policy, the arms in which it follows the rival, and those in which it follows neither; else whom it should.
RIVAL = {
    "last": {"system_user", "document", "tool"},
    "user": {"system_user"},
    "document": {"document", "tool"},
}
NEITHER = {
    "user": {"system", *OF_TURNS},
    "system": {"user", "user_later", "document", "tool"},
    **{f"forgets_after_{most}": {task for task, turns in OF_TURNS.items() if turns > most} for most in (2, 4, 8, 12)},
    "ignore": EVERY_TASK,
}
OF_FLOORS = ("hierarchy_system", "hierarchy_system_user", "hierarchy_tool")
POLICIES = ("oracle", "last", "user", "system", "document", *(policy for policy in NEITHER if "_" in policy), "ignore")


# Answers without content are asked all rows; the policies, of which every row has the same score, all of them in the
# slow tests only.
@pytest.fixture(scope="module", params=[8, pytest.param(100, marks=pytest.mark.slow)])
def runs(
    request: pytest.FixtureRequest, evaluate_each: EvaluateEach, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Run]:
    shared = ("--metadata", '{"source": "embedded", "details": true}', "--apply_chat_template", "--model", "reference")
    of_policies = ("--tasks", "hierarchy,hierarchy_turns", "--limit", str(request.param))
    asked = dict.fromkeys(POLICIES, of_policies) | dict.fromkeys(CONTENT_FREE_ANSWERS, ("--tasks", ",".join(OF_FLOORS)))
    options = {policy: (*shared, "--model_args", f"policy={policy}", *tasks) for policy, tasks in asked.items()}
    return evaluate_each(tmp_path_factory.mktemp("policies"), options)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_policys_scores_are_those_of_whom_it_obeys_in_every_arm(runs: Mapping[str, Run], policy: str) -> None:
    found = runs[policy]
    assert {task.removeprefix("hierarchy_") for task in found.samples} == EVERY_TASK
    for task, lines in found.samples.items():
        assert len(lines) == int(found.results["config"]["limit"])
        arm = task.removeprefix("hierarchy_")
        rival, neither = arm in RIVAL.get(policy, ()), arm in NEITHER.get(policy, ())
        obeys = float(not rival and not neither)
        expected = {"obeys": obeys, "obeys_rival": rival, "neither": neither}
        expected |= {"obeys_repaired": obeys, "obeys_rival_repaired": rival}
        figures = found.results["results"][task]
        assert {name: figures[f"{name},none"] for name in expected} == expected, (policy, arm)
        assert (figures["both,none"], figures["empty_rate,none"]) == (0.0, 0.0)


@pytest.mark.parametrize("floor", CONTENT_FREE_ANSWERS)
def test_an_answer_without_content_has_the_scores_that_the_verdicts_on_it_give(
    runs: Mapping[str, Run], floor: str
) -> None:
    for task in OF_FLOORS:
        expected = dict.fromkeys(("obeys", "obeys_rival", "neither", "both"), 0)
        for line in runs[floor].samples[task]:
            doc = line["doc"]
            answer = CONTENT_FREE_ANSWERS[floor](doc["prompt"])
            own, rival = verify(answer, doc["instruction_id_list"], doc["kwargs"]).follow_instruction_list
            name = ("both" if rival else "obeys") if own else ("obeys_rival" if rival else "neither")
            expected[name] += 1
        figures = runs[floor].results["results"][task]
        assert {name: figures[f"{name},none"] for name in expected} == {
            name: pytest.approx(count / 100) for name, count in expected.items()
        }
        assert figures["empty_rate,none"] == float(floor == "empty")


def test_what_counts_and_its_rival_change_places_so_that_content_alone_decides_nothing(
    runs: Mapping[str, Run],
) -> None:
    # Whatever an answer without content happens to follow counts in the one row and not in the other.
    for floor in CONTENT_FREE_ANSWERS:
        figures = runs[floor].results["results"]["hierarchy_system"]
        if floor != "echo":
            assert figures["obeys,none"] == figures["obeys_rival,none"], floor


def test_a_row_has_one_key_in_all_arms_and_a_conversation_of_its_arm(runs: Mapping[str, Run]) -> None:
    samples = runs["oracle"].samples
    keys = {task: [line["doc"]["key"] for line in lines] for task, lines in samples.items()}
    assert len({json.dumps(found) for found in keys.values()}) == 1
    for task, lines in samples.items():
        for line in lines:
            said = next(iter(line["arguments"].values()))["arg_0"]
            turns = line["doc"]["task_prompt"], said.count("user: ")
            expected = int(task[-2:]) if "_t" in task and task[-2:].isdigit() else 1 + (task == "hierarchy_user_later")
            assert turns[1] == expected, task
            assert said.count(turns[0]) == 1
            assert said.startswith("system: ") == any(part in task for part in ("system", "aligned", "turns"))


def test_scripted_replies_follow_the_instruction_except_for_the_slip(runs: Mapping[str, Run]) -> None:
    for slipped in (False, True):
        for line in runs["oracle"].samples["hierarchy_turns_slipped_t04" if slipped else "hierarchy_turns_t04"]:
            doc = line["doc"]
            said = next(iter(line["arguments"].values()))["arg_0"]
            # The prompt ends with the opening of the next reply.
            replies = [part.partition("\nuser: ")[0] for part in said.split("\nassistant: ")[1:]]
            assert len(replies) == len(set(replies)) == 3
            found = [verify(reply, doc["instruction_id_list"], doc["kwargs"]) for reply in replies]
            verdicts = [each.follow_instruction_list for each in found]
            assert verdicts == [(True, False), (True, False), (not slipped, False)]


def test_a_longer_conversation_has_the_shorter_one_at_its_end(runs: Mapping[str, Run]) -> None:
    def turns(count: int) -> list[str]:
        lines = runs["oracle"].samples[f"hierarchy_turns_t{count:02d}"]
        said: str = next(iter(lines[7]["arguments"].values()))["arg_0"]
        return said.split("\nuser: ")[1:]

    assert len(turns(20)) == 20
    for count in TURNS[:-1]:
        assert turns(20)[-count:] == turns(count)
