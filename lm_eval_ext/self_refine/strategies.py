"""The methods that the paper compares (section 5.2, Figure 7; section 5.3), and the prompts that they consist of.

The paper describes the prompts but does not print any (sections 5.1 to 5.3, Figures 5 and 7). We follow it in these
points: a judge sees all instructions at once or, with ``one_by_one``, a single one; chain of thought is zero-shot
(Kojima et al., 2022); a refinement prompt shows the previous answer and only the instructions judged broken. We chose
the wording ourselves. It is also our choice that every prompt shows the task and that refinement without feedback shows
all instructions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
ROUNDS = 5
"""The most rounds of judging and revising in the paper."""
VERSION = 1.0
"""Raised with every change that can affect scores: to these prompts, the parsing of replies or a strategy."""
STEP_BY_STEP = "Let's think step by step."
"""Kojima et al.'s words, with which a judge's reasoning begins."""

Judge = Literal["nobody", "model", "verifiers", "all_false"]
"""Who judges, in each round, which instructions an answer follows. ``all_false`` judges all of them as not followed."""


@dataclass(frozen=True)
class Strategy:
    """How an answer is refined.

    Attributes:
        title: the strategy's name in Table 2.
        refines: whether it refines answers at all.
        judge: who judges an answer.
        one_by_one: whether the model judges every instruction in a separate prompt rather than all in one.
        cot: whether the model reasons before it judges (zero-shot chain of thought).
    """

    title: str
    refines: bool = True
    judge: Judge = "nobody"
    one_by_one: bool = False
    cot: bool = False


STRATEGIES: Mapping[str, Strategy] = {
    ZERO_SHOT: Strategy("zero-shot", refines=False),
    "without_feedback": Strategy("refinement w/o feedback"),
    "feedback": Strategy("refinement w/ feedback", judge="model"),
    # Not in Table 2: the judge on the left of Figure 9 (appendix E), with a title formed like the others.
    "feedback_cot": Strategy("refinement w/ feedback+cot", judge="model", cot=True),
    "feedback_each": Strategy("refinement w/ feedback+each", judge="model", one_by_one=True),
    DEFAULT: Strategy("refinement w/ feedback+each+cot", judge="model", one_by_one=True, cot=True),
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
    chosen = ZERO_SHOT if name is None else name
    if not isinstance(chosen, str) or chosen not in STRATEGIES:
        raise ValueError(f"no strategy {name!r}; expected one of {', '.join(STRATEGIES)}")
    return chosen


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


def revise(task: str, instructions: Sequence[str], answer: str, *, judged: bool) -> str:
    """Return the prompt to revise an answer, given instructions.

    Args:
        task: the task.
        instructions: which the answer is judged not to follow; without feedback, all of them.
        answer: the answer.
        judged: whether there is feedback.
    """
    lead = f"The response {'does not' if judged else 'should'} follow these instructions:"
    verb, result = ("Rewrite", "rewritten") if judged else ("Improve", "improved")
    return _prompt(
        task,
        answer,
        "\n".join([lead, *(f"- {instruction}" for instruction in instructions)]),
        f"{verb} the response so that it follows them. Answer with the {result} response and nothing else.",
    )


def reply(verdicts: Sequence[bool], strategy: Strategy) -> str:
    """Return the shortest reply in the form that the judge's prompt asks for."""
    words = ["YES" if verdict else "NO" for verdict in verdicts]
    if not strategy.one_by_one:
        lines = "\n".join(f"{number}: {word}" for number, word in enumerate(words, start=1))
        return f"Verdicts:\n{lines}" if strategy.cot else lines
    (word,) = words
    return f"Verdict: {word}" if strategy.cot else word


def _prompt(task: str, answer: str, *sections: str) -> str:
    # All prompts about one answer share a prefix, so that an engine with prefix caching processes it only once.
    # No tags, brackets, quotation marks or asterisks: instructions mention them, and answers are wrapped in them.
    quoted = f"=== Response ===\n{answer}\n=== End of the response ==="
    return "\n\n".join(["Below are a task and a response to it.", f"Task:\n{task}", quoted, *sections])


def planned_rounds(arguments: Mapping[str, str]) -> int:
    """Return how many rounds a run planned, by the arguments of its LM, as the results record them."""
    strategy = STRATEGIES[strategy_named(arguments.get("strategy", DEFAULT))]
    return int(arguments.get("rounds", ROUNDS)) if strategy.refines else 0
