"""A refined answer with its history: the answer and the feedback of every round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lm_eval_ext.verifiers import Checker, Response


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
    def requests(self) -> int:
        """The number of requests to the base LM: for the first answer, for revisions and for judgments."""
        revisions = sum(one.is_revised for one in self.rounds[:-1])
        return 1 + revisions + sum(len(one.feedback.replies) for one in self.rounds if one.feedback)


def followed(answer: str, instructions: Sequence[Checker]) -> tuple[bool, ...]:
    """Return, per instruction, the faithful strict verdict on an answer whose reasoning has been removed."""
    return Response(answer).follows(instructions).follow_instruction_list
