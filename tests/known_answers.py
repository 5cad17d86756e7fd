"""The texts that the ``reference`` LM knows of a row, and the verdicts on them."""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_ext.harness.requests import KnownAnswers, answer_of
from lm_eval_ext.verifiers import EDITIONS, Checker, Response


def text_of(answers: KnownAnswers, policy: str) -> str:
    """Return the text that a policy answers."""
    text = answer_of(answers, policy, "a row")
    assert isinstance(text, str)
    return text


def verdicts(text: str | None, instructions: Sequence[Checker], *, loose: bool = False) -> list[tuple[bool, ...]]:
    """Return the verdicts on a text that was found, edition by edition."""
    assert text is not None
    return [Response(text).follows(instructions, edition, loose).follow_instruction_list for edition in EDITIONS]
