"""Models that think before they answer: one with random weights, whose chat template opens the reasoning block."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from lm_eval.api.registry import get_model

from lm_eval_ext.harness.responses import with_opening
from lm_eval_ext.harness.versions import HAS_SCORERS
from lm_eval_ext.models.conversation import ConversationLM
from lm_eval_ext.verifiers import without_reasoning
from tests.across_versions import filtered
from tests.harness import tasks as harness_tasks
from tests.wordy_models import build_model_of_words

pytestmark = pytest.mark.harness

VERBALIZER, MCQ, INSTRUCTIONS = "verbalizer_sst2_natural_golden", "text_mcq_arc_challenge_low", "manyifeval_n01"
NI = "natural_instructions_subtask002_quoref_answer_generation_prompt"
FILTERS = {VERBALIZER: "answer", MCQ: "rules", INSTRUCTIONS: "none", NI: "none"}
END = "</think>"
THINKING: Mapping[str, Any] = {"enable_thinking": True, "think_end_token": END}
ROWS = 24
"""Of each task; enough for each kind of response."""


@pytest.fixture(scope="module")
def thinking_model(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a variant of the tiny model that thinks in label words and at times ends its thoughts, and its answer."""
    words = [END, " positive.", " negative.", " A."]
    return build_model_of_words(
        tiny_model, tmp_path_factory.mktemp("thinking-model"), words, ending=4, opening="<think>\n"
    )


Evaluate = Callable[..., Mapping[str, Any]]


@pytest.fixture(scope="module")
def evaluate(thinking_model: Path, sentence_data: None) -> Evaluate:
    """Return a function that evaluates the model on some tasks, which it ``tells`` of the model's arguments."""

    def run(*tasks: str, template: bool = True, tells: bool = True, **arguments: Any) -> Mapping[str, Any]:
        return harness_tasks.evaluate(
            "hf",
            tasks,
            {"details": True, "max_length": 4096, **(arguments if tells else {})},
            model_args={"pretrained": str(thinking_model), **arguments},
            apply_chat_template=template,
            limit=ROWS,
            batch_size=ROWS,
            device="cpu",
            bootstrap_iters=0,
            gen_kwargs="max_gen_toks=6",
            confirm_run_unsafe_code=True,
        )

    return run


def responses(run: Mapping[str, Any], task: str) -> dict[int, str]:
    lines = [line for line in run["samples"][task] if line["filter"] == FILTERS[task]]
    assert len(lines) == ROWS
    return {line["doc_id"]: line["resps"][-1][0] for line in lines}


def answer(response: str) -> str:
    """Return what stands after the reasoning, which the prompt has opened."""
    _, end, rest = response.rpartition(END)
    return rest.strip() if end else ""


def test_reasoning_that_the_template_opened_is_no_answer(evaluate: Evaluate) -> None:
    tasks = (VERBALIZER, MCQ, INSTRUCTIONS, NI)
    run = evaluate(*tasks)
    for task in tasks:
        said = responses(run, task)
        empty = {number for number, response in said.items() if not answer(response)}
        figures = run["results"][task]
        assert figures[f"empty_rate,{FILTERS[task]}"] == pytest.approx(len(empty) / ROWS)
        for line in run["samples"][task]:
            assert line["empty_rate"] == (line["doc_id"] in empty)
        assert 0 < len(empty) < ROWS, "responses of one kind alone would hide what this test is there to see"
        cut_off = {number for number, response in said.items() if END not in response}
        assert all(said[number].startswith("<think>\n") for number in cut_off)
        assert not any(said[number].startswith("<think>") for number in said.keys() - cut_off)
        assert 0 < len(cut_off) < len(empty), task
    for line in run["samples"][VERBALIZER]:
        (read,) = filtered(line)
        named = [word for word in answer(line["resps"][0][0]).replace(".", "").split() if word != "A"]
        if not answer(line["resps"][0][0]):
            assert read == "[invalid: empty]"
        elif len(set(named)) == 1:
            assert read == named[0]


def test_a_model_that_removes_its_reasoning_itself_is_read_as_it_is(evaluate: Evaluate) -> None:
    run = evaluate(VERBALIZER, MCQ, **THINKING)
    for task in (VERBALIZER, MCQ):
        said = responses(run, task)
        assert not any("think>" in response for response in said.values())
        empty = [response for response in said.values() if not response.strip()]
        assert run["results"][task][f"empty_rate,{FILTERS[task]}"] == pytest.approx(len(empty) / ROWS)
        assert empty


@pytest.mark.parametrize("template", [True, False], ids=["with a template", "without"])
def test_paired_tasks_are_refused_to_a_model_that_thinks_and_the_sibling_is_named(
    template: bool, evaluate: Evaluate, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="with enable_thinking=True provides none; --tasks text_mcq_arc_challenge_low"):
        evaluate(VERBALIZER, "paired_mcq_arc_challenge_low", template=template, **THINKING)
    # Where requests run, the harness shows their progress.
    assert "Running generate_until" not in capsys.readouterr().err


@pytest.mark.skipif(HAS_SCORERS, reason="HFLM of 0.5.0.dev1 computes log-likelihoods with enable_thinking=True, too")
def test_thinking_that_only_the_model_knows_of_is_refused_by_the_model(evaluate: Evaluate) -> None:
    # From Python, a task need not be told of the model's arguments.
    with pytest.raises(ValueError, match="enable_thinking=True is not compatible with loglikelihood"):
        evaluate("paired_mcq_mmlu_low", tells=False, **THINKING)


@pytest.mark.parametrize(("prompt", "response", "restored"), harness_tasks.CASES["openings"])
def test_the_opening_tag_is_restored_where_the_block_is_never_closed(
    prompt: str, response: str | None, restored: str | None
) -> None:
    assert with_opening(response, prompt) == restored


def test_reasoning_that_is_never_closed_is_no_answer_to_an_lm_that_goes_on_with_it(thinking_model: Path) -> None:
    options: dict[str, Any] = {"limit": 4, "bootstrap_iters": 0, "gen_kwargs": "max_gen_toks=3"}
    base = harness_tasks.of_transformers(thinking_model)
    asked: list[str] = []
    generate = base.generate_until

    def noted(requests: Sequence[Any], *args: Any) -> list[str]:
        asked.extend(request.args[0] for request in requests)
        texts: list[str] = generate(requests, *args)
        return texts

    base.generate_until = noted
    play = harness_tasks.evaluate(ConversationLM(base), [harness_tasks.PLAYED], {}, apply_chat_template=True, **options)
    endless = 0
    for line in play["samples"][harness_tasks.PLAYED]:
        answers = [turn["answer"] for turn in line["turns"]]
        thought = [END not in answer for answer in answers]
        assert thought == [answer.startswith("<think>\n") for answer in answers]
        assert line["empty_rate"] >= sum(thought) / len(answers)
        endless += sum(thought)
        # The last message comes after what the answers before it were.
        (last,) = (
            prompt for prompt in asked if line["doc"]["messages"][-1] in prompt and line["doc"]["prompt"] in prompt
        )
        shown = re.findall(r"^assistant: (.*)$", last, re.MULTILINE)
        assert shown == list(map(without_reasoning, answers[:-1]))
    assert endless
    refine = get_model("self_refine")(base=base, strategy="feedback", rounds=1)
    run = harness_tasks.evaluate(refine, [INSTRUCTIONS], {"details": True}, apply_chat_template=True, **options)
    for line in run["samples"][INSTRUCTIONS]:
        answer = line["resps"][0][0]
        assert (END in answer) != answer.startswith("<think>\n")
        assert END in answer or line["empty_rate"] == 1.0
