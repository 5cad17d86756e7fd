"""``lm-eval-ext classifier``: ``train`` writes an adapter with its card, ``evaluate`` and ``read`` use readers."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from lm_eval_ext.classifier import division
from lm_eval_ext.classifier.availability import ReaderError
from lm_eval_ext.classifier.encoder.weights import REPOSITORY, REVISION, base_folder
from lm_eval_ext.classifier.labelled import Labelled
from lm_eval_ext.classifier.reading import Answer, Option, Reading
from lm_eval_ext.cli import main
from tests.classifier.causal.models import rows_to_learn
from tests.classifier.encoder.tiny_base import as_the_base, write_tiny_base
from tests.classifier.labelled_rows import OPTIONS, as_row, labelled_rows, write
from tests.cli.test_cli import COMMAND
from tests.conftest import offline_environment
from tests.forks import Forks
from tests.tables import tables
from tests.training.stopped import stopped_after


@pytest.mark.parametrize(("command", "complaint"), tables(__file__, "errors"))
@pytest.mark.usefixtures("offline")
def test_an_error_is_one_line_without_a_traceback_and_leaves_nothing(
    command: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("peft", reason="peft is not installed (extra: classifier)")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    names = {
        "ROWS": write(tmp_path / "rows.jsonl", {"options": OPTIONS, "response": "A"}),
        "BAD": write(tmp_path / "bad.jsonl", {"options": OPTIONS}),
        "DATA": write(tmp_path / "data.jsonl", *labelled_rows(4)),
        "NONE": tmp_path / "none.jsonl",
        "NEW": tmp_path / "new",
        "FULL": tmp_path / "full",
    }
    before = sorted(tmp_path.rglob("*"))
    assert main(["classifier", *(str(names.get(word, word)) for word in command.split())]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith("lm-eval-ext: ")
    assert complaint in captured.err
    assert captured.out == ""
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(
    "command",
    [
        "",
        "train x",
        "train x --output y --held-out 1",
        "train x --output y --epochs 0",
        "train x --output y --learning-rate 0",
        "train x --output y --learning-rate inf",
        "train x --output y --samples -80",
        "read x --batch-size 0",
        "read x --dtype fp8",
    ],
)
def test_wrong_arguments_print_the_usage(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["classifier", *command.split()])
    assert stop.value.code == 2
    assert "usage: lm-eval-ext classifier" in capsys.readouterr().err


def test_the_table_compares_the_readers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*labelled_rows(8), {"options": OPTIONS, "response": "It's tea. For me", "label": "none", "model": "small"}]
    path = str(write(tmp_path / "rows.jsonl", *rows))
    assert main(["classifier", "evaluate", path, "--reader", "string_match", "--reader", "rules"]) == 0
    text = capsys.readouterr().out
    assert "### Rows: label is one option" in text
    assert "| string_match | 8    | 100.0 % | 67.6 - 100.0 % | 1.000    | 1.000       |" in text  # 1/(1 + 3.8415/8)
    assert "| Evaluator    | large             | small " in text
    assert main(["classifier", "evaluate", path, "--reader", "string_match", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["slices"][1]["overall"]["string_match"]["rows"] == 9


@pytest.mark.usefixtures("encoder_installed")
def test_all_readers_are_compared_by_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(write(tmp_path / "rows.jsonl", *labelled_rows(8)))
    assert main(["classifier", "evaluate", path, "--json"]) == 0
    assert list(json.loads(capsys.readouterr().out)["errors"]) == ["string_match", "rules", "encoder", "default"]


def test_rows_are_returned_with_the_readings_of_a_causal_adapter(
    learned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [as_row(row) | {"note": "ü"} for row in rows_to_learn()]
    path = write(tmp_path / "rows.jsonl", *rows)
    assert main(["classifier", "read", str(path), "--reader", str(learned)]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["reading"] for row in found] == ["A", "B", "none", "refused"]
    assert all(0.5 < row.pop("certainty") <= 1 for row in found)
    assert [{**row, "reading": None} for row in found] == [{**row, "reading": None} for row in rows]


def test_the_rules_read_standard_input_as_it_arrives() -> None:
    # 256 rows are read at a time: they come back before the input ends.
    line = json.dumps({"options": OPTIONS, "response": "<think>A?</think>B. Coffee"}).encode() + b"\n"
    with subprocess.Popen(
        [COMMAND, "classifier", "read", "-", "--reader", "rules"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=offline_environment(),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(line * 256)
        process.stdin.flush()
        assert [json.loads(process.stdout.readline())["reading"] for _ in range(256)] == ["B"] * 256
        process.stdin.write(b'\n{"options": [], "response": ""}\n')
        process.stdin.close()
        assert process.stdout.read() == b""
        assert process.wait() == 1


@pytest.mark.slow
@pytest.mark.usefixtures("encoder_installed")
def test_reading_with_the_encoder_prints_only_the_rows(forks: Forks, tmp_path: Path) -> None:
    # The rules abstain, so that the encoder is loaded.
    row = {"options": OPTIONS, "response": "Whatever is brewed from beans, I suppose."}
    command = ("-m", "lm_eval_ext", "classifier", "read", str(write(tmp_path / "rows.jsonl", row)))
    process = forks.run(*command, folder=tmp_path, environment=offline_environment())
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["certainty"] > 0
    # transformers reports weights of the file that the model has no place for.
    assert "REPORT" not in process.stderr
    assert "UNEXPECTED" not in process.stderr


def trained(output: Path, *words: str | Path) -> str:
    """Train an adapter and return its card."""
    assert main(["classifier", "train", *map(str, words), "--output", str(output)]) == 0
    return (output / "README.md").read_text(encoding="utf-8")


def test_a_causal_adapter_is_trained_evaluated_and_described(
    base_lm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = write(tmp_path / "first.jsonl", *labelled_rows(20))
    second = write(tmp_path / "second.jsonl", *(row | {"model": "other"} for row in labelled_rows(10)))
    output = tmp_path / "new" / "adapter"
    card = trained(output, first, second, "--mode", "causal", "--base", base_lm, "--epochs", "1", "--seed", "5")
    assert sorted(path.name for path in output.iterdir()) == [
        "README.md",
        "adapter_config.json",
        "adapter_model.safetensors",
        "training.json",
    ]
    assert list(output.parent.iterdir()) == [output]
    assert card in capsys.readouterr().out
    for path, count in ((first, 20), (second, 10)):
        assert f"| {path.name} | {count} | `{hashlib.sha256(path.read_bytes()).hexdigest()}` |" in card
    # 20 questions, of which the second file repeats 10; 0.2 of them are held out, with one or two rows each.
    split = re.search(r"seed 5, share 0.2\): trained on (\d+) rows of 16 questions; held out (\d+) rows of 4 q", card)
    assert split is not None
    assert int(split[1]) + int(split[2]) == 30
    assert 4 <= int(split[2]) <= 8
    weights = hashlib.sha256((base_lm / "model.safetensors").read_bytes()).hexdigest()
    assert str(tmp_path) not in card
    assert f"- base `{base_lm.name}`\n- base weights model.safetensors: SHA-256 `{weights}`" in card
    assert "- mode causal, seed 5, epochs 1\n- batch size 8, learning rate 0.0002, rank 16\n" in card
    assert '"learning_rate": 0.0002' in card
    for evaluator in ("string_match", "rules", "adapter"):
        assert f"\n| {evaluator:12} | {split[2]}  " in card
    # What was written can be read with.
    assert main(["classifier", "read", str(first), "--reader", str(output)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 20


@pytest.fixture(scope="module", params=["tiny", pytest.param("real", marks=pytest.mark.slow)])
def base_encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the folder of the encoder's base weights; tiny ones in their place make no difference to the command."""
    pytest.importorskip("peft", reason="peft is not installed (extra: classifier)")
    try:
        real = base_folder()
    except ReaderError as error:
        pytest.skip(str(error))
    if request.param == "real":
        yield real
    else:
        tiny = write_tiny_base(tmp_path_factory.mktemp("tiny-base"))
        with as_the_base(tiny):
            yield tiny


