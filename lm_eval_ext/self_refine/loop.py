"""The loop of section 5.1: answer; then, so many times, judge the answer and mend what is judged broken.

Every step is one call for all rows that are still alive, so the base LM batches as it sees fit: one call for the first
answers and at most two for each round, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lm_eval_ext.reasoning import without_reasoning
from lm_eval_ext.self_refine import prompts
from lm_eval_ext.self_refine.judgement import verdict, verdicts
from lm_eval_ext.self_refine.refined import Feedback, Refined, Round, followed
from lm_eval_ext.self_refine.strategies import Strategy
from lm_eval_ext.verifiers import Checker


class Instructed(Protocol):
    """A row that can be refined: a task with instructions that can be put into words and verified."""

    @property
    def task_prompt(self) -> str:
        """The bare task."""

    @property
    def instructions(self) -> tuple[Checker, ...]:
        """At least one."""


@dataclass(frozen=True)
class First:
    """A question to the base: the row's own prompt.

    Attributes:
        row: its index.
    """

    row: int


@dataclass(frozen=True)
class Judge:
    """A question to the base: are these instructions followed?

    Attributes:
        row: its index.
        prompt: what to ask.
        answer: that is judged.
        instructions: to judge it by, by index.
    """

    row: int
    prompt: str
    answer: str
    instructions: tuple[int, ...]


@dataclass(frozen=True)
class Mend:
    """A question to the base: a better answer.

    Attributes:
        row: its index.
        prompt: what to ask.
        broken: the instructions that the prompt says are not followed, by index; none without feedback.
    """

    row: int
    prompt: str
    broken: tuple[int, ...]


Question = First | Judge | Mend
Ask = Callable[[str, Sequence[Question]], Sequence[str]]
"""Takes what the step is, for the log, and its questions, at least one; returns one reply to each, in their order."""


@dataclass
class _Row:
    index: int
    row: Instructed
    rounds: list[Round] = field(default_factory=list)

    @property
    def answer(self) -> str:
        return without_reasoning(self.rounds[-1].answer)

    def describe(self, instructions: Sequence[int]) -> list[str]:
        return [self.row.instructions[index].describe() for index in instructions]

    @property
    def all_instructions(self) -> tuple[int, ...]:
        return tuple(range(len(self.row.instructions)))


def refine(rows: Sequence[Instructed], strategy: Strategy, rounds: int, ask: Ask) -> list[Refined]:
    """Return the refined answer to each row.

    Args:
        rows: to answer.
        strategy: how to refine.
        rounds: how often at most; a row that is judged to follow everything is left as it is for good.
        ask: the base.
    """
    if not rows:
        return []
    states = [_Row(index, row) for index, row in enumerate(rows)]
    planned = rounds if strategy.refines else 0
    for state, answer in zip(states, ask("first answers", [First(state.index) for state in states]), strict=True):
        state.rounds.append(Round(answer))
    live = states
    for number in range(1, planned + 1):
        step = f"round {number} of {planned}"
        live = _judged(live, strategy, step, ask)
        if not live:
            break
        questions = [_mend(state, strategy) for state in live]
        for state, answer in zip(live, ask(f"{step}, refinement", questions), strict=True):
            state.rounds.append(Round(answer))
    return [Refined(state.rounds, planned) for state in states]


def _judged(rows: list[_Row], strategy: Strategy, step: str, ask: Ask) -> list[_Row]:
    """Write down the feedback to each row's answer; return the rows with something to mend."""
    if strategy.judge == "nobody":
        return rows
    for state, feedback in zip(rows, _feedback(rows, strategy, step, ask), strict=True):
        state.rounds[-1] = Round(state.rounds[-1].answer, feedback)
    return [state for state in rows if _last_feedback(state).broken]


def _feedback(rows: list[_Row], strategy: Strategy, step: str, ask: Ask) -> Iterator[Feedback]:
    if strategy.judge == "verifiers":
        yield from (Feedback(followed(state.rounds[-1].answer, state.row.instructions)) for state in rows)
    elif strategy.judge == "all_false":
        yield from (Feedback((False,) * len(state.row.instructions)) for state in rows)
    else:
        questions = [question for state in rows for question in _judge(state, strategy)]
        replies = iter(ask(f"{step}, feedback", questions))
        for state in rows:
            count = len(state.row.instructions)
            if strategy.each:
                said = tuple(next(replies) for _ in range(count))
                yield Feedback(tuple(map(verdict, said)), said)
            else:
                together = next(replies)
                yield Feedback(verdicts(together, count), (together,))


def _judge(state: _Row, strategy: Strategy) -> Iterator[Judge]:
    task, indices = state.row.task_prompt, state.all_instructions
    if not strategy.each:
        prompt = prompts.judge_together(task, state.describe(indices), state.answer)
        yield Judge(state.index, prompt, state.answer, indices)
        return
    for index, instruction in zip(indices, state.describe(indices), strict=True):
        prompt = prompts.judge_one(task, instruction, state.answer, strategy.cot)
        yield Judge(state.index, prompt, state.answer, (index,))


def _mend(state: _Row, strategy: Strategy) -> Mend:
    task = state.row.task_prompt
    if strategy.judge == "nobody":
        prompt = prompts.improve(task, state.describe(state.all_instructions), state.answer)
        return Mend(state.index, prompt, ())
    broken = _last_feedback(state).broken
    return Mend(state.index, prompts.mend(task, state.describe(broken), state.answer), broken)


def _last_feedback(state: _Row) -> Feedback:
    feedback = state.rounds[-1].feedback
    if feedback is None:
        raise RuntimeError("an answer is mended before it is judged")
    return feedback
