"""What is read from the harness's result files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.reports.gains.gains import SubtaskScore
from lm_eval_ext.reports.gains.results import read_scores
from lm_eval_ext.sources import RowsError

QUESTIONS, ANSWERS = "question_generation", "answer_generation"
CATEGORIES = {"s1": QUESTIONS, "s2": QUESTIONS, "s3": ANSWERS}


def leaf(subtask: str, encoding: str, rouge_l: float, n: int = 100, **metadata: Any) -> dict[str, Any]:
    """Return what the harness writes of one of our tasks, by its keys at the top."""
    name = f"natural_instructions_{subtask}_{encoding}"
    said = {"family": "natural_instructions", "dataset": subtask, "version": 1.0, "prompt_budget": {"limit": 8}}
    said |= {"subtask": subtask, "category": CATEGORIES[subtask], "encoding": encoding}
    said |= {"source": "embedded", "instances_hash": f"hash of {subtask}", "rows_hash": encoding} | metadata
    return {
        "results": {name: {"alias": name, "rouge_l,none": rouge_l, "rouge_l_stderr,none": 0.01}},
        "configs": {name: {"task": name, "metadata": said}},
        "n-samples": {name: {"original": 100, "effective": n}},
    }


OTHER = {
    "results": {"arc_easy": {"acc,none": 0.5}},
    "configs": {"arc_easy": {"metadata": {"version": 1.0}}},
    "n-samples": {"arc_easy": {"original": 9, "effective": 9}},
}


def results(path: Path, *leaves: Mapping[str, Any], date: float | None = 1.0, model: str = "tiny") -> Path:
    content: dict[str, Any] = {key: {} for key in OTHER}
    for one in leaves:
        content = {key: content[key] | one[key] for key in content}
    content |= {"model_source": "hf", "model_name": model, "config": {"model_args": {"pretrained": model}}}
    content |= {} if date is None else {"date": date}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_result_files_are_found_recursively_and_each_is_read_once(tmp_path: Path) -> None:
    file = results(tmp_path / "a" / "b" / "results_1.json", leaf("s1", "prompt", 0.2), leaf("s3", "prompt", 0.4, n=100))
    results(tmp_path / "c" / "results_2.json", leaf("s1", "all", 0.3, n=100))
    (tmp_path / "c" / "samples_1.json").write_text("{}", encoding="utf-8")
    found = read_scores([tmp_path, file])
    assert found.model == "hf pretrained=tiny"
    assert tuple(map(str, found.issues)) == ()
    assert set(found.scores) == {
        SubtaskScore("s1", QUESTIONS, "prompt", 0.2, 100),
        SubtaskScore("s3", ANSWERS, "prompt", 0.4, 100),
        SubtaskScore("s1", QUESTIONS, "all", 0.3, 100),
    }


def test_a_file_given_under_two_paths_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = results(tmp_path / "results_1.json", leaf("s1", "prompt", 0.2))
    monkeypatch.chdir(tmp_path)
    found = read_scores([Path(), file])
    assert (len(found.scores), tuple(map(str, found.issues))) == (1, ())


def test_a_file_may_have_any_name_and_contain_other_tasks(tmp_path: Path) -> None:
    file = results(tmp_path / "mine.json", leaf("s1", "prompt", 0.2), OTHER)
    assert read_scores([file]).scores == (SubtaskScore("s1", QUESTIONS, "prompt", 0.2, 100),)


@pytest.mark.parametrize(("dates", "newest"), [((1.0, 2.0), 0.3), ((2.0, 1.0), 0.2)])
def test_the_newer_run_of_a_task_is_used_and_the_older_one_named(
    dates: tuple[float, float], newest: float, tmp_path: Path
) -> None:
    first = results(tmp_path / "results_1.json", leaf("s1", "prompt", 0.2), date=dates[0])
    second = results(tmp_path / "results_2.json", leaf("s1", "prompt", 0.3), date=dates[1])
    found = read_scores([tmp_path])
    assert [score.rouge_l for score in found.scores] == [newest]
    used, unused = (second, first) if newest == 0.3 else (first, second)
    assert tuple(map(str, found.issues)) == (f"{unused}: not used for natural_instructions_s1_prompt: {used} is newer",)


def test_a_file_without_a_date_uses_its_modification_time(tmp_path: Path) -> None:
    for number, modified in ((1, 2_000_000), (2, 1_000_000)):
        file = results(tmp_path / f"results_{number}.json", leaf("s1", "prompt", number / 10), date=None)
        os.utime(file, (modified, modified))
    assert [score.rouge_l for score in read_scores([tmp_path]).scores] == [0.1]


def test_a_file_without_our_tasks_is_named_and_the_others_are_used(tmp_path: Path) -> None:
    other = results(tmp_path / "results_0.json", OTHER, model="another")
    results(tmp_path / "results_1.json", leaf("s1", "prompt", 0.2))
    found = read_scores([tmp_path])
    assert len(found.scores) == 1
    assert tuple(map(str, found.issues)) == (f"{other}: no results of natural_instructions tasks (arc_easy); ignored",)


def says(file: Path, **values: object) -> None:
    """Change what a file of results says at its top."""
    content = json.loads(file.read_text(encoding="utf-8")) | values
    file.write_text(json.dumps(content), encoding="utf-8")


@pytest.mark.parametrize(
    ("one", "other", "model"),
    [
        ({"policy": "echo"}, {"policy": "echo"}, "reference policy=echo"),
        ({"policy": "echo", "seed": 1}, {"seed": 1, "policy": "echo"}, "reference policy=echo,seed=1"),
        ("policy=echo", {"policy": "echo"}, "reference policy=echo"),  # as given to the harness's function
    ],
)
def test_a_model_without_a_name_is_identified_by_its_arguments(
    one: object, other: object, model: str, tmp_path: Path
) -> None:
    # The harness makes up a new name for each run of such a model.
    for number, (encoding, arguments) in enumerate((("prompt", one), ("all", other))):
        file = results(tmp_path / f"results_{number}.json", leaf("s1", encoding, 0.2), model=f"random{number}")
        says(file, model_source="reference", config={"model_args": arguments})
    assert read_scores([tmp_path]).model == model


def test_several_models_are_an_error_that_names_them(tmp_path: Path) -> None:
    results(tmp_path / "results_1.json", leaf("s1", "prompt", 0.2), model="one")
    results(tmp_path / "results_2.json", leaf("s1", "all", 0.2), model="two")
    with pytest.raises(
        RowsError,
        match=r"several models: hf pretrained=one \(.*results_1.json\); hf pretrained=two \(.*results_2.json\)",
    ):
        read_scores([tmp_path])


def test_each_encoding_may_have_a_model_of_its_own_on_request(tmp_path: Path) -> None:
    for encoding in ("prompt", "all"):
        own = leaf("s1", encoding, 0.2, prompt_budget={"limit": 8, "tokenizer": f"bart-{encoding}"})
        results(tmp_path / f"results_{encoding}.json", own, model=f"bart-{encoding}")
    found = read_scores([tmp_path], model_per_encoding=True)
    assert found.model == "all: hf pretrained=bart-all; prompt: hf pretrained=bart-prompt"
    assert len(found.scores) == 2
    results(tmp_path / "results_other.json", leaf("s3", "all", 0.2), model="another")
    with pytest.raises(RowsError, match=r"several models: hf pretrained=another .*; hf pretrained=bart-all"):
        read_scores([tmp_path], model_per_encoding=True)


@pytest.mark.parametrize(
    ("difference", "complaint"),
    [
        ({"source": "hub"}, "source is 'hub' for 'all' .* and 'embedded' for 'prompt'"),
        ({"instances_hash": "another"}, "instances_hash is 'another' for 'all' .* and 'hash of s1' for 'prompt'"),
        ({"n": 3}, "number of rows is 3 for 'all' .* and 100 for 'prompt'"),  # a run with --limit
        ({"version": 2.0}, "version is 2.0 for 'all' .* and 1.0 for 'prompt'"),
        ({"prompt_budget": {"limit": 9}}, "prompt_budget is {'limit': 9} for 'all'"),
    ],
)
def test_encodings_on_different_rows_or_in_different_settings_are_an_error(
    difference: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    file = results(tmp_path / "results_1.json", leaf("s1", "prompt", 0.2), leaf("s1", "all", 0.3, **difference))
    with pytest.raises(RowsError, match=f"^s1: its encodings were run differently, .*: {complaint}"):
        read_scores([file])


@pytest.mark.parametrize(
    ("fact", "values"),
    [("examples", (None, "paper")), ("examples", (3, "paper")), ("bleurt", ("BLEURT-20", "BLEURT-20-D3"))],
)
def test_a_mean_over_subtasks_is_of_one_setting(fact: str, values: tuple[Any, Any], tmp_path: Path) -> None:
    leaves = [
        leaf(subtask, "prompt", 0.2, **{fact: value}) for subtask, value in zip(("s1", "s3"), values, strict=True)
    ]
    file = results(tmp_path / "results_1.json", *leaves)
    message = f"{fact} is {values[0]!r} for natural_instructions_s1_prompt .* and {values[1]!r} for natural_instr.*_s3"
    with pytest.raises(RowsError, match=message):
        read_scores([file])


def test_the_setting_and_bleurt_are_read(tmp_path: Path) -> None:
    name = "subtask033_winogrande_answer_generation"
    one = leaf("s1", "prompt", 0.2, examples="paper", bleurt="BLEURT-20")
    (config,), (figures,) = one["configs"].values(), one["results"].values()
    config["metadata"] |= {"dataset": name, "subtask": name}
    figures["bleurt,none"] = -0.4
    found = read_scores([results(tmp_path / "results_1.json", one)])
    assert (found.examples, found.bleurt) == ("paper", "BLEURT-20")
    assert found.scores == (SubtaskScore(name, QUESTIONS, "prompt", 0.2, 100, "winogrande", -0.4),)


def test_runs_without_bleurt_may_be_next_to_runs_with_it(tmp_path: Path) -> None:
    file = results(tmp_path / "results_1.json", leaf("s1", "prompt", 0.2), leaf("s1", "all", 0.3, bleurt="BLEURT-20"))
    assert read_scores([file]).bleurt == "BLEURT-20"


@pytest.mark.parametrize("setting", ["chat_template_sha", "system_instruction_sha", "generation_kwargs"])
def test_a_rerun_in_another_setting_is_not_compared_with_the_others(setting: str, tmp_path: Path) -> None:
    results(tmp_path / "results_1.json", leaf("s1", "prompt", 0.2))
    again = results(tmp_path / "results_2.json", leaf("s1", "all", 0.3), date=2.0)
    content = json.loads(again.read_text(encoding="utf-8"))
    if setting == "generation_kwargs":
        content["configs"]["natural_instructions_s1_all"][setting] = {"max_gen_toks": 512}
    else:
        content[setting] = "f00d"
    again.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(RowsError, match=f"^s1: its encodings were run differently, .*: {setting} is"):
        read_scores([tmp_path])


def test_two_revisions_are_two_models(tmp_path: Path) -> None:
    for number, encoding in enumerate(("prompt", "all")):
        file = results(tmp_path / f"results_{number}.json", leaf("s1", encoding, 0.2))
        content = json.loads(file.read_text(encoding="utf-8"))
        content["config"]["model_args"]["revision"] = f"step{number}"
        file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(RowsError, match=r"hf pretrained=tiny,revision=step0 .*; hf pretrained=tiny,revision=step1"):
        read_scores([tmp_path])


def test_subtasks_may_differ_in_their_rows_and_encodings_in_their_prompts(tmp_path: Path) -> None:
    leaves = [leaf("s1", "prompt", 0.2), leaf("s1", "all", 0.3, rows_hash="x"), leaf("s3", "prompt", 0.2, n=7)]
    assert len(read_scores([results(tmp_path / "results_1.json", *leaves)]).scores) == 3


def test_two_tasks_of_one_subtask_and_encoding_are_an_error(tmp_path: Path) -> None:
    renamed = json.loads(json.dumps(leaf("s1", "prompt", 0.2)).replace("natural_instructions_s1_prompt", "mine"))
    file = results(tmp_path / "results_1.json", leaf("s1", "prompt", 0.2), renamed)
    with pytest.raises(
        RowsError, match=r"s1, encoding 'prompt': two tasks, mine .* and natural_instructions_s1_prompt"
    ):
        read_scores([file])


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("{", "results_1.json: not JSON"),
        ("[]", "results_1.json: no 'results' and 'configs'"),
        ('{"results": {}}', "results_1.json: no 'results' and 'configs'"),
        (
            '{"results": {}, "configs": {}}',
            "no results of natural_instructions tasks in .*; expected results_.*`lm_eval",
        ),
        (
            '{"results": {}, "configs": {"t": {"metadata": {"rows_hash": "0", "subtask": "s1", "encoding": "all"}}}}',
            "results_1.json, task 't': written by an older version of lm-eval-ext, .*; run it again",
        ),
    ],
)
def test_a_file_not_written_by_the_harness_is_named(content: str, complaint: str, tmp_path: Path) -> None:
    (tmp_path / "results_1.json").write_text(content, encoding="utf-8")
    with pytest.raises(RowsError, match=complaint):
        read_scores([tmp_path])


def test_a_folder_without_results_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RowsError, match=r"no results_\*.json in this folder"):
        read_scores([tmp_path])
