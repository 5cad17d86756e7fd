"""The loop of section 5.1: answer; then repeatedly judge the answer and revise what is judged broken.

The paper repeats this a fixed number of times. Here, a row is finished once all its instructions are judged followed,
unless ``early_stop`` is off.

Every step is a single call for all unfinished rows, so that the base LM can batch them as it sees fit: one call for the
first answers and at most two per round, regardless of the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Protocol

from lm_eval_ext.self_refine import prompts
from lm_eval_ext.self_refine.judgment import concluded, verdict, verdicts
from lm_eval_ext.self_refine.refined import Feedback, Refined, Round, followed
from lm_eval_ext.self_refine.strategies import Strategy
from lm_eval_ext.verifiers import Checker
from lm_eval_ext.verifiers.reasoning import without_reasoning


class Instructed(Protocol):
    """A row that can be refined: a task with instructions that can be described and verified."""

    @property
    def task_prompt(self) -> str:
        """The bare task."""

    @property
    def instructions(self) -> tuple[Checker, ...]:
        """The instructions, at least one."""


@dataclass(frozen=True)
class First:
    """A question to the base LM: the row's own prompt.

    Attributes:
        row: the index of the row.
    """

    row: int


@dataclass(frozen=True)
class Judge:
    """A question to the base LM: are these instructions followed?

    Attributes:
        row: the index of the row.
        prompt: the prompt to send.
        answer: the answer to judge.
        instructions: the indices of the instructions to judge.
    """

    row: int
    prompt: str
    answer: str
    instructions: tuple[int, ...]


@dataclass(frozen=True)
class Revise:
    """A question to the base LM: a request for a better answer.

    Attributes:
        row: the index of the row.
        prompt: the prompt to send.
        broken: the indices of the instructions that the prompt says are not followed; empty without feedback.
    """

    row: int
    prompt: str
    broken: tuple[int, ...]


Question = First | Judge | Revise
Ask = Callable[[str, Sequence[Question]], Sequence[str]]
"""Takes a step's name, for the log, and its questions, at least one; returns one reply per question, in order."""


@dataclass
class _Row:
    index: int
    row: Instructed
    rounds: list[Round] = field(default_factory=list)

    @property
    def answer(self) -> str:
        """The last answer as later prompts show it, without reasoning."""
        return without_reasoning(self.rounds[-1].answer)

    @property
    def instructions(self) -> list[str]:
        return [instruction.describe() for instruction in self.row.instructions]


def refine(
    rows: Sequence[Instructed], strategy: Strategy, rounds: int, ask: Ask, *, early_stop: bool = True
) -> list[Refined]:
    """Return the refined answer to each row.

    Args:
        rows: the rows to answer.
        strategy: how to refine.
        rounds: the maximum number of rounds.
        ask: sends questions to the base LM.
        early_stop: whether a row whose instructions are all judged followed is finished. Otherwise, its answer is kept
            and judged again in every round.
    """
    if not rows:
        return []
    planned = rounds if strategy.refines else 0
    states = [_Row(index, row) for index, row in enumerate(rows)]
    _answer(states, ask("first answers", [First(state.index) for state in states]))
    live = states
    for number in range(1, planned + 1):
        step = f"round {number} of {planned}"
        said = _feedback(live, strategy, partial(ask, f"{step}, feedback"))
        for state, feedback in zip(live, said, strict=True):
            state.rounds[-1] = replace(state.rounds[-1], feedback=feedback)
        revised = [state for state in live if state.rounds[-1].is_revised]
        kept = [state for state in live if not state.rounds[-1].is_revised]
        if early_stop:
            live = revised
        else:
            _answer(kept, [state.rounds[-1].answer for state in kept])
        if revised:
            _answer(revised, ask(f"{step}, refinement", [_revise(state) for state in revised]))
        if not live:
            break
    return [Refined(state.rounds, planned) for state in states]


def _answer(states: Sequence[_Row], answers: Sequence[str]) -> None:
    for state, answer in zip(states, answers, strict=True):
        state.rounds.append(Round(answer))


def _feedback(
    states: Sequence[_Row], strategy: Strategy, ask: Callable[[Sequence[Question]], Sequence[str]]
) -> list[Feedback] | list[None]:
    """Return the feedback on each row's answer; ``None`` for each row if the strategy has no judge."""
    if strategy.judge == "verifiers":
        return [Feedback(followed(state.rounds[-1].answer, state.row.instructions)) for state in states]
    if strategy.judge == "all_false":
        return [Feedback((False,) * len(state.row.instructions)) for state in states]
    if strategy.judge == "model":
        replies = iter(ask([question for state in states for question in _judge(state, strategy)]))
        return [_read(replies, len(state.row.instructions), strategy) for state in states]
    return [None] * len(states)


def _judge(state: _Row, strategy: Strategy) -> list[Judge]:
    task, answer, instructions = state.row.task_prompt, state.answer, state.instructions
    if not strategy.each:
        prompt = prompts.judge_together(task, instructions, answer, strategy.cot)
        return [Judge(state.index, prompt, answer, tuple(range(len(instructions))))]
    return [
        Judge(state.index, prompts.judge_one(task, instruction, answer, strategy.cot), answer, (index,))
        for index, instruction in enumerate(instructions)
    ]


def _read(replies: Iterator[str], count: int, strategy: Strategy) -> Feedback:
    if not strategy.each:
        together = next(replies)
        read = concluded if strategy.cot else verdicts
        return Feedback(read(together, count), (together,))
    said = tuple(islice(replies, count))
    return Feedback(tuple(map(verdict, said)), said)


def _revise(state: _Row) -> Revise:
    task, answer, feedback = state.row.task_prompt, state.answer, state.rounds[-1].feedback
    if feedback is None:
        return Revise(state.index, prompts.improve(task, state.instructions, answer), ())
    instructions = state.instructions
    broken = [instructions[index] for index in feedback.broken]
    return Revise(state.index, prompts.revise(task, broken, answer), feedback.broken)
