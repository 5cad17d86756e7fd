"""A real model under ``--model hf`` on real rows: its prompts, readings and scores."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.verbalizer.answer import read_answer
from lm_eval_ext.families.verbalizer.verbalizer import Reads
from tests.across_versions import filtered
from tests.conftest import EvaluateEach, Run
from tests.families.jsonl import read_jsonl
from tests.families.verbalizer.table_1 import GOLDEN_NAMES, VERBALIZERS, meaning
from tests.families.verbalizer.wordy import build_wordy_model

pytestmark = pytest.mark.harness

Sample = Mapping[str, Any]

UNNATURAL = VERBALIZERS["unnatural"]

LABELS = {"fp": ("negative", "neutral", "positive"), "subj": ("objective", "subjective")}

# Where the evaluated rows are (appendix B); FP has only a training split.
EVALUATION = {"sst2": "validation", "rte": "validation", "qqp": "validation", "mrpc": "validation", "fp": "train"}


UNNATURAL_TASKS = "verbalizer_unnatural"
DIRECT, COT = "verbalizer_qqp_unnatural_flipped", "verbalizer_cot_mrpc_unnatural_flipped"
WITH_FEW_SHOT = {"verbalizer_fp_unnatural_flipped": "sentence", "verbalizer_subj_unnatural_no_yes": "text"}
"""Tasks, each with the column that it shows."""
TEMPLATES: Mapping[str, tuple[str, ...]] = {"plain": (), "chat-template": ("--apply_chat_template",)}
SHORT = ("--gen_kwargs", "max_gen_toks=4")
ASKED = {"plain": 4, "chat-template": 2}
"""How many of the 100 rows of each unnatural task: all of them take a minute."""


@pytest.fixture(scope="module")
def runs(
    evaluate_each: EvaluateEach, tiny_model: Path, real_rows: str, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Run]:
    folder = tmp_path_factory.mktemp("real-model")
    model = build_wordy_model(tiny_model, folder / "wordy-model")
    shared = (
        *("--model", "hf", "--model_args", f"pretrained={model}", "--device", "cpu", "--batch_size", "64"),
        *("--metadata", json.dumps({"source": real_rows})),
    )
    few_shot = ("--tasks", ",".join(WITH_FEW_SHOT), "--num_fewshot", "4", "--limit", "4", *SHORT)
    options: dict[str, tuple[str, ...]] = {"defaults": ("--tasks", f"{DIRECT},{COT}", "--limit", "8")}
    for name, template in TEMPLATES.items():
        options[name] = ("--tasks", UNNATURAL_TASKS, "--limit", str(ASKED[name]), *SHORT, *template)
        options[f"few-shot, {name}"] = (*few_shot, *template)
    return evaluate_each(folder, {name: (*shared, *of_run) for name, of_run in options.items()})


def response(sample: Sample) -> str:
    ((text,),) = sample["resps"]
    assert isinstance(text, str)
    return text


def request(sample: Sample) -> tuple[str, Mapping[str, Any]]:
    arguments = sample["arguments"]["gen_args_0"]
    return arguments["arg_0"], arguments["arg_1"]


def prompt(run: Run, task: str, doc: Mapping[str, Any]) -> str:
    """Fill the row into the leaf's prompt, without the template engine that the task uses."""
    template: str = run.results["configs"][task]["doc_to_text"]
    return re.sub(r"{{(\w+)}}", lambda field: doc[field[1]], template)


def documents(run: Run, task: str) -> list[dict[str, Any]]:
    return [sample["doc"] for sample in sorted(run.samples[task], key=itemgetter("doc_id"))]


def prior_word(dataset: str, verbalizer: str, golden: str) -> str:
    """Return what means a golden label by itself: the label's own name, 1 or 0, yes or no."""
    return meaning(dataset, verbalizer)[GOLDEN_NAMES[dataset].index(golden)]


def check_readings_and_metrics(run: Run, task: str, reads: Reads = "first") -> None:
    """Derive every row's answer and metrics from the logged response, and the scores from the rows."""
    dataset, _, verbalizer = task.removeprefix("verbalizer_").removeprefix("cot_").split("_", 2)
    words = meaning(dataset, verbalizer)
    totals: Counter[str] = Counter()
    for sample in run.samples[task]:
        answer = read_answer(response(sample), words, reads) or "[invalid]"
        (read,) = filtered(sample)
        assert read == answer or (answer == "[invalid]" and re.fullmatch(r"\[invalid: \w+\]", read))
        prior = prior_word(dataset, verbalizer, sample["doc"]["golden_label"])
        (demanded,) = set(words) - {prior}  # an unnatural verbalizer demands the other word
        assert sample["target"] == demanded
        expected = {
            "acc": float(answer == demanded),
            "prior_rate": float(answer == prior),
            "invalid_rate": float(answer == "[invalid]"),
        }
        assert {metric: sample[metric] for metric in expected} == expected
        how_ended = {"ended", "truncated_rate"}
        kinds = {metric: sample[metric] for metric in {*sample["metrics"]} - {*expected} - how_ended}
        assert sum(kinds.values()) == expected["invalid_rate"]
        assert all(read.startswith("[invalid") for value in kinds.values() if value)
        totals.update(expected)
    for metric in ("acc", "prior_rate", "invalid_rate"):
        assert run.score(task, metric) == totals[metric] / len(run.samples[task]), metric


