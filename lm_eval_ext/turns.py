"""Turns that depend on answers: the engine that plays all rows together, and the answers of a conversation."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from itertools import islice
from typing import TypeVar

from lm_eval_ext.endings import LIMIT, Ended, ending_of, has_truncated_prompt

Question = TypeVar("Question")
Result = TypeVar("Result")

Play = Generator[tuple[str, Sequence[Question]], Sequence[str], Result]
"""One row: yields a step's name and its questions, perhaps none; is sent their replies; returns its result."""
Ask = Callable[[str, Sequence[Question]], Sequence[str]]
"""Takes a step's name and the questions of all rows, at least one; returns one reply per question, in order."""


def play(rows: Iterable[Play[Question, Result]], ask: Ask[Question]) -> list[Result]:
    """Return the result of each row.

    Every step is a single call for all unfinished rows, so that an LM can batch them as it sees fit.

    Args:
        rows: the rows. Those that are not finished are at the same step.
        ask: sends a step's questions.
    """
    live, results = dict(enumerate(rows)), dict[int, Result]()
    replies: dict[int, Sequence[str] | None] = dict.fromkeys(live)
    while live:
        step, questions_of = "", dict[int, Sequence[Question]]()
        for number, row in live.items():
            try:
                # What has only begun is sent None.
                step, questions_of[number] = row.send(replies[number])  # type: ignore[arg-type]
            except StopIteration as end:
                results[number] = end.value
        live = {number: live[number] for number in questions_of}
        questions = [question for row_questions in questions_of.values() for question in row_questions]
        replies_in_order = iter(ask(step, questions) if questions else ())
        replies = {
            number: tuple(islice(replies_in_order, len(row_questions)))
            for number, row_questions in questions_of.items()
        }
    return [results[number] for number in sorted(results)]


class Turns(str):
    """The last answer of a conversation, with all answers.

    The harness treats it as an ordinary string; a filter that builds a new string from it loses the others.

    Attributes:
        answers: the answer to each message, including reasoning.
        ended: how the last answer ended; at the limit if any did.
        prompt_is_truncated: whether the model was not shown the beginning of the conversation in some turn.
    """

    __slots__ = ("answers", "ended", "prompt_is_truncated")

    answers: tuple[str, ...]
    ended: Ended
    prompt_is_truncated: bool

    def __new__(cls, *answers: str) -> Turns:
        """Return the last answer."""
        turns = super().__new__(cls, answers[-1])
        turns.answers = answers
        turns.ended = LIMIT if LIMIT in map(ending_of, answers) else ending_of(answers[-1])
        turns.prompt_is_truncated = any(map(has_truncated_prompt, answers))
        return turns

    @property
    def first(self) -> str:
        """The answer to the first message."""
        return self.answers[0]
