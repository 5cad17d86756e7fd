"""The loop of section 5.1: answer; then repeatedly judge the answer and revise what is judged broken.

The paper repeats this a fixed number of times. Here, a row is finished once all its instructions are judged followed,
unless ``early_stop`` is off.

The engine of ``turns`` plays the rows: one call of the base LM for the first answers and at most two per round,
regardless of the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lm_eval_ext.endings import Ended, ending_of, has_truncated_prompt
from lm_eval_ext.self_refine.judgment import concluded, verdict, verdicts
from lm_eval_ext.self_refine.strategies import Strategy, judge_one, judge_together, revise
from lm_eval_ext.turns import Ask, Play, play
from lm_eval_ext.verifiers import Checker, Response, without_reasoning


@dataclass(frozen=True)
class Feedback:
    """The feedback on one answer.

    Attributes:
        verdicts: per instruction, whether it is judged followed; ``None`` if the judgment could not be parsed.
        replies: the judge's replies, one for all instructions or one for each; empty if no model judges.
    """

    verdicts: tuple[bool | None, ...]
    replies: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[int, ...]:
        """The indices of the instructions to repair: those not judged followed.

        They include instructions whose judgment could not be parsed: only an explicit verdict exempts an instruction.
        """
        return tuple(index for index, verdict in enumerate(self.verdicts) if not verdict)


@dataclass(frozen=True)
class Round:
    """One answer.

    Attributes:
        answer: the model's answer, including reasoning.
        feedback: the feedback on it; ``None`` if it was not judged.
    """

    answer: str
    feedback: Feedback | None = None

    @property
    def is_revised(self) -> bool:
        """Whether a next round revises the answer: it does so unless all instructions are judged followed."""
        return self.feedback is None or bool(self.feedback.broken)


class Refined(str):
    """The last answer, together with the rounds that led to it.

    The harness treats it as an ordinary string; a filter that builds a new string from it loses the rounds.

    Attributes:
        rounds: the answers, including the first one.
        planned: the planned number of rounds; with early stopping, a row whose instructions are all judged followed has
            fewer.
    """

    __slots__ = ("planned", "rounds")

    rounds: tuple[Round, ...]
    planned: int

    def __new__(cls, rounds: Sequence[Round], planned: int) -> Refined:
        """Return the last round's answer."""
        refined = super().__new__(cls, rounds[-1].answer)
        refined.rounds = tuple(rounds)
        refined.planned = planned
        return refined

    def __reduce__(self) -> tuple[type[Refined], tuple[tuple[Round, ...], int]]:
        """Keep the rounds when pickling, for the harness's cache of responses and for other processes."""
        return Refined, (self.rounds, self.planned)

    @property
    def ended(self) -> Ended:
        """How the last answer ended, which is the one that is scored."""
        return ending_of(self.rounds[-1].answer)

    @property
    def prompt_is_truncated(self) -> bool:
        """Whether any prompt lost its beginning, of an answer, a revision or a judgment."""
        replies = (reply for round_ in self.rounds if round_.feedback for reply in round_.feedback.replies)
        return any(map(has_truncated_prompt, (*(round_.answer for round_ in self.rounds), *replies)))

    @property
    def requests(self) -> int:
        """The number of requests to the base LM: for the first answer, for revisions and for judgments."""
        revisions = sum(round_.is_revised for round_ in self.rounds[:-1])
        return 1 + revisions + sum(len(round_.feedback.replies) for round_ in self.rounds if round_.feedback)


def followed(answer: str, instructions: Sequence[Checker]) -> tuple[bool, ...]:
    """Return, per instruction, the faithful strict verdict on an answer whose reasoning has been removed."""
    return Response(answer).follows(instructions).follow_instruction_list


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
Refining = Play[Question, Refined]


def refine(
    rows: Sequence[Instructed], strategy: Strategy, rounds: int, ask: Ask[Question], *, early_stop: bool = True
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
    planned = rounds if strategy.refines else 0
    return play([_refined(index, row, strategy, planned, early_stop) for index, row in enumerate(rows)], ask)


def _refined(index: int, row: Instructed, strategy: Strategy, planned: int, early_stop: bool) -> Refining:
    (answer,) = yield "first answers", [First(index)]
    rounds: list[Round] = []
    for number in range(1, planned + 1):
        step = f"round {number} of {planned}"
        judged = Round(answer, (yield from _feedback(index, row, answer, strategy, f"{step}, feedback")))
        rounds.append(judged)
        if early_stop and not judged.is_revised:
            return Refined(rounds, planned)
        replies = yield f"{step}, refinement", [_revise(index, row, judged)] if judged.is_revised else []
        answer = replies[0] if replies else answer
    return Refined([*rounds, Round(answer)], planned)


def _feedback(
    index: int, row: Instructed, answer: str, strategy: Strategy, step: str
) -> Play[Question, Feedback | None]:
    """Return the feedback on a row's answer; ``None`` if the strategy has no judge."""
    count = len(row.instructions)
    if strategy.judge == "verifiers":
        return Feedback(followed(answer, row.instructions))
    if strategy.judge == "all_false":
        return Feedback((False,) * count)
    if strategy.judge == "nobody":
        return None
    task, shown, instructions = row.task_prompt, without_reasoning(answer), _described(row)
    if strategy.one_by_one:
        prompts = [judge_one(task, instruction, shown, strategy.cot) for instruction in instructions]
        replies = yield step, [Judge(index, prompt, shown, (number,)) for number, prompt in enumerate(prompts)]
        return Feedback(tuple(map(verdict, replies)), tuple(replies))
    prompt = judge_together(task, instructions, shown, strategy.cot)
    replies = yield step, [Judge(index, prompt, shown, tuple(range(count)))]
    return Feedback((concluded if strategy.cot else verdicts)(replies[0], count), tuple(replies))


def _revise(index: int, row: Instructed, judged: Round) -> Revise:
    feedback, instructions = judged.feedback, _described(row)
    broken = feedback.broken if feedback else ()
    listed = [instructions[number] for number in broken] if feedback else instructions
    prompt = revise(row.task_prompt, listed, without_reasoning(judged.answer), judged=feedback is not None)
    return Revise(index, prompt, broken)


def _described(row: Instructed) -> list[str]:
    return [instruction.describe() for instruction in row.instructions]
