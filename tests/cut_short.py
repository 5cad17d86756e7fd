"""A model whose answers are known, and of which known ones are cut off at the limit."""

from __future__ import annotations

from typing import Any

from lm_eval_ext.endings import LIMIT, Answer
from lm_eval_ext.models.reference import ReferenceLM


class CutShort(ReferenceLM):
    """The ``reference`` LM, but the answers to some rows are cut off before their first word.

    Args:
        cut: how many of ten rows are cut off.
        policy: of the other answers.
    """

    def __init__(self, cut: int, policy: str = "oracle") -> None:
        super().__init__(policy)
        self.cut = cut

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        """Return the known answers, or nothing of them."""
        texts = super().generate_until(requests, disable_tqdm)
        is_cut = [request.doc_id % 10 < self.cut for request in requests]
        return [Answer("", LIMIT) if cut else text for text, cut in zip(texts, is_cut, strict=True)]
