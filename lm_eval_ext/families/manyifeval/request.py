"""A request that carries its row, so that an LM can ask further questions about it (``models/self_refine.py``)."""

from __future__ import annotations

from dataclasses import dataclass, field

from lm_eval_ext.families.manyifeval.instruction_row import InstructionRow
from lm_eval_ext.families.manyifeval.placement import PUBLISHED, Placement
from lm_eval_ext.harness.requests import KnownInstance


@dataclass(frozen=True)
class Shown:
    """How a run shows its prompts to the model.

    Attributes:
        system: the system prompt: the user's system instruction and the task's description; empty if there are none.
        chat: whether the model's chat template is applied.
        placement: where the instructions are stated.
    """

    system: str = ""
    chat: bool = False
    placement: Placement = PUBLISHED


@dataclass
class RowInstance(KnownInstance):
    """A request of a ManyIFEval task.

    Attributes:
        row: the row of the request.
        shown: how prompts are shown to the model.
    """

    row: InstructionRow = field(kw_only=True)
    shown: Shown = field(kw_only=True)
