"""Where the instructions are stated, through the real harness and a real chat template; no task ignores it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.manyifeval.placement import AGREED, STATED, placed
from lm_eval_ext.families.manyifeval.schema import PLACEMENTS
from lm_eval_ext.harness.requests import Asking
from lm_eval_ext.sources import RowsError
from tests.conftest import EvaluateEach, Harness, Run
from tests.harness.tasks import evaluate, make, only, shown

pytestmark = pytest.mark.harness

TASK = "manyifeval_n02"


def options_of(placement: str, *options: str) -> tuple[str, ...]:
    metadata = json.dumps({"source": "embedded", "placement": placement})
    return (*options, "--tasks", TASK, "--metadata", metadata, "--limit", "2")


def with_model(model: Path, placement: str, *options: str) -> tuple[str, ...]:
    arguments = ("--model", "hf", "--model_args", f"pretrained={model}", "--device", "cpu", "--batch_size", "2")
    return options_of(placement, *arguments, "--apply_chat_template", "--gen_kwargs", "max_gen_toks=4", *options)


@pytest.fixture(scope="module")
def runs(evaluate_each: EvaluateEach, tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Run]:
    """Return all runs that succeed; the harness's own start takes longer than they do."""
    brief = ("--system_instruction", "Be brief.")
    each: dict[str, Sequence[str]] = {name: with_model(tiny_model, name, *brief) for name in PLACEMENTS}
    for placement in ("before", "after"):
        each[f"{placement} without a chat template"] = options_of(placement, "--model", "reference")
    return evaluate_each(tmp_path_factory.mktemp("placements"), each)


def conversation(doc: dict[str, Any], placement: str) -> Sequence[tuple[str, str]]:
    """Return what is said, after the run's system instruction."""
    task, instructions = doc["task_prompt"], doc["prompt"].removeprefix(doc["task_prompt"]).strip()
    return {
        "after": [("user", f"{task}\n\n{instructions}")],
        "before": [("user", f"{instructions}\n\n{task}")],
        "system": [("system", instructions), ("user", task)],
        "earlier_turn": [("user", instructions), ("assistant", AGREED), ("user", task)],
    }[placement]


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_the_model_is_shown_the_instructions_at_their_place(runs: Mapping[str, Run], placement: str) -> None:
    found = runs[placement]
    for sample in found.samples[TASK]:
        turns = "".join(f"{role}: {content}\n" for role, content in conversation(sample["doc"], placement))
        before = f"system: Be brief.\n{turns}" if placement != "system" else turns.replace(": ", ": Be brief.\n\n", 1)
        assert sample["arguments"]["gen_args_0"]["arg_0"] == f"{before}assistant:"
    version = str(found.results["versions"][TASK])
    assert version == ("1.3+embedded" if placement == "after" else f"1.3+embedded+{placement}")


@pytest.mark.parametrize("placement", ["before", "after"])
def test_without_a_chat_template_the_oracle_is_right(runs: Mapping[str, Run], placement: str) -> None:
    found = runs[f"{placement} without a chat template"]
    assert found.results["results"][TASK]["prompt_level_strict_acc,none"] == 1.0
    for sample in found.samples[TASK]:
        ((_, shown),) = conversation(sample["doc"], placement)
        assert sample["arguments"]["gen_args_0"]["arg_0"] == shown


@pytest.mark.parametrize(
    ("placement", "options", "message"),
    [
        ("system", ("--model", "reference"), "placement 'system' needs a conversation; run with --apply_chat_template"),
        ("below", ("--model", "reference"), "metadata placement 'below'; expected one of after, before, system"),
        (
            "before",
            ("--model", "self_refine", "--model_args", "base=reference"),
            "placement 'before'; its judges and revisions show the instructions after the task",
        ),
    ],
)
def test_what_cannot_be_placed_is_an_error(
    harness: Harness, placement: str, options: tuple[str, ...], message: str
) -> None:
    found = harness(*options_of(placement, *options))
    assert found.status != 0
    assert message in " ".join(found.output.split())


