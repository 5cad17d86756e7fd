"""An answer that has been refined: what was said in every round, and what was judged wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lm_eval_ext.verifiers import Checker, Response


@dataclass(frozen=True)
class Feedback:
    """What is said of one answer.

    Attributes:
        verdicts: per instruction whether it is judged to be followed; ``None``: the judgement could not be read.
        replies: the judge's words, one text for all instructions or one for each; none where no model judges.
    """

    verdicts: tuple[bool | None, ...]
    replies: tuple[str, ...] = ()

    @property
    def broken(self) -> tuple[int, ...]:
        """The instructions to mend, by index: those not judged to be followed.

        A judgement that could not be read counts among them: only a verdict that says so spares an instruction.
        """
        return tuple(index for index, verdict in enumerate(self.verdicts) if not verdict)


@dataclass(frozen=True)
class Round:
    """One answer.

    Attributes:
        answer: the model's, reasoning included.
        feedback: what was judged of it; ``None`` if nothing was.
    """

    answer: str
    feedback: Feedback | None = None


class Refined(str):
    """The last answer, which remembers how it came about.

    To the harness it is a text like any other; a filter that makes a new text of it forgets the rounds.

    Attributes:
        rounds: the answers, the first one included.
        planned: how many rounds of refinement there were to be; a row that is judged to follow everything has fewer.
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
        """Let the rounds go with a copy: into the harness's cache of responses, and to other processes."""
        return Refined, (self.rounds, self.planned)

    @property
    def requests(self) -> int:
        """How many requests to the base it took."""
        return len(self.rounds) + sum(len(one.feedback.replies) for one in self.rounds if one.feedback)


def followed(answer: str, instructions: Sequence[Checker]) -> tuple[bool, ...]:
    """Return, per instruction, whether an answer, its reasoning taken off, follows it: the faithful strict verdicts."""
    return Response(answer).follows(instructions).follow_instruction_list
