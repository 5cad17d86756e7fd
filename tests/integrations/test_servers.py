"""open-instruct's verifier and NeMo Gym's server give the verdicts of verify, in their libraries' forms."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from lm_eval_ext.integrations.rewards import Rewarding
from tests.integrations.rows import ROWS, pairs, verified
from tests.integrations.stand_ins import integration


@pytest.fixture
def verifier(monkeypatch: pytest.MonkeyPatch) -> Any:
    return integration("open_instruct", "open_instruct.ground_truth_utils", monkeypatch).InstructionVerifier


@pytest.fixture
def gym(monkeypatch: pytest.MonkeyPatch) -> Any:
    return integration("nemo_gym", "nemo_gym.base_resources_server", monkeypatch)


def test_open_instructs_scores_are_the_verdicts_of_verify(verifier: Any) -> None:
    verify = verifier()
    assert (verify.name, verify.weight) == ("lm_eval_ext", 1)
    for row, response in pairs():
        label = str([{"instruction_id": row["instruction_id_list"], "kwargs": row["kwargs"]}])
        found = verify([1, 2], f"{response}<|im_end|>", label, query=row["prompt"], rollout_state={})
        assert (found.score, found.cost) == (verified(row, response)[0], 0)


def test_tags_around_an_answer_are_removed(verifier: Any) -> None:
    label = json.dumps({"instruction_id_list": ["startend:end_checker"], "kwargs": [{"end_phrase": "the end"}]})
    assert verifier()([], "<think>x</think>\n<answer>\nthe end\n</answer>", label).score == 1


def test_its_options_are_those_of_the_class_and_it_says_why(verifier: Any) -> None:
    verifier.rewarding = Rewarding(shape="all")
    label = json.dumps({name: ROWS[0][name] for name in ("instruction_id_list", "kwargs")})
    assert verifier()([], "blue", label).reasoning == "not followed: keywords:existence"
    assert verifier()([], "blue", label).score == 0
    broken = verifier()([], "blue", "42")
    assert broken.score == -1
    assert broken.reasoning.startswith("broken: row: 'ground_truth': expected ")


def answer(gym: Any, texts: list[str | None], options: dict[str, Any] | None = None, **row: Any) -> Any:
    server = gym.InstructionServer(config=gym.InstructionServerConfig(**(options or {})))
    output = [{"content": None if text is None else [{"text": text}]} for text in texts]
    request = gym.InstructionVerifyRequest(response={"output": output}, **row)
    return asyncio.run(server.verify(request))


@pytest.mark.parametrize("edition", ["faithful", "repaired"])
def test_nemo_gyms_rewards_are_the_verdicts_of_verify(gym: Any, edition: Any) -> None:
    for row, response in pairs():
        share, every = verified(row, response, edition)
        asked = {name: row[name] for name in ("instruction_id_list", "kwargs", "prompt")}
        for metadata in (asked, {**asked, "grading_mode": "binary"}):
            found = answer(gym, [response], {"edition": edition}, id=1, verifier_metadata=metadata)
            assert (found.reward, found.follow_all_instructions, found.mask_sample) == (every, bool(every), False)
        found = answer(gym, [response], {"edition": edition}, id=1, grading_mode="fraction", **asked)
        assert found.reward == share == sum(found.follow_instruction_list) / len(found.follow_instruction_list)
        assert (found.id, found.prompt) == (1, row["prompt"])


def test_the_last_item_is_judged_and_metadata_come_before_columns(gym: Any) -> None:
    metadata = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [None]}
    assert answer(gym, ["a, b", "a"], verifier_metadata=metadata, kwargs=[5]).reward == 1
    assert answer(gym, ["a", None], verifier_metadata=metadata).empty == 1
    assert answer(gym, [], verifier_metadata=metadata).reward == 0


@pytest.mark.parametrize(
    "wrong", [{"kwargs": []}, {"instruction_id_list": None}, {"grading_mode": "both"}, {"grading_mode": ["binary"]}]
)
def test_a_broken_row_is_masked(gym: Any, wrong: dict[str, Any]) -> None:
    metadata = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}], **wrong}
    found = answer(gym, ["a"], id=3, verifier_metadata=metadata)
    assert (found.mask_sample, found.failure_kind, found.reward) == (True, "verifier_error", -1)
    assert found.failure_reason.startswith("row 3: ")
    assert (found.follow_all_instructions, found.follow_instruction_list) == (None, [])


def test_nemo_gym_is_told_that_rollouts_can_be_verified_again(gym: Any) -> None:
    assert gym.InstructionServerConfig.REVERIFY_MODE == "stateless"
    assert set(gym.InstructionServerConfig().model_dump()) < set(vars(Rewarding()))
