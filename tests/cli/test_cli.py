"""The ``lm-eval-ext`` command, as installed."""

from __future__ import annotations

import io
import json
import shlex
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import lm_eval_ext
from lm_eval_ext.cli import COMMANDS, ERRORS, doctor, main, parser_for
from lm_eval_ext.sources import EMBEDDED_FOLDER
from tests.conftest import ROOT, completed, offline_environment
from tests.forks import Forks
from tests.tables import tables

TABLES = tables(__file__)
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
    assert (folder / "verbalizer" / "leaves" / "verbalizer_sst2_natural_golden.yaml").is_file()


@pytest.mark.parametrize("command", [[COMMAND], [sys.executable, "-m", "lm_eval_ext"]], ids=["script", "module"])
def test_the_printed_version_is_that_of_the_package(command: list[str], tmp_path: Path) -> None:
    process = completed(*command, "--version", folder=tmp_path, environment=offline_environment())
    assert (process.returncode, process.stdout) == (0, f"lm-eval-ext {lm_eval_ext.__version__}\n")


EVERY = [[], *(words.split() for words in COMMANDS.sections())]
"""The words of every command, the one without any included."""


def test_all_commands_are_listed() -> None:
    assert ["verify"] in EVERY
    assert ["natural-instructions", "score"] in EVERY


def test_only_the_command_in_the_line_is_imported() -> None:
    program = (
        "import sys; from lm_eval_ext.cli import parser_for\n"
        "for line in sys.argv[1:]: parser_for(line.split())\n"
        "print(*sys.modules)"
    )

    def imported(*lines: str) -> set[str]:
        done = subprocess.run([sys.executable, "-c", program, *lines], capture_output=True, text=True, check=True)
        return set(done.stdout.split())

    nothing, every = imported("--help"), imported(*map(" ".join, EVERY))
    assert {name for name in nothing if name.startswith("lm_eval_ext")} == {
        "lm_eval_ext",
        "lm_eval_ext.cli",
        "lm_eval_ext.cli.parser",
        "lm_eval_ext.cli.progress",
        "lm_eval_ext.start",  # at the interpreter's start
    }
    assert "numpy" not in nothing
    assert every > {"lm_eval_ext.reports.gate.commands", "numpy"}
    # What only extras have, and what takes seconds.
    assert not every & {"torch", "transformers", "peft", "matplotlib", "lm_eval", "datasets", "sklearn"}


def test_a_command_that_cannot_be_imported_is_no_regression(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "lm_eval_ext.reports.gate.commands", None)
    with pytest.raises(SystemExit) as stop:
        main(["check", "a", "--against", "b"])
    assert stop.value.code == 2
    assert "lm-eval-ext: the command could not be loaded (ModuleNotFoundError: " in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(ERRORS))
def test_the_errors_about_input_are_exceptions_that_say_so_in_a_line(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, _, error = name.rpartition(".")
    raised = type("Narrower", (getattr(import_module(module), error),), {})

    def fail() -> str:
        raise raised("what is wrong")

    monkeypatch.setattr("lm_eval_ext.cli.tasks_dir", fail)
    assert main(["tasks-path"]) == 1
    assert capsys.readouterr().err == "lm-eval-ext: what is wrong\n"


def test_a_bug_is_not_reported_as_an_error_about_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lm_eval_ext.cli.tasks_dir", lambda: int("one"))
    with pytest.raises(ValueError, match="invalid literal"):
        main(["tasks-path"])


@pytest.mark.parametrize("command", EVERY, ids=" ".join)
def test_help_says_what_a_command_does_and_ends_with_an_example_of_its_options_also_on_an_ascii_terminal(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written, encoding="ascii"))
    with pytest.raises(SystemExit) as stop:
        main([*command, "--help"])
    assert stop.value.code == 0
    printed = written.getvalue().decode("ascii")
    assert printed.startswith(" ".join(["usage: lm-eval-ext", *command]))
    if any(command == below[:-1] for below in EVERY if below):
        return
    assert "".join(COMMANDS[" ".join(command)].get("description", "").split()) in "".join(printed.split())
    said, *words = shlex.split(printed.split("\n\n")[-1])
    assert [said, *words[: 1 + len(command)]] == ["Example:", "lm-eval-ext", *command]
    if ">" in words:
        words = words[: words.index(">")]
    parser_for(command).parse_args(words[1:])


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


