"""An API without log-likelihoods is rejected before the first request; text-only tasks work with it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from tests.conftest import Harness
from tests.harness.servers import handler_of
from tests.loopback import serving

pytestmark = pytest.mark.harness


class SaysA:
    """A chat API that withholds its first text, and then always says the same."""

    def __init__(self) -> None:
        self.requests: list[Mapping[str, Any]] = []

    def answer(self, asked: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        self.requests.append(asked)
        message = {"role": "assistant", "content": None if len(self.requests) == 1 else "A."}
        return 200, {"choices": [{"index": 0, "message": message}]}


@pytest.fixture
def server() -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Serve chat completions; yield the address and the requests received."""
    pytest.importorskip("tenacity", reason="the harness's API models are not installed (extra: api)")
    chat = SaysA()
    with serving(handler_of(chat)) as address:
        yield f"{address}/v1/chat/completions", chat.requests


def ask(harness: Harness, address: str, tasks: str) -> Any:
    return harness(
        *("--model", "local-chat-completions", "--model_args", f"model=any,base_url={address},num_concurrent=1"),
        *("--apply_chat_template", "--tasks", tasks, "--limit", "10"),
        *("--metadata", json.dumps({"source": "embedded", "answer_classifier": "rules"})),
    )


def test_paired_tasks_are_rejected_before_any_request_and_the_text_task_is_named(
    harness: Harness, server: tuple[str, list[Mapping[str, Any]]]
) -> None:
    address, requests = server
    # The other task's generations would come before any log-likelihood.
    run = ask(harness, address, "text_mcq_mmlu_low,paired_mcq_opinionqa_high")
    assert run.status != 0
    assert (
        "task 'paired_mcq_opinionqa_high' needs the log-likelihoods of option letters, but LocalChatCompletion "
        "provides none; --tasks text_mcq_opinionqa_high is the same task without them"
    ) in run.output
    assert requests == []


def test_the_text_task_runs_and_is_read(harness: Harness, server: tuple[str, list[Mapping[str, Any]]]) -> None:
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
