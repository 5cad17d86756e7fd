"""The prompts for judging and refining an answer.

The paper describes the prompts but does not print any (sections 5.1 to 5.3, Figures 5 and 7). We follow it in these
points: a judge sees all instructions at once or, with ``each``, a single one; chain of thought is zero-shot (Kojima et
al., 2022); a refinement prompt shows the previous answer and only the instructions judged broken. We chose the wording
ourselves. It is also our choice that every prompt shows the task and that refinement without feedback shows all
instructions.
"""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_ext.self_refine.strategies import Strategy

VERSION = 1.0
"""Raised with every change that can affect scores: to these prompts, the parsing of replies or a strategy."""


STEP_BY_STEP = "Let's think step by step."
"""Kojima et al.'s words, with which a judge's reasoning begins."""


def judge_together(task: str, instructions: Sequence[str], answer: str, cot: bool) -> str:
    """Return the prompt to judge all instructions at once, directly or after step-by-step reasoning."""
    numbered = [f"{number}. {instruction}" for number, instruction in enumerate(instructions, start=1)]
    one_line_each = "one line per instruction and nothing else: its number, a colon, and YES or NO."
    direct = f"Answer with {one_line_each}"
    reasoned = f'Reason first, then finish with the line "Verdicts:" and, below it, {one_line_each}\n\n{STEP_BY_STEP}'
    return _prompt(
        task,
        answer,
        "\n".join(["The response should follow these instructions:", *numbered]),
        f"Does the response follow each of them? {reasoned if cot else direct}",
    )


def judge_one(task: str, instruction: str, answer: str, cot: bool) -> str:
    """Return the prompt to judge one instruction, directly or after step-by-step reasoning."""
    direct = "Answer with one word: YES or NO."
    reasoned = f'Reason first, then finish with a line of its own: "Verdict: YES" or "Verdict: NO".\n\n{STEP_BY_STEP}'
    return _prompt(
        task,
        answer,
        f"The response should follow this instruction:\n- {instruction}",
        f"Does it? {reasoned if cot else direct}",
    )


def revise(task: str, instructions: Sequence[str], answer: str) -> str:
    """Return the prompt to revise an answer, given the instructions that it is judged not to follow."""
    return _prompt(
        task,
        answer,
        "\n".join(["The response does not follow these instructions:", *_bulleted(instructions)]),
        "Rewrite the response so that it follows them. Answer with the rewritten response and nothing else.",
    )


def improve(task: str, instructions: Sequence[str], answer: str) -> str:
    """Return the prompt to refine an answer without feedback, given all instructions."""
    return _prompt(
        task,
        answer,
        "\n".join(["The response should follow these instructions:", *_bulleted(instructions)]),
        "Improve the response so that it follows them. Answer with the improved response and nothing else.",
    )


def reply(verdicts: Sequence[bool], strategy: Strategy) -> str:
    """Return the shortest reply in the form that the judge's prompt asks for."""
    words = ["YES" if verdict else "NO" for verdict in verdicts]
    if not strategy.each:
        lines = "\n".join(f"{number}: {word}" for number, word in enumerate(words, start=1))
        return f"Verdicts:\n{lines}" if strategy.cot else lines
    (word,) = words
    return f"Verdict: {word}" if strategy.cot else word


def _prompt(task: str, answer: str, *rest: str) -> str:
    # All prompts about one answer share a prefix, so that an engine with prefix caching processes it only once.
    # No tags, brackets, quotation marks or asterisks: instructions mention them, and answers are wrapped in them.
    quoted = f"=== Response ===\n{answer}\n=== End of the response ==="
    return "\n\n".join(["Below are a task and a response to it.", f"Task:\n{task}", quoted, *rest])


def _bulleted(instructions: Sequence[str]) -> list[str]:
    return [f"- {instruction}" for instruction in instructions]
