"""Reward functions for TRL's trainers that generate: GRPO, RLOO and what follows their convention.

    >>> from lm_eval_ext.integrations.trl_rewards import ShareFollowed
    >>> reward = ShareFollowed()
    >>> reward(["Red and blue."], instruction_id_list=[["punctuation:no_comma"]], kwargs=[[{}]])
    [1.0]

TRL passes the columns of the dataset by name; ``instruction_id_list`` and ``kwargs`` are IFEval's, ``ground_truth`` is
IF-RLVR's. TRL itself is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from lm_eval_ext.integrations.rewards import Rewarding, Shape, broken
from lm_eval_ext.integrations.rows import RowError, named, row_columns, text_in
from lm_eval_ext.verifiers.rows import COLUMNS, GROUND_TRUTH


@dataclass(frozen=True)
class InstructionReward(Rewarding):
    """A reward between 0 and 1 for each completion, out of its verdicts; the subclass says in which shape.

    An object rather than a function with keywords, because TRL passes every column of the dataset as a keyword: one
    named ``loose`` would change the rule.
    """

    def __call__(
        self,
        completions: Sequence[Any],
        prompts: Sequence[Any] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """Return the reward of each completion; TRL calls this.

        Args:
            completions: texts, or conversations of messages, of which the assistant's last one is judged.
            prompts: as the dataset has them.
            log_metric: TRL's, which gets the shares of the batch that are empty, trip a wire, or could not be judged.
            columns: ``instruction_id_list`` and ``kwargs``, or ``ground_truth``, one value per completion; others are
                ignored.

        Returns:
            ``None`` for a row that cannot be judged, which is logged: TRL leaves such completions out of the training.

        Raises:
            RowError: a column is missing, or has not one value per completion.
            MissingDataError: at the first call, data of NLTK for a row are not installed.
        """
        row_fields = {name: columns[name] for name in (*COLUMNS, GROUND_TRUTH) if name in columns}
        if GROUND_TRUTH not in row_fields:
            row_columns(row_fields, "the dataset")
        for name, values in row_fields.items():
            if not isinstance(values, Sequence) or isinstance(values, str) or len(values) != len(completions):
                raise RowError(f"column {name!r}: expected {len(completions)} values, one per completion")
        rows = [{name: values[index] for name, values in row_fields.items()} for index in range(len(completions))]
        self.require_data(rows)
        rewarded = []
        for index, (completion, row) in enumerate(zip(completions, rows, strict=True)):
            # Not by its place, which is another one in every batch: the log would name the row every time.
            key = f" with key {columns['key'][index]!r}" if columns.get("key") is not None else ""
            prompt = prompts[index] if prompts is not None else None
            where = named(f"row{key}", prompt)
            try:
                rewarded.append(self.rewarded(_text(completion, where), row, where, prompt))
            except RowError as error:
                rewarded.append(broken(str(error)))
        if log_metric is not None and rewarded:
            parts = [self.parts(reward) for reward in rewarded]
            for name in ("empty", "trip_wire", "broken"):
                log_metric(f"{type(self).__name__}/{name}", fmean(values[name] for values in parts))
        return [reward.score for reward in rewarded]


@dataclass(frozen=True)
class ShareFollowed(InstructionReward):
    """The share of a row's instructions that the completion follows: a dense reward."""

    shape: Shape = field(default="share", init=False)


@dataclass(frozen=True)
class AllFollowed(InstructionReward):
    """1 if the completion follows all instructions of its row, else 0."""

    shape: Shape = field(default="all", init=False)


@dataclass(frozen=True)
class ShareAboveFloor(InstructionReward):
    """The share above what an answer without content follows in the row."""

    shape: Shape = field(default="share_above_floor", init=False)


@dataclass(frozen=True)
class LengthCorrected(InstructionReward):
    """The share, and less of it for a short answer that was not asked to be short."""

    shape: Shape = field(default="length_corrected", init=False)


def _text(completion: object, where: str) -> str:
    """Return the text that is judged.

    A conversation's is the content of the assistant's last message, which is empty if that message only calls tools.
    """
    if isinstance(completion, str):
        return completion
    if not isinstance(completion, Sequence):
        raise RowError(f"{where}: expected a completion that is text or a list of messages, found {completion!r}")
    replies = [message for message in completion if isinstance(message, Mapping) and message.get("role") == "assistant"]
    if not replies or "content" not in replies[-1]:
        raise RowError(f"{where}: the completion has no message of the assistant with a content; found {completion!r}")
    content = replies[-1]["content"]
    text = "" if content is None else text_in(content)
    if text is None:
        raise RowError(f"{where}: expected a content that is text or a list of parts, found {content!r}")
    return text