@pytest.mark.parametrize(("command", "status", "out", "err"), TABLES["streams"])
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
    assert "ok     models    conversation, recorded, reference, self_refine, two_turns" in process.stdout
    assert "ok     embedded  verbalizer: 9 of 9 datasets" in process.stdout
    assert "ok     embedded  manyifeval: 1 of 1 datasets" in process.stdout
    assert "ok     embedded  ifbench: 3 of 3 datasets" in process.stdout
    assert "ok     embedded  paired_mcq: 4 of 4 datasets" in process.stdout
    assert "ok     embedded  natural_instructions: 14 of 14 datasets" in process.stdout
    assert "ok     nltk      sentence data: " in process.stdout
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
from lm_eval_ext import cli
from lm_eval_ext.cli import doctor
doctor._rows = lambda *_: iter(())
doctor._reader = doctor._harness
sys.exit(cli.main(["doctor", "--source", sys.argv[1]]))
"""


def test_doctor_says_what_to_do_without_autoload(forks: Forks, small_harness: str, tmp_path: Path) -> None:
    environment = offline_environment(LM_EVAL_EXT_AUTOLOAD="0", PYTHONPATH=small_harness)
    process = forks.run("-c", DOCTOR, str(tmp_path / "nowhere"), folder=tmp_path, environment=environment)
    assert process.returncode == 1
    assert "FAILED autoload  switched off by LM_EVAL_EXT_AUTOLOAD=0; use --include_path" in process.stdout
    assert f"FAILED tasks     0 of {ALL}" in process.stdout
    assert "FAILED models    missing: conversation, recorded, reference" in process.stdout
    assert process.stdout.count("nowhere: no such folder or file; expected ") == 1


@pytest.mark.slow
def test_without_nltk_data_doctor_and_export_explain_how_to_get_it(
    forks: Forks, small_harness: str, tmp_path: Path
) -> None:
    without = offline_environment(PYTHONPATH=small_harness)
    # The environment of the tests has them, in a place that no variable changes.
    program = (
        "import sys, nltk.data; nltk.data.path[:] = []\n"
        "from lm_eval_ext import cli; from lm_eval_ext.cli import doctor\n"
        "doctor._tasks = doctor._models\n"  # the index of all tasks, which takes a second and needs no data
        "sys.exit(cli.main())"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return forks.run("-c", program, *arguments, folder=tmp_path, environment=without)

    folder = tmp_path / "rows"
    folder.mkdir()
    shutil.copy(EMBEDDED_FOLDER / "manyifeval_test.jsonl", folder)
    doctor = run("doctor", "--source", str(folder))
    assert doctor.returncode == 1  # this source must answer
    assert "FAILED folder    manyifeval: not checked" in doctor.stdout
    lines = doctor.stdout[doctor.stdout.index("note   nltk") :].splitlines()[:11]
    assert [line[17:] for line in lines[:3]] == [
        "sentence data: missing",
        "stop words: missing",
        "tagger data: missing",
    ]
    assert lines[3].startswith(" " * 17 + "NLTK's sentence data (punkt_tab, English), stop words (stopwords, English) ")
    needed_by = ["hierarchy, ifbench, ifeval and manyifeval", *["ifbench and manyifeval_wide"] * 2]
    for line, tasks in zip(lines[4:7], needed_by, strict=True):
        assert line.endswith(f", and so for the {tasks} tasks")
    assert lines[7:9] == [
        " " * 17 + "Install them once with",
        " " * 21 + "python -m nltk.downloader punkt_tab stopwords averaged_perceptron_tagger_eng",
    ]
    assert lines[9].startswith(" " * 17 + "Offline: copy tokenizers/punkt_tab, corpora/stopwords and taggers/averaged")
    assert lines[10].endswith("the sentence data and stop words: (umask 022; pip install --no-deps llama-index-core)")
    assert doctor.stdout.endswith(" FAILED: see the lines above\n")
    assert "note   embedded  manyifeval: not checked" in run("doctor").stdout  # the verbalizer tasks need none
    # The default rows are data; those of a user's own task prompts are composed, some of them about sentences.
    own = [{"key": number, "task_prompt": f"Describe harbor {number}."} for number in range(9)]
    (folder / "manyifeval_test.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in own), encoding="utf-8")
    export = run("manyifeval", "export", "--source", str(folder))
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
