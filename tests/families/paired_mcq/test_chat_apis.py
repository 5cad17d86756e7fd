"""An API without log-likelihoods is rejected before the first request; text-only tasks work with it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

from tests.conftest import Harness
from tests.loopback import serving

pytestmark = pytest.mark.harness


@pytest.fixture
def server() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Serve chat completions that always say the same; yield the address and the requests received."""
    requests: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            message = {"role": "assistant", "content": None if len(requests) == 1 else "A."}
            body = json.dumps({"choices": [{"index": 0, "message": message}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: Any) -> None:
            """Say nothing: the requests are on record."""

    with serving(Handler) as address:
        yield f"{address}/v1/chat/completions", requests


def ask(harness: Harness, address: str, tasks: str) -> Any:
    return harness(
        *("--model", "local-chat-completions", "--model_args", f"model=any,base_url={address},num_concurrent=1"),
        *("--apply_chat_template", "--tasks", tasks, "--limit", "10"),
        *("--metadata", json.dumps({"source": "embedded", "answer_classifier": "rules"})),
    )


def test_paired_tasks_are_rejected_before_any_request_and_the_text_task_is_named(
    harness: Harness, server: tuple[str, list[dict[str, Any]]]
) -> None:
    pytest.importorskip("tenacity", reason="the harness's API models are not installed (extra: api)")
    address, requests = server
    # The other task's generations would come before any log-likelihood.
    run = ask(harness, address, "text_mcq_mmlu_low,paired_mcq_opinionqa_high")
    assert run.status != 0
    assert (
        "task 'paired_mcq_opinionqa_high' needs the log-likelihoods of option letters, but LocalChatCompletion "
        "provides none; --tasks text_mcq_opinionqa_high is the same task without them"
    ) in run.output
    assert requests == []


def test_the_text_task_runs_and_is_read(harness: Harness, server: tuple[str, list[dict[str, Any]]]) -> None:
    pytest.importorskip("tenacity", reason="the harness's API models are not installed (extra: api)")
    address, requests = server
    run = ask(harness, address, "text_mcq_opinionqa_high")
    assert run.status == 0, run.output[-3000:]
    assert len(requests) == 10
    for request in requests:
        (message,) = request["messages"]
        assert message["role"] == "user"
        assert message["content"].endswith("\nAnswer:")
        assert request["stop"] == ["<|endoftext|>"]
        assert (request["temperature"], request["max_tokens"]) == (0.0, 256)
    scores = run.results["results"]["text_mcq_opinionqa_high"]
    # One of ten texts was withheld.
    for reader in ("string_match", "rules"):
        assert scores[f"no_answer,{reader}"] == pytest.approx(0.1)
