"""``lm-eval-ext natural-instructions``: ``train`` makes a folder that the harness evaluates, ``export`` pairs."""

from __future__ import annotations

import json
import os
import random
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from tests.families.natural_instructions.finetuning.lamps import EVALUATED, LAMPS, OTHER, lamps
from tests.families.natural_instructions.task_files import CASES, folder_with
from tests.sampling import sampled
from tests.training.stopped import stopped_after

INSTANCE = f"natural_instructions_{LAMPS}_instance"
QUICK = ("--evaluated", str(EVALUATED), "--batch-size", "16", "--device", "cpu", "--encoding", "instance")
SPECIFIC = ("--supervision", "task-specific", "--subtasks", LAMPS)


def train(base: Path, source: str, output: Path, *options: str) -> int:
    given = ["--base", str(base), "--source", source, "--output", str(output)]
    return main(["natural-instructions", "train", *given, *QUICK, *options])


def record_of(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    return content


@dataclass(frozen=True)
class Bench:
    """Trains on the lamps and exports them, and keeps what is printed.

    Attributes:
        base: a tiny BART.
        source: the lamps' files.
        output: the folder of the trained model.
        capsys: has what was printed.
    """

    base: Path
    source: str
    output: Path
    capsys: pytest.CaptureFixture[str]

    def train(self, *options: str, status: int = 0) -> tuple[str, str]:
        """Train with options, which replace the defaults, and return what is printed."""
        self.capsys.readouterr()
        assert train(self.base, self.source, self.output, *options) == status
        return self.capsys.readouterr()

    def export(self, *options: str, status: int = 0) -> tuple[list[Mapping[str, Any]], str]:
        """Export pairs of a subtask, and return them, and what is printed besides."""
        self.capsys.readouterr()
        given = ("--source", self.source, "--subtasks", LAMPS, "--encoding", "instance")
        assert main(["natural-instructions", "export", *given, *options]) == status
        out, err = self.capsys.readouterr()
        return [json.loads(line) for line in out.splitlines()], err


@pytest.fixture
def bench(bart: Path, lamp_files: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(bart, lamp_files, tmp_path / "out", capsys)


@pytest.fixture(scope="module")
def learned(bart: Path, lamp_files: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a BART that was trained on one subtask."""
    output = tmp_path_factory.mktemp("upper-bound")
    assert train(bart, lamp_files, output, *SPECIFIC, "--epochs", "5", "--learning-rate", "0.01") == 0
    return output / LAMPS


@pytest.fixture(scope="module")
def learned_causal(causal: Path, lamp_files: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a causal model whose adapter was trained on the same subtask."""
    output = tmp_path_factory.mktemp("upper-bound-causal")
    options = ("--epochs", "2", "--learning-rate", "0.005", "--rank", "8")
    assert train(causal, lamp_files, output, *SPECIFIC, *options) == 0
    return output / LAMPS


def test_the_loss_falls_and_is_recorded_with_the_numbers_of_pairs(learned: Path, learned_causal: Path) -> None:
    for folder, epochs in ((learned, 5), (learned_causal, 2)):
        record = record_of(folder)
        for losses in (record["loss_per_epoch"], record["dev_loss_per_epoch"]):
            assert len(losses) == epochs
            assert losses[-1] < losses[0] / 3
        # 400 instances, 12 of which are evaluated: 388 * 500 / 8000 = 24.25, 388 * 1000 / 8000 = 48.5; 316 remain.
        assert (record["pairs"], record["dev_pairs"]) == (316, 24)
        numbers = {"pairs": 316, "instances": 400, "kept_for_the_evaluation": 12, "too_long": 0, "without_answer": 0}
        assert record["subtasks"] == [{"subtask": LAMPS, **numbers}]


@pytest.mark.harness
def test_a_memorized_subtask_is_answered_in_the_harness(
    learned: Path, learned_causal: Path, bench: Bench, evaluate_each: EvaluateEach
) -> None:
    # The adapter is merged, so that nothing but the folder is needed.
    assert not (learned_causal / "adapter_config.json").exists()
    metadata = json.dumps({"source": bench.source, "n": EVALUATED})
    options = ("--device", "cpu", "--batch_size", "12", "--tasks", INSTANCE, "--metadata", metadata)
    models = {"seq2seq": f"pretrained={learned},backend=seq2seq", "causal": f"pretrained={learned_causal}"}
    runs = {name: ["--model", "hf", "--model_args", arguments, *options] for name, arguments in models.items()}
    pairs, _ = bench.export("--evaluated", str(EVALUATED))
    trained = {pair["prompt"] for pair in pairs}
    assert len(trained) == 316
    bench.output.mkdir()
    for run in evaluate_each(bench.output, runs).values():
        assert run.results["n-samples"][INSTANCE]["effective"] == EVALUATED
        assert run.results["results"][INSTANCE]["rouge_l,none"] > 0.9
        # What is evaluated was not trained on.
        assert not {sample["doc"]["prompt"] for sample in run.samples[INSTANCE]} & trained


def killed_after(step: int, bench: Bench, options: Sequence[str]) -> None:
    """Train in a process that is killed after it saved a step, when it begins to write again: it cannot clean up."""

    def kill(checkpoint: Checkpoint) -> None:
        checkpoint.path.with_name(f"{checkpoint.path.name}.partial").write_bytes(b"PK")
        os.kill(os.getpid(), signal.SIGKILL)

    child = os.fork()
    if child == 0:
        try:
            with stopped_after(step, kill):
                train(bench.base, bench.source, bench.output, *options)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a process to kill")
@pytest.mark.parametrize("kind", sampled(["bart", "causal"], 2))
def test_a_killed_training_continues_and_ends_with_the_same_weights(
    kind: str, bench: Bench, request: pytest.FixtureRequest
) -> None:
    folder, killed, whole = bench.output.parent, bench.output, bench.output.with_name("whole")
    trained = ("--base", str(request.getfixturevalue(kind)), "--subtasks", OTHER, "--instances", "80")
    given = (*trained, "--epochs", "2", "--learning-rate", "0.005")
    bench.train(*given, "--output", str(whole))
    # 80 pairs make 5 steps per epoch, and each is saved: the 8th, in the second epoch, is lost.
    killed_after(7, bench, given)
    assert sorted(path.name for path in folder.iterdir()) == [".out.unfinished", "whole"]
    # Another training does not continue from there, and does not destroy it.
    _, told = bench.train(*given, "--seed", "1", status=1)
    assert "seed (0, now 1); repeat its command to continue it, delete it to start over" in told
    _, told = bench.train(*given)
    assert "training: continuing after step 7 of 10\n" in told
    assert sorted(path.name for path in folder.iterdir()) == ["out", "whole"]
    assert (killed / "model.safetensors").read_bytes() == (whole / "model.safetensors").read_bytes()
    assert record_of(killed) == record_of(whole)


def test_a_trained_model_is_not_trained_again_but_another_recipe_is_an_error(learned: Path, bench: Bench) -> None:
    given = (*SPECIFIC, "--output", str(learned.parent), "--epochs", "5", "--learning-rate")
    before = (learned / "model.safetensors").stat().st_mtime_ns
    _, told = bench.train(*given, "0.01")
    assert f"{learned}: already trained" in told
    _, told = bench.train(*given, "0.02", status=1)
    assert (
        f"{learned} has a model that was trained with other arguments: learning_rate 0.01, not 0.02. Give another "
        "--output"
    ) in told
    assert (learned / "model.safetensors").stat().st_mtime_ns == before


def test_generalization_adds_a_few_instances_of_evaluated_subtasks_on_request(bench: Bench) -> None:
    given = ("--subtasks", OTHER, "--plus", "10", "--plus-subtasks", LAMPS, "--epochs", "1", "--instances", "32")
    printed, told = bench.train(*given, "--encoding", "prompt_definition")
    record = record_of(bench.output)
    assert [(one["subtask"], one["pairs"]) for one in record["subtasks"]] == [(OTHER, 32), (LAMPS, 10)]
    # The development pairs are of the trained subtasks alone: 24 of 388.
    assert (record["pairs"], record["dev_pairs"]) == (42, 24)
    assert f"{LAMPS}: 10 pairs (train) of 400 instances: " in told
    metadata = json.dumps({"source": bench.source, "n": EVALUATED})
    assert printed.splitlines() == [
        str(bench.output),
        f"lm_eval --model hf --model_args pretrained={bench.output},backend=seq2seq --tasks "
        f"natural_instructions_prompt_definition --metadata '{metadata}'",
    ]


def test_a_subtask_that_is_evaluated_completely_is_left_out_and_named(bench: Bench, tmp_path: Path) -> None:
    small = "subtask053_multirc_correct_bad_question"
    source = folder_with(tmp_path / "files", lamps(200), OTHER)
    # Like the real file, it has 58 instances, too few to leave any for training.
    folder_with(tmp_path / "files", lamps(58), small)
    given = ("--subtasks", OTHER, small, "--epochs", "1", "--evaluated", "100", "--instances", "16")
    _, told = bench.train(*given, "--source", source)
    numbers = [(one["subtask"], one["pairs"]) for one in record_of(bench.output)["subtasks"]]
    assert numbers == [(OTHER, 16), (small, 0)]
    assert f"{small}: 0 pairs (train) of 58 instances: 0 train, 0 dev, 0 test, 58 kept for the evaluation\n" in told


def test_training_leaves_global_random_state_as_it_was(bench: Bench) -> None:
    torch = pytest.importorskip("torch")

    def state() -> object:
        return random.getstate(), str(np.random.get_state(legacy=False)), torch.get_rng_state().tolist()

    before = state()
    bench.train("--subtasks", OTHER, "--epochs", "1", "--instances", "16")
    assert state() == before


@pytest.mark.parametrize(("options", "complaint"), CASES["wrong_trainings"])
def test_what_cannot_be_trained_is_reported_and_leaves_nothing(
    options: str, complaint: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {"LAMPS": LAMPS, "OTHER": OTHER}
    # Without a network, the hub's client would try again for half a minute.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    if "mps" in options and pytest.importorskip("torch").backends.mps.is_available():
        pytest.skip("this machine has such a device")
    _, told = bench.train(*options.format(**names).split(), status=1)
    assert complaint.format(**names) in told
    assert list(bench.output.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("training.json", "{", r"training\.json: not the record of a training"),
        ("training.json", "[]", r"training\.json: not the record of a training"),
        ("training.json", '{"recipe": {"encoding": "all"}}', "with other arguments: base None, not "),
        ("notes.txt", "mine", r"out: --output exists and is not an empty folder"),
    ],
)
def test_a_folder_with_something_else_is_not_touched(name: str, content: str, complaint: str, bench: Bench) -> None:
    bench.output.mkdir()
    (bench.output / name).write_text(content, encoding="utf-8")
    _, told = bench.train("--subtasks", OTHER, "--instances", "16", status=1)
    assert re.search(complaint, told)
    assert [(path.name, path.read_text(encoding="utf-8")) for path in bench.output.iterdir()] == [(name, content)]


def test_export_prints_pairs_and_their_numbers(bench: Bench) -> None:
    rows, told = bench.export(
        *("--subtasks", LAMPS, OTHER, "--encoding", "prompt", "--evaluated", "12", "--split", "dev")
    )
    assert len(rows) == 48
    assert {name: value for name, value in rows[0].items() if name not in ("index", "prompt", "references")} == {
        "subtask": LAMPS,
        "encoding": "prompt",
        "completion": f" {rows[0]['references'][0]}",
        "split": "dev",
    }
    assert rows[0]["prompt"].startswith("Prompt: Say whether the ferry waits.\ninput: place")
    numbers = "24 pairs (dev) of 400 instances: 316 train, 24 dev, 48 test, 12 kept for the evaluation"
    assert told.splitlines() == [f"{LAMPS}: {numbers}", f"{OTHER}: {numbers}"]


def test_ten_instances_are_the_first_of_the_training_split(bench: Bench) -> None:
    ten, _ = bench.export("--instances", "10")
    everything, _ = bench.export()
    assert len(ten) == 10
    assert ten == everything[:10]


def test_a_tokenizer_decides_what_fits(bench: Bench, causal: Path) -> None:
    given = ("--tokenizer", str(causal), "--instances", "5", "--max-length")
    # "input : place1 place2 shows red output :" is 8 tokens, and 16 are for the answer.
    fitting, _ = bench.export(*given, "24")
    assert len(fitting) == 5
    too_long, told = bench.export(*given, "23")
    assert too_long == []
    assert "; 5 left out: too long for the context\n" in told


def test_what_cannot_be_exported_is_reported_and_nothing_printed(bench: Bench) -> None:
    rows, told = bench.export("--encoding", "all", "--subtasks", "evaluation", status=1)
    assert rows == []
    assert "no file for 'subtask002_quoref_answer_generation' in " in told


@pytest.mark.parametrize("command", ["export", "train"])
def test_an_unknown_encoding_prints_the_usage(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["natural-instructions", command, "--encoding", "everything"])
    assert stop.value.code == 2
    assert "argument --encoding: invalid choice: 'everything' (choose from" in capsys.readouterr().err


@pytest.mark.slow
def test_no_evaluated_instance_of_a_real_subtask_is_exported(shared_data: Path, bench: Bench) -> None:
    source = shared_data / "natural_instructions" / "eval_tasks"
    for path in sorted(source.glob("*.json")):
        instances = read(path, path.stem).instances
        asked = {instances[index].input.strip() for index in evaluated(len(instances))}
        given = ("--source", str(source), "--subtasks", path.stem, "--max-length", "4096", "--split")
        rows = [row for split in ("train", "dev", "test") for row in bench.export(*given, split)[0]]
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
