"""``lm-eval-ext natural-instructions``: ``train`` makes a folder that the harness evaluates, ``export`` pairs."""

from __future__ import annotations

import json
import os
import random
import re
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lm_eval_ext.cli import main
from lm_eval_ext.families.natural_instructions.finetuning.command import NON_EVALUATION, subtasks_named
from lm_eval_ext.families.natural_instructions.rows import evaluated
from lm_eval_ext.families.natural_instructions.subtasks import EVALUATION, SUBTASKS, read
from lm_eval_ext.training.run import Checkpoint
from tests.conftest import EvaluateEach
from tests.families.natural_instructions.finetuning.lamps import EVALUATED, LAMPS, OTHER, folder_with_lamps

INSTANCE = f"natural_instructions_{LAMPS}_instance"
QUICK = ("--evaluated", str(EVALUATED), "--batch-size", "16", "--device", "cpu")


def train(base: Path, source: str, output: Path, *options: str, encoding: str = "instance") -> int:
    given = ["--base", str(base), "--source", source, "--output", str(output), "--encoding", encoding]
    return main(["natural-instructions", "train", *given, *QUICK, *options])


def export(*arguments: str) -> int:
    return main(["natural-instructions", "export", *arguments])


def exported(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[Mapping[str, Any]]:
    capsys.readouterr()
    assert export(*arguments) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def task_specific(base: Path, source: str, output: Path, *options: str) -> Path:
    specific = ("--supervision", "task-specific", "--subtasks", LAMPS)
    assert train(base, source, output, *specific, *options) == 0
    return output / LAMPS


def record_of(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def learned(bart: Path, lamp_files: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a BART that was trained on one subtask."""
    output = tmp_path_factory.mktemp("upper-bound")
    return task_specific(bart, lamp_files, output, "--epochs", "5", "--learning-rate", "0.01")


def falls(losses: Sequence[float]) -> bool:
    return losses[-1] < losses[0] / 3


@pytest.fixture(scope="module")
def learned_causal(causal: Path, lamp_files: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a causal model whose adapter was trained on the same subtask."""
    output = tmp_path_factory.mktemp("upper-bound-causal")
    return task_specific(causal, lamp_files, output, "--epochs", "2", "--learning-rate", "0.005", "--rank", "8")


def test_the_loss_falls_and_is_recorded_with_the_numbers_of_pairs(learned: Path, learned_causal: Path) -> None:
    for folder, epochs in ((learned, 5), (learned_causal, 2)):
        record = record_of(folder)
        assert falls(record["loss_per_epoch"])
        assert falls(record["dev_loss_per_epoch"])
        assert (len(record["loss_per_epoch"]), len(record["dev_loss_per_epoch"])) == (epochs, epochs)
        # 400 instances, 12 of which are evaluated: 388 * 500 / 8000 = 24.25, 388 * 1000 / 8000 = 48.5; 316 remain.
        assert (record["pairs"], record["dev_pairs"]) == (316, 24)
        assert record["subtasks"] == [
            {
                "subtask": LAMPS,
                "pairs": 316,
                "instances": 400,
                "kept_for_the_evaluation": 12,
                "too_long": 0,
                "without_answer": 0,
            }
        ]


@pytest.mark.harness
def test_a_memorized_subtask_is_answered_in_the_harness(  # noqa: PLR0913, PLR0917 # fixtures  # noqa: PLR0913, PLR0917 # fixtures
    learned: Path,
    learned_causal: Path,
    lamp_files: str,
    tmp_path: Path,
    evaluate_each: EvaluateEach,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # The adapter is merged, so that nothing but the folder is needed.
    assert not (learned_causal / "adapter_config.json").exists()
    options = ("--device", "cpu", "--batch_size", "12", "--tasks", INSTANCE)
    metadata = json.dumps({"source": lamp_files, "n": EVALUATED})
    models = {"seq2seq": f"pretrained={learned},backend=seq2seq", "causal": f"pretrained={learned_causal}"}
    runs = {
        name: ["--model", "hf", "--model_args", arguments, *options, "--metadata", metadata]
        for name, arguments in models.items()
    }
    given = ("--source", lamp_files, "--subtasks", LAMPS, "--encoding", "instance", "--evaluated", str(EVALUATED))
    trained = {pair["prompt"] for pair in exported(capsys, *given)}
    assert len(trained) == 316
    for run in evaluate_each(tmp_path, runs).values():
        assert run.results["n-samples"][INSTANCE]["effective"] == EVALUATED
        assert run.results["results"][INSTANCE]["rouge_l,none"] > 0.9
        # What is evaluated was not trained on.
        assert not {sample["doc"]["prompt"] for sample in run.samples[INSTANCE]} & trained


def killed_after(step: int, arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the command in a process that is killed in saving a step: it can neither clean up nor finish writing."""
    from lm_eval_ext.training import loop  # noqa: PLC0415 # torch

    save = Checkpoint.save

    def kill(checkpoint: Checkpoint, state: Mapping[str, Any]) -> None:
        if len(state["losses"]) == step:
            checkpoint.path.with_name(f"{checkpoint.path.name}.partial").write_bytes(b"PK")
            os.kill(os.getpid(), signal.SIGKILL)
        save(checkpoint, state)

    child = os.fork()
    if child == 0:
        try:
            monkeypatch.setattr(loop, "SECONDS", 0)
            monkeypatch.setattr(Checkpoint, "save", kill)
            main(arguments)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process to kill")
@pytest.mark.parametrize("kind", ["bart", "causal"])
def test_a_killed_training_continues_and_ends_with_the_same_weights(  # noqa: PLR0913, PLR0917 # fixtures
    kind: str,
    lamp_files: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    base: Path = request.getfixturevalue(kind)
    given = ("--subtasks", OTHER, "--epochs", "2", "--instances", "80", "--learning-rate", "0.005")
    assert train(base, lamp_files, tmp_path / "whole", *given) == 0
    killed = tmp_path / "killed"
    arguments = ["--base", str(base), "--source", lamp_files, "--output", str(killed), "--encoding", "instance"]
    # 80 pairs make 5 steps per epoch, and each is saved: the 8th, in the second epoch, is lost.
    command = ["natural-instructions", "train", *arguments, *QUICK, *given]
    killed_after(8, command, monkeypatch)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".killed.unfinished", "whole"]
    # Another training does not continue from there, and does not destroy it.
    capsys.readouterr()
    assert main([*command, "--seed", "1"]) == 1
    assert "seed (0, now 1); repeat its command to continue it, delete it to start over" in capsys.readouterr().err
    assert main(command) == 0
    assert "training: continuing after step 7 of 10\n" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed", "whole"]
    whole = tmp_path / "whole"
    assert (killed / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert record_of(killed) == record_of(whole)


def test_a_trained_model_is_not_trained_again_but_another_recipe_is_an_error(
    learned: Path, bart: Path, lamp_files: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--supervision", "task-specific", "--subtasks", LAMPS, "--epochs", "5", "--learning-rate")
    before = (learned / "model.safetensors").stat().st_mtime_ns
    assert train(bart, lamp_files, learned.parent, *given, "0.01") == 0
    assert f"{learned}: already trained" in capsys.readouterr().err
    assert train(bart, lamp_files, learned.parent, *given, "0.02") == 1
    assert (
        f"{learned} has a model that was trained with other arguments: learning_rate 0.01, not 0.02. Give another "
        "--output"
    ) in capsys.readouterr().err
    assert (learned / "model.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize("content", ["{", "[]"])
def test_a_damaged_record_is_reported(
    content: str, bart: Path, lamp_files: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "training.json").write_text(content, encoding="utf-8")
    assert train(bart, lamp_files, tmp_path, "--subtasks", OTHER, "--instances", "16") == 1
    assert re.search(r"training.json: not JSON|with other arguments", capsys.readouterr().err)


def test_generalization_adds_a_few_instances_of_evaluated_subtasks_on_request(
    bart: Path, lamp_files: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--subtasks", OTHER, "--plus", "10", "--plus-subtasks", LAMPS, "--epochs", "1", "--instances", "32")
    assert train(bart, lamp_files, tmp_path / "plus", *given, encoding="prompt_definition") == 0
    record = record_of(tmp_path / "plus")
    assert [(one["subtask"], one["pairs"]) for one in record["subtasks"]] == [(OTHER, 32), (LAMPS, 10)]
    assert record["pairs"] == 42
    # The splits of the trained subtasks alone: 24 of 388.
    assert record["dev_pairs"] == 24
    printed = capsys.readouterr()
    assert f"{LAMPS}: 10 pairs (train) of 400 instances: " in printed.err
    assert "2 of 2 subtasks have fewer pairs than the paper's 6,500: 10 to 32\n" in printed.err
    folder, evaluation = printed.out.splitlines()
    assert folder == str(tmp_path / "plus")
    metadata = json.dumps({"source": lamp_files, "n": EVALUATED})
    assert evaluation == (
        f"lm_eval --model hf --model_args pretrained={folder},backend=seq2seq --tasks "
        f"natural_instructions_prompt_definition --metadata '{metadata}'"
    )


def test_a_subtask_that_is_evaluated_completely_is_left_out_and_named(
    bart: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = "subtask053_multirc_correct_bad_question"
    source = Path(folder_with_lamps(tmp_path / "files", OTHER, instances=200))
    # Like the real file, it has 58 instances, too few to leave any for training.
    folder_with_lamps(source, small, instances=58)
    given = ("--subtasks", OTHER, small, "--epochs", "1", "--evaluated", "100", "--instances", "16")
    assert train(bart, str(source), tmp_path / "out", *given) == 0
    assert [(one["subtask"], one["pairs"]) for one in record_of(tmp_path / "out")["subtasks"]] == [
        (OTHER, 16),
        (small, 0),
    ]
    told = capsys.readouterr().err
    assert f"{small}: 0 pairs (train) of 58 instances: 0 train, 0 dev, 0 test, 58 kept for the evaluation\n" in told
    assert f"1 of 2 subtasks have no pairs: {small}\n" in told


def test_training_leaves_global_random_state_as_it_was(bart: Path, lamp_files: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    def state() -> object:
        return random.getstate(), str(np.random.get_state(legacy=False)), torch.get_rng_state().tolist()

    before = state()
    given = ("--subtasks", OTHER, "--epochs", "1", "--instances", "16")
    assert train(bart, lamp_files, tmp_path / "out", *given) == 0
    assert state() == before


# Four steps, in which the loss itself is lost, and a single one, after whose update nobody would have seen it.
@pytest.mark.parametrize(("rate", "instances"), [("1e38", "64"), ("1e9", "16")])
def test_a_diverging_training_stops(  # noqa: PLR0913, PLR0917 # a row of the table, and fixtures
    rate: str, instances: str, bart: Path, lamp_files: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ("--subtasks", OTHER, "--epochs", "1", "--instances", instances, "--learning-rate", rate)
    assert train(bart, lamp_files, tmp_path / "out", *given) == 1
    assert "training diverges. Use a lower --learning-rate" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--subtasks", LAMPS), f"--subtasks {LAMPS}: in the evaluation split, which a model must not have seen"),
        (("--subtasks", OTHER, "--plus-subtasks", LAMPS), "--plus-subtasks needs --plus"),
        (("--subtasks", OTHER, "--plus", "10", "--plus-subtasks", OTHER), f"--plus-subtasks {OTHER}: also in"),
        (("--supervision", "task-specific", "--plus", "10"), "--plus is for --supervision generalization"),
        (("--subtasks", "subtask9*"), "--subtasks subtask9*: no subtask matches; expected names such as subtask002_q"),
        (("--subtasks", f"{LAMPS}s"), f"--subtasks {LAMPS}s: no such subtask; did you mean {LAMPS}?"),
        (("--subtasks", OTHER, "--rank", "8"), "--rank is for causal models; "),
        (("--subtasks", OTHER, "--device", "mps"), "--device mps: torch finds no such device here; available: cpu"),
        (
            ("--subtasks", "subtask059_ropes_story_generation", "--source", "embedded", "--evaluated", "24"),
            "0 pairs (train) of 24 instances: 0 train, 0 dev, 0 test, 24 kept for the evaluation. Nothing is left to",
        ),
        ((), "no file for 'subtask001_quoref_question_generation'"),
    ],
)
def test_what_cannot_be_trained_is_reported(  # noqa: PLR0913, PLR0917 # a row of the table, and fixtures
    options: Sequence[str],
    complaint: str,
    bart: Path,
    lamp_files: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "mps" in options and pytest.importorskip("torch").backends.mps.is_available():
        pytest.skip("this machine has such a device")
    assert train(bart, lamp_files, tmp_path / "out", *options) == 1
    assert complaint in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_base_is_reported(lamp_files: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert train(tmp_path / "nowhere", lamp_files, tmp_path / "out", "--subtasks", OTHER) == 1
    error = capsys.readouterr().err
    assert f"--base {tmp_path / 'nowhere'}: could not be loaded: " in error
    assert "safetensors weights and a tokenizer, such as facebook/bart-base" in error


def test_a_folder_with_something_else_is_not_touched(
    bart: Path, lamp_files: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    assert train(bart, lamp_files, tmp_path, "--subtasks", OTHER) == 1
    assert f"{tmp_path}: --output exists and is not an empty folder" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_export_prints_pairs_and_their_numbers(lamp_files: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--source", lamp_files, "--subtasks", LAMPS, OTHER, "--encoding", "prompt", "--evaluated", "12")
    assert export(*given, "--split", "dev") == 0
    printed = capsys.readouterr()
    rows = [json.loads(line) for line in printed.out.splitlines()]
    assert len(rows) == 48
    assert {name: value for name, value in rows[0].items() if name not in ("index", "prompt", "references")} == {
        "subtask": LAMPS,
        "encoding": "prompt",
        "completion": f" {rows[0]['references'][0]}",
        "split": "dev",
    }
    assert rows[0]["prompt"].startswith("Prompt: Say whether the ferry waits.\ninput: place")
    assert printed.err.splitlines() == [
        f"{LAMPS}: 24 pairs (dev) of 400 instances: 316 train, 24 dev, 48 test, 12 kept for the evaluation",
        f"{OTHER}: 24 pairs (dev) of 400 instances: 316 train, 24 dev, 48 test, 12 kept for the evaluation",
        "2 of 2 subtasks have fewer pairs than the paper's 500: 24",
    ]


def test_ten_instances_are_the_first_of_the_training_split(lamp_files: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--source", lamp_files, "--subtasks", LAMPS, "--encoding", "instance")
    ten = exported(capsys, *given, "--instances", "10")
    assert len(ten) == 10
    assert ten == exported(capsys, *given)[:10]


def test_a_tokenizer_decides_what_fits(lamp_files: str, causal: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ("--source", lamp_files, "--subtasks", LAMPS, "--encoding", "instance", "--tokenizer", str(causal))
    # "input : place1 place2 shows red output :" is 8 tokens, and 16 are for the answer.
    assert len(exported(capsys, *given, "--instances", "5", "--max-length", "24")) == 5
    assert export(*given, "--max-length", "23", "--instances", "5") == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "; 5 left out: too long for the context\n" in printed.err


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--encoding", "everything"), "lm-eval-ext: --encoding everything: expected one of instance, prompt, "),
        (("--encoding", "all", "--subtasks", "evaluation"), "no file for 'subtask002_quoref_answer_generation' in "),
    ],
)
def test_what_cannot_be_exported_is_reported_and_nothing_printed(
    options: tuple[str, ...], complaint: str, lamp_files: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export("--source", lamp_files, "--subtasks", LAMPS, *options) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert complaint in printed.err


def test_no_evaluated_instance_of_a_real_subtask_is_exported(
    shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = shared_data / "natural_instructions" / "eval_tasks"
    for path in sorted(source.glob("*.json")):
        instances = read(path, path.stem).instances
        asked = {instances[index].input.strip() for index in evaluated(len(instances))}
        given = ("--source", str(source), "--subtasks", path.stem, "--encoding", "instance", "--max-length", "4096")
        rows = [row for split in ("train", "dev", "test") for row in exported(capsys, *given, "--split", split)]
        indices = {row["index"] for row in rows}
        assert not {instances[index].input.strip() for index in indices} & asked
        # ROUGE sees no reference of one instance of subtask 044.
        unseen = 1 if "subtask044" in path.stem else 0
        assert len(rows) == len(indices) == len(instances) - 100 - unseen


def test_the_sets_are_the_12_evaluation_subtasks_and_the_other_49() -> None:
    assert subtasks_named(["evaluation"]) == EVALUATION
    assert subtasks_named(["non-evaluation"]) == NON_EVALUATION
    assert len(NON_EVALUATION) == 49
    assert set(subtasks_named(["evaluation", "non-evaluation"])) == set(SUBTASKS)


def test_names_and_patterns_name_each_subtask_once_and_in_their_order() -> None:
    assert subtasks_named(["mine", "subtask03[34]*", EVALUATION[5]]) == (
        "mine",
        "subtask033_winogrande_answer_generation",
        "subtask034_winogrande_question_modification_object",
    )
