"""Reward functions for TRL's trainers that generate: GRPO, RLOO and what follows their convention.

    >>> from lm_eval_ext.integrations.trl_rewards import ShareFollowed
    >>> reward = ShareFollowed()
    >>> reward(["Red and blue."], instruction_id_list=[["punctuation:no_comma"]], kwargs=[[{}]])
    [1.0]

TRL passes the columns of the dataset by name; ``instruction_id_list`` and ``kwargs`` are IFEval's, ``ground_truth`` is
IF-RLVR's. TRL itself is not imported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_ext.integrations.rows import Judging, RowError, named, refuse_tests, row_instructions
from lm_eval_ext.verifiers import Edition, Verdict
from lm_eval_ext.verifiers.verify import COLUMNS, GROUND_TRUTH


@dataclass(frozen=True)
class InstructionReward(ABC):
    """A reward between 0 and 1 for each completion, out of its verdicts.

    An object rather than a function with keywords, because TRL passes every column of the dataset as a keyword: one
    named ``loose`` would change the rule.

    Attributes:
        edition: as in ``verify``.
        loose: as in ``verify``.
        strip_reasoning: as in ``verify``.
        allow_test_instructions: whether IFBench's instructions, which are meant for tests, may be rewarded.
    """

    edition: Edition = "faithful"
    loose: bool = False
    strip_reasoning: bool = True
    allow_test_instructions: bool = False

    def __post_init__(self) -> None:
        """Reject an unknown edition before the training starts."""
        Judging(self.edition, self.strip_reasoning)

    @abstractmethod
    def reward(self, verdict: Verdict) -> float:
        """Return the reward of a completion."""

    def __call__(self, completions: Sequence[Any], prompts: Sequence[Any] | None = None, **columns: Any) -> list[float]:
        """Return the reward of each completion; TRL calls this.

        Args:
            completions: texts, or conversations of messages, of which the assistant's last one is judged.
            prompts: as the dataset has them; only to name rows in errors.
            columns: ``instruction_id_list`` and ``kwargs``, or ``ground_truth``, one value per completion; others are
                ignored.

        Raises:
            RowError: a row is malformed or has an instruction for tests; the message names each such row. There is no
                reward for it, because 0 would be a verdict on the completion.
        """
        given = {name: columns[name] for name in (*COLUMNS, GROUND_TRUTH) if name in columns}
        for name, values in given.items():
            if not isinstance(values, Sequence) or isinstance(values, str) or len(values) != len(completions):
                raise RowError(f"column {name!r}: expected {len(completions)} values, one per completion")
        judging = Judging(self.edition, self.strip_reasoning)
        rewards, errors = [], []
        for index, completion in enumerate(completions):
            key = f", key {columns['key'][index]!r}" if columns.get("key") is not None else ""
            where = named(f"row {index + 1} of the batch{key}", prompts[index] if prompts is not None else None)
            try:
                instructions = row_instructions({name: values[index] for name, values in given.items()}, where)
                refuse_tests(instructions, where, self.allow_test_instructions)
                verdict = judging.verdict(_text(completion, where), instructions, where, self.loose)
            except RowError as error:
                errors.append(str(error))
            else:
                rewards.append(self.reward(verdict))
        if errors:
            rest = f"\n({len(errors)} of the {len(completions)} rows of the batch)" if len(errors) > 1 else ""
            raise RowError("\n".join(errors) + rest)
        return rewards


class ShareFollowed(InstructionReward):
    """The share of a row's instructions that the completion follows: a dense reward."""

    def reward(self, verdict: Verdict) -> float:
        """Return the share."""
        return verdict.share


class AllFollowed(InstructionReward):
    """1 if the completion follows all instructions of its row, else 0."""

    def reward(self, verdict: Verdict) -> float:
        """Return 1 or 0."""
        return float(verdict.follow_all_instructions)


def _text(completion: object, where: str) -> str:
    """Return the text that is judged.

    A conversation's is the content of the assistant's last message, which is empty if that message only calls tools.
    """
    if isinstance(completion, str):
        return completion
    if not isinstance(completion, Sequence):
        raise RowError(f"{where}: expected a completion that is text or a list of messages, found {completion!r}")
    said = [each for each in completion if isinstance(each, Mapping) and each.get("role") == "assistant"]
    if not said or "content" not in said[-1]:
        raise RowError(f"{where}: the completion has no message of the assistant with a content; found {completion!r}")
    content = said[-1]["content"]
    if isinstance(content, str) or content is None:
        return content or ""
    try:
        return "".join(part["text"] for part in content if part["type"] == "text")
    except (TypeError, KeyError) as error:
        raise RowError(f"{where}: expected a content that is text or a list of parts, found {content!r}") from error
