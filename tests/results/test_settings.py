"""A model whose families need different settings is one model, and so is one at several temperatures.

Runs of one task in two other settings are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.gate.units import Compared, Sides
from lm_eval_ext.reports.page.build import provenance
from lm_eval_ext.results.comparability import as_one
from lm_eval_ext.results.issue import note, warning
from lm_eval_ext.results.load import load, load_apart
from lm_eval_ext.results.runs import Decoding, settings_of
from tests.harness.tasks import evaluate
from tests.reports.files import SST2, write_run
from tests.reports.manyifeval_files import of_model, row, write_rows
from tests.tables import tables

TABLES = tables(__file__)
N01 = "manyifeval_n01"
COT = "verbalizer_cot_sst2_unnatural_flipped"
LONG = {"max_gen_toks": 8192}
LONGEST = {"max_gen_toks": 16384}
TASK = "text_mcq_opinionqa_low"


def manyifeval(folder: Path, gen_kwargs: Mapping[str, Any] | None = None, pretrained: str = "owner/one") -> None:
    write_rows(folder, {N01: [row(0, [True])]}, config={**of_model(pretrained), "gen_kwargs": gen_kwargs})


def verbalizer(folder: Path, gen_kwargs: Mapping[str, Any] | None = None, task: str = SST2, **changed: Any) -> None:
    write_run(folder, {task: [1, 0]}, call={"gen_kwargs": gen_kwargs}, **changed)


def test_a_model_with_a_different_setting_per_family_is_one_model_with_a_note(tmp_path: Path) -> None:
    verbalizer(tmp_path / "a")
    manyifeval(tmp_path / "b", LONG)
    runs = load([tmp_path])
    assert list(runs.labels.values()) == ["one"]
    assert {run.task: dict(run.setting) for run in runs.counting} == {
        SST2: {},
        N01: {"gen_kwargs": "max_gen_toks=8192"},
    }
    assert runs.issues == (
        note("one: gen_kwargs differ between families: default (verbalizer); max_gen_toks=8192 (manyifeval)"),
    )
    assert settings_of(runs.counting) == ["gen_kwargs: default (verbalizer); max_gen_toks=8192 (manyifeval)"]
    # The commands that ask for the same again have each run's own setting.
    given = [
        "--gen_kwargs max_gen_toks=8192" in value
        for _, facts in provenance(runs)
        for name, value in facts
        if "command" in name
    ]
    assert sorted(given) == [False, True]


def test_different_settings_within_a_family_are_a_warning_that_names_the_tasks(tmp_path: Path) -> None:
    verbalizer(tmp_path / "a", config={"num_fewshot": 4})
    verbalizer(tmp_path / "b", task=COT)
    runs = load([tmp_path])
    assert list(runs.labels.values()) == ["one"]
    assert runs.issues == (
        warning(
            f"one: few-shot examples differ between tasks: 4 ({SST2}); default ({COT}); figures over several tasks of "
            "verbalizer mix them"
        ),
    )


def test_unambiguous_runs_are_one_model_next_to_runs_that_are_kept_apart(tmp_path: Path) -> None:
    # Whether the runs of the other families belong to the first or the second cannot be told.
    verbalizer(tmp_path / "a")
    verbalizer(tmp_path / "b", config={"num_fewshot": 4})
    verbalizer(tmp_path / "c", LONG, task=COT)
    manyifeval(tmp_path / "d", LONGEST)
    runs = load([tmp_path])
    models = {run.task: runs.labels[run.model] for run in runs.counting if run.task != SST2}
    assert models == {COT: "one, no few-shot examples, gen_kwargs differ by task", N01: models[COT]}
    assert len(runs.labels) == 3


def test_another_chat_template_is_always_another_model(tmp_path: Path) -> None:
    verbalizer(tmp_path / "a", chat_template_sha="0123456789")
    manyifeval(tmp_path / "b")
    assert list(load([tmp_path]).labels.values()) == ["one, chat template 01234567", "one, no chat template"]


def test_examples_in_one_turn_and_in_turns_of_their_own_are_two_models(tmp_path: Path) -> None:
    for as_turns in (True, False):
        chat: dict[str, Any] = {"chat_template": "t", "chat_template_sha": "c", "fewshot_as_multiturn": as_turns}
        verbalizer(tmp_path / f"{as_turns}", config={"num_fewshot": 4}, **chat)
    runs = load([tmp_path])
    assert list(runs.labels.values()) == ["one, 4-shot", "one, 4-shot in one turn"]
    commands = [value for _, facts in provenance(runs) for name, value in facts if "command" in name]
    assert [command.count("--fewshot_as_multiturn false") for command in commands] == [0, 1]


def test_two_models_with_different_settings_remain_two(tmp_path: Path) -> None:
    for name in ("one", "two"):
        verbalizer(tmp_path / name / "a", arguments={"pretrained": name})
        manyifeval(tmp_path / name / "b", LONG, name)
    assert list(load([tmp_path]).labels.values()) == ["one", "two"]


def test_two_sides_are_compared_task_by_task_in_the_setting_of_each(tmp_path: Path) -> None:
    verbalizer(tmp_path / "old" / "a")
    manyifeval(tmp_path / "old" / "b", LONG)
    verbalizer(tmp_path / "new" / "a", LONG)
    manyifeval(tmp_path / "new" / "b", LONG)
    before, after = load_apart([[tmp_path / "old"], [tmp_path / "new"]])
    sides = Sides(before, after, ("A", "B"))
    changed, same = sides.take(SST2), sides.take(N01)
    assert isinstance(changed, Compared)
    assert isinstance(same, Compared)
    assert list(map(str, changed.issues)) == ["different setting: gen_kwargs: none in A, max_gen_toks=8192 in B"]
    assert same.issues == ()


@pytest.mark.parametrize(("model", "generation", "temperature"), TABLES["temperatures"])
def test_the_temperature_is_the_one_that_the_harness_sends(
    model: str, generation: Mapping[str, Any], temperature: float, tmp_path: Path
) -> None:
    write_run(tmp_path, {SST2: [1, 0]}, call={"model": model}, config={"generation_kwargs": generation})
    runs = load([tmp_path])
    assert runs.counting[0].decoding.temperature == temperature
    is_sampled_anyway = any("although the results say otherwise" in str(issue) for issue in runs.issues)
    assert is_sampled_anyway == (temperature > 0 and generation["do_sample"] is False)


def test_recorded_answers_were_sampled_as_when_they_were_given(tmp_path: Path) -> None:
    given = {"model": "openai-chat-completions", "model_args": {"model": "gpt-5"}, "samples": "a"}
    greedy = {"generation_kwargs": {"do_sample": False, "temperature": 0.0}}
    write_run(tmp_path, {SST2: [1, 0]}, call={"model": "recorded", "recorded": given}, config=greedy)
    runs = load([tmp_path])
    assert runs.counting[0].decoding.temperature == 1.0
    assert any("sends temperature 1 and no stop strings to gpt-5" in str(issue) for issue in runs.issues)


@pytest.mark.harness
def test_draws_of_a_real_model_are_told_apart_by_temperature_and_seed(tiny_model: Path, tmp_path: Path) -> None:
    texts = {}
    for temperature, seed, repeats in ((None, 1, 1), (0.7, 1, 1), (0.7, 2, 1), (0.7, 3, 3)):
        folder = tmp_path / ("repeated" if repeats > 1 else "single") / f"{temperature}-{seed}"
        drawn = f",do_sample=true,temperature={temperature}" if temperature else ""
        options: dict[str, Any] = {"limit": 2, "bootstrap_iters": 0, "gen_kwargs": f"max_gen_toks=8{drawn}"}
        options |= dict.fromkeys(("random_seed", "numpy_random_seed", "torch_random_seed"), seed)
        arguments = f"pretrained={tiny_model},device=cpu"
        results = evaluate("hf", [TASK], {"repeats": repeats}, folder, model_args=arguments, **options)
        texts[temperature, seed] = [sample["resps"] for sample in results["samples"][TASK]]
    assert texts[0.7, 1] != texts[0.7, 2]
    # Three draws of one run: another text each time.
    assert all(len(draws) == 3 and len(set(draws)) > 1 for (draws,) in texts[0.7, 3])
    runs = load([tmp_path / "single"])
    assert len(runs.models) == 1
    assert [run.decoding for run in runs.swept] == [Decoding(0.0), Decoding(0.7, "1/1/1"), Decoding(0.7, "2/2/2")]
    assert [run.decoding for run in runs.counting] == [Decoding(0.0)]
    # The same in two ways: several draws of each row.
    seeds = [tmp_path / "single" / f"0.7-{seed}" for seed in (1, 2)]
    together, (repeated,) = (
        as_one(load_apart([[path] for path in paths]), [*map(str, paths)]).counting
        for paths in (seeds, [tmp_path / "repeated"])
    )
    assert [run.rows.drawn for run in (*together, repeated) if run.rows] == [2, 3]
