"""The ``lm-eval-ext`` command, as installed."""

from __future__ import annotations

import argparse
import io
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import lm_eval_ext
from lm_eval_ext import doctor
from lm_eval_ext.cli import _parser, main
from lm_eval_ext.sources import EMBEDDED_FOLDER
from tests.conftest import ROOT, offline_environment
from tests.forks import Forks

COMMAND = str(Path(sys.executable).parent / "lm-eval-ext")
ALL = sum(1 for _ in (ROOT / "tasks").rglob("*.yaml"))
"""How many tasks and groups there are: each has a file."""


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = offline_environment(**variables)
    return subprocess.run([COMMAND, *arguments], env=environment, capture_output=True, text=True, check=False)


def test_tasks_path_prints_a_folder_with_tasks() -> None:
    process = run("tasks-path")
    assert process.returncode == 0
    folder = Path(process.stdout.strip())
    assert (folder / "verbalizer" / "direct" / "sst2_natural_golden.yaml").is_file()


def test_the_printed_version_is_that_of_the_package() -> None:
    assert run("--version").stdout.strip() == f"lm-eval-ext {lm_eval_ext.__version__}"


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["doctor", "--nonsense"]])
def test_wrong_arguments_print_the_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    assert "usage: lm-eval-ext" in capsys.readouterr().err


def subcommands(parser: argparse.ArgumentParser) -> Iterator[list[str]]:
    """Yield the words of every command, the one without any included."""
    yield []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from ([name, *words] for words in subcommands(inner))


COMMANDS = list(subcommands(_parser()))


def test_all_commands_are_listed() -> None:
    assert ["verify"] in COMMANDS
    assert ["natural-instructions", "gains"] in COMMANDS


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_is_printed_on_an_ascii_terminal(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    printed = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(printed, encoding="ascii"))
    with pytest.raises(SystemExit) as stop:
        main([*words, "--help"])
    assert stop.value.code == 0
    assert printed.getvalue().decode("ascii").startswith(" ".join(["usage: lm-eval-ext", *words]))


def test_output_and_errors_are_printed_on_an_ascii_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = {name: io.BytesIO() for name in ("stdout", "stderr")}
    for name, stream in streams.items():
        monkeypatch.setattr(f"sys.{name}", io.TextIOWrapper(stream, encoding="ascii", errors="strict"))
    monkeypatch.setattr("lm_eval_ext.cli.tasks_dir", lambda: "/aufgaben/ä…")
    assert main(["tasks-path"]) == 0
    assert main(["verify", "grüße.jsonl"]) == 1
    assert streams["stdout"].getvalue() == rb"/aufgaben/\xe4\u2026" + b"\n"
    sys.stderr.flush()
    assert streams["stderr"].getvalue() == rb"lm-eval-ext: gr\xfc\xdfe.jsonl: No such file or directory" + b"\n"


@pytest.mark.parametrize(
    ("command", "status", "out", "err"),
    [
        ("tasks-path >&-", 0, "", ""),
        (
            "manyifeval export --source nowhere >&-",
            1,
            "",
            "lm-eval-ext: source 'nowhere' is neither a file nor a folder",
        ),
        # not on standard output, where data are expected
        ("manyifeval export --source nowhere 2>&-", 1, "", ""),
        ("verify - <&-", 1, "", "lm-eval-ext: standard input: no rows; expected one response per line"),
        ("verify - <&- >&- 2>&-", 1, "", ""),
        ("tasks-path >/dev/full", 1, "", "lm-eval-ext: No space left on device"),
        ("--help | true", 0, "", ""),
        ("nonsense 2>&1 | true", 2, "", ""),
    ],
)
def test_a_closed_or_full_stream_causes_no_traceback(command: str, status: int, out: str, err: str) -> None:
    script = f"set -o pipefail; {shlex.quote(COMMAND)} {command}"
    process = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stdout) == (status, out)
    assert process.stderr.startswith(err)
    assert len(process.stderr.splitlines()) <= 1


@pytest.mark.usefixtures("sentence_data")
def test_doctor_passes_without_the_hub(forks: Forks, small_harness: str, tmp_path: Path) -> None:
    environment = offline_environment(PYTHONPATH=small_harness)
    process = forks.run("-m", "lm_eval_ext", "doctor", folder=tmp_path, environment=environment)
    assert process.returncode == 0, process.stdout
    assert f"ok     tasks     {ALL} of {ALL} tasks and groups" in process.stdout
    assert "ok     models    reference" in process.stdout
    assert "ok     embedded  verbalizer: 9 of 9 datasets" in process.stdout
    assert "ok     embedded  manyifeval: 1 of 1 datasets" in process.stdout
    assert "ok     embedded  ifbench: 2 of 2 datasets" in process.stdout
    assert "ok     embedded  paired_mcq: 4 of 4 datasets" in process.stdout
    assert "ok     embedded  natural_instructions: 14 of 14 datasets" in process.stdout
    assert "ok     sentences" in process.stdout
    assert "note   hub       switched off by HF_HUB_OFFLINE" in process.stdout
    assert "note   files     natural_instructions: switched off by HF_HUB_OFFLINE" in process.stdout


