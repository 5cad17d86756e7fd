"""A request that carries its row, so that an LM can go on with the second message (``models/two_turns.py``)."""

from __future__ import annotations

from dataclasses import dataclass, field

from lm_eval_ext.families.ifbench.rows import IFBenchRow
from lm_eval_ext.harness.known_answers import KnownAnswers, KnownInstance


@dataclass
class TwoTurnsInstance(KnownInstance):
    """A request with the first message of a conversation.

    Attributes:
        row: the row of the request.
        system: the system prompt: the user's system instruction and the task's description; empty if there are none.
        then: the known answers to the second message.
    """

    row: IFBenchRow = field(kw_only=True)
    system: str = field(kw_only=True)
    then: KnownAnswers = field(kw_only=True)
