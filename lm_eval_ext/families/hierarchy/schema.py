"""The metrics and facts in the results of the tasks on conflicting instructions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lm_eval_ext.families.schema import EMPTY_RATE, TRUNCATED_RATE, Metric, Schema

TURNS, SLIPPED = "turns", "slipped"
"""Facts of conversations with earlier turns alone: the number of requests, the last one included, and whether the last
scripted reply breaks the instruction."""
ALONE: Mapping[str, str] = {"system_user": "system", "user_later": "user", "document": "user", "tool": "user"}
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
        Metric("obeys_repaired", higher_is_better=True, explains=OBEYS.name),
        Metric("obeys_rival_repaired", higher_is_better=False, explains="obeys_rival"),
        Metric("both", higher_is_better=False, explains=OBEYS.name),
    ),
    headlines=(OBEYS,),
    # arm: where the instruction that counts and its rival are stated (``rows.ARMS``).
    facts={"arm": "text"},
    levels=("arm", TURNS, SLIPPED),
    values={"arm": ("system", "user", "aligned", *ALONE)},
    # The two rows of a task prompt are not independent.
    row_key="row",
    sizes={
        r"hierarchy_(system|user|aligned|system_user|user_later|document|tool|turns_.*)": (50, 2),
        "release_check_hierarchy": (50, 8),
    },
)
