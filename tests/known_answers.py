"""The texts that the ``reference`` LM knows of a row."""

from __future__ import annotations

from lm_eval_ext.harness.requests import KnownAnswers, answer_of


def text_of(answers: KnownAnswers, policy: str) -> str:
    """Return the text that a policy answers."""
    text = answer_of(answers, policy, "a row")
    assert isinstance(text, str)
    return text
