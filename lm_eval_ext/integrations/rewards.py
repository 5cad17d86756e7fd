"""The reward of a rollout: what every trainer's module of this folder returns in that trainer's form.

A row that cannot be judged, because its instructions are malformed or meant for tests, is no failed answer: it has no
score, ``broken`` counts it, and the log names it once. What a trainer is given for it depends on whether that can leave
it out (``docs/integrations.md``). Data of NLTK that rows lack are an error before the first rollout, which costs
nothing; later, such rows are broken, because an error would cost the training.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from threading import Event
from typing import Any, Literal, get_args

from lm_eval_ext.floors import answers_to
from lm_eval_ext.integrations.rows import (
    FOR_TRAINING,
    Judging,
    RowError,
    naming,
    refuse_tests,
    row_instructions,
    text_of,
)
from lm_eval_ext.trip_wires import Rollout, asks_to_be_short, tripped
from lm_eval_ext.verifiers import Checker, MissingDataError, Response, Verdict, instruction_ids, without_end_tokens
from lm_eval_ext.verifiers.tokenization import require_for
from lm_eval_ext.verifiers.verify import END_TOKENS, with_opening_tag

_log = logging.getLogger(__name__)
_started = Event()
"""Whether this process has looked for data, and so may have scored rollouts."""

Shape = Literal["share", "all", "share_above_floor", "length_corrected"]
"""What is paid for a verdict; ``Rewarding`` says how."""
SHAPES: tuple[Shape, ...] = get_args(Shape)


@dataclass(frozen=True)
class Rewarding(Judging):
    """How rollouts are rewarded. In every shape, 1 is the most and 0 the least.

    Attributes:
        shape: ``"share"``, the share of the row's instructions that are followed; ``"all"``, 1 if all are, else 0;
            ``"share_above_floor"``, the share above what the best answer without content gets in this row, relative to
            what is left above it (0 in a row that such an answer passes); ``"length_corrected"``, the share times the
            answer's part of ``full_words``, unless the row asks for a short answer.
        loose: whether a variant of the response suffices.
        end_tokens: removed from the end of a response before it is judged, with the white space after them.
        allow_test_instructions: whether IFBench's instructions, which are meant for tests, may be rewarded.
        full_words: from how many words on ``"length_corrected"`` pays in full.
        broken_reward: what a trainer that cannot leave out a row gets for one that cannot be judged. It is no reward
            that an answer can have, and the same for all answers to a prompt, which are as good as each other.
    """

    shape: Shape = "share"
    loose: bool = False
    end_tokens: Sequence[str] = END_TOKENS
    allow_test_instructions: bool = False
    full_words: int = 50
    broken_reward: float = -1.0

    def __post_init__(self) -> None:
        """Reject unknown options before the first response, which may be hours away."""
        super().__post_init__()
        if self.shape not in SHAPES:
            raise ValueError(f"unknown shape {self.shape!r}; expected {', '.join(map(repr, SHAPES))}")
        # The letters of a text would be taken for end tokens.
        is_listed = isinstance(self.end_tokens, Sequence) and not isinstance(self.end_tokens, str)
        if not is_listed or not all(isinstance(token, str) and token for token in self.end_tokens):
            raise ValueError(f"end_tokens {self.end_tokens!r}; expected a list of texts, as in ['<stop>']")
        if self.full_words < 1:
            raise ValueError(f"full_words {self.full_words!r}; expected a number of words, 1 or more")

    def require_data(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Look for the data of NLTK that verdicts need, before this process scores its first rollout.

        Data that other instructions need than these rows', which models are trained on as well, are logged.

        Args:
            rows: of the first batch; a trainer with a call per rollout has no others.

        Raises:
            MissingDataError: data for these rows are not installed, and could or should not be downloaded.
        """
        if _started.is_set():
            return
        ids: set[str] = set()
        for row in rows:
            with suppress(RowError):
                instructions = row_instructions(row, "")
                refuse_tests(instructions, "", self.allow_test_instructions)
                ids.update(instruction.id for instruction in instructions)
        require_for(ids)
        try:
            require_for(name for part in FOR_TRAINING for name in instruction_ids(part))
        except MissingDataError as error:
            _log.warning("no row with some of the instructions will have a reward: %s", error)
        _started.set()

    def rewarded(self, response: object, row: Mapping[str, Any], where: str, prompt: object = None) -> Rewarded:
        """Return the reward of a response.

        Args:
            response: the model's response as the trainer has it; ``None`` is the same as an empty one.
            row: the row's instructions, as in ``row_columns``.
            where: names the row in the log.
            prompt: as far as it is known, as in ``text_of``: for ``"share_above_floor"``, because the echo of it is an
                answer without content, and because a chat template may have opened a block of reasoning at its end.

        Raises:
            MissingDataError: as ``require_data``.
        """
        self.require_data([row])
        prompt_text = text_of(prompt)
        try:
            instructions = row_instructions(row, where)
            refuse_tests(instructions, where, self.allow_test_instructions)
            if response is not None and not isinstance(response, str):
                raise RowError(f"{where}: expected a response that is text, found {response!r}")
            with naming(where):
                text = without_end_tokens(response or "", self.end_tokens)
                answer = self.answer(with_opening_tag(text, prompt_text) if self.strip_reasoning else text)
                verdict = answer.follows(instructions, self.edition, self.loose)
                score = self._score(verdict, answer, instructions, prompt_text)
        except (RowError, MissingDataError) as error:
            return broken(str(error))
        ids = zip(instructions, verdict.follow_instruction_list, strict=True)
        missed = tuple(instruction.id for instruction, followed in ids if not followed)
        rollout = Rollout(prompt_text, answer.text.raw, instructions)
        return Rewarded(score, verdict, missed, answer.text.is_blank, trip_wire=tripped(rollout))

    def parts(self, rewarded: Rewarded) -> dict[str, float]:
        """Return what a trainer logs of a reward: numbers under the same names for every row."""
        verdict = rewarded.verdict
        return {
            "all_followed": float(verdict.follow_all_instructions) if verdict else self.broken_reward,
            "share_followed": verdict.share if verdict else self.broken_reward,
            "empty": float(rewarded.is_empty),
            "trip_wire": float(rewarded.trip_wire is not None),
            "broken": float(verdict is None),
        }

    def paid(self, rewarded: Rewarded) -> float:
        """Return the reward that a trainer is given which cannot leave out a row."""
        return self.broken_reward if rewarded.score is None else rewarded.score

    def _score(self, verdict: Verdict, answer: Response, instructions: Sequence[Checker], prompt: str) -> float:
        if self.shape == "all":
            return float(verdict.follow_all_instructions)
        if self.shape == "share_above_floor":
            answers = (self.answer(text) for text in answers_to(prompt).values())
            floor = max(answer.follows(instructions, self.edition, self.loose).share for answer in answers)
            return max(0.0, verdict.share - floor) / (1 - floor) if floor < 1 else 0.0
        if self.shape == "length_corrected" and not any(map(asks_to_be_short, instructions)):
            return verdict.share * min(1.0, answer.text.words / self.full_words)
        return verdict.share


@dataclass(frozen=True)
class Rewarded:
    """The reward of a rollout.

    Attributes:
        score: between 0 and 1; ``None`` if the row cannot be judged.
        verdict: which instructions are followed; ``None`` if the row cannot be judged.
        missed: the ids of the instructions that are not followed.
        is_empty: whether there was no answer: no text, or nothing but reasoning.
        error: why the row cannot be judged; empty if it can.
        trip_wire: which wire the answer trips, if any.
    """

    score: float | None
    verdict: Verdict | None = None
    missed: tuple[str, ...] = ()
    is_empty: bool = False
    error: str = ""
    trip_wire: str | None = None


@lru_cache(maxsize=10_000)
def broken(error: str) -> Rewarded:
    """Return that a row cannot be judged, and log it: once, because every rollout of every epoch would say it again."""
    _log.warning("no reward, for the row cannot be judged: %s", error)
    return Rewarded(None, error=error)
