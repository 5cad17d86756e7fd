"""``--model two_turns``: two messages, the second about the model's own answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from lm_eval.api.instance import Instance
from lm_eval.api.model import LM, CachingLM

from lm_eval_ext.families.ifbench.rows import IFBenchRow
from lm_eval_ext.families.ifbench.task import first_answers, known_answers
from lm_eval_ext.harness.requests import TurnsInstance
from lm_eval_ext.models.conversation import ConversationLM, TwoTurnsLM
from lm_eval_ext.models.reference import ReferenceLM
from lm_eval_ext.models.wrapping import WrappingLM
from lm_eval_ext.verifiers import instruction
from tests.across_versions import plain_instance
from tests.known_answers import text_of
from tests.self_refine.scripted import ScriptedLM

pytestmark = pytest.mark.harness

ROW = IFBenchRow(1, "Why?", (instruction("custom:multiples"),), second="Count instead.")
GENERATION = {"until": ["<|endoftext|>"], "max_gen_toks": 7}


def request(row: IFBenchRow = ROW, system: str = "") -> Any:
    shown = f"<user>{row.prompt}|answer:"
    return TurnsInstance.of(
        plain_instance("generate_until", {}, (shown, GENERATION)),
        first_answers(row),
        messages=(row.prompt, row.second),
        system=system,
        then=(known_answers(row),),
    )


def test_the_second_message_follows_the_models_own_answer_in_two_calls() -> None:
    base = ScriptedLM(["Because.", "So.", "14", "21"])
    other = IFBenchRow(2, "How?", ROW.instructions, second="Otherwise.")
    answers = TwoTurnsLM(base).generate_until([request(), request(other)])
    assert base.calls == [
        ["<user>Why?|answer:", "<user>How?|answer:"],
        [
            "<user>Why?|<assistant>Because.|<user>Count instead.|answer:",
            "<user>How?|<assistant>So.|<user>Otherwise.|answer:",
        ],
    ]
    assert [(answer, answer.first) for answer in answers] == [("14", "Because."), ("21", "So.")]
    assert [one.args[1] for one in base.asked] == [GENERATION] * 4


def test_the_system_prompt_stays_and_reasoning_goes() -> None:
    base = ScriptedLM(["<think>Hm.</think>Because.", "14"])
    (answer,) = TwoTurnsLM(base).generate_until([request(system="Be brief.")])
    assert base.calls[1] == ["<system>Be brief.|<user>Why?|<assistant>Because.|<user>Count instead.|answer:"]
    assert answer.first == "<think>Hm.</think>Because."


def test_a_withheld_completion_is_empty() -> None:
    base = ScriptedLM(lambda _prompt: None)  # type: ignore[arg-type, return-value]
    (answer,) = TwoTurnsLM(base).generate_until([request()])
    assert (answer, answer.first) == ("", "")


@pytest.mark.parametrize("policy", ["oracle", "ignore"])
def test_the_reference_model_ignores_first_and_then_does_as_its_policy_says(policy: str) -> None:
    (answer,) = TwoTurnsLM(ReferenceLM(policy)).generate_until([request()])
    assert (answer, answer.first) == (text_of(known_answers(ROW), policy), text_of(known_answers(ROW), "ignore"))


def test_rows_without_a_second_message_are_an_error_before_any_request() -> None:
    base = ScriptedLM([])
    plain: Instance = plain_instance("generate_until", {}, ("Hi", {}))
    message = r"two_turns: rows without further messages: .*Only the tasks of the conversation family and ifbench_two"
    with pytest.raises(ValueError, match=message):
        TwoTurnsLM(base).generate_until([request(), plain])
    assert base.calls == []


def test_a_cache_of_responses_keeps_both_answers_and_serves_no_other_model(tmp_path: Path) -> None:
    path = str(tmp_path / "cache.db")
    first = ScriptedLM(["Because.", "14"])
    (answer,) = CachingLM(TwoTurnsLM(first), path).generate_until([request()])
    (again,) = CachingLM(TwoTurnsLM(ScriptedLM([])), path).generate_until([request()])
    assert (again, again.first) == (answer, answer.first) == ("14", "Because.")
    with pytest.raises(ValueError, match="use a separate cache for each model"):
        CachingLM(TwoTurnsLM(ReferenceLM()), path)


def test_every_method_of_an_lm_is_left_to_the_base() -> None:
    # A harness that gives its LMs a further method gives it a default that would hide the base's.
    kept = {"create_from_arg_string", "create_from_arg_obj", "generate_until"}
    assert {name for name in vars(LM) if not name.startswith("_")} - kept <= vars(WrappingLM).keys()


class Thinker(LM):  # type: ignore[misc] # the harness ships no types
    """What answers every request with its thoughts."""

    def __init__(self, think_end_token: str | None) -> None:
        super().__init__()
        self.think_end_token = think_end_token

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        return ["Hm."] * len(requests)

    def loglikelihood(self, requests: list[Any], disable_tqdm: bool = False) -> list[Any]:
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


@pytest.mark.parametrize(("think_end_token", "text"), [(None, "<think>\nHm."), ("</think>", "Hm.")])
def test_what_an_lm_returns_that_removes_reasoning_is_an_answer(think_end_token: str | None, text: str) -> None:
    request = plain_instance("generate_until", {}, ("Why?<think>\n", {}))
    assert ConversationLM(Thinker(think_end_token)).texts_of([request]) == [text]
