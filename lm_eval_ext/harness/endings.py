"""Where the harness's LMs know how an answer ended, which they do not return: they return its text.

An LM is listened to: of the object that the harness runs, the methods are wrapped through which every answer passes.

* API models parse each of a server's responses with ``parse_generations``. What this returns reaches the task
  unchanged, whatever the order, the concurrency and the retries.
* ``hf``, ``vllm`` and ``sglang`` generate a batch with ``_model_generate`` and then hand each of its texts, in order,
  to the hook of the cache. The object that goes there is the one that they return.

All supported versions of the harness do so. Of an LM that does not, answers end in an unknown way.

An answer also says whether the LM cuts off the beginning of its prompt (``engines.truncates``).
"""

from __future__ import annotations

import inspect
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from traceback import walk_stack
from typing import TYPE_CHECKING, Any

import lm_eval.evaluator

from lm_eval_ext.endings import (
    LIMIT,
    MORE_ROOM,
    PROMPT_TRUNCATED_RATE,
    Answer,
    StopReport,
    ending_by,
    report_of_server,
    report_of_tokens,
)
from lm_eval_ext.harness.engines import listed, refuse_mixed_stops, stop_strings, truncates
from lm_eval_ext.harness.lm import CachingLM
from lm_eval_ext.harness.requests import KnownInstance

if TYPE_CHECKING:
    from lm_eval_ext.harness.lm import Instance

log = logging.getLogger(f"lm_eval.{__name__}")
_EVALUATION = inspect.unwrap(lm_eval.evaluator.evaluate).__code__


def lm_of_run() -> Any:
    """Return the LM of the run that builds the requests of a task; ``None`` if there is no run.

    No version of the harness passes it to a task, but the function that does the evaluation has it.
    """
    for frame, _ in walk_stack(inspect.currentframe()):
        if frame.f_code is _EVALUATION:
            return frame.f_locals.get("lm")
    return None


def listen(lm: Any) -> None:
    """Let an LM return the answers to our tasks' requests with how they ended (``Answer``).

    Does nothing if the LM is listened to already, or does not tell.
    """
    if isinstance(lm, CachingLM):
        lm = lm.lm
    if isinstance(vars(lm).get("generate_until"), _Listener):
        return
    # By its class: an LM that wraps another passes on that one's attributes.
    if hasattr(type(lm), "parse_generations"):
        lm.parse_generations = partial(_with_reports, lm.parse_generations)
    elif hasattr(type(lm), "_model_generate"):
        lm._model_generate = _Batch(lm, lm._model_generate)
    else:
        return
    lm.generate_until = _Listener(lm, lm.generate_until)


def over_processes(lm: Any, *counts: int) -> tuple[int, ...]:
    """Return the sums of counts over all processes of a run; each process calls this with its own.

    Args:
        lm: the LM of the run; ``None`` if there is no run.
        counts: of this process.
    """
    if lm is None or lm.world_size == 1:
        return counts
    import torch  # noqa: PLC0415 # only if several processes were started

    gathered = lm.all_gather(torch.tensor([counts], device=lm.device))
    return tuple(int(total) for total in gathered.reshape(-1, len(counts)).sum(dim=0))


class _Reported(str):
    """A text with what a server said of it; whether it ended at a stop string depends on its request."""

    __slots__ = ("report",)

    report: StopReport

    @classmethod
    def of(cls, text: str, report: StopReport) -> _Reported:
        reported = cls(text)
        reported.report = report
        return reported


def _with_reports(parse: Callable[..., list[str | None]], *args: Any, **kwargs: Any) -> list[str | None]:
    """Return what an API model's ``parse_generations`` does, but each text with what the server said of it."""
    texts = parse(*args, **kwargs)
    outputs = kwargs.get("outputs", args[0] if args else None)
    reports = [report for output in listed(outputs) for report in _reports_in(output)]
    if len(reports) != len(texts):
        # What cannot be parsed has one empty text.
        return texts
    # A text that is null because the model was cut off while it reasoned is an empty answer, which the harness
    # makes of it, too, but without its ending. Any other null is left to the harness.
    return [
        _Reported.of(text or "", report) if text is not None or ending_by(report, ()) == LIMIT else text
        for text, report in zip(texts, reports, strict=True)
    ]


