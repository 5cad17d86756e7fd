"""Which function composes texts for which instructions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from lm_eval_ext.verifiers import Checker

Composer = Callable[..., Iterable[str]]
"""Takes an instruction's arguments by name, and yields texts that are meant to follow it, the best first."""
ComposerType = TypeVar("ComposerType", bound=Composer)

_COMPOSERS: dict[frozenset[str], tuple[tuple[str, ...], Composer]] = {}


def composer(*instruction_ids: str) -> Callable[[ComposerType], ComposerType]:
    """Register a function that composes texts for one instruction, or for several at once.

    Args:
        instruction_ids: their ids; the function takes the arguments of all of them by name. Those of several under one
            name it takes as a list, in this order.
    """

    def register(function: ComposerType) -> ComposerType:
        _COMPOSERS[frozenset(instruction_ids)] = instruction_ids, function
        return function

    return register


def compose(instructions: Sequence[Checker]) -> Iterable[str]:
    """Yield texts that are meant to follow all of some instructions; none if no function is registered for them.

    Args:
        instructions: instructions of different ids.
    """
    by_id = {one.id: one for one in instructions}
    ids, function = _COMPOSERS.get(frozenset(by_id), ((), _nothing))
    given: dict[str, list[object]] = {}
    for each in ids:
        for name, value in by_id[each].arguments().items():
            given.setdefault(name, []).append(value)
    return function(**{name: values[0] if len(values) == 1 else values for name, values in given.items()})


def _nothing() -> Iterable[str]:
    return ()
