"""``--model reference``: an LM with known answers, so that the exact score of a task is known in advance.

It needs neither weights nor torch. Each request carries possible answers (``known_answers``); a policy picks one.
"""

from __future__ import annotations

import difflib
import random
from typing import TYPE_CHECKING, Any

from lm_eval_ext.endings import ITSELF, Answer
from lm_eval_ext.floors import CONTENT_FREE_ANSWERS
from lm_eval_ext.harness.lm import PASSED_TO_EVERY_LM, LMWithoutWeights, with_draws
from lm_eval_ext.harness.requests import KnownInstance, answer_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lm_eval_ext.harness.lm import Instance

CERTAIN = 0.0
"""Log-likelihood, in nats, of the known answer."""
UNLIKELY = -100.0
"""Log-likelihood, in nats, of any other continuation."""
POLICIES = (
    # All families.
    *("oracle", "constant", *CONTENT_FREE_ANSWERS),
    # verbalizer, manyifeval and ifbench.
    *("prior", "random", "first_wording", "drop_one", "ignore", "ignore_system"),
    # manyifeval_dense.
    *("first_half", "other_form", "first_sections", "break_all"),
    # hierarchy.
    *("last", "user", "system", "document"),
    *("forgets_after_2", "forgets_after_4", "forgets_after_8", "forgets_after_12"),
    # paired_mcq.
    *("chatty", "refuser", "always_a"),
)
"""The policies of this package's tasks, so that a misspelt one is refused before anything is loaded."""


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
        ValueError: there is no such argument, or ``policy`` is a misspelling of one of ``POLICIES``; on the first
            request without an answer for ``policy``. A task of
            your own may have further policies.
    """

    tokenizer_name = "reference"

    def __init__(self, policy: str = "oracle", seed: int | str = 0, **others: Any) -> None:
        super().__init__()
        if unknown := [name for name in others if name not in PASSED_TO_EVERY_LM]:
            hint = _near(unknown[0], ("policy", "seed"))
            raise ValueError(f"--model reference: no argument {unknown[0]!r}; {hint or 'expected policy or seed'}")
        if policy not in POLICIES and (hint := _near(policy, POLICIES)):
            raise ValueError(f"--model reference: no policy {policy!r}; {hint}")
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


def _near(written: str, known: Sequence[str]) -> str:
    """Return the question for what may be meant; empty if nothing resembles what is written."""
    similar = difflib.get_close_matches(written, known, n=1, cutoff=0.8)
    return f"did you mean {similar[0]!r}?" if similar else ""
