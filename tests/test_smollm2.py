"""A real instruct model in every family: SmolLM2 with 135 million parameters, from a Python package.

What it answers is its own affair, and mostly wrong. That every answer is read and scored, that a second run gives the
same, and that reports and the gate take the results is ours. Loading it and its answers take 20 seconds: the quick
tests of each family ask a tiny model with random weights.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from lm_eval.api.registry import get_model
from rouge_score import rouge_scorer

from lm_eval_ext import cli
from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.verifiers import verify
from tests.across_versions import filtered
from tests.conftest import Run, written
from tests.harness.tasks import evaluate, make

# Instructions of the rows are judged with them.
pytestmark = [pytest.mark.slow, pytest.mark.harness, pytest.mark.usefixtures("sentence_data")]

ROWS = 2
LABELS, COUNTS, UNSEEN, OBEYING, QUESTIONS, PARTS = TASKS = (
    "verbalizer_sst2_natural_golden",
    "manyifeval_n02",
    "ifbench",
    "hierarchy_system_user",
    "paired_mcq_opinionqa_medium",
    "natural_instructions_subtask033_winogrande_answer_generation_prompt",
)


@pytest.fixture(scope="module")
def model(smollm2: Mapping[str, str]) -> Any:
    gguf = import_module("gguf")
    with pytest.MonkeyPatch.context() as patch:
        # Of configuration, tokenizer and weights each reads the file, which takes longer than all else.
        patch.setattr(gguf, "GGUFReader", cache(gguf.GGUFReader))
        return get_model("hf")(**smollm2, device="cpu", batch_size=ROWS)


@pytest.fixture(scope="module")
def first(model: Any, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return evaluated(model, tmp_path_factory.mktemp("first"), *TASKS)


def evaluated(model: Any, folder: Path, *tasks: str, **of_model: str) -> Run:
    options = {"apply_chat_template": True, "gen_kwargs": "max_gen_toks=12", "bootstrap_iters": 0, **of_model}
    evaluate(model, tasks, {"details": True}, folder, limit=ROWS, **options)
    return Run(0, "", *written(folder), folder)


def of_samples(run: Run, task: str, count: int = ROWS) -> list[dict[str, Any]]:
    """Return a task's samples in the order of the rows, after what holds for those of every task."""
    samples = sorted(run.samples[task], key=lambda sample: (sample["filter"], sample["doc_id"]))
    assert [sample["doc_id"] for sample in samples] == list(range(ROWS)) * (count // ROWS)
    assert "<|im_start|>user\n" in json.dumps(samples[0]["arguments"]).replace("\\n", "\n"), "no chat template"
    scored = {name for name in run.results["results"][task] if "," in name and "_stderr" not in name}
    metrics = {*make(task).aggregation(), "truncated_rate"}
    assert scored == {f"{metric},{sample['filter']}" for metric in metrics for sample in samples}
    return samples


def response(sample: Mapping[str, Any]) -> str:
    *_, (text,) = sample["resps"]
    assert isinstance(text, str)
    assert text.strip(), "an empty response"
    return text


def figures(run: Run, task: str, reader: str, *metrics: str) -> list[Any]:
    return [run.results["results"][task][f"{metric},{reader}"] for metric in metrics]


def test_two_negative_reviews_are_called_positive_and_scored_as_wrong(first: Run) -> None:
    samples = of_samples(first, LABELS)
    assert [sample["target"] for sample in samples] == ["negative", "negative"]
    assert [response(sample).strip().lower().rstrip(".") for sample in samples] == ["positive", "positive"]
    assert [filtered(sample) for sample in samples] == [["positive"], ["positive"]]
    assert figures(first, LABELS, "answer", "acc", "prior_rate", "invalid_rate") == [0.0, 0.0, 0.0]


def test_each_of_two_instructions_is_judged_by_what_was_answered(first: Run) -> None:
    shares = []
    for sample in of_samples(first, COUNTS):
        doc = sample["doc"]
        assert len(doc["instruction_id_list"]) == 2
        verdict = verify(response(sample), doc["instruction_id_list"], doc["kwargs"])
        assert sample["prompt_level_strict_acc"] == verdict.follow_all_instructions
        assert sample["inst_level_strict_acc"] == verdict.share
        shares.append(verdict.share)
    # The first begins without a quotation mark and stops before its first "]". The second avoids the forbidden words
    # and has no word in capitals, of which it should have five.
    assert shares == [0.0, 0.5]
    # The residual: 0 - 0.25 ** 2.
    levels = ("prompt_level_strict_acc", "inst_level_strict_acc", "curse_residual")
    assert figures(first, COUNTS, "none", *levels) == [0.0, 0.25, -0.0625]


def test_an_instruction_that_no_model_was_trained_on_is_judged_by_what_was_answered(first: Run) -> None:
    for sample in of_samples(first, UNSEEN):
        asked = sample["doc"]["instruction_id_list"], sample["doc"]["kwargs"]
        for verdict, loose in (("strict", False), ("loose", True)):
            followed = verify(response(sample), *asked, loose=loose).follow_all_instructions
            assert sample[f"prompt_level_{verdict}_acc"] == followed


def test_whom_the_answer_obeys_is_judged_by_what_was_answered(first: Run) -> None:
    for sample in of_samples(first, OBEYING):
        doc = sample["doc"]
        own, rival = verify(response(sample), doc["instruction_id_list"], doc["kwargs"]).follow_instruction_list
        assert (sample["obeys"], sample["obeys_rival"], sample["neither"]) == (own, rival, not own and not rival)


def test_the_first_token_and_the_text_name_the_first_option(first: Run) -> None:
    # Two orders of the options of one question, each read by two readers.
    for sample in of_samples(first, QUESTIONS, count=2 * ROWS):
        options = sample["doc"]["options"]
        chances = [float(chance) for ((chance, _),) in sample["resps"][:-1]]
        # Each letter is asked for as the template begins an answer, and after a space.
        assert (len(chances), len(options)) == (12, 6)
        assert chances.index(max(chances)) == 0
        assert sample["first_token_spelling"] == ["", "A"]
        assert response(sample).strip() == f"A. {options[0]}"
        assert json.loads(filtered(sample)[-1])["reading"] == "A"
    for reader in ("string_match", "rules"):
        found = figures(first, QUESTIONS, reader, "mismatch", "refusal", "no_answer", "position_bias")
        assert found == [0.0, 0.0, 0.0, 0.0]


def test_what_shares_words_with_the_references_scores_as_the_library_has_it(first: Run) -> None:
    scorer = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=True)
    scores = []
    for sample in of_samples(first, PARTS):
        answered = response(sample).partition("\n\n")[0]
        scores.append(scorer.score_multi(sample["doc"]["output"], answered)["rougeL"].fmeasure)
        assert sample["rouge_l"] == pytest.approx(scores[-1], rel=1e-12)
    assert 0 < sum(scores) / ROWS < 1
    assert figures(first, PARTS, "none", "rouge_l") == pytest.approx([sum(scores) / ROWS], rel=1e-12)


