"""``--model self_refine``: any LM of the harness, refining its own answers (Curse of Instructions, section 5)."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from lm_eval_ext.families.manyifeval.answers import RowInstance, judgments, repaired_answers
from lm_eval_ext.families.manyifeval.schema import PUBLISHED
from lm_eval_ext.harness.lm import LM, Instance
from lm_eval_ext.harness.requests import KnownInstance
from lm_eval_ext.models.wrapping import WrappingLM, messages_by
from lm_eval_ext.self_refine.loop import First, Question, Revise, refine
from lm_eval_ext.self_refine.strategies import (
    ARGUMENTS,
    DEFAULT,
    NAME,
    ROUNDS,
    STRATEGIES,
    VERSION,
    reply,
    strategy_named,
)

if TYPE_CHECKING:
    from lm_eval_ext.self_refine.loop import Refined

INSTRUCTIONS_OF = (
    "Refinement uses the instructions of the manyifeval tasks, so only their answers can be refined; dense tasks do "
    "not count, because their reports are scored as a whole"
)
_VERSION = {f"{NAME}_version": VERSION}

log = logging.getLogger(f"lm_eval.models.{NAME}")
"""A child of the harness's logger, because the harness shows no other progress messages."""


class SelfRefineLM(WrappingLM):
    """An LM that answers, judges its answer and revises it; everything but ``generate_until`` is left to the base LM.

    Args:
        base: the name of a model in the harness (``hf``, ``vllm``, ``local-chat-completions``, …), or an LM object.
        strategy: how an answer is refined, named as in section 5:

            * ``none``: no refinement (zero-shot);
            * ``without_feedback``: the model is shown its answer and all instructions;
            * ``feedback``: the model judges all instructions at once, then revises what it judged broken;
            * ``feedback_cot``: the same, after step-by-step reasoning (the other judge of Figure 9, appendix E);
            * ``feedback_each``: the model judges each instruction in a separate prompt;
            * ``feedback_each_cot``: the same, after step-by-step reasoning (the paper's method);
            * ``oracle``: the verifiers judge;
            * ``all_false``: every instruction is reported as broken.
        rounds: the maximum number of rounds of judging and revising (5 in the paper).
        early_stop: whether an answer is final once its instructions are all judged followed. Otherwise it is kept, but
            judged again in every remaining round, and these judgments count, too.
        arguments: all other arguments, passed to the base LM.

    A judgment that cannot be parsed counts as "not followed": only an explicit verdict exempts an instruction. The
    share of such judgments is reported (``feedback_unparsable``).

    Every request has the row's generation arguments (greedy, as in the paper, unless ``--gen_kwargs`` says otherwise),
    the run's system instruction and, if the run applies it, the base LM's chat template.

    Raises:
        ValueError: the base is missing or unknown, the strategy is unknown, ``rounds`` or ``early_stop`` is invalid, or
            an argument looks like a misspelling of one of these; a request is not from a manyifeval task,
            or is from a dense one (raised before the base LM is asked for any answer); or another model or strategy
            filled the cache of responses.
    """

    NAME = NAME
    PURPOSE = (
        "whose answers to refine, and its arguments, as in "
        f"--model_args base=hf,pretrained=MODEL,strategy={DEFAULT},rounds=5"
    )
    CONFIGURED_BY = "strategy"

    def __init__(
        self,
        base: str | LM | None = None,
        strategy: str | None = DEFAULT,
        rounds: int | str = ROUNDS,
        early_stop: bool | str = True,
        **arguments: Any,
    ) -> None:
        try:
            chosen = strategy_named(strategy)
        except ValueError as error:
            raise ValueError(f"--model {NAME}: {error}") from None
        for name in arguments:
            # A base LM that accepts any argument would silently ignore a misspelt one of ours.
            if close := difflib.get_close_matches(name, ARGUMENTS, n=1, cutoff=0.8):
                raise ValueError(f"--model {NAME}: no argument {name!r}; did you mean {close[0]!r}?")
        number = str(rounds)
        if not (number.isascii() and number.isdigit() and int(number)):
            raise ValueError(
                f"--model {NAME}: rounds={rounds!r} is not a whole number of 1 or more, as in rounds=5; for no "
                "refinement use strategy=none"
            )
        # The harness reads true and false in --model_args as Python's; a mapping may have them as text.
        stops = {"true": True, "false": False}.get(str(early_stop).lower())
        if stops is None:
            raise ValueError(
                f"--model {NAME}: early_stop={early_stop!r}; expected true or false, as in early_stop=false"
            )
        self.strategy, self.rounds, self.early_stop = STRATEGIES[chosen], int(number), stops
        super().__init__(base, **arguments)
        own = {"strategy": chosen, "rounds": self.rounds, "early_stop": self.early_stop}
        self.model_arguments = {**self.model_arguments, **own, **_VERSION}

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[Refined]:
        """Return the last answer to each request, in order, with its rounds."""
        rows = self.require_kind(RowInstance, requests, "instructions", INSTRUCTIONS_OF)
        placed = next((row.placement for row in rows if row.placement != PUBLISHED), None)
        if placed is not None:
            raise ValueError(
                f"--model {NAME}: placement {placed!r}; its judges and revisions show the instructions after the task, "
                "as the first prompt must, too. Remove placement from --metadata"
            )

        def ask(step: str, questions: Sequence[Question]) -> list[str]:
            rows_sent = {question.row for question in questions}
            log.info("%s, %s: %d requests for %d rows", NAME, step, len(questions), len(rows_sent))
            return self.texts_of([self._request(rows[question.row], question) for question in questions])

        return refine([request.row for request in rows], self.strategy, self.rounds, ask, early_stop=self.early_stop)

    def _request(self, request: RowInstance, question: Question) -> Instance:
        """Return the request with a question, which the base LM is shown as the harness shows it the row's prompt."""
        if isinstance(question, First):
            return request
        if isinstance(question, Revise):
            answers = repaired_answers(request.row, question.broken)
        else:
            answers = judgments(
                request.row, question.answer, question.instructions, lambda verdicts: reply(verdicts, self.strategy)
            )
        system, prompt = request.system, question.prompt
        if request.chat:
            return self.asking(request, [*messages_by("system", system), *messages_by("user", prompt)], answers)
        return KnownInstance.of(request, answers, arguments=(system + prompt, deepcopy(request.arguments[1])))

    def get_model_info(self) -> dict[str, Any]:
        """Return what the harness writes to the results: the base LM's description and the version of our prompts."""
        return {**super().get_model_info(), **_VERSION}
