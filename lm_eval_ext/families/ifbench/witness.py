"""Responses that follow given instructions of IFBench, or all but selected ones.

They prove that a row can be solved and are the answers of the ``reference`` LM. Of the texts for the row's
instructions, the verifiers choose: one is only returned if every verdict is as intended, strictly and in both editions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from lm_eval_ext.families.ifbench.texts import TEXTS
from lm_eval_ext.families.instructions import is_as_intended
from lm_eval_ext.verifiers import Checker

_OF: Mapping[frozenset[str], tuple[str, ...]] = {frozenset(ids): ids for ids in TEXTS}
IGNORING = (
    "four four four four four four four four four four four four.\n" * 4,
    'it is what it is and it was what it was, it is "it"\n* it\n* it is four four four four four "no"\n' * 3,
    "It rains. Trees grow. Birds sing.",
    "No.",
)
"""Texts that ignore nearly every instruction."""


def respond(instructions: Sequence[Checker], broken: Collection[int] = ()) -> str | None:
    """Return a response that follows all instructions except those at the indices ``broken``, which it breaks.

    Args:
        instructions: instructions of IFBench, at most two that differ.
        broken: indices into ``instructions``.

    Returns:
        A response whose strict verdicts are exactly these in both editions, or ``None`` if none was found. Of several,
        one that also breaks them under loose verdicts is preferred.
    """
    strictly: str | None = None
    for text in _candidates(instructions, broken):
        if not is_as_intended(text, instructions, broken):
            continue
        if is_as_intended(text, instructions, broken, loose=True):
            return text
        strictly = strictly or text
    return strictly


def break_one(instructions: Sequence[Checker]) -> str | None:
    """Return a response that breaks exactly one instruction, or ``None`` if none was found.

    It breaks the first that can be broken while the others are followed. A repeated instruction is broken in all its
    places.
    """
    for chosen in dict.fromkeys(instructions):
        text = respond(instructions, [index for index, other in enumerate(instructions) if other == chosen])
        if text is not None:
            return text
    return None


def _candidates(instructions: Sequence[Checker], broken: Collection[int]) -> Iterator[str]:
    kept = [one for index, one in enumerate(instructions) if index not in broken]
    chosen = [kept, *([one] for one in kept)] if broken else [kept]
    return chain(*map(_texts, chosen), IGNORING if broken else ())


def _texts(instructions: Sequence[Checker]) -> Iterable[str]:
    """Yield texts that are meant to follow all of some instructions; none if there are none for them."""
    by_id = {one.id: one for one in instructions}
    ids = _OF.get(frozenset(by_id))
    if ids is None:
        return ()
    texts = TEXTS[ids]
    if callable(texts):
        given: dict[str, list[object]] = {}
        for each in ids:
            for name, value in by_id[each].arguments().items():
                given.setdefault(name, []).append(value)
        texts = texts(**{name: values[0] if len(values) == 1 else values for name, values in given.items()})
    return [texts] if isinstance(texts, str) else texts
