"""``--model reference``: an LM with known answers, so that the exact score of a task is known in advance.

It needs neither weights nor torch. Each request carries possible answers (``known_answers``); a policy picks one.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from lm_eval_ext.endings import ITSELF, Answer
from lm_eval_ext.harness.lm import PASSED_TO_EVERY_LM, LMWithoutWeights, with_draws
from lm_eval_ext.harness.requests import KnownInstance, answer_of

if TYPE_CHECKING:
    from lm_eval_ext.harness.lm import Instance

CERTAIN = 0.0
"""Log-likelihood, in nats, of the known answer."""
UNLIKELY = -100.0
"""Log-likelihood, in nats, of any other continuation."""


class ReferenceLM(LMWithoutWeights):
    """Answers every request of this package's tasks according to its policy.

    Args:
        policy: selects one of the answers that a request carries. Every family has ``oracle`` (does what the prompt
            says); the other policies are specific to a family, for example ``prior`` and ``random`` for the verbalizer
            tasks.
        seed: the seed of the draw if a policy has several answers. A draw depends only on the seed, the task, the row
            and, if the row is answered several times, the number of the draw; not on batches, order or the number of
            processes.
        others: arguments that the harness passes to every LM (``PASSED_TO_EVERY_LM``), which are ignored. Any other is
            an error.

    Raises:
        ValueError: there is no such argument; on the first request without an answer for ``policy``. A task of your
            own may have further policies.
    """

    tokenizer_name = "reference"

    def __init__(self, policy: str = "oracle", seed: int | str = 0, **others: Any) -> None:
        super().__init__()
        if unknown := [name for name in others if name not in PASSED_TO_EVERY_LM]:
            raise ValueError(f"--model reference: no argument {unknown[0]!r}; expected policy or seed")
        self.policy = policy
        try:
            self.seed = int(str(seed))
        except ValueError:
            raise ValueError(f"--model reference: seed={seed!r} is not a whole number, as in seed=0") from None

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """Return one text per request, in their order."""
        # A known answer is a whole one, whatever the limit.
        return [Answer(self._answer(request, draw), ITSELF) for request, draw in with_draws(requests)]

    def loglikelihood(self, requests: list[Instance], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """Return, per request, ``(CERTAIN, True)`` for the known answer and ``(UNLIKELY, False)`` for any other."""
        scores = []
        for request in requests:
            _, continuation = request.args
            is_answer = continuation.strip() == self._answer(request).strip()
            scores.append((CERTAIN if is_answer else UNLIKELY, is_answer))
        return scores

    def loglikelihood_rolling(self, requests: list[Instance], disable_tqdm: bool = False) -> list[float]:
        """Raise an error, because the likelihood of a text is not known."""
        raise NotImplementedError("the reference model supports only generate_until and loglikelihood tasks")

    def _answer(self, request: Instance, number: int = 0) -> str:
        answers = request.known_answers if isinstance(request, KnownInstance) else {}
        if self.policy not in answers:
            wrong = (
                f"has no policy {self.policy!r}; expected one of {', '.join(sorted(answers))}"
                if answers
                else "has no known answers; the reference model supports only the tasks of lm-eval-ext"
            )
            raise ValueError(f"--model reference: task {request.task_name!r} {wrong}")
        where = f"--model reference: task {request.task_name!r}, row {request.doc_id}"
        answer = answer_of(answers, self.policy, where)
        if isinstance(answer, str):
            return answer
        key = f"{self.seed}/{request.task_name}/{request.doc_id}" + (f"/{number}" if number else "")
        draw = random.Random(key)  # noqa: S311 # reproducible by design
        return draw.choice(answer)