def _reports_in(output: Any) -> list[StopReport]:
    """Return what a server's response says of each of its texts, in the order in which the harness returns them."""
    if not isinstance(output, Mapping):
        return []
    choices = output.get("choices")
    if isinstance(choices, list) and all(isinstance(choice, Mapping) for choice in choices):
        return [report_of_server(choice) for choice in sorted(choices, key=lambda choice: choice.get("index", 0))]
    return [report_of_server(output)] if "stop_reason" in output else []


class _Batch:
    """An LM's ``_model_generate``, which keeps what the tokens of the last batch say until their texts come by."""

    def __init__(self, lm: Any, generate: Callable[..., Any]) -> None:
        self._lm, self._generate = lm, generate
        self.reports: deque[StopReport] = deque()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        generated = self._generate(*args, **kwargs)
        self.reports = deque(self._reports_of(generated, kwargs))
        return generated

    def _reports_of(self, generated: Any, asked: Mapping[str, Any]) -> Iterable[StopReport]:
        if isinstance(generated, Sequence):
            # Log-likelihoods come from the same method.
            return map(_report_of_engine, generated) if asked.get("generate") else ()
        context, longest = asked.get("context"), asked.get("max_length")
        if context is None or longest is None or not hasattr(generated, "tolist"):
            return ()
        # A causal model's tokens begin with those of its prompt.
        prompt = context.shape[1] if getattr(self._lm, "backend", "causal") == "causal" else 0
        ends, think_end = _ends(self._lm), getattr(self._lm, "think_end_token", None)
        reports = []
        for tokens in (row[prompt:] for row in generated.tolist()):
            # The harness removes reasoning that ends with a token before it makes a text of the rest.
            rest = tokens[len(tokens) - tokens[::-1].index(think_end) :] if think_end in tokens else tokens
            reports.append(report_of_tokens(tokens, longest - prompt, ends, self._lm.tok_decode(rest)))
        return reports


def _ends(lm: Any) -> Collection[int]:
    """Return the tokens with which a transformers model ends by itself."""
    settings = getattr(getattr(lm, "model", None), "generation_config", None)
    ends = [lm.eot_token_id, getattr(settings, "eos_token_id", None)]
    return frozenset(end for of_one in ends for end in listed(of_one) if end is not None)


def _report_of_engine(output: Any) -> StopReport:
    """Return what vLLM or SGLang said of a text."""
    if isinstance(output, Mapping):
        reason = (output.get("meta_info") or {}).get("finish_reason") or {}
        return StopReport(
            reason.get("type", ""), reason.get("matched"), names_matches=True, generated=output.get("text", "")
        )
    (completion,) = output.outputs
    return StopReport(
        completion.finish_reason or "", completion.stop_reason, names_matches=True, generated=completion.text
    )


class _Listener:
    """An LM's ``generate_until``, whose answers to our tasks' requests say how they ended."""

    def __init__(self, lm: Any, generate: Callable[..., list[str]]) -> None:
        self._lm, self._generate = lm, generate

    def __call__(self, requests: Sequence[Instance], *args: Any, **kwargs: Any) -> list[str]:
        refuse_mixed_stops(self._lm, requests)
        hook = _Hook(self._lm, self._lm.cache_hook, requests)
        self._lm.cache_hook = hook
        try:
            texts = self._generate(requests, *args, **kwargs)
        except BaseException:
            log.error(hook.interrupted(len(requests)))  # the harness shows the error
            raise
        finally:
            self._lm.cache_hook = hook.inner
        return [hook.answer(request, text) for request, text in zip(requests, texts, strict=True)]