@pytest.mark.parametrize(("name", "wrapped"), [("plain", "{}"), ("chat-template", "user: {}\nassistant:")])
def test_the_unnatural_tasks_use_the_papers_prompt_on_real_rows_and_score_the_answers(
    runs: Mapping[str, Run], real_rows: str, name: str, wrapped: str
) -> None:
    run, limit = runs[name], ASKED[name]
    tasks = {f"verbalizer_{dataset}_unnatural_{verbalizer}" for dataset in GOLDEN_NAMES for verbalizer in UNNATURAL}
    assert set(run.samples) == set(run.results["n-samples"]) == tasks
    assert {len(samples) for samples in run.samples.values()} == {limit}
    assert {row["original"] for row in run.results["n-samples"].values()} == {100}
    assert {row["effective"] for row in run.results["n-samples"].values()} == {limit}

    for task in tasks:
        for sample in run.samples[task]:
            assert request(sample)[0] == wrapped.format(prompt(run, task, sample["doc"]))
        check_readings_and_metrics(run, task)

    for dataset in GOLDEN_NAMES:
        docs, *others = [documents(run, f"verbalizer_{dataset}_unnatural_{verbalizer}") for verbalizer in UNNATURAL]
        assert others == [docs, docs]  # every verbalizer sees the same rows
        rows = read_jsonl(Path(real_rows) / f"{dataset}_{EVALUATION.get(dataset, 'test')}.jsonl")
        for doc in docs:
            columns = doc.items() - {("golden_label", doc["golden_label"])}
            assert any(columns <= row.items() for row in rows)

    total = run.results["groups"][UNNATURAL_TASKS]
    rows_in_all = 27 * limit  # 9 datasets x 3 verbalizers
    assert total["sample_len"] == rows_in_all
    for metric in ("acc", "prior_rate", "invalid_rate"):
        mean = sum(sample[metric] for samples in run.samples.values() for sample in samples) / rows_in_all
        assert total[f"{metric},answer"] == pytest.approx(mean, rel=1e-12)
        assert 0.1 < mean < 0.9, "all answers alike would hide what this test is there to see"


def test_by_default_a_model_has_64_tokens_to_answer_and_512_to_reason(runs: Mapping[str, Run]) -> None:
    run = runs["defaults"]
    for task, budget in ((DIRECT, 64), (COT, 512)):
        assert len(run.samples[task]) == 8
        for sample in run.samples[task]:
            text, generation = request(sample)
            assert text == prompt(run, task, sample["doc"])
            assert (generation["do_sample"], generation["temperature"]) == (False, 0.0)
            assert generation["max_gen_toks"] == budget
    check_readings_and_metrics(run, DIRECT, "first")
    check_readings_and_metrics(run, COT, "final")
    words = GOLDEN_NAMES["mrpc"]
    readings = [(read_answer(response(sample), words), filtered(sample)[0]) for sample in run.samples[COT]]
    assert any(first != final for first, final in readings), "chains too short to tell the two ways of reading apart"


@pytest.mark.parametrize(
    ("name", "demonstration", "row"),
    [
        ("plain", "{prompt} {word}\n\n", "{prompt}"),
        ("chat-template", "user: {prompt}\nassistant: {word}\n", "user: {prompt}\nassistant:"),
    ],
)
def test_four_fixed_balanced_training_rows_with_the_tasks_words_precede_every_row(
    runs: Mapping[str, Run], real_rows: str, name: str, demonstration: str, row: str
) -> None:
    run = runs[f"few-shot, {name}"]
    # What the reader of results goes by.
    assert run.results["fewshot_as_multiturn"] is (True if name == "chat-template" else None)
    # Curves of accuracy against size need it.
    assert run.results["config"]["model_num_parameters"] >= 1
    for task, column in WITH_FEW_SHOT.items():
        assert run.results["n-shot"][task] == 4
        _, dataset, _, verbalizer = task.split("_", 3)
        words = meaning(dataset, verbalizer)
        shown = demonstration.format(prompt=prompt(run, task, {column: "\0"}), word="\1")
        pattern = re.escape(shown).replace("\0", "(.+?)").replace("\1", f"({'|'.join(words)})")
        contexts = [request(sample)[0] for sample in run.samples[task]]
        (demonstrations,) = {tuple(re.findall(pattern, context)) for context in contexts}

        before = "".join(
            demonstration.format(prompt=prompt(run, task, {column: text}), word=word) for text, word in demonstrations
        )
        for context, sample in zip(contexts, run.samples[task], strict=True):
            assert context == before + row.format(prompt=prompt(run, task, sample["doc"]))

        assert Counter(word for _, word in demonstrations) == dict.fromkeys(words, 2)
        golden = {
            line[column]: LABELS[dataset][line["label"]]
            for line in read_jsonl(Path(real_rows) / f"{dataset}_train.jsonl")
        }
        for text, word in demonstrations:
            assert word != prior_word(dataset, verbalizer, golden[text])  # an unnatural verbalizer: the other word
        assert not {text for text, _ in demonstrations} & {doc[column] for doc in documents(run, task)}
        check_readings_and_metrics(run, task)
