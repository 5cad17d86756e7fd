"""What instructions a draw is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lm_eval_ext.families.manyifeval.arguments import ARGUMENTS, Draw, count_of
from lm_eval_ext.families.manyifeval.compose import SLOTS, conflicting, phrases_of
from lm_eval_ext.families.manyifeval.witness import Respond, respond
from lm_eval_ext.verifiers import Checker


@dataclass(frozen=True)
class Pool:
    """A pool of instruction types.

    Attributes:
        weights: how often each type is drawn, relative to the others, where none conflicts; whole numbers.
        conflicting: tells whether two types may not occur together.
        arguments: how the arguments of each type are drawn.
        phrases: returns the keywords that an instruction names.
        respond: see ``witness.respond``.
    """

    weights: Mapping[str, int]
    conflicting: Callable[[str, str], bool]
    arguments: Mapping[str, Draw]
    phrases: Callable[[Checker], tuple[str, ...]]
    respond: Respond


# Each slot as often as any other, and each type of a slot as often as the others of that slot.
FIFTEEN = Pool(
    {name: max(map(len, SLOTS)) // len(slot) for slot in SLOTS for name in slot},
    conflicting,
    # "At least 1 sentences" cannot be broken by a text with a title and all else, so no default row has it, either.
    {**ARGUMENTS, "length_constraints:number_sentences": count_of("num_sentences", 2, 20, "relation", fewest=4)},
    phrases_of,
    respond,
)
"""The 15 instructions of ManyIFEval."""
