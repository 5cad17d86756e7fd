"""What engines do with requests that a task does not see, or that the harness's own classes for them get wrong.

Each part says when it can go: with which change of the harness.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from lm_eval_ext.endings import MORE_ROOM
from lm_eval_ext.harness.lm import CachingLM

if TYPE_CHECKING:
    from lm_eval_ext.harness.lm import Instance
    from lm_eval_ext.harness.requests import Asking

log = logging.getLogger(f"lm_eval.{__name__}")
"""A child of the harness's own logger, because only that one shows ``INFO`` messages."""
_MESSAGES = [{"role": "user", "content": "A message."}]
LIMITS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""The generation arguments that limit the new tokens; results are read by the first."""


@cache
def warn_once(message: str) -> None:
    """Log a warning once in a run, however many tasks find it out: it is not about one of them alone."""
    log.warning(message)


def check(lm: Any, task: str, asking: Asking, arguments: Mapping[str, Any]) -> None:
    """Check how an engine will treat the requests of a task.

    Args:
        lm: the LM of the run.
        task: the task's name, for messages.
        asking: the prompting options of the run.
        arguments: the generation arguments of the task.

    Raises:
        ValueError: it cannot answer them.
    """
    limits = {name: arguments[name] for name in LIMITS if name in arguments}
    if len(limits) > 1:
        stated = ", ".join(f"{name}={value}" for name, value in limits.items())
        raise ValueError(
            f"task {task!r}: several limits of new tokens, {stated}, of which some engines take the first and some "
            "another; expected max_gen_toks alone: --gen_kwargs max_gen_toks=N"
        )
    lm = _generating_lm(lm)
    room = room_for_prompts(lm, arguments)
    if room is not None and room < 1:
        raise ValueError(
            f"task {task!r}: {arguments['max_gen_toks']} new tokens leave no room for a prompt in a context of "
            f"{lm.max_length} tokens, which is what {_name(lm)} was told or assumes; {MORE_ROOM}"
        )
    payload = _payload(lm, arguments)
    # The harness's API class sends messages if it does not tokenize; only classes for completions are known not to
    # take them.
    if "prompt" in payload and not asking.makes_prompts:
        raise ValueError(
            f"task {task!r}: {_name(lm)} would send conversations, but a server for completions wants a text as its "
            "prompt; let the chat template be applied here (--model_args tokenizer=MODEL,tokenized_requests=True, "
            "without tokenizer_backend=None), or use a server for chat completions (--model local-chat-completions)"
        )
    explain_missing_logprobs(lm)
    asked, sent = asked_temperature(arguments), payload.get("temperature")
    if isinstance(sent, int | float) and sent != asked:
        without = "" if payload.get("stop") or not stop_strings(arguments) else " and no stop strings"
        warn_once(
            f"{_name(lm)} sends temperature {sent:g}{without} to {lm.model!r}, although the run asks for {asked:g}: "
            "its answers are sampled, and another run gives other scores. Reports know this of the run; for several "
            "answers to each row, see --metadata repeats"
        )


def _generating_lm(lm: Any) -> Any:
    """Return the LM that generates the texts: that in a cache of responses, and the base of one that wraps another."""
    while (inner := lm.lm if isinstance(lm, CachingLM) else vars(lm).get("base")) is not None:
        lm = inner
    return lm


def _name(lm: Any) -> str:
    return type(lm).__name__


def _payload(lm: Any, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what an API model would send to its server; empty if that cannot be told."""
    create = getattr(lm, "_create_payload", None) if hasattr(type(lm), "_create_payload") else None
    if create is None:
        return {}
    try:
        payload = create(_MESSAGES, generate=True, gen_kwargs=deepcopy(dict(arguments)))
    except Exception:  # a class of others may do anything; then nothing is known
        return {}
    return payload if isinstance(payload, Mapping) else {}


# Prompts for which there is no room in the context. Models that tokenize prompts here cut off their beginnings, at most
# with a line in the log. API models assume a context of 2,048 tokens unless they are told otherwise, and leave nothing
# of a prompt if the new tokens alone take more (up to 0.5.0.dev1).


TRUNCATING = frozenset({"HFLM", "VLLM", "SGLangLM", "TemplateAPI"})
"""The harness's classes of LMs that are known to do so, with all that derive from them."""


def room_for_prompts(lm: Any, arguments: Mapping[str, Any]) -> int | None:
    """Return how many tokens of a prompt an LM shows to its model, the last ones.

    Args:
        lm: an LM that generates texts.
        arguments: the generation arguments of the prompt.

    Returns:
        The number, not positive if there is room for none; ``None`` if a server is sent whole prompts, or nothing is
        known of the LM.
    """
    new, classes = arguments.get("max_gen_toks"), {of_lm.__name__ for of_lm in type(lm).__mro__}
    if not (classes & TRUNCATING and isinstance(new, int) and getattr(lm, "tokenized_requests", True)):
        return None
    # Encoders have a context of their own.
    taken = 0 if getattr(lm, "backend", "causal") == "seq2seq" else new
    return int(lm.max_length) - taken


def truncates(lm: Any, prompt: Any, arguments: Mapping[str, Any]) -> bool:
    """Return whether an LM would not show its model the beginning of a prompt; see ``room_for_prompts``."""
    room = room_for_prompts(lm, arguments)
    # A token has at least one byte, and there may be one more at the beginning.
    if room is None or not isinstance(prompt, str) or len(prompt.encode()) < room:
        return False
    return len(lm.tok_encode(prompt)) > room


