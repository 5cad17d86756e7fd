"""Engines that are not there: servers with planted answers, and batches as vLLM and SGLang give them."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Protocol
from unittest.mock import MagicMock

import pytest
from lm_eval.api.registry import get_model

from tests.loopback import serving


@dataclass
class Planted:
    """A server whose answers and whose reasons to stop depend on the prompt alone, and which fails at first.

    Attributes:
        chat: whether it has the form of the chat API.
        failures: how many requests fail before the first answer.
        asked: the requests, in order.
    """

    chat: bool
    failures: int = 0
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reason(self, prompt: str) -> str | None:
        return ("stop", "length", "content_filter", None)[sum(prompt.encode()) % 4]

    def choice(self, prompt: str) -> dict[str, Any]:
        reason = self.reason(prompt)
        # A model that was cut off while it reasoned.
        text = None if self.chat and reason == "length" else "positive"
        return {"finish_reason": reason, **({"message": {"content": text}} if self.chat else {"text": text})}

    def answer(self, asked: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        with self.lock:
            self.asked.append(asked)
            self.failures -= 1
            if self.failures >= 0:
                return 500, {"error": "busy"}
        if self.chat:
            return 200, {"choices": [{"index": 0, **self.choice(json.dumps(asked["messages"], ensure_ascii=False))}]}
        prompts = asked["prompt"] if isinstance(asked["prompt"], list) else [asked["prompt"]]
        choices = [{"index": number, **self.choice(prompt)} for number, prompt in enumerate(map(str, prompts))]
        # The order is the server's own.
        return 200, {"choices": choices[::-1]}


class Answering(Protocol):
    """What has the status and the body of an answer to a request."""

    def answer(self, asked: Mapping[str, Any]) -> tuple[int, dict[str, Any]]: ...


def handler_of(planted: Answering) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_values: object) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer = planted.answer(asked)
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler


@contextmanager
def served(planted: Planted, **arguments: Any) -> Iterator[Any]:
    """Yield an LM of the harness that asks a server."""
    pytest.importorskip("tenacity", reason="tenacity is not installed (extra: api)")
    model, path = ("local-chat-completions", "chat/") if planted.chat else ("local-completions", "")
    with serving(handler_of(planted)) as address:
        yield get_model(model)(model="any", base_url=f"{address}/v1/{path}completions", **arguments)


class Tokenizer:
    eos_token, eos_token_id = "</s>", 1

    def decode(self, _token: int) -> str:
        return "</s>"


def engine(name: str, batch: list[Any], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return an LM of a class of the harness that generates a batch."""
    if name == "vllm":
        in_entrypoints = "entrypoints.chat_utils"
        parts = ("lora.request", "renderers.hf", "tokenizers", "transformers_utils.tokenizer", in_entrypoints, "utils")
        for part in ("ray", "vllm", *(f"vllm.{part}" for part in parts)):
            monkeypatch.setitem(sys.modules, part, MagicMock())
        monkeypatch.setattr("importlib.metadata.version", lambda _: "0.11.0")
    path = f"lm_eval.models.{name}_causallms"
    module = import_module(path)
    # What was imported without the engine must not stay.
    monkeypatch.delitem(sys.modules, path)
    model = getattr(module, {"vllm": "VLLM", "sglang": "SGLangLM"}[name])
    if name == "vllm":
        monkeypatch.setattr(module, "SamplingParams", SimpleNamespace, raising=False)
        kept = lambda toks, max_gen_toks, **_: (toks, max_gen_toks)  # noqa: E731
        monkeypatch.setattr(module, "maybe_truncate", kept, raising=False)
    found = object.__new__(model)
    base = next(each for each in model.__mro__ if each.__name__ == "LM")
    base.__init__(found)
    found.tokenizer, found.think_end_token, found._max_gen_toks, found.batch_size = Tokenizer(), None, 8, "auto"
    found._max_length, found.add_bos_token = 100, False
    for attribute, value in {
        "eot_token_id": 1,
        "max_length": 100,
        "truncation_side": "left",
        "tok_encode": lambda _, texts, **__: [[5] * len(text) for text in texts],
        "_model_generate": lambda _, requests, **__: batch[: len(requests)],
        "modify_gen_kwargs": (
            (lambda _, given, **__: ({}, given["until"], 8)) if name == "vllm" else (lambda _, given: given)
        ),
    }.items():
        monkeypatch.setattr(model, attribute, value, raising=False)
    return found


def of_vllm(text: str, word: str, matched: Any) -> Any:
    return SimpleNamespace(outputs=[SimpleNamespace(text=text, finish_reason=word, stop_reason=matched)])


def of_sglang(text: str, word: str, matched: Any) -> Any:
    return {"text": text, "meta_info": {"finish_reason": {"type": word, "matched": matched}}}
