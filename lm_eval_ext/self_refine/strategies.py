"""The methods that the paper compares (section 5.2, Figure 7; section 5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

NAME = "self_refine"
"""The name of the refining LM in the harness: ``--model self_refine``."""
ARGUMENTS = ("base", "strategy", "rounds", "early_stop")
"""Its own arguments; all others are passed to the base LM."""
ZERO_SHOT = "none"
"""The strategy that keeps the first answer; equivalent to a run without ``self_refine``."""
DEFAULT = "feedback_each_cot"
"""The paper's method."""

Judge = Literal["nobody", "model", "verifiers", "all_false"]
"""Who judges, in each round, which instructions an answer follows. ``all_false`` judges all of them as not followed."""


@dataclass(frozen=True)
class Strategy:
    """How an answer is refined.

    Attributes:
        title: its name in Table 2.
        refines: whether it refines answers at all.
        judge: who judges an answer.
        each: whether the model judges every instruction in a separate prompt rather than all in one.
        cot: whether the model reasons before it judges (zero-shot chain of thought).
    """

    title: str
    refines: bool = True
    judge: Judge = "nobody"
    each: bool = False
    cot: bool = False


STRATEGIES: Mapping[str, Strategy] = {
    ZERO_SHOT: Strategy("zero-shot", refines=False),
    "without_feedback": Strategy("refinement w/o feedback"),
    "feedback": Strategy("refinement w/ feedback", judge="model"),
    # Not in Table 2: the judge on the left of Figure 9 (appendix E), with a title formed like the others.
    "feedback_cot": Strategy("refinement w/ feedback+cot", judge="model", cot=True),
    "feedback_each": Strategy("refinement w/ feedback+each", judge="model", each=True),
    DEFAULT: Strategy("refinement w/ feedback+each+cot", judge="model", each=True, cot=True),
    "oracle": Strategy("refinement w/ oracle", judge="verifiers"),
    "all_false": Strategy("refinement w/ all false", judge="all_false"),
}
"""In Table 2's order."""


def strategy_named(name: object) -> str:
    """Return the name of the strategy that an argument specifies.

    Raises:
        ValueError: there is no such strategy.
    """
    # The harness reads the word "none" in --model_args as Python's None.
    found = ZERO_SHOT if name is None else name
    if not isinstance(found, str) or found not in STRATEGIES:
        raise ValueError(f"no strategy {name!r}; expected one of {', '.join(STRATEGIES)}")
    return found