@pytest.mark.usefixtures("base_encoder")
def test_an_encoder_adapter_is_trained_evaluated_and_described(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(tmp_path / "rows.jsonl", *labelled_rows(20))
    output = tmp_path / "adapter"
    output.mkdir()  # empty: it may be there
    card = trained(output, data, "--epochs", "1")
    assert "- mode encoder, seed 0, epochs 1" in card
    assert f"- base `{REPOSITORY}`, revision `{REVISION}`" in card
    for evaluator in ("string_match", "rules", "adapter", "rules, then adapter"):
        assert f"\n| {evaluator:19} | 4 " in card
    assert "`answer_classifier.json`:" in card
    capsys.readouterr()
    assert main(["classifier", "read", str(data), "--reader", str(output)]) == 0
    assert [json.loads(line)["reading"] for line in capsys.readouterr().out.splitlines()] == ["A", "B"] * 10


def test_models_are_held_out_and_other_files_evaluated_on(base_encoder: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "rows.jsonl", *labelled_rows(20))
    known = write(tmp_path / "known.jsonl", *labelled_rows(4))
    new = write(tmp_path / "new.jsonl", *(row | {"question": "Which one?"} for row in labelled_rows(6)))
    output = tmp_path / "adapter"
    options = ("--held-out-models", "large", "--held-out", "0", "--epochs", "1", "--evaluate-on", known, new)
    card = trained(output, data, *options)
    digest = hashlib.sha256(data.read_bytes()).hexdigest()
    assert (
        f"| File | Rows | SHA-256 |\n| --- | --- | --- |\n| rows.jsonl | 20 | `{digest}` |\n\n"
        "Split by question (seed 0, share 0.0, models held out: large): trained on 10 rows of 10 questions; "
        "held out 10 rows of 10 questions.\n"
    ) in card
    # Of the four questions of the first file, two were asked of the model that was trained on.
    for path, count, shared, used in ((known, 4, 2, "2"), (new, 6, 0, "None")):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        _, _, after = card.partition(
            f"Evaluated on {path.name} (SHA-256 `{digest}`). {used} of its rows were used for training; {shared} of "
            f"its {count} rows are about questions in the training data.\n\n"
        )
        assert re.match(rf"### Rows: label is one option\n\n.*\n.*\n\| string_match        \| {count} ", after)
    assert "base_model:" not in card  # it is ours, not PEFT's
    # The folder can be given away: nothing in it says where it was made.
    for file in output.iterdir():
        for place in (tmp_path, base_encoder, Path.home()):
            assert str(place).encode() not in file.read_bytes()


def test_neither_the_models_nor_the_questions_that_are_held_out_are_trained_on() -> None:
    rows = [
        Labelled(Answer("A", (Option("A", "Tea"),)), Reading.of(["A"]), model, f"Question {number}?")
        for model in ("small", "large", "other")
        for number in range(10)
    ]
    divided = division.divide([division.Data("rows", "", rows)], [], 0.2, ["large", "other"], seed=0)
    assert (len(divided.taught), len(divided.held_out)) == (8, 4)
    assert {row.model for row in divided.taught} == {"small"}
    assert {row.model for row in divided.held_out} == {"large", "other"}
    assert not {row.question for row in divided.taught} & {row.question for row in divided.held_out}


def test_without_held_out_rows_nothing_is_evaluated(base_lm: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "rows.jsonl", *labelled_rows(4))
    options = ("--mode", "causal", "--base", base_lm, "--epochs", "1", "--held-out", "0")
    card = trained(tmp_path / "adapter", data, *options)
    assert "trained on 4 rows of 4 questions; held out 0 rows of 0 questions" in card
    assert "No rows were held out." in card


@pytest.mark.slow
def test_an_interrupted_training_run_continues_to_the_same_adapter(
    base_lm: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write(tmp_path / "rows.jsonl", *labelled_rows(20))
    recipe = ["--epochs", "3", "--batch-size", "4", "--learning-rate", "0.01", "--rank", "4", "--samples", "12"]
    options = ["--mode", "causal", "--base", str(base_lm), *recipe]
    unbroken, broken = tmp_path / "unbroken", tmp_path / "broken"
    trained(unbroken, data, *options)
    unfinished = tmp_path / ".broken.unfinished"
    command = ["classifier", "train", str(data), "--output", str(broken), *options]
    # The fifth step of nine is in the second epoch.
    with stopped_after(5):
        assert main(command) == 130
    *_, stopped, interrupted = capsys.readouterr().err.splitlines()
    assert stopped == f"training: stopped; the same command continues from {unfinished / 'checkpoint.pt'}"
    assert interrupted == "lm-eval-ext: interrupted"
    assert [path.name for path in unfinished.iterdir()] == ["checkpoint.pt"]
    assert not broken.exists()
    # Another run does not continue from there, and does not destroy it.
    capsys.readouterr()
    assert main([*command, "--seed", "1"]) == 1
    assert "a checkpoint of an interrupted training run with another rows (" in (said := capsys.readouterr().err)
    assert "seed (0, now 1); repeat its command to continue it, delete it to start over" in said
    assert main(command) == 0
    assert "training: continuing after step 5 of 9\n" in capsys.readouterr().err
    for name in ("adapter_model.safetensors", "training.json", "README.md"):
        assert (broken / name).read_bytes() == (unbroken / name).read_bytes(), name
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken", "rows.jsonl", "unbroken"]
    record = json.loads((broken / "training.json").read_text(encoding="utf-8"))
    assert (record["rows"], record["batch_size"], record["learning_rate"], record["rank"]) == (12, 4, 0.01, 4)
    assert "- batch size 4, learning rate 0.01, rank 4\n" in (broken / "README.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("base_encoder")
@pytest.mark.parametrize(
    ("mode", "rate", "epochs", "complaint"),
    [
        ("encoder", "1e9", "4", "the loss is nan in step "),
        ("encoder", "1e9", "1", "a weight became "),  # a single step: no loss after it would be seen
        ("causal", "1e9", "4", "a weight became "),  # whose answers all become equally likely
    ],
)
def test_a_diverging_training_is_an_error_and_leaves_nothing(  # noqa: PLR0913, PLR0917 # a row of the table, and fixtures
    mode: str,
    rate: str,
    epochs: str,
    complaint: str,
    base_lm: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data = write(tmp_path / "rows.jsonl", *labelled_rows(20))
    options = ["--mode", mode, *(["--base", str(base_lm)] if mode == "causal" else [])]
    options += ["--output", str(tmp_path / "adapter"), "--epochs", epochs]
    assert main(["classifier", "train", str(data), *options, "--learning-rate", rate]) == 1
    said = capsys.readouterr()
    assert complaint in said.err
    assert said.err.endswith(": training diverges. Use a lower --learning-rate\n")
    assert "stopped; the same command continues" not in said.err
    assert said.out == ""
    assert list(tmp_path.iterdir()) == [data]
