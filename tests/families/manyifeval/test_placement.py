"""Where the instructions are stated, through the real harness and a real chat template."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.manyifeval.schema import PLACEMENTS
from lm_eval_ext.families.manyifeval.task import AGREED
from tests.conftest import EvaluateEach, Harness, Run

pytestmark = [pytest.mark.harness, pytest.mark.usefixtures("sentence_data")]

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
    each: dict[str, Sequence[str]] = {placement: with_model(tiny_model, placement) for placement in PLACEMENTS}
    for placement in ("system", "earlier_turn"):
        brief = with_model(tiny_model, placement, "--system_instruction", "Be brief.")
        each[f"{placement} after a system instruction"] = brief
    for placement in ("before", "after"):
        each[f"{placement} without a chat template"] = options_of(placement, "--model", "reference")
    return evaluate_each(tmp_path_factory.mktemp("placements"), each)


def stated(doc: dict[str, Any]) -> str:
    """Return how the published prompt states the instructions."""
    text = doc["prompt"].removeprefix(doc["task_prompt"]).strip()
    assert isinstance(text, str)
    return text


def conversation(doc: dict[str, Any], placement: str) -> Sequence[tuple[str, str]]:
    task, instructions = doc["task_prompt"], stated(doc)
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
        assert sample["arguments"]["gen_args_0"]["arg_0"] == f"{turns}assistant:"
    version = str(found.results["versions"][TASK])
    assert version == ("1.1+embedded" if placement == "after" else f"1.1+embedded+{placement}")


@pytest.mark.parametrize(("placement", "between"), [("system", "\n\n"), ("earlier_turn", "\nuser: ")])
def test_a_system_instruction_comes_before_the_placed_ones(
    runs: Mapping[str, Run], placement: str, between: str
) -> None:
    first = runs[f"{placement} after a system instruction"].samples[TASK][0]
    prompt = first["arguments"]["gen_args_0"]["arg_0"]
    assert prompt.startswith(f"system: Be brief.{between}{stated(first['doc'])}\n")


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


def test_a_chat_template_without_a_system_role_is_an_error(harness: Harness, tiny_model: Path, tmp_path: Path) -> None:
    model = tmp_path / "no-system-role"
    model.mkdir()
    for file in tiny_model.iterdir():
        (model / file.name).write_bytes(file.read_bytes())
    template = model / "chat_template.jinja"
    assert template.is_file()
    refusal = "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    template.write_text(refusal + template.read_text(encoding="utf-8"), encoding="utf-8")
    found = harness(*with_model(model, "system"))
    assert found.status != 0
    assert "placement 'system', but the prompt that the model's chat template makes lacks the instructions" in " ".join(
        found.output.split()
    )


def test_few_shot_examples_cannot_state_instructions_elsewhere(harness: Harness, tiny_model: Path) -> None:
    found = harness(*with_model(tiny_model, "earlier_turn", "--num_fewshot", "1"))
    assert found.status != 0
    assert "placement 'earlier_turn' with --num_fewshot 1" in found.output
