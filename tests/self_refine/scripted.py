"""A base LM with scripted replies, and rows to ask it about."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM

from lm_eval_ext.families.manyifeval.answers import RowInstance, known_answers
from lm_eval_ext.families.manyifeval.rows import InstructionRow, prompt_of
from lm_eval_ext.verifiers import instructions_of
from tests.across_versions import plain_instance

TASK = "Describe the sea."
NO_COMMAS = "In your entire response, refrain from the use of any commas."
QUOTED = "Wrap your entire response with double quotation marks."
FIRST_PROMPT = f"{TASK}\n\nYour response should follow the instructions below:\n- {NO_COMMAS}\n- {QUOTED}"

Reply = Callable[[str], str]


class ScriptedLM(LM):  # type: ignore[misc] # the harness ships no types
    """Replies to each prompt as a function says, or one reply after the other; keeps what is asked, call by call."""

    tokenizer_name = "scripted"

    def __init__(self, replies: Reply | Iterable[str]) -> None:
        super().__init__()
        if callable(replies):
            self.reply = replies
        else:
            remaining = iter(replies)
            self.reply = lambda _prompt: next(remaining)
        self.calls: list[list[str]] = []
        self.asked: list[Instance] = []

    def generate_until(self, requests: list[Instance]) -> list[str]:
        self.calls.append([request.args[0] for request in requests])
        self.asked += requests
        return [self.reply(prompt) for prompt in self.calls[-1]]

    def loglikelihood(self, requests: list[Instance]) -> list[Any]:
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:
        end = "|answer:" if add_generation_prompt else ""
        return "|".join(f"<{message['role']}>{message['content']}" for message in chat_history) + end


def row(task: str = TASK) -> InstructionRow:
    """Return a row with two instructions: no commas, and quotation marks around everything."""
    instructions = instructions_of(["punctuation:no_comma", "startend:quotation"], [{}, {}])
    return InstructionRow(1, task, prompt_of(task, instructions), instructions)


def request(of: InstructionRow | None = None) -> RowInstance:
    """Return the harness's request for a row."""
    of = of or row()
    arguments = (of.prompt, {"until": ["<|endoftext|>"], "do_sample": False})
    plain = plain_instance("generate_until", {"prompt": of.prompt}, arguments, task="manyifeval_n02")
    return RowInstance.of(plain, known_answers(of), row=of)
