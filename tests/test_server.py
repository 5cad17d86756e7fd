"""A model behind an OpenAI-compatible server gives the same answers and scores as under ``--model hf``."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from lm_eval_ext.families.verbalizer.verbalizer import Reads
from tests.conftest import EvaluateEach, Run, offline_environment
from tests.families.verbalizer.test_real_model import check_readings_and_metrics
from tests.families.verbalizer.wordy import build_wordy_model

# The instructions of one run are judged with them, and all runs are of one process. Starting the server and asking it
# takes 15 seconds; the quick tests of engines, endings and self-refinement have servers of a few lines.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("sentence_data")]

TASKS: Mapping[str, Reads] = {
    "verbalizer_sst2_unnatural_flipped": "first",
    "verbalizer_cot_mrpc_unnatural_flipped": "final",
}
OBEYING = "hierarchy_system_user,hierarchy_document,hierarchy_tool,hierarchy_turns_slipped_t04"
ROWS = 6
STARTING = 180.0  # seconds; about five are usual

# The ``transformers`` command, which ends when its standard input does: even if the tests are killed, it does not stay.
TRANSFORMERS = """
import os, sys, threading
threading.Thread(target=lambda: os._exit(len(sys.stdin.read())), daemon=True).start()
from transformers.cli.transformers import main
main()
"""


@dataclass(frozen=True)
class Server:
    """A running server: the model that it serves, and where."""

    model: Path
    address: str


@dataclass(frozen=True)
class Api:
    """One of the server's interfaces, and how the harness is told to use it."""

    model: str
    endpoint: str
    arguments: str
    options: tuple[str, ...] = ()

    def choice(self, server: Server) -> tuple[str, ...]:
        url = f"http://{server.address}/v1/{self.endpoint}"
        return ("--model", self.model, "--model_args", f"model={server.model},base_url={url},{self.arguments}")


APIS = {
    "chat": Api(
        "local-chat-completions", "chat/completions", "num_concurrent=4,max_retries=1", ("--apply_chat_template",)
    ),
    "completions": Api("local-completions", "completions", "tokenizer_backend=None,max_retries=1"),
}


