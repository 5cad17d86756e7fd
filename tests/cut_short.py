"""A model whose answers are known, and of which known ones, or their prompts, are cut off."""

from __future__ import annotations

from typing import Any

from lm_eval_ext.endings import LIMIT, Answer, ending_of
from lm_eval_ext.models.reference import ReferenceLM


class CutShort(ReferenceLM):
    """The ``reference`` LM, but the answers to some rows are cut off before their first word.

    Args:
        cut: how many of ten rows are cut off.
        policy: of the other answers.
        truncated: how many of ten rows it is not shown the beginning of; its answers are the policy's all the same.
    """

    def __init__(self, cut: int, policy: str = "oracle", truncated: int = 0) -> None:
        super().__init__(policy)
        self.cut, self.truncated = cut, truncated

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """Return the known answers, or nothing of them."""
        texts = super().generate_until(requests, disable_tqdm)
        is_cut = [request.doc_id % 10 < self.cut for request in requests]
        answers = [Answer("", LIMIT) if cut else text for text, cut in zip(texts, is_cut, strict=True)]
        return [
            Answer(answer, ending_of(answer), request.doc_id % 10 < self.truncated)
            for answer, request in zip(answers, requests, strict=True)
        ]
