"""The metrics and facts in the results of the tasks on conflicting instructions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from lm_eval_ext.families.schema import EMPTY_RATE, PROMPT_TRUNCATED_RATE, TRUNCATED_RATE, Metric, Schema

TURNS, SLIPPED = "turns", "slipped"
"""Facts of conversations with earlier turns alone: the number of requests, the last one included, and whether the last
scripted reply breaks the instruction."""
Side = Literal["own", "rival"]
"""The instruction that counts, or the other one."""
Place = Literal["system", "earlier", "user", "document", "tool"]
"""Where an instruction is stated, in the order of a conversation: in the system message; in a turn of the user's before
the last, for all responses; in the last turn, below the task; in a document that the user quotes there; in a tool's
output."""


@dataclass(frozen=True)
class Stated:
    """What an arm states.

    Attributes:
        places: which of a row's two instructions is stated where. What counts: the system message before the user, the
            user before what is only quoted or returned by a tool, and of the user's turns the last.
        in_words: the arm, as a reader is told of it; what counts is named first.
        alone: the arm that states what counts at the same place, without its rival; empty where there is no rival.
    """

    places: Mapping[Place, Side]
    in_words: str
    alone: str = ""


ARMS: Mapping[str, Stated] = {
    "system": Stated({"system": "own"}, "system message alone"),
    "user": Stated({"user": "own"}, "user alone"),
    "aligned": Stated({"system": "own", "user": "own"}, "both say the same"),
    "system_user": Stated({"system": "own", "user": "rival"}, "system message against user", "system"),
    "user_later": Stated({"earlier": "rival", "user": "own"}, "user against an earlier turn", "user"),
    "document": Stated({"user": "own", "document": "rival"}, "user against a document", "user"),
    "tool": Stated({"user": "own", "tool": "rival"}, "user against a tool's output", "user"),
}
ALONE: Mapping[str, str] = {arm: stated.alone for arm, stated in ARMS.items() if stated.alone}
"""By arm with a conflict, the arm that states the instruction that counts at the same place, without its rival. On the
same row, the difference of the two is what the conflict costs."""

OBEYS = Metric("obeys", higher_is_better=True)

SCHEMA = Schema(
    metrics=(
        OBEYS,
        Metric("obeys_rival", higher_is_better=False),
        Metric("neither", higher_is_better=False),
        EMPTY_RATE,
        replace(TRUNCATED_RATE, explains=OBEYS.name),
        PROMPT_TRUNCATED_RATE,
        Metric("obeys_repaired", higher_is_better=True, explains=OBEYS.name),
        Metric("obeys_rival_repaired", higher_is_better=False, explains="obeys_rival"),
        Metric("both", higher_is_better=False, explains=OBEYS.name),
    ),
    headlines=(OBEYS,),
    # arm: where the instruction that counts and its rival are stated (``ARMS``).
    facts={"arm": "text"},
    levels=("arm", TURNS, SLIPPED),
    values={"arm": (*ARMS,)},
    # The two rows of a task prompt are not independent.
    row_key="row",
    sizes={
        f"hierarchy_({'|'.join(ARMS)}|turns_.*)": (50, 2),
        "release_check_hierarchy": (50, 8),
    },
)
