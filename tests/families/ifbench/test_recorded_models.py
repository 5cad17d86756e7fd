"""What ten real models score on published and repaired rows, from recorded responses: the page's figures."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from lm_eval_ext.families.ifbench.rows import IFEVAL, IFBenchRow, published_rows, repaired_rows
from lm_eval_ext.families.ifbench.scores import score
from lm_eval_ext.families.instructions import columns_of
from tests.conftest import ROOT

VERDICTS = ("strict", "loose", "repaired")
MODELS = {
    "Claude 3 Opus": "claude-3-opus-20240229",
    "GPT-4o mini": "gpt-4o-mini-2024-07-18",
    "Qwen2.5 32B Instruct, GPTQ Int4": "Qwen2.5-32B-Instruct-GPTQ-Int4",
    "o1-mini": "o1-mini-2024-09-12",
    "Llama 3.1 8B Instruct, AWQ Int4": "Meta-Llama-3.1-8B-Instruct-AWQ-INT4",
    "Qwen2.5 7B Instruct, GPTQ Int4": "Qwen2.5-7B-Instruct-GPTQ-Int4",
    "Claude 3 Haiku": "claude-3-haiku-20240307",
    "Mistral 7B Instruct v0.3": "Mistral-7B-Instruct-v0.3",
    "DeepSeek LLM 7B Chat": "deepseek-llm-7b-chat",
    "Qwen2.5 0.5B Instruct, GPTQ Int4": "Qwen2.5-0.5B-Instruct-GPTQ-Int4",
}
"""By the page's names, the names in the recorded responses, in the page's order."""
QUICK = ("GPT-4o mini", "Qwen2.5 0.5B Instruct, GPTQ Int4")
"""One model of each file."""
DIFFERENT = {202, 1122, 1129, 1219, 1645, 3089, 3112, 3429, 3456, 3534, 3617}
"""The rows on which the recorded verdicts are not those of IFEval's code: see docs/appendix/repaired-rows.md."""
OTHER_PROMPT = 2785
"""The row that no model has an answer to: four were shown another prompt, and six have none recorded."""
PAGE = ROOT / "docs/appendix/real-models.md"


@cache
def recorded(folder: str) -> Mapping[str, Mapping[int, Mapping[str, Any]]]:
    """Return by model and key what was recorded of the rows whose prompt it answers."""
    prompts = {row.key: row.prompt for row in published_rows(folder, IFEVAL).rows}
    found: dict[str, dict[int, Mapping[str, Any]]] = {}
    with gzip.open(Path(folder) / "mifeval_en_responses.jsonl.gz", "rt", encoding="utf-8") as of_six:
        of_four = (Path(folder) / "ifeval_responses.jsonl").read_text(encoding="utf-8").splitlines()
        for line in map(json.loads, (*of_four, *of_six)):
            # Six models' responses are recorded by key alone.
            if line.get("prompt", prompts[line["key"]]) == prompts[line["key"]]:
                found.setdefault(line["model"], {})[line["key"]] = line
    return found


def scored(row: IFBenchRow, response: str | None) -> Mapping[str, Any]:
    return score(columns_of(row.instructions), [response])


def accuracies(of_rows: Iterable[IFBenchRow], answers: Mapping[int, str | None]) -> list[str]:
    """Return the prompt-level accuracies of each verdict on the answered rows in percent, as the page has them."""
    found = [scored(row, answers[int(row.key)]) for row in of_rows if row.key in answers]
    return [f"{100 * fmean(one[f'prompt_level_{verdict}_acc'] for one in found):.1f}" for verdict in VERDICTS]


def on_the_page(name: str, answers: Mapping[int, str | None], folder: str) -> bool:
    """Return whether the page has what these answers score on published and on repaired rows."""
    both = published_rows(folder, IFEVAL).rows, repaired_rows(folder, IFEVAL).rows
    figures = [figure for of_rows in both for figure in accuracies(of_rows, answers)]
    return f"| {name} | {' | '.join(figures)} |" in PAGE.read_text(encoding="utf-8")


@pytest.mark.parametrize("model", [pytest.param(one, marks=() if one in QUICK else pytest.mark.slow) for one in MODELS])
def test_the_page_has_what_a_model_scores_on_published_and_repaired_rows(model: str, real_ifeval: str) -> None:
    of_model = recorded(real_ifeval)[MODELS[model]]
    answers = {key: line["response"] for key, line in of_model.items()}
    assert len(answers) == 540
    assert OTHER_PROMPT not in answers
    assert on_the_page(model, answers, real_ifeval)


def test_the_page_has_what_the_prompt_itself_scores_on_the_same_rows(real_ifeval: str) -> None:
    prompts = {int(row.key): row.prompt for row in published_rows(real_ifeval, IFEVAL).rows}
    del prompts[OTHER_PROMPT]
    assert on_the_page("floor: the prompt itself", prompts, real_ifeval)


@pytest.mark.slow
def test_the_page_has_how_many_rows_separate_two_models(real_ifeval: str) -> None:
    def followed(model: str, verdict: str) -> set[int]:
        of_model = recorded(real_ifeval)[MODELS[model]]
        answered = (row for row in published_rows(real_ifeval, IFEVAL).rows if row.key in of_model)
        found = {int(row.key): scored(row, of_model[int(row.key)]["response"]) for row in answered}
        return {key for key, one in found.items() if one[f"prompt_level_{verdict}_acc"]}

    def apart(first: str, second: str, verdict: str) -> list[int]:
        of_first, of_second = followed(first, verdict), followed(second, verdict)
        return [len(of_first - of_second), len(of_second - of_first)]

    page = PAGE.read_text(encoding="utf-8")
    for other in ("GPT-4o mini", "Qwen2.5 32B Instruct, GPTQ Int4", "o1-mini"):
        counts = [*apart("Claude 3 Opus", other, "strict"), *apart("Claude 3 Opus", other, "loose")]
        assert f"| {other} | {' | '.join(map(str, counts))} |" in page
    for small, large in (("0.5B", "7B"), ("7B", "32B")):
        sizes = [f"Qwen2.5 {size} Instruct, GPTQ Int4" for size in (large, small)]
        better, worse = apart(sizes[0], sizes[1], "loose")
        (line,) = (line for line in page.splitlines() if line.startswith(f"| {small} | {large} |"))
        assert line.endswith(f" | {better} | {worse} |")


@pytest.mark.parametrize("model", [pytest.param(one, marks=() if one in QUICK else pytest.mark.slow) for one in MODELS])
def test_published_rows_have_the_recorded_verdicts(model: str, real_ifeval: str) -> None:
    of_model = recorded(real_ifeval)[MODELS[model]]
    different = set()
    for row in published_rows(real_ifeval, IFEVAL).rows:
        if line := of_model.get(int(row.key)):
            found = scored(row, line["response"])["instructions"]
            for verdict in ("strict", "loose"):
                told = line.get(verdict) or line[f"follow_instruction_list_{verdict}"]
                if [one[verdict] for one in found] != told:
                    different.add(row.key)
    assert different <= DIFFERENT
