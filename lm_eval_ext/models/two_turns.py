"""``--model two_turns``: any chat LM of the harness, asked twice: the prompt, then the instruction (IFBench)."""

from __future__ import annotations

import logging
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from lm_eval_ext.families.ifbench.rows import Turns
from lm_eval_ext.families.ifbench.task import TwoTurnsInstance
from lm_eval_ext.harness.requests import KnownInstance
from lm_eval_ext.models.wrapping import WrappingLM
from lm_eval_ext.verifiers import without_reasoning

if TYPE_CHECKING:
    from lm_eval_ext.harness.lm import LM, Instance

NAME = "two_turns"

log = logging.getLogger(f"lm_eval.models.{NAME}")
"""A child of the harness's logger, because the harness shows no other progress messages."""


class TwoTurnsLM(WrappingLM):
    """An LM that answers a prompt, and then a second message about its own answer.

    Two calls of the base LM for all rows, so that it can batch them as it sees fit. The conversation that the second
    one shows has the first answer without its reasoning, as chat templates show earlier answers. Both requests have the
    row's generation arguments and the run's system instruction, and use the base LM's chat template.

    Args:
        base: the name of a model in the harness (``hf``, ``vllm``, ``local-chat-completions``, …), or an LM object.
        arguments: all other arguments, passed to the base LM.

    Raises:
        ValueError: the base is missing or unknown; a request is from a task without second messages (raised before the
            base LM is asked for any answer); or another model filled the cache of responses.
    """

    NAME = NAME
    PURPOSE = "to ask twice, and its arguments, as in --model_args base=hf,pretrained=MODEL"
    CONFIGURED_BY = "kind of wrapper"
    takes_two_turns = True

    def __init__(self, base: str | LM | None = None, **arguments: Any) -> None:
        super().__init__(base, arguments)

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[Turns]:
        """Return the last answer to each request, in order, with the first one."""
        why = "Only ifbench_two_turns has them"
        asked = self.of_kind(TwoTurnsInstance, requests, "a second message", why)
        log.info("%s, first message: %d requests", NAME, len(asked))
        first = self.texts_of(asked)
        log.info("%s, second message: %d requests", NAME, len(asked))
        second = []
        for request, reply in zip(asked, first, strict=True):
            messages = [
                *([{"role": "system", "content": request.system}] if request.system else []),
                {"role": "user", "content": request.row.prompt},
                {"role": "assistant", "content": without_reasoning(reply)},
                {"role": "user", "content": request.row.second},
            ]
            arguments = self.base.apply_chat_template(messages), deepcopy(request.arguments[1])
            second.append(KnownInstance.of(request, request.then, arguments=arguments))
        return [Turns(*replies) for replies in zip(first, self.texts_of(second), strict=True)]
