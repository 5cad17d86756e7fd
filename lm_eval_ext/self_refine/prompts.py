"""What the model is asked, and how it is asked to judge.

The paper describes the prompts and prints none (sections 5.1 to 5.3, Figures 5 and 7). The wording is ours; who sees
what is the paper's: a judge sees all instructions at once or, ``each``, one; chain of thought is zero-shot (Kojima et
al., 2022); a refinement sees the task, the previous answer, and the instructions judged broken, not the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_ext.self_refine.strategies import Strategy

VERSION = 1.0
"""Changes when a score can: with any of these prompts, with how replies are read, with what a strategy does."""


def judge_together(task: str, instructions: Sequence[str], answer: str) -> str:
    """Return the prompt that has all instructions judged at once."""
    numbered = [f"{number}. {instruction}" for number, instruction in enumerate(instructions, start=1)]
    return _prompt(
        "Below are a task, numbered instructions for the response, and a response.",
        _part("Task", task),
        _part("Instructions", "\n".join(numbered)),
        _quoted(answer),
        "Does the response follow each of the instructions? Answer with one line per instruction and nothing else: its "
        "number, a colon, and YES or NO.",
    )


def judge_one(task: str, instruction: str, answer: str, cot: bool) -> str:
    """Return the prompt that has one instruction judged, directly or after step-by-step reasoning."""
    direct = "Answer with one word: YES or NO."
    reasoned = (
        'Reason first, then finish with a line of its own: "Verdict: YES" or "Verdict: NO".\n\n'
        "Let's think step by step."
    )
    return _prompt(
        "Below are a task, an instruction for the response, and a response.",
        _part("Task", task),
        _part("Instruction", instruction),
        _quoted(answer),
        f"Does the response follow the instruction? {reasoned if cot else direct}",
    )


def mend(task: str, instructions: Sequence[str], answer: str) -> str:
    """Return the prompt that has an answer mended, given the instructions that it is said not to follow."""
    return _prompt(
        "Below are a task and a response to it.",
        _part("Task", task),
        _quoted(answer),
        "The response does not follow these instructions:\n" + _bulleted(instructions),
        "Rewrite the response so that it follows them. Answer with the rewritten response and nothing else.",
    )


def improve(task: str, instructions: Sequence[str], answer: str) -> str:
    """Return the prompt that has an answer refined without feedback, given all instructions."""
    return _prompt(
        "Below are a task and a response to it.",
        _part("Task", task),
        _quoted(answer),
        "The response should follow these instructions:\n" + _bulleted(instructions),
        "Improve the response so that it follows them. Answer with the improved response and nothing else.",
    )


def reply(verdicts: Sequence[bool], strategy: Strategy) -> str:
    """Return the shortest reply of the form that a judge is asked for."""
    words = ["YES" if verdict else "NO" for verdict in verdicts]
    if not strategy.each:
        return "\n".join(f"{number}: {word}" for number, word in enumerate(words, start=1))
    (word,) = words
    return f"Verdict: {word}" if strategy.cot else word


def _prompt(*parts: str) -> str:
    return "\n\n".join(parts)


def _part(title: str, text: str) -> str:
    return f"{title}:\n{text}"


def _quoted(answer: str) -> str:
    # No tags, brackets, quotation marks or asterisks: instructions speak of those, and answers are wrapped in them.
    return f"=== Response ===\n{answer}\n=== End of the response ==="


def _bulleted(instructions: Sequence[str]) -> str:
    return "\n".join(f"- {instruction}" for instruction in instructions)
