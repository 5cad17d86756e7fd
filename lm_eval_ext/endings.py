"""How a generated answer ended, and whether its prompt lost its beginning because the context had no room for it.

An answer ends by itself, by a stop string, or at the limit of new tokens, where it is cut off. One that was cut off is
scored like any other, and mostly as wrong. The harness keeps no more than its text, which does not say how it ended: a
stop string has been removed, and so has the token with which a model ends. What the engine said of a text is therefore
taken from it where it is generated (``harness/endings.py``) and travels with the text. Where no engine said anything,
the ending is unknown; it is not guessed from the text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Ended = Literal["itself", "stop", "limit", "unknown"]
"""How an answer ended: the model ended it, a stop string did, the limit of new tokens did, or nothing tells."""
ITSELF: Ended = "itself"
STOP: Ended = "stop"
LIMIT: Ended = "limit"
UNKNOWN: Ended = "unknown"

ENDED = "ended"
"""Where the samples say how an answer ended: a text, or one for each draw of a row."""
TRUNCATED_RATE = "truncated_rate"
"""The metric: the share of answers that are known to have ended at the limit."""
PROMPT_TRUNCATED_RATE = "prompt_truncated_rate"
"""The metric: the share of answers to prompts that lost their beginnings; only a run with such prompts has it."""
MORE_ROOM = (
    "give fewer new tokens (--gen_kwargs max_gen_toks=N) or, if the model has it, a longer context (max_length=N in "
    "--model_args)"
)
"""What to do about such prompts."""

_WORDS: Mapping[str, Ended] = {
    # Of the OpenAI-compatible servers, vLLM and SGLang.
    "length": LIMIT,
    # Of Anthropic, Mistral, and Text Generation Inference.
    "max_tokens": LIMIT,
    "model_length": LIMIT,
    "end_turn": ITSELF,
    "eos_token": ITSELF,
    "stop_sequence": STOP,
}
"""What engines say, but for ``stop``, which most say of two things."""
_EITHER = "stop"


class Answer(str):
    """A generated text that says how it ended.

    The harness treats it as an ordinary string, and so does a cache of responses, from which it returns with its
    ending; a filter that builds a new string from it loses the ending.

    Attributes:
        ended: how it ended.
        prompt_is_truncated: whether the model was not shown the beginning of its prompt.
    """

    __slots__ = ("ended", "prompt_is_truncated")

    ended: Ended
    prompt_is_truncated: bool

    def __new__(cls, text: str, ended: Ended = UNKNOWN, prompt_is_truncated: bool = False) -> Answer:
        """Return the text with what is known of it, which unpickling gives it afterwards."""
        answer = super().__new__(cls, text)
        answer.ended, answer.prompt_is_truncated = ended, prompt_is_truncated
        return answer


def ending_of(response: object) -> Ended:
    """Return how a response ended; unknown if it does not say."""
    ended: Ended = getattr(response, "ended", UNKNOWN)
    return ended


def has_truncated_prompt(response: object) -> bool:
    """Return whether a response is known to answer a prompt that lost its beginning."""
    return bool(getattr(response, "prompt_is_truncated", False))


@dataclass(frozen=True)
class StopReport:
    """What an engine said of a text that it generated.

    Attributes:
        word: why it stopped, in its own words; empty if it did not say.
        matched: the stop string or the token at which it stopped; ``None`` if it was neither.
        names_matches: whether the engine names what it stopped at. If not, ``stop`` can mean two things.
        generated: the text before the harness cuts it at stop strings; empty if only the engine does that.
    """

    word: str
    matched: str | int | None = None
    names_matches: bool = False
    generated: str = ""


def ending_by(report: StopReport, stops: Iterable[str], think_end: object = None) -> Ended:
    """Return how an answer ended.

    Args:
        report: what the engine said of it.
        stops: the stop strings of its request. Those that are written like a special token, such as
            ``<|endoftext|>``, are how a model ends by itself.
        think_end: what ends the reasoning of a model if the harness removes it (``think_end_token``), before it cuts
            the text at stop strings.
    """
    strings = [stop for stop in stops if stop and not (stop.startswith("<") and stop.endswith(">"))]
    answer = report.generated
    if isinstance(think_end, str) and think_end:
        answer = answer.rpartition(think_end)[2]
    if any(stop in answer for stop in strings):
        # In a batch, a model goes on after a stop string until the others are done; only then is the text cut.
        return STOP
    if report.word != _EITHER:
        return _WORDS.get(report.word, UNKNOWN)
    if report.names_matches:
        return STOP if report.matched in strings else ITSELF
    # Most servers say the same of both. A request without stop strings cannot have ended at one.
    return STOP if strings else ITSELF


def report_of_tokens(tokens: Sequence[int], limit: int, ends: Collection[int], generated: str) -> StopReport:
    """Return what the tokens of an answer say.

    Args:
        tokens: all that were generated, and whatever pads them to the length of their batch.
        limit: the most that the request allows.
        ends: the tokens with which the model ends by itself.
        generated: the text of the tokens.
    """
    if any(token in ends for token in tokens):
        return StopReport("eos_token", generated=generated)
    # Besides these tokens and the limit, only stop strings end a generation, also those that the text does not show.
    return StopReport("length" if len(tokens) >= limit else "stop_sequence", generated=generated)


def report_of_server(choice: Mapping[str, Any]) -> StopReport:
    """Return what a server said of one of the texts in its response.

    Args:
        choice: an entry of ``choices``, or a whole response with a single text (Anthropic). vLLM and SGLang add what
            they stopped at.
    """
    said = choice.get("finish_reason", choice.get("stop_reason"))
    word = said.lower() if isinstance(said, str) else ""
    for names in ("stop_reason", "matched_stop"):
        if "finish_reason" in choice and names in choice:
            return StopReport(word, choice[names], names_matches=True)
    return StopReport(word)
