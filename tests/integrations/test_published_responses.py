"""What rewards pay for published responses to IFEval, and how many of these trip wires, is what the pages say."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from lm_eval_ext.cheapest import cheapest
from lm_eval_ext.floors import CONTENT_FREE_ANSWERS
from lm_eval_ext.integrations.rewards import SHAPES, Rewarding
from lm_eval_ext.trip_wires import Rollout, all_tripped
from lm_eval_ext.verifiers import instructions_of
from tests.conftest import ROOT

MODELS = {
    "Claude 3 Opus's": "claude-3-opus-20240229",
    "GPT-4o mini's": "gpt-4o-mini-2024-07-18",
    "Qwen2.5 0.5B's": "Qwen2.5-0.5B-Instruct-GPTQ-Int4",
    "Qwen2.5 32B's": "Qwen2.5-32B-Instruct-GPTQ-Int4",
}
WITHOUT_CONTENT = {"`ok`": "ok", "the prompt itself": "echo", "a refusal": "refusal"}

Answers = Mapping[str, Mapping[int, str]]
"""By name, the answers by key."""


@pytest.fixture(scope="module")
def prompts(shared_data: Path) -> dict[int, dict[str, Any]]:
    lines = (shared_data / "ifeval/ifeval_input_data.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["key"]: row for row in map(json.loads, lines)}


@pytest.fixture(scope="module")
def answers(shared_data: Path, prompts: Mapping[int, Any]) -> Answers:
    lines = (shared_data / "ifeval/ifeval_responses.jsonl").read_text(encoding="utf-8").splitlines()
    with gzip.open(shared_data / "ifeval/mifeval_en_responses.jsonl.gz", "rt", encoding="utf-8") as others:
        rows = [json.loads(line) for line in [*lines, *others]]
    return {
        name: {row["key"]: row["response"] for row in rows if row["model"] == model and row["key"] in prompts}
        for name, model in MODELS.items()
    }


@pytest.mark.slow
def test_the_shapes_pay_what_the_page_says(prompts: Mapping[int, Any], answers: Answers) -> None:
    page = (ROOT / "docs/appendix/integrations.md").read_text(encoding="utf-8")
    documented = {
        name.split("](")[0].strip("["): [float(figure) for figure in figures.split(" | ")]
        for name, figures in re.findall(r"^\| (.*?) \| (\d+\.\d(?: \| \d+\.\d){3}) \|$", page, re.MULTILINE)
    }
    given: dict[str, Mapping[int, str]] = {
        **{
            name: {key: CONTENT_FREE_ANSWERS[floor](row["prompt"]) for key, row in prompts.items()}
            for name, floor in WITHOUT_CONTENT.items()
        },
        "the cheapest that pass": {
            key: cheapest(instructions_of(row["instruction_id_list"], row["kwargs"]), "faithful") or ""
            for key, row in prompts.items()
        },
        **{name: of_model for name, of_model in answers.items() if name in documented},
    }
    assert given.keys() == documented.keys()
    for name, of_name in given.items():
        for shape, figure in zip(SHAPES, documented[name], strict=True):
            scores = [
                Rewarding(shape=shape).rewarded(answer, prompts[key], "row", prompts[key]["prompt"]).score or 0.0
                for key, answer in of_name.items()
            ]
            assert 100 * fmean(scores) == pytest.approx(figure, abs=0.051), (name, shape)


@pytest.mark.slow
def test_published_responses_trip_as_many_wires_as_the_page_says(prompts: Mapping[int, Any], answers: Answers) -> None:
    shares = {}
    for name, of_name in answers.items():
        rollouts = []
        for key, answer in of_name.items():
            row = prompts[key]
            asked = instructions_of(row["instruction_id_list"], row["kwargs"])
            rollouts.append(Rollout(row["prompt"], answer or "", asked))
        wires = all_tripped(rollouts)
        shares[name] = f"{100 * sum(wire is not None for wire in wires) / len(wires):.1f} %"
    assert shares == {
        "Claude 3 Opus's": "0.7 %",
        "GPT-4o mini's": "2.0 %",
        "Qwen2.5 0.5B's": "45.0 %",
        "Qwen2.5 32B's": "2.6 %",
    }
    page = " ".join((ROOT / "docs/verify.md").read_text(encoding="utf-8").split())
    told = (
        "0.7 % of Claude 3 Opus's, 2.0 % of GPT-4o mini's and 2.6 % of Qwen2.5 32B's do, and 45 % of those of Qwen2.5"
    )
    assert told in page