# API models send the temperature whether or not the run asks for sampling, and a chat model of OpenAI whose name
# contains certain characters is sent temperature 1 (up to 0.5.0.dev1). ``results/models.py`` knows both of runs that it
# reads.


def asked_temperature(arguments: Mapping[str, Any]) -> float:
    """Return the temperature that generation arguments ask for; 0 for greedy decoding."""
    temperature = arguments.get("temperature") or 0.0
    is_greedy = arguments.get("do_sample") is False or not isinstance(temperature, int | float)
    return 0.0 if is_greedy else float(temperature)


# Models that think unless they are told not to (Qwen3).

NOT_TO_THINK = "pass --model_args enable_thinking=False, an argument of the model types hf and vllm"
"""How a user tells a model not to think."""


def thinks_unless_told(asking: Asking) -> bool:
    """Return whether a model would think because nothing was said about it: its template without an argument says so.

    False if the user said whether it is to think, if its template knows no such switch, or if a server applies it.
    """
    lm = asking.lm
    given = dict(getattr(lm, "chat_template_args", None) or {})
    if "enable_thinking" in given or getattr(lm, "enable_thinking", None) is not None:
        return False
    render = getattr(getattr(lm, "tokenizer", None), "apply_chat_template", None)
    if render is None:
        return False
    options = {"tokenize": False, "add_generation_prompt": True, **given}
    try:
        unset, without = render(_MESSAGES, **options), render(_MESSAGES, **options, enable_thinking=False)
    except Exception:  # templates raise what they like; the harness reports it when it renders prompts
        return False
    return bool(unset != without) and asking.makes_prompts


def warn_of_thinking(asking: Asking) -> None:
    """Warn, once in a run, of a model that thinks although nobody asked for it."""
    if thinks_unless_told(asking):
        warn_once(
            "the chat template lets the model think unless it is told otherwise, and nothing was said: answers then "
            "begin with reasoning, which takes most of the new tokens. If it is not to think, "
            f"{NOT_TO_THINK}; if it is, enable_thinking=True,think_end_token=</think> and "
            "--gen_kwargs max_gen_toks=4096"
        )


# Servers without log-probabilities of the prompt. The harness reads them without looking whether they are there, and by
# position: of a list that is too short, as llama-cpp-python's server returns it, it adds up too few or none, so that
# every letter has the log-likelihood 0.


def explain_missing_logprobs(lm: Any) -> None:
    """Let an API model say what is wrong if its server returns no log-probabilities, or not those of every token."""
    # Every task of a run asks for it.
    if hasattr(type(lm), "parse_logprobs") and "parse_logprobs" not in vars(lm):
        lm.parse_logprobs = partial(_checked_logprobs, lm, lm.parse_logprobs)


def _checked_logprobs(lm: Any, parse: Callable[..., Any], outputs: Any, tokens: Any = None, **kwargs: Any) -> Any:
    """Return what an API model's ``parse_logprobs`` does, if a server has returned one for each token."""
    try:
        parsed = parse(outputs=outputs, tokens=tokens, **kwargs)
    except (KeyError, TypeError) as error:
        raise ValueError(
            f"the server at {lm.base_url} returns no log-probabilities of its prompts (the fields echo and logprobs of "
            "a request for completions), which tasks with log-likelihoods need, such as paired_mcq; use a server that "
            "does, or a task without them, such as text_mcq"
        ) from error
    # SGLang's own API has another form, without choices.
    choices = [
        choice
        for answer in listed(outputs)
        for choice in sorted(answer.get("choices", ()), key=lambda choice: choice["index"])
    ]
    for choice, prompt in zip(choices, tokens or (), strict=False):
        count = len(choice["logprobs"]["token_logprobs"])
        # The harness has one token generated.
        if count != len(prompt) + 1:
            raise ValueError(
                f"the server at {lm.base_url} returns {count} log-probabilities for a prompt of {len(prompt)} tokens "
                "and the one that it generates, so that they are not where the harness looks for them; use a server "
                "that returns one for each token, or a task without log-likelihoods, such as text_mcq"
            )
    return parsed


# SGLang: the class cuts every answer of a batch at the stop strings of the batch's last request (up to 0.5.0.dev1).


def refuse_mixed_stops(lm: Any, requests: Sequence[Instance]) -> None:
    """Refuse requests with different stop strings if the LM would apply those of one to the answers of all.

    Raises:
        ValueError: there are such; the message names two tasks.
    """
    if _name(lm) != "SGLangLM" or str(lm.batch_size) == "1" or not requests:
        return
    first = requests[0]
    for other in requests:
        stops = [stop_strings(request.args[1]) for request in (first, other)]
        if stops[0] != stops[1]:
            raise ValueError(
                f"--model sglang: tasks {first.task_name!r} and {other.task_name!r} have different stop strings "
                f"({stops[0]} and {stops[1]}), and the harness cuts all answers of a batch at those of its last "
                "request; run them in separate commands, or with --batch_size 1. No text has been generated"
            )


def stop_strings(arguments: Mapping[str, Any]) -> list[str]:
    """Return the stop strings in the generation arguments of a request."""
    stops = arguments.get("until") or []
    return [stops] if isinstance(stops, str) else list(stops)


def listed(value: Any) -> list[Any]:
    """Return what may be one thing or a list of them as a list."""
    return value if isinstance(value, list) else [value]
