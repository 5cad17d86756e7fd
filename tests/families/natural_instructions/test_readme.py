"""The page's tables of GPT-3's recorded answers match the output of the command, and an independent computation."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from rouge_score.rouge_scorer import RougeScorer

from lm_eval_ext.families.natural_instructions.predictions import score
from tests.conftest import ROOT
from tests.families.jsonl import read_jsonl
from tests.families.natural_instructions.test_encodings import PUBLISHED, WITH_EXAMPLES

BASE = "Prompt"
FEWEST, FILLED = "gpt3_predictions.jsonl", "gpt3_predictions_filled.jsonl"


@cache
def scored(path: Path) -> dict[str, Any]:
    with path.open("rb") as lines:
        return score(lines, path.name)


def means(path: Path) -> dict[str, float]:
    """Return the mean ROUGE-L in percent, by the name of the encoding."""
    return {PUBLISHED[encoding]: 100 * mean for encoding, mean in scored(path)["encodings"].items()}


def test_the_table_of_recorded_answers_matches_the_output_of_score(shared_data: Path) -> None:
    folder = shared_data / "natural_instructions"
    counts = [
        (found["scored"], found["skipped"], len(found["rouge_l"]))
        for found in map(scored, (folder / FEWEST, folder / FILLED))
    ]
    assert counts == [(12_100, 1_100, 11), (6_600, 600, 11)]
    fewest, filled = means(folder / FEWEST), means(folder / FILLED)
    assert set(fewest) == set(PUBLISHED.values())
    assert set(filled) == set(WITH_EXAMPLES)
    base = fewest["prompt"]
    rows = {
        encoding: (f"{mean:.2f}", "" if encoding == "prompt" else f"{100 * (mean - base) / base:+.1f} %")
        + (
            (f"{filled[encoding]:.2f}", f"{100 * (filled[encoding] - base) / base:+.1f} %")
            if encoding in filled
            else ("", "")
        )
        for encoding, mean in fewest.items()
    }
    text = (ROOT / "docs/appendix/gpt3-answers.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|(.*)\|(.*)\|(.*)\|$", text, re.MULTILINE)
    assert {encoding: (mean, *(cell.strip() for cell in cells)) for encoding, mean, *cells in table} == rows
    # Section 6.2: the whole instruction gains where the context is filled, and loses where it is not.
    assert (rows["all"][1], rows["all"][3]) == ("-18.3 %", "+11.0 %")


def test_the_table_of_gains_by_category_matches_the_output_of_score(shared_data: Path) -> None:
    folder = shared_data / "natural_instructions"
    fewest = (folder / FEWEST).read_bytes().splitlines()
    base = [line for line in fewest if json.loads(line)["encoding"] == [BASE]]
    filled = score([*(folder / FILLED).read_bytes().splitlines(), *base], "filled", base=BASE)["category_gains"]
    few = score(fewest, "fewest", base=BASE)["category_gains"]
    (whole,) = (published for published, encoding in PUBLISHED.items() if encoding == "all")
    rows = {category: tuple(f"{of[category][whole]:+.0f} %" for of in (few, filled)) for category in few}
    text = (ROOT / "docs/appendix/gpt3-answers.md").read_text(encoding="utf-8")
    table = re.findall(r"^\| `(\w+)` \| \d+[^|]*\| ([+-]\d+ %) \| ([+-]\d+ %) \|", text, re.MULTILINE)
    assert {category: (few, filled) for category, few, filled in table} == rows
    # Section 6.3 says the opposite of both.
    assert max(rows, key=lambda category: filled[category][whole]) == "verification"
    assert min(rows, key=lambda category: filled[category][whole]) == "minimal_text_modification"


def test_barts_outputs_which_state_no_encoding_are_scored(shared_data: Path) -> None:
    found = scored(shared_data / "natural_instructions" / "bart_predictions_subtask034.jsonl")
    assert (found["scored"], found["skipped"]) == (1005, 0)
    assert found["categories"] == {"minimal_text_modification": {"not stated": pytest.approx(0.8805, abs=5e-5)}}


@pytest.mark.slow
def test_answers_to_filled_contexts_score_as_in_the_library_itself(shared_data: Path) -> None:
    path = shared_data / "natural_instructions" / FILLED
    scorer = RougeScorer(["rougeL"], use_stemmer=True)
    expected: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in read_jsonl(path):
        # Three of the eleven subtasks: the library is slow.
        if row["references"] and row["task"][7:10] in ("008", "040", "045"):
            best = scorer.score_multi(row["references"], row["prediction"])["rougeL"].fmeasure
            expected[row["task"]][" + ".join(row["encoding"])].append(best)
    assert sum(map(len, expected.values())) == 18
    for task, of in expected.items():
        assert scored(path)["rouge_l"][task] == {
            encoding: pytest.approx(fmean(values)) for encoding, values in of.items()
        }
    # As computed once, independently of this package, in percent.
    assert means(path) == pytest.approx(
        {
            "all": 31.72,
            "prompt_examples": 32.59,
            "positive": 32.50,
            "prompt_positive": 38.80,
            "prompt_definition_positive": 38.55,
            "all_minus_negative": 38.17,
        },
        abs=0.005,
    )
