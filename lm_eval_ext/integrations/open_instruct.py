"""A verifier of open-instruct, which knows every direct subclass of its ``VerifierFunction`` that was imported."""

from __future__ import annotations

from typing import Any, ClassVar

try:
    from open_instruct.ground_truth_utils import VerificationResult, VerifierConfig, VerifierFunction
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"this needs open-instruct ({error}): start in a checkout of it") from error

from lm_eval_ext.integrations.rewards import Rewarding
from lm_eval_ext.integrations.rows import labelled, named

_ANSWER = "<answer>"


class InstructionVerifier(VerifierFunction):
    """Rewards rows whose ``dataset`` is ``lm_eval_ext``, or those of ``ifeval`` with ``--remap_verifier``.

    Attributes:
        rewarding: how responses are rewarded; set it on the class before the training starts.
    """

    rewarding: ClassVar[Rewarding] = Rewarding()

    def __init__(self, verifier_config: VerifierConfig | None = None) -> None:
        super().__init__("lm_eval_ext", weight=1.0, verifier_config=verifier_config)

    def __call__(
        self,
        tokenized_prediction: list[int],
        prediction: str,
        label: Any,
        query: str | None = None,
        rollout_state: dict[str, Any] | None = None,
    ) -> VerificationResult:
        """Return the reward of a response as ``score``, and as ``reasoning`` what is not followed.

        Args:
            tokenized_prediction: not used.
            prediction: the response; tags around its answer, ``<answer>``, are removed, as by open-instruct's own.
            label: the row's instructions, as in ``labelled``.
            query: the prompt.
            rollout_state: not used.
        """
        if _ANSWER in prediction:
            prediction = prediction.replace(_ANSWER, "").replace("</answer>", "").strip()
        rewarded = self.rewarding.rewarded(prediction, labelled(label), named("row", query), query)
        reasoning = f"broken: {rewarded.error}" if rewarded.error else f"not followed: {', '.join(rewarded.missed)}"
        return VerificationResult(score=self.rewarding.paid(rewarded), reasoning=reasoning)