def test_few_shot_examples_cannot_state_instructions_elsewhere(harness: Harness, tiny_model: Path) -> None:
    found = harness(*with_model(tiny_model, "earlier_turn", "--num_fewshot", "1"))
    assert found.status != 0
    assert "placement 'earlier_turn' with --num_fewshot 1" in found.output


KINDS = {
    "manyifeval_n02": "prompt_level_strict_acc",
    "manyifeval_repeat_n02": "prompt_level_strict_acc",
    "manyifeval_single": "prompt_level_strict_acc",
    "manyifeval_cousins_n01": "prompt_level_strict_acc",
    "manyifeval_dense_n010": "words_followed",
}
"""A task of each kind, with its headline; the larger pool takes longer and inherits what these have."""
ELSEWHERE = (
    "verbalizer_sst2_natural_golden",
    "verbalizer_cot_sst2_natural_golden",
    "paired_mcq_opinionqa_low",
    "text_mcq_opinionqa_low",
    "natural_instructions_subtask033_winogrande_answer_generation_prompt",
    "ifbench",
    "ifbench_two_turns",
    "hierarchy_system_user",
)


@pytest.mark.parametrize("placement", ["earlier_turn", "system"])
def test_who_ignores_the_system_message_follows_what_stands_elsewhere(placement: str) -> None:
    asked: dict[str, Any] = {"model_args": "policy=ignore_system", "limit": 2, "apply_chat_template": True}
    found = evaluate("reference", KINDS, {"placement": placement}, bootstrap_iters=0, **asked)
    for task, headline in KINDS.items():
        assert found["results"][task][f"{headline},none"] == (0.0 if placement == "system" else 1.0), task
        assert str(found["versions"][task]).endswith(f"+embedded+{placement}"), task
    for sample in found["samples"]["manyifeval_dense_n010"]:
        task, _, words = sample["doc"]["prompt"].partition("\n\n")
        # Whichever form the version of the harness has for the arguments of a request.
        arguments = json.dumps(sample["arguments"])
        assert (json.dumps(f"system: {words}\nuser: {task}\n")[1:-1] in arguments) == (placement == "system")


@pytest.mark.parametrize("task", ELSEWHERE)
def test_other_families_refuse_a_placement(task: str) -> None:
    with pytest.raises(ValueError, match="metadata placement 'system'; only the manyifeval tasks can state"):
        make(task, {"placement": "system"})


@pytest.mark.parametrize("prompt", ["Follow this: no commas. Write a poem.", "Write a poem."])
def test_a_finished_prompt_that_is_not_a_task_with_instructions_cannot_be_placed(prompt: str) -> None:
    assert placed("after", "Write a poem.", prompt) == {}
    with pytest.raises(RowsError, match="followed by the instructions, so these cannot be stated elsewhere"):
        placed("before", "Write a poem.", prompt)


@pytest.mark.parametrize(("rendered", "warned"), [("user: A message.", False), ([{"role": "user"}], True)])
def test_what_only_a_server_renders_cannot_be_checked(
    rendered: object, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    task = make("manyifeval_n02", {"placement": "system"})
    task.asking = Asking(apply_chat_template=True, chat_template=lambda _: rendered)
    task.before_requests()
    assert ("it cannot be checked that the model is shown the instructions" in caplog.text) == warned


def test_a_template_may_write_the_system_message_elsewhere_but_not_leave_it_out() -> None:
    task = make("manyifeval_n02", {"placement": "system"})
    assert shown(task, only("system", "user")) == [f"{doc[STATED]}\n{doc['task_prompt']}" for doc in task.eval_docs]
    with pytest.raises(ValueError, match="template makes lacks the instructions: it has no such role"):
        shown(make("manyifeval_n02", {"placement": "system"}), only("user"))
