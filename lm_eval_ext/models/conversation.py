"""``--model conversation``: any chat LM of the harness, in conversations with its own answers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lm_eval_ext.harness.requests import KnownInstance, TurnsInstance
from lm_eval_ext.models.wrapping import WrappingLM, messages_by
from lm_eval_ext.turns import Play, Turns, play
from lm_eval_ext.verifiers import without_reasoning

if TYPE_CHECKING:
    from lm_eval_ext.harness.lm import Instance

log = logging.getLogger("lm_eval.models.conversation")
"""A child of the harness's logger, because the harness shows no other progress messages."""


class ConversationLM(WrappingLM):
    """An LM that answers a message, then the next one about its own answer, and so on.

    One call of the base LM for each turn of all rows, so that it can batch them as it sees fit. Later turns show the
    answers without their reasoning, as chat templates do. All requests have the row's generation arguments and the
    run's system instruction, and use the base LM's chat template.

    Args:
        base: the name of a model in the harness (``hf``, ``vllm``, ``local-chat-completions``, …), or an LM object.
        arguments: all other arguments, passed to the base LM.

    Raises:
        ValueError: the base is missing or unknown; a request is from a task without further messages (raised before
            the base LM is asked for any answer); or another model filled the cache of responses.
    """

    NAME = "conversation"
    PURPOSE = "to converse with, and its arguments, as in --model_args base=hf,pretrained=MODEL"
    CONFIGURED_BY = "kind of wrapper"
    takes_turns = True

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[Turns]:
        """Return the last answer to each request, in order, with all answers."""
        why = "Only the tasks of the conversation family and ifbench_two_turns have them"
        rows = self.require_kind(TurnsInstance, requests, "further messages", why)

        def ask(step: str, questions: Sequence[Instance]) -> list[str]:
            log.info("%s, %s: %d requests", self.NAME, step, len(questions))
            return self.texts_of(questions)

        return play(map(self._conversation, rows), ask)

    def _conversation(self, request: TurnsInstance) -> Play[Instance, Turns]:
        # The base LM knows nothing of what follows.
        question = KnownInstance.of(request, request.known_answers, arguments=request.arguments[:2])
        messages = messages_by("system", request.system)
        answers: list[str] = []
        for number, message in enumerate(request.messages):
            messages += messages_by("user", message)
            if number:
                question = self.asking(request, messages, request.then[number - 1])
            answers += yield f"turn {number + 1}", [question]
            messages += messages_by("assistant", without_reasoning(answers[-1]))
        return Turns(*answers)


class TwoTurnsLM(ConversationLM):
    """The same under its former name."""

    NAME = "two_turns"