def test_a_second_run_gives_the_same(first: Run, model: Any, tmp_path: Path) -> None:
    second = evaluated(model, tmp_path, *TASKS)
    assert second.samples == first.samples
    assert second.results["results"] == first.results["results"]


def test_its_recorded_answers_are_scored_again_without_it(first: Run, tmp_path: Path) -> None:
    # Its chat template is applied again, from the results.
    again = evaluated("recorded", tmp_path, *TASKS, model_args=f"samples={first.folder}")
    assert again.samples == first.samples
    assert again.results["results"] == first.results["results"]
    assert again.results["chat_template_sha"] == first.results["chat_template_sha"]


def test_the_gate_and_a_report_take_the_results(first: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    again = tmp_path / "again"
    shutil.copytree(first.folder, again)
    # 1 is a regression; how much two rows can tell is another matter.
    assert cli.main(["check", str(again), "--against", str(first.folder), "--max-drop", "0.02"]) != 1
    said = capsys.readouterr().out
    assert [task for task in TASKS if task not in said] == []

    page = tmp_path / "report.html"
    assert cli.main(["report", str(first.folder), "-o", str(page)]) == 0
    shown = page.read_text(encoding="utf-8")
    # Conversations are not among the tasks here: they take ten answers to each row.
    assert [name for name in FAMILIES if f'id="title-{name}"' not in shown] == ["conversation"]
