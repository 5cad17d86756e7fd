"""The two relations of IFEval's counting instructions."""

from __future__ import annotations

from typing import Literal, get_args

Relation = Literal["at least", "less than"]
RELATIONS: tuple[Relation, ...] = get_args(Relation)


def compare(count: int, relation: Relation, target: int) -> bool:
    """Tell whether ``count`` is at least, or strictly less than, ``target``."""
    return count >= target if relation == "at least" else count < target