def test_doctor_fails_if_a_required_source_does_not_respond(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # This process has all tasks of the harness, whose index takes seconds.
    monkeypatch.setattr(doctor, "_tasks", doctor._models)
    shutil.copy(EMBEDDED_FOLDER / "sst2_validation.jsonl", tmp_path)
    (tmp_path / "rte_validation.jsonl").write_text('{"sentence1": "a"}\n', encoding="utf-8")
    assert main(["doctor", "--source", str(tmp_path)]) == 1
    printed = capsys.readouterr().out
    # What the folder has not is named; only what it has and is wrong is a failure.
    lacking = "not there: fp, emotion, snli, sick, qqp, mrpc, subj"
    wrong = f"{tmp_path / 'rte_validation.jsonl'} has no column"
    assert f"FAILED folder    verbalizer: 1 of 2 datasets, {lacking}; {wrong}" in printed
    # A network that nobody asked for.
    assert "hub" not in printed
    assert "files     " not in printed


# The command, but for the checks that take seconds and have nothing to do with the autoload.
DOCTOR = """
import sys
from lm_eval_ext import cli, doctor
doctor._rows = lambda *_: iter(())
doctor._sentences = doctor._words = doctor._reader = doctor._harness
sys.exit(cli.main(["doctor", "--source", sys.argv[1]]))
"""


def test_doctor_says_what_to_do_without_autoload(small_harness: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", DOCTOR, str(tmp_path / "nowhere")]
    environment = offline_environment(LM_EVAL_EXT_AUTOLOAD="0", PYTHONPATH=small_harness)
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 1
    assert "FAILED autoload  switched off by LM_EVAL_EXT_AUTOLOAD=0; use --include_path" in process.stdout
    assert f"FAILED tasks     0 of {ALL}" in process.stdout
    assert "FAILED models    missing: reference" in process.stdout
    assert process.stdout.count("nowhere: no such folder or file; expected ") == 1


def test_without_nltk_data_doctor_and_export_explain_how_to_get_it(
    forks: Forks, small_harness: str, tmp_path: Path
) -> None:
    without = offline_environment(NLTK_DATA=str(tmp_path), HOME=str(tmp_path), PYTHONPATH=small_harness)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return forks.run("-m", "lm_eval_ext", *arguments, folder=tmp_path, environment=without)

    folder = tmp_path / "rows"
    folder.mkdir()
    shutil.copy(EMBEDDED_FOLDER / "manyifeval_test.jsonl", folder)
    doctor = run("doctor", "--source", str(folder))
    assert doctor.returncode == 1  # this source must answer
    assert "FAILED folder    manyifeval: not checked" in doctor.stdout
    sentences = doctor.stdout[doctor.stdout.index("note   sentences") :].splitlines()[:3]
    assert sentences[0].startswith("note   sentences NLTK's sentence data (punkt_tab, English) are not installed")
    assert sentences[1] == " " * 21 + "python -m nltk.downloader punkt_tab"
    assert sentences[2].startswith(" " * 17 + "Offline: copy tokenizers/punkt_tab")
    assert "note   embedded  manyifeval: not checked" in doctor.stdout  # the verbalizer tasks need none
    export = run("manyifeval", "export", "--source", "embedded")
    assert export.returncode == 1
    assert export.stdout == ""
    assert export.stderr.startswith("lm-eval-ext: NLTK's sentence data")
    assert "python -m nltk.downloader punkt_tab" in export.stderr


@pytest.mark.parametrize(("split", "rows"), [("test", 1000), ("train", 100), ("fewshot", 60)])
@pytest.mark.usefixtures("sentence_data")
def test_export_prints_rows_that_the_tasks_can_read(
    split: str, rows: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["manyifeval", "export", "--source", "embedded", "--split", split]) == 0
    exported = capsys.readouterr().out
    assert len(exported.splitlines()) == rows
    (tmp_path / f"manyifeval_{split}.jsonl").write_text(exported, encoding="utf-8")
    assert main(["manyifeval", "export", "--source", str(tmp_path), "--split", split]) == 0
    assert capsys.readouterr().out == exported


def test_export_names_a_missing_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manyifeval", "export", "--source", "nowhere"]) == 1
    assert capsys.readouterr().err.startswith("lm-eval-ext: source 'nowhere' is neither a file nor a folder")
