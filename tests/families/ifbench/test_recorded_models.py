"""What ten real models score on published and on repaired rows: the page's figures, from recorded responses."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from lm_eval_ext.families.ifbench.rows import IFEVAL, IFBenchRow, repaired_rows, rows
from lm_eval_ext.families.ifbench.scores import score
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
DIFFERENT = {202, 1122, 1129, 1219, 1645, 2785, 3089, 3112, 3429, 3456, 3534, 3617}
"""The rows on which the recorded verdicts are not those of IFEval's code: see the page."""


@cache
def recorded(folder: Path) -> Mapping[str, Mapping[int, Mapping[str, Any]]]:
    """Return by model and key what was recorded."""
    found: dict[str, dict[int, Mapping[str, Any]]] = {}
    with gzip.open(folder / "mifeval_en_responses.jsonl.gz", "rt", encoding="utf-8") as of_six:
        of_four = (folder / "ifeval_responses.jsonl").read_text(encoding="utf-8").splitlines()
        for line in map(json.loads, (*of_four, *of_six)):
            found.setdefault(line["model"], {})[line["key"]] = line
    return found


def scored(row: IFBenchRow, response: str | None) -> Mapping[str, Any]:
    ids, kwargs = zip(*((one.id, one.arguments()) for one in row.instructions), strict=True)
    return score({"instruction_id_list": ids, "kwargs": kwargs}, [response])


def accuracies(of_rows: Iterable[IFBenchRow], of_model: Mapping[int, Mapping[str, Any]]) -> list[str]:
    """Return the prompt-level accuracies of each verdict in percent, as the page has them."""
    found = [scored(row, of_model[int(row.key)]["response"]) for row in of_rows if row.key in of_model]
    return [f"{100 * fmean(one[f'prompt_level_{verdict}_acc'] for one in found):.1f}" for verdict in VERDICTS]


@pytest.mark.parametrize("model", [pytest.param(one, marks=() if one in QUICK else pytest.mark.slow) for one in MODELS])
def test_the_page_has_what_a_model_scores_on_published_and_repaired_rows(model: str, shared_data: Path) -> None:
    source = str(shared_data / "ifeval")
    of_model = recorded(shared_data / "ifeval")[MODELS[model]]
    published, repaired = rows(source, IFEVAL), repaired_rows(source, IFEVAL).rows
    figures = [*accuracies(published, of_model), *accuracies(repaired, of_model)]
    assert f"| {model} | {' | '.join(figures)} |" in (ROOT / "docs/repaired-rows.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("model", [pytest.param(one, marks=() if one in QUICK else pytest.mark.slow) for one in MODELS])
def test_published_rows_have_the_recorded_verdicts(model: str, shared_data: Path) -> None:
    of_model = recorded(shared_data / "ifeval")[MODELS[model]]
    different = set()
    for row in rows(str(shared_data / "ifeval"), IFEVAL):
        if line := of_model.get(int(row.key)):
            found = scored(row, line["response"])["instructions"]
            for verdict in ("strict", "loose"):
                told = line.get(verdict) or line[f"follow_instruction_list_{verdict}"]
                if [one[verdict] for one in found] != told:
                    different.add(row.key)
    assert different <= DIFFERENT
