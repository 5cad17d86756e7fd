"""Scores that are known in advance, end to end through the harness."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lm_eval.tasks import TaskManager

from lm_eval_ext import tasks_dir
from lm_eval_ext.families.natural_instructions import subtasks
from lm_eval_ext.families.natural_instructions.encodings import ALL_ENCODINGS, ENCODINGS
from lm_eval_ext.families.natural_instructions.subtasks import CATEGORIES, EVALUATION, FOLDER, SUBTASKS
from lm_eval_ext.families.natural_instructions.task import NaturalInstructionsTask
from lm_eval_ext.models.reference import ReferenceLM
from lm_eval_ext.sources import RowsError
from tests.conftest import Harness, Run
from tests.families.natural_instructions.task_files import CASES, TASK, folder_with, numbered, real_folder, version_1
from tests.harness.tasks import make_own
from tests.leaves import WRONG_LEAVES

pytestmark = pytest.mark.harness

FAMILY = "natural_instructions"
ABLATED = [name for name in SUBTASKS if name[7:10] in ("019", "033", "040")]
EMBEDDED = sorted({*EVALUATION, *ABLATED, "subtask059_ropes_story_generation"})


def leaf(subtask: str, encoding: str) -> str:
    return f"{FAMILY}_{subtask}_{encoding}"


def score(run: Run, name: str, metric: str = "rouge_l") -> float:
    return float(run.results["results"][name][f"{metric},none"])


def evaluate(harness: Harness, policy: str, tasks: str, *options: str, **settings: Any) -> Run:
    run = harness("--model", "reference", "--model_args", f"policy={policy}", "--tasks", tasks, *options, **settings)
    assert run.status == 0, run.output[-3000:]
    return run


def task(subtask: str, encoding: str, source: str, **metadata: Any) -> NaturalInstructionsTask:
    """Return a task of any subtask and encoding, as the harness would create it."""
    config = {"task": leaf(subtask, encoding), "dataset_name": subtask, "encoding": encoding}
    return NaturalInstructionsTask({**config, "metadata": {"source": source, **metadata}})


def mean_under(policy: str, built: NaturalInstructionsTask) -> float:
    """Return the mean ROUGE-L of a policy of the reference model."""
    built.build_all_requests()
    answers = ReferenceLM(policy).generate_until(built.instances)
    scores: list[float] = [
        built.process_results(request.doc, [answer])["rouge_l"]
        for request, answer in zip(built.instances, answers, strict=True)
    ]
    return sum(scores) / len(scores)


def test_the_oracle_scores_one_under_every_encoding_of_the_embedded_subtasks(harness: Harness) -> None:
    story = [leaf("subtask059_ropes_story_generation", encoding) for encoding in ENCODINGS]
    run = evaluate(harness, "oracle", ",".join([FAMILY, *story]), source="embedded", details=True)
    leaves = {leaf(subtask, encoding) for subtask in EVALUATION for encoding in ENCODINGS} | set(story)
    assert set(run.samples) == leaves
    assert {score(run, name) for name in leaves} == {1.0}
    assert {score(run, f"{FAMILY}_{encoding}") for encoding in ENCODINGS} == {1.0}
    # A number over several encodings would say nothing.
    assert "rouge_l,none" not in run.results["results"][FAMILY]
    # Nor is a metric missed that was not requested.
    assert "bleurt" not in run.output

    assert run.results["versions"][leaf(EVALUATION[0], "all")] == "1.1+embedded"
    records = {name: run.results["configs"][name]["metadata"] for name in leaves}
    assert records[leaf(EVALUATION[0], "all")]["prompt_budget"] == {"limit": 6096, "unit": "characters"}
    assert {record["category"] for record in records.values()} == set(CATEGORIES)
    # The same instances under every encoding, so that gains are gains.
    for subtask in EVALUATION:
        of_subtask = [records[leaf(subtask, encoding)] for encoding in ENCODINGS]
        assert len({record["instances_hash"] for record in of_subtask}) == 1
        assert len({record["rows_hash"] for record in of_subtask}) == len(ENCODINGS)
    # Three or four positive examples, two or three negative ones.
    assert 5 <= score(run, leaf(EVALUATION[0], "all"), "examples") <= 7
    assert score(run, leaf(EVALUATION[0], "prompt"), "examples") == 0.0


def test_the_oracle_scores_one_under_every_ablation() -> None:
    manager = TaskManager(include_path=tasks_dir(), include_defaults=False, metadata={"source": "embedded"})
    loaded = manager.load([f"{FAMILY}_ablation"])
    assert len(loaded["tasks"]) == len(ABLATED) * len(ALL_ENCODINGS)
    assert {mean_under("oracle", built) for built in loaded["tasks"].values()} == {1.0}


# Quickly, each subtask under two or three of the 18 encodings, and each encoding with six or seven of the 48 subtasks.
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_the_oracle_scores_one_under_every_encoding_of_the_real_subtasks(
    every: int, shared_data: Path, tmp_path: Path
) -> None:
    source = real_folder(shared_data, tmp_path / "files")
    there = [name for name in SUBTASKS if subtasks.is_there(name, source)]
    assert len(there) == 48
    refused, left_out = [], {}
    for number, subtask in enumerate(there):
        for encoding in [*ALL_ENCODINGS][number % every :: every]:
            try:
                built = task(subtask, encoding, source)
            except RowsError as error:
                refused.append((encoding, str(error)))
                continue
            assert mean_under("oracle", built) == 1.0, (subtask, encoding)
            if "left_out" in built.config.metadata:
                left_out[subtask[7:10]] = built.config.metadata["left_out"]
    # One reference of subtask 053 is "{}?".
    assert left_out == {"053": 1}
    # 48 x 18 except for the ten subtasks without negative examples, under the encoding that adds only these.
    assert {encoding for encoding, _ in refused} == {"prompt_negative", "all_minus_positive"}
    assert all("no 'Negative Examples', which the encoding shows" in message for _, message in refused)


def test_echo_has_the_score_computed_by_hand(harness: Harness, tmp_path: Path) -> None:
    instances = [
        {"input": "The gulls wade.", "output": ["low gulls"]},
        {"input": "red green blue", "output": ["blue red", "green"]},
    ]
    source = folder_with(tmp_path / "files", version_1(Instances=instances), EVALUATION[0])
    run = evaluate(harness, "echo", leaf(EVALUATION[0], "prompt_definition"), source=source)
    # "The gulls wade." against "low gulls": 1 word in common of 3 and of 2; precision 1/3, recall 1/2, F 2/5.
    # "red green blue" against "blue red" (1 in order of 3 and 2: F 2/5) and "green" (1 of 3 and 1: F 1/2): the best.
    assert score(run, leaf(EVALUATION[0], "prompt_definition")) == pytest.approx((2 / 5 + 1 / 2) / 2, rel=1e-12)
    samples = run.samples[leaf(EVALUATION[0], "prompt_definition")]
    assert [sample["rouge_l"] for sample in samples] == [pytest.approx(0.4), pytest.approx(0.5)]
    assert samples[1]["doc"]["output"] == ["blue red", "green"]
    definition = "Definition: You are told what is seen from the quay.\nAnswer in a word.\n"
    assert (
        samples[0]["arguments"]["gen_args_0"]["arg_0"]
        == f"{definition}Prompt: Say whether the ferry waits.\ninput: The gulls wade.\noutput:"
    )
    settings = samples[0]["arguments"]["gen_args_0"]["arg_1"]
    assert (settings["until"], settings["max_gen_toks"], settings["do_sample"]) == (["\n\n"], 16, False)


@pytest.mark.slow
def test_a_real_model_gets_as_many_examples_as_its_tokenizer_allows(
    harness: Harness, tiny_model: Path, shared_data: Path
) -> None:
    # The tiny model's tokens are bytes, and it has 4,096 of them: fewer examples fit than there are.
    metadata = {"source": str(shared_data / FAMILY / "eval_tasks"), "n": 3, "details": True}
    run = harness(
        *("--model", "hf", "--model_args", f"pretrained={tiny_model}", "--device", "cpu", "--apply_chat_template"),
        *("--tasks", f"{FAMILY}_verification", "--metadata", json.dumps(metadata), "--batch_size", "4"),
    )
    assert run.status == 0, run.output[-3000:]
    subtasks = [name for name, subtask in SUBTASKS.items() if subtask.category == "verification"]
    assert set(run.samples) == {leaf(subtask, encoding) for subtask in subtasks for encoding in ENCODINGS}
    for encoding in ENCODINGS:
        values = [score(run, leaf(subtask, encoding)) for subtask in subtasks]
        assert score(run, f"{FAMILY}_verification::{encoding}") == pytest.approx(sum(values) / 2)
    budget = run.results["configs"][leaf(subtasks[0], "all")]["metadata"]["prompt_budget"]
    # "user: " before the prompt, a line feed and "assistant:" after it.
    assert budget == {"limit": 4096 - 16 - 17, "unit": "tokens", "tokenizer": str(tiny_model)}
    for subtask in subtasks:
        for sample in run.samples[leaf(subtask, "all")]:
            asked = sample["arguments"]["gen_args_0"]["arg_0"]
            assert asked == f"user: {sample['doc']['prompt']}\nassistant:"
            assert len(asked.encode()) <= 4096 - 16
            assert sample["doc"]["examples"] == asked.count("Example")
    # Nine positive and two negative ones make 4,178 characters.
    assert score(run, leaf(subtasks[0], "all"), "examples") < 11
    assert score(run, leaf(subtasks[0], "positive"), "examples") == 9
    # Its answers are cut off, its prompts are not.
    assert not re.search("truncat(?!ed_rate)", run.output, re.IGNORECASE)


@pytest.mark.parametrize("encoding", ["prompt", "prompt_definition", "all", "all_minus_prompt"])
def test_fields_missing_from_the_public_files_are_reported_without_a_download(
    encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subtasks, "_from_hub", lambda name: pytest.fail(f"{name} was asked for"))
    lacking = "Things to Avoid" if encoding == "all_minus_prompt" else "Prompt"
    message = rf"^{EVALUATION[0]} \(https://.*/task002_.*\): no field '{lacking}', which the encoding needs; version-2"
    with pytest.raises(RowsError, match=message):
        task(EVALUATION[0], encoding, "hub")


def test_few_shot_is_rejected_with_a_pointer_to_examples() -> None:
    built = task(EVALUATION[0], "positive", "embedded")
    built.set_config(key="num_fewshot", value=4)
    message = r"--num_fewshot 4; the encoding determines which examples.*--metadata '\{\"examples\": 4\}'"
    with pytest.raises(ValueError, match=message):
        built.build_all_requests()


def test_a_custom_task_file_needs_a_leaf_of_four_lines(tmp_path: Path) -> None:
    source = folder_with(tmp_path / "files", version_1())
    own_class = "!function lm_eval_ext.families.natural_instructions.task.NaturalInstructionsTask"
    leaf = {"class": own_class, "task": "ferries_all", "dataset_name": TASK, "encoding": "all"}
    built = make_own(tmp_path, leaf, source=source)
    assert mean_under("oracle", built) == 1.0
    assert built.config.metadata["category"] is None


@pytest.mark.parametrize(("changes", "message"), WRONG_LEAVES["natural_instructions"])
def test_invalid_values_in_a_leaf_or_metadata_are_errors(changes: Mapping[str, Any], message: str) -> None:
    config = {"task": "ferries", "dataset_name": EVALUATION[0], "encoding": "all", "metadata": {}}
    settings = {**config, **changes}
    settings["metadata"] = {"source": "embedded", **settings["metadata"]}
    with pytest.raises(ValueError, match=message):
        NaturalInstructionsTask(settings)


def test_new_tokens_and_a_system_prompt_leave_less_room_for_examples(shared_data: Path) -> None:
    # Up to 1,353 characters with all nine examples: 3 * (1,024 - 16) = 3,024 take them, 3 * (1,024 - 700) = 972 and 600
    # fewer do not.
    subtask, source = "subtask039_qasc_find_overlapping_words", str(shared_data / FAMILY / "eval_tasks")
    built = task(subtask, "positive", source, max_length=1024)
    assert built.config.metadata["prompt_budget"]["limit"] == 3024
    assert {row["examples"] for row in built.dataset["test"]} == {9}
    # What the harness does with --gen_kwargs max_gen_toks=700.
    built.set_config(key="generation_kwargs", value={"max_gen_toks": 700}, update=True)
    for system, limit in ((None, 972), ("Be brief. " * 60, 372)):
        built.build_all_requests(system_instruction=system)
        assert built.config.metadata["prompt_budget"]["limit"] == limit
        assert max(len(request.args[0]) for request in built.instances) <= limit + len(system or "") + 2
        assert max(request.doc["examples"] for request in built.instances) < 9


def test_a_leafs_generation_arguments_extend_the_familys_and_affect_the_room_for_examples(tmp_path: Path) -> None:
    config = {"task": "ferries", "dataset_name": TASK, "encoding": "all", "generation_kwargs": {"max_gen_toks": 700}}
    source = folder_with(tmp_path / "files", version_1())
    built = NaturalInstructionsTask({**config, "metadata": {"source": source}})
    expected = {"until": ["\n\n"], "do_sample": False, "temperature": 0.0, "max_gen_toks": 700}
    assert built.config.generation_kwargs == expected
    # 3 * (2,048 - 700)
    assert built.config.metadata["prompt_budget"]["limit"] == 4044


@pytest.mark.parametrize(("answer", "expected", "empty"), CASES["answers"])
def test_reasoning_is_not_part_of_the_answer(answer: str | None, expected: float, empty: float, tmp_path: Path) -> None:
    built = task(TASK, "all", folder_with(tmp_path / "files", version_1()))
    # Two examples of each kind.
    assert built.process_results(built.eval_docs[0], [answer]) == {
        "rouge_l": expected,
        "empty_rate": empty,
        "examples": 4.0,
    }


def test_instances_that_cannot_score_are_left_out_counted_and_reported_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    instances = [{"input": f"input {number}", "output": ["{}?", "low", "ebb"]} for number in range(260)]
    instances[110]["output"] = ["{}?"]
    source = folder_with(tmp_path / "files", version_1(Instances=instances))
    for encoding in ("prompt", "positive"):
        built = task(TASK, encoding, source, n=4)
        # 60, 110, 160, 210
        assert [row["index"] for row in built.dataset["test"]] == [60, 160, 210]
        assert built.config.metadata["left_out"] == 1
    assert caplog.text.count("1 instances left out") == 1
    # The right answer that is known is the first that scores.
    built.build_all_requests()
    known = built.instances[0].known_answers
    assert (known["oracle"], known["echo"]) == ("low", "input 60")


def test_the_paper_setting_is_recorded_and_limited_to_the_context_of_gpt_3(tmp_path: Path) -> None:
    source = folder_with(tmp_path / "files", numbered(162))
    built = task(TASK, "positive", source, examples="paper", max_length=8192)
    record = built.config.metadata
    assert (record["examples"], record["version"]) == ("paper", "1.1+paper")
    # GPT-3's context, and not the model's: 3 * (2,048 - 16) characters.
    assert record["prompt_budget"] == {"limit": 6096, "unit": "characters"}
    assert {row["examples"] for row in built.dataset["test"]} == {62}
    # The model's own context where it is smaller: 3 * (512 - 16) characters.
    smaller = task(TASK, "positive", source, examples="paper", max_length=512).config.metadata
    assert smaller["prompt_budget"]["limit"] == 1488
    default = task(TASK, "positive", source)
    assert default.config.metadata["version"] == 1.1
    assert default.config.metadata["instances_hash"] == record["instances_hash"]
    assert default.config.metadata["rows_hash"] != record["rows_hash"]


def test_the_paper_setting_says_where_no_instance_fills_the_context(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        built = task("subtask059_ropes_story_generation", "positive", "embedded", examples="paper")
    assert built.config.metadata["version"] == "1.1+embedded+paper"
    assert [record.message.partition("): ")[2] for record in caplog.records] == [
        "all 24 instances are evaluated, so none fills the context; prompts show the file's own examples"
    ]


def test_the_metadata_set_the_numbers_of_instances_and_of_examples(tmp_path: Path) -> None:
    source = folder_with(tmp_path / "files", numbered(260))
    few = task(TASK, "positive", source, n=4, examples=3).dataset["test"]
    # The file's two examples, and one instance.
    shown = [(row["index"], row["examples"], row["prompt"].count("output: low")) for row in few]
    assert shown == [(index, 3, 1) for index in (60, 110, 160, 210)]
    assert len(task(TASK, "prompt", source).dataset["test"]) == 100


def test_the_embedded_subtasks_match_the_groups_and_the_readme() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.json")) == EMBEDDED