def _key(prompt: Any) -> Any:
    """Return a prompt as a key: some API models are given lists of messages."""
    return prompt if isinstance(prompt, Hashable) else repr(prompt)


class _Hook:
    """The hook of an LM's cache of responses, by which every text comes when it is generated."""

    def __init__(self, lm: Any, inner: Any, requests: Sequence[Instance]) -> None:
        self._lm, self.inner, self._count = lm, inner, 0
        # Other tasks' requests keep plain texts: what a cache has of them must not need this package.
        self._ours: dict[Any, list[Any]] = {}
        self._truncated: set[Any] = set()
        for request in requests:
            if isinstance(request, KnownInstance):
                prompt, arguments = request.args
                of_prompt = self._ours.setdefault(_key(prompt), [])
                if arguments not in of_prompt:
                    of_prompt.append(arguments)
                    self._truncated |= {_key(prompt)} if truncates(lm, prompt, arguments) else set()
        if self._truncated:
            log.warning(
                "%d of %d prompts do not fit into the model's context of %d tokens together with the new ones: the "
                "harness cuts off their beginnings, so the model is not shown all that it is asked. The samples say "
                "which they are (%s); %s",
                *(len(self._truncated), len(self._ours), lm.max_length, PROMPT_TRUNCATED_RATE, MORE_ROOM),
            )
        # Texts are told apart by identity, with the prompt, because Python has the shortest texts only once.
        self._came_by: defaultdict[tuple[Any, int], deque[Answer]] = defaultdict(deque)
        self._texts: list[str] = []

    def add_partial(self, attr: str, req: Any, res: Any) -> None:
        """Give a text to the cache, with how it ended if it is an answer to one of our tasks' requests."""
        if attr == "generate_until" and isinstance(res, str):
            prompt, arguments, *_ = req
            key = _key(prompt)
            self._count += 1
            answer = self._ended(res, key, arguments)
            if isinstance(answer, Answer) and not isinstance(res, _Reported):
                self._came_by[key, id(res)].append(answer)
                # As long as the text exists, no other has its identity.
                self._texts.append(res)
            res = answer if key in self._ours else str(res)
            # vLLM stores an answer under arguments that it has changed, so that no run finds it again, and SGLang under
            # those of another request.
            asked = self._ours.get(key, ())
            req = (prompt, asked[0]) if len(asked) == 1 else req
        self.inner.add_partial(attr, req, res)

    def interrupted(self, requests: int) -> str:
        """Return what became of the answers of a run that ends early."""
        so_far = f"the run ends after {self._count} of {requests} answers"
        if self.inner.dbdict is None:
            return f"{so_far}, which are lost; --use_cache PATH keeps them, and the same command then goes on with them"
        return (
            f"{so_far}; they are in the cache of --use_cache, and the same command goes on with them, except for "
            "sampled ones (do_sample), which the harness draws anew"
        )

    def answer(self, request: Instance, text: str) -> str:
        """Return the text that an LM returned for a request, with how it ended if the request is one of our tasks'."""
        if not isinstance(request, KnownInstance):
            return str(text) if isinstance(text, _Reported) else text
        if isinstance(text, _Reported):
            return self._ended(text, _key(request.args[0]), request.args[1])
        came_by = self._came_by.get((_key(request.args[0]), id(text)))
        return came_by.popleft() if came_by else text

    def _ended(self, text: str, key: Any, arguments: Mapping[str, Any]) -> str:
        # Of one prompt under two limits of new tokens, both answers count as those to a truncated prompt.
        is_truncated = key in self._truncated
        if isinstance(text, _Reported):
            return Answer(text, ending_by(text.report, stop_strings(arguments)), is_truncated)
        batch = vars(self._lm).get("_model_generate")
        if not isinstance(batch, _Batch) or not batch.reports:
            return Answer(text, prompt_is_truncated=True) if is_truncated else text
        think_end = getattr(self._lm, "think_end_token", None)
        return Answer(text, ending_by(batch.reports.popleft(), stop_strings(arguments), think_end), is_truncated)
