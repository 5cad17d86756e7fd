"""The cost of a row with a real model: one forward pass for the letters of each spelling's length, plus its text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.paired_mcq.datasets import DATASETS
from lm_eval_ext.families.paired_mcq.first_tokens import first_token
from lm_eval_ext.families.paired_mcq.prompt import Prompt
from lm_eval_ext.families.paired_mcq.rows import rows
from tests.across_versions import filtered, plain_instance
from tests.harness import tasks

pytestmark = pytest.mark.harness

LIMIT = 10
TOKENS = 4


@pytest.fixture(scope="module")
def model(tiny_model: Path) -> Any:
    """Return the harness's own class for Hugging Face models, with the tiny model in it."""
    huggingface = pytest.importorskip("lm_eval.models.huggingface")
    return huggingface.HFLM(pretrained=str(tiny_model), device="cpu", batch_size=1)


def evaluate(model: Any, task: str, **settings: Any) -> tuple[Any, tuple[int, int]]:
    """Return the results, and the number of forward passes over a whole prompt, and over one token more."""
    lengths: list[int] = []

    def count(_module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        tokens = keywords["input_ids"] if "input_ids" in keywords else arguments[0]
        lengths.append(tokens.shape[1])

    hook = model.model.register_forward_pre_hook(count, with_kwargs=True)
    settings |= {"limit": LIMIT, "gen_kwargs": f"max_gen_toks={TOKENS},min_new_tokens={TOKENS}", "bootstrap_iters": 0}
    results = tasks.evaluate(model, [task], {}, **settings)
    hook.remove()
    return results, (sum(length > 1 for length in lengths), sum(length == 1 for length in lengths))


@pytest.mark.parametrize("template", [False, True], ids=["plain", "chat-template"])
def test_the_letters_of_a_row_cost_one_forward_pass(model: Any, template: bool) -> None:
    alone, (prompts_alone, tokens_alone) = evaluate(model, "text_mcq_mmlu_medium", apply_chat_template=template)
    paired, (prompts, tokens) = evaluate(model, "paired_mcq_mmlu_medium", apply_chat_template=template)

    # Text only: a pass over each prompt, which gives the first new token, and one per further token.
    assert (prompts_alone, tokens_alone) == (LIMIT, LIMIT * (TOKENS - 1))
    # With the letters: one pass more per row, though it has five of them. The template puts a space before an answer;
    # in this model's vocabulary that is a token, so that all letters after a space cost a second pass.
    assert (prompts, tokens) == ((3 if template else 2) * LIMIT, LIMIT * (TOKENS - 1))

    found = rows(DATASETS["mmlu"], "embedded")[:LIMIT]
    assert {len(row["options"]) for row in found} == {5}
    of_both, of_text = (
        [sample for samples in results["samples"].values() for sample in samples if sample["filter"] == "rules"]
        for results in (paired, alone)
    )
    for sample, row, other in zip(of_both, found, of_text, strict=True):
        prompt = Prompt("medium")(row)
        *letters, (context, settings) = sample["arguments"]
        assert context == (f"user: {prompt}\nassistant:" if template else prompt)
        # As in the harness's own multiple choice, a template takes the place of the space; but it may have one itself.
        spaces = ("", " ") if template else (" ",)
        assert letters == [(context, f"{space}{letter}") for letter in "ABCDE" for space in spaces]
        assert settings["max_gen_toks"] == TOKENS
        *loglikelihoods, (text,) = sample["resps"]
        spelled = first_token("ABCDE", spaces, [value for ((value, _),) in loglikelihoods])
        assert sample["position_bias"][0] == spelled[1]
        assert tuple(sample["first_token_spelling"]) == spelled
        assert len({value for ((value, _),) in loglikelihoods}) == 5 * len(spaces)
        assert other["resps"] == [[text]]  # asking for letters changes no text
        json.loads(filtered(sample)[-1])


def test_the_letters_log_likelihoods_equal_those_of_single_requests(model: Any) -> None:
    paired, _ = evaluate(model, "paired_mcq_mmlu_low")
    sample = paired["samples"]["paired_mcq_mmlu_low"][0]
    *letters, _ = sample["arguments"]
    singly = [
        model.loglikelihood([plain_instance("loglikelihood", {}, arguments)], disable_tqdm=True)[0][0]
        for arguments in letters
    ]
    *loglikelihoods, _ = sample["resps"]
    assert [value for ((value, _),) in loglikelihoods] == pytest.approx(singly, rel=1e-5)