@pytest.fixture(scope="module")
def server(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serve a model whose answers depend on the row with ``transformers serve``, until the tests are over."""
    for package in ("fastapi", "openai", "uvicorn"):
        pytest.importorskip(package, reason=f"{package} is not installed (transformers[serving])")
    pytest.importorskip("tenacity", reason="tenacity is not installed (extra: api)")
    folder = tmp_path_factory.mktemp("server")
    model = build_wordy_model(tiny_model, folder / "model")
    with _serving(model, folder) as address:
        yield Server(model, address)


@contextmanager
def _serving(model: Path, folder: Path) -> Iterator[str]:
    # Port 0: the system picks a free one, and no other process can take it in between.
    options = ["serve", str(model), "--device", "cpu", "--host", "127.0.0.1", "--port", "0"]
    log = folder / "log.txt"
    with (
        log.open("w", encoding="utf-8") as output,
        subprocess.Popen(
            [sys.executable, "-c", TRANSFORMERS, *options],
            env=offline_environment(HF_HOME=str(folder)),
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            yield _address(process, log)
        finally:
            process.kill()


def _address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + STARTING
    while process.poll() is None and time.monotonic() < deadline:
        running = re.search(r"running on http://(\S+:\d+)", log.read_text(encoding="utf-8"))
        if running and _is_healthy(running[1]):
            return running[1]
        time.sleep(0.1)
    raise RuntimeError(f"the server does not answer (exit status {process.poll()}):\n{log.read_text(encoding='utf-8')}")


def _is_healthy(address: str) -> bool:
    connection = http.client.HTTPConnection(address, timeout=5)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.HTTPStatus.OK
    except OSError:
        return False
    finally:
        connection.close()


@pytest.fixture(scope="module")
def runs(
    server: Server, real_rows: str, evaluate_each: EvaluateEach, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Run]:
    """Evaluate all that the tests look at in one process: directly and served, by name of what is looked at."""
    chat, tasks = APIS["chat"], ",".join(TASKS)
    local = ("--model", "hf", "--model_args", f"pretrained={server.model}", "--device", "cpu")
    options: dict[str, tuple[str, ...]] = {}
    for name, api in APIS.items():
        options[f"{name}, direct"] = (*local, *asked(tasks, real_rows), *api.options)
        options[f"{name}, served"] = (*api.choice(server), *asked(tasks, real_rows), *api.options)
    for name, of_family in {"following": "manyifeval_n03", "obeying": OBEYING}.items():
        options[f"{name}, direct"] = (*local, *asked(of_family, "embedded"), *chat.options)
        options[f"{name}, served"] = (*chat.choice(server), *asked(of_family, "embedded"), *chat.options)
    _, served, _, arguments = chat.choice(server)
    bases = {"direct": f"base=hf,pretrained={server.model}", "served": f"base={served},{arguments}"}
    for way, base in bases.items():
        model = ("--model", "self_refine", "--model_args", f"{base},strategy=feedback_each,rounds=1", "--device", "cpu")
        options[f"refining, {way}"] = (*model, *asked("manyifeval_n02", "embedded", rows=4), *chat.options)
    folder = tmp_path_factory.mktemp("runs")
    # In JSON, because the name of a run has a comma.
    samples = json.dumps({"samples": str(folder / "obeying, served")})
    again = ("--model", "recorded", "--model_args", samples)
    options["obeying, recorded"] = (*again, *asked(OBEYING, "embedded"), *chat.options)
    return evaluate_each(folder, options)


def asked(tasks: str, source: str, rows: int = ROWS) -> tuple[str, ...]:
    metadata = json.dumps({"source": source})
    return ("--tasks", tasks, "--limit", str(rows), "--gen_kwargs", "max_gen_toks=32", "--metadata", metadata)


def compared(runs: Mapping[str, Run], name: str, task: str) -> tuple[Run, list[dict[str, Any]]]:
    """Return a served run and its rows, with their answers and metrics, which are those of the direct run.

    Requests to an API are recorded in a separate format.
    """
    direct, served = (
        [
            {key: sample[key] for key in ("doc", "resps", "filtered_resps", *sample["metrics"])}
            for sample in sorted(runs[f"{name}, {way}"].samples[task], key=itemgetter("doc_id"))
        ]
        for way in ("direct", "served")
    )
    assert served == direct
    figures = [runs[f"{name}, {way}"].results["results"][task] for way in ("direct", "served")]
    assert figures[0] == figures[1]
    return runs[f"{name}, served"], served


@pytest.mark.parametrize("api", APIS)
def test_a_served_model_answers_and_scores_like_the_local_model(runs: Mapping[str, Run], api: str) -> None:
    for task, reads in TASKS.items():
        served, rows = compared(runs, api, task)
        assert len({str(row["resps"]) for row in rows}) == len(rows) == ROWS, "the answers depend on the rows"
        check_readings_and_metrics(served, task, reads)


def test_a_served_model_refines_its_answers_like_the_local_model(runs: Mapping[str, Run]) -> None:
    _, rows = compared(runs, "refining", "manyifeval_n02")
    assert [(len(row["rounds"]), len(row["rounds"][0]["replies"])) for row in rows] == [(2, 2)] * 4


def test_a_served_model_follows_the_same_instructions_as_the_local_model(runs: Mapping[str, Run]) -> None:
    served, rows = compared(runs, "following", "manyifeval_n03")
    assert len(rows) == ROWS
    # Words of no meaning forbid themselves little and have no title.
    assert 0 < served.results["results"]["manyifeval_n03"]["inst_level_strict_acc,none"] < 1


def test_a_served_model_is_shown_the_same_conversations_as_the_local_model(runs: Mapping[str, Run]) -> None:
    for task in OBEYING.split(","):
        _, rows = compared(runs, "obeying", task)
        assert len(rows) == ROWS
        # Its answers depend on all that it is shown.
        assert len({str(row["resps"]) for row in rows}) > 1


def test_the_answers_of_a_served_model_are_scored_again_from_its_conversations(runs: Mapping[str, Run]) -> None:
    served, recorded = runs["obeying, served"], runs["obeying, recorded"]
    assert recorded.samples == served.samples
    assert recorded.results["results"] == served.results["results"]
