"""Every kind of ManyIFEval task states its instructions elsewhere, and no task ignores that it is asked to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.manyifeval.task import ASKED, STATED, placed
from lm_eval_ext.harness.family_task import Asking
from lm_eval_ext.sources import RowsError
from tests.harness.tasks import make

pytestmark = [pytest.mark.harness, pytest.mark.usefixtures("sentence_data")]

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


def evaluated(placement: str) -> Mapping[str, Any]:
    results: Mapping[str, Any] | None = simple_evaluate(
        "reference",
        model_args="policy=ignore_system",
        tasks=list(KINDS),
        task_manager=TaskManager(
            include_path=[tasks_dir()],
            include_defaults=False,
            metadata={"source": "embedded", "placement": placement},
        ),
        limit=2,
        bootstrap_iters=0,
        apply_chat_template=True,
    )
    assert results is not None
    return results


@pytest.mark.parametrize("placement", ["earlier_turn", "system"])
def test_who_ignores_the_system_message_follows_what_stands_elsewhere(placement: str) -> None:
    found = evaluated(placement)
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


def test_the_parts_of_a_prompt_are_the_task_and_what_states_the_instructions() -> None:
    found = placed("before", "Write a poem.", "Write a poem.\n\nNo commas.")
    assert found == {STATED: "No commas.", ASKED: "No commas.\n\nWrite a poem."}


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
    doc = task.eval_docs[0]

    def shown(roles: tuple[str, ...]) -> Any:
        return task.fewshot_context(
            doc,
            num_fewshot=0,
            system_instruction=None,
            apply_chat_template=True,
            fewshot_as_multiturn=False,
            chat_template=lambda messages, **_: "\n\n".join(
                message["content"] for message in messages if message["role"] in roles
            ),
        )

    assert shown(("system", "user")) == f"{doc[STATED]}\n\n{doc['task_prompt']}"
    with pytest.raises(ValueError, match="template makes lacks the instructions: it has no such role"):
        shown(("user",))
