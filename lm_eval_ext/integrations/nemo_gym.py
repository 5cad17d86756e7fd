"""A resources server of NeMo Gym: an ``app.py`` of the user's imports ``InstructionServer`` and runs it."""

# No postponed annotations: NeMo Gym wraps verify() in a function of another module, where FastAPI cannot resolve them.

import asyncio
from dataclasses import replace
from typing import Any, ClassVar

try:
    from nemo_gym import base_resources_server as gym
    from pydantic import ConfigDict
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(f"this needs NeMo Gym ({error}): pip install nemo-gym") from error

from lm_eval_ext.integrations.rewards import Rewarding, broken
from lm_eval_ext.integrations.rows import named
from lm_eval_ext.verifiers import Edition

_SHAPES: dict[Any, Any] = {"binary": "all", "fraction": "share"}
"""By NeMo Gym's grading mode."""


class InstructionServerConfig(gym.BaseResourcesServerConfig):
    """How responses are judged, as in ``Rewarding``: options of the server in its YAML file."""

    REVERIFY_MODE: ClassVar[Any] = gym.ReverifyMode.STATELESS
    edition: Edition = "faithful"
    loose: bool = False
    strip_reasoning: bool = True
    allow_test_instructions: bool = False


class InstructionVerifyRequest(gym.BaseVerifyRequest):
    """A rollout: ``verifier_metadata``, or the row itself, has the instructions, ``prompt`` and ``grading_mode``."""

    model_config = ConfigDict(extra="allow")
    verifier_metadata: dict[str, Any] = {}  # noqa: RUF012 # pydantic copies it


class InstructionVerifyResponse(gym.BaseVerifyResponse):
    """Its reward. ``mask_sample`` says that the row cannot be judged: NeMo Gym counts and trains on none such."""

    model_config = ConfigDict(extra="allow")
    follow_all_instructions: bool | None
    follow_instruction_list: list[bool]
    mask_sample: bool
    failure_kind: str | None
    failure_reason: str | None


class InstructionServer(gym.SimpleResourcesServer):
    """Verifies rollouts. It keeps nothing of a session, so recorded rollouts can be verified again."""

    config: InstructionServerConfig

    async def verify(self, body: InstructionVerifyRequest) -> InstructionVerifyResponse:
        """Return the reward of a rollout's last message: by ``grading_mode``, all or nothing, or the share."""
        # In a thread: connections are taken, and the server says that it lives, while a long answer is judged.
        return await asyncio.to_thread(self._verified, body)

    def _verified(self, body: InstructionVerifyRequest) -> InstructionVerifyResponse:
        row = {**(body.model_extra or {}), **body.verifier_metadata}
        options = self.config.model_dump(include={"edition", "loose", "strip_reasoning", "allow_test_instructions"})
        rewarding = Rewarding(**options)
        prompt, mode = row.get("prompt"), row.get("grading_mode") or "binary"
        where = named(f"row {row.get('id', 'without an id')}", prompt)
        content = [part for item in body.response.output[-1:] for part in getattr(item, "content", None) or ()]
        text = "".join(part.text for part in content if hasattr(part, "text"))
        try:
            rewarded = replace(rewarding, shape=_SHAPES.get(mode, mode)).rewarded(text, row, where, prompt)
        except (TypeError, ValueError) as error:
            rewarded = broken(f"{where}: grading_mode: {error}")
        is_broken = rewarded.score is None
        fields = {
            "reward": rewarding.paid(rewarded),
            "follow_all_instructions": rewarded.verdict.follow_all_instructions if rewarded.verdict else None,
            "follow_instruction_list": list(rewarded.verdict.follow_instruction_list) if rewarded.verdict else [],
            "mask_sample": is_broken,
            "failure_kind": "verifier_error" if is_broken else None,
            "failure_reason": rewarded.error or None,
            **rewarding.parts(rewarded),
        }
        return InstructionVerifyResponse(**{**body.model_dump(), **fields})
