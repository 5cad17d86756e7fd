"""Reads answers in a filter of the harness: each response is replaced by a label word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lm_eval_ext.families.verbalizer.answer import Reads, read_answer
from lm_eval_ext.families.verbalizer.verbalizer import INVALID
from lm_eval_ext.harness import filters

ANSWER_FILTER = "verbalizer_answer"


class VerbalizerAnswer(filters.Filter):  # type: ignore[misc] # the harness ships no types
    """Replaces each response by the label word that it gives as its answer.

    Args:
        labels: the label words.
        prior: words to look for if no label is named: in a neutral task, the golden names.
        reads, row_starts: see ``answer.read_answer``.
    """

    def __init__(
        self,
        labels: Sequence[str],
        prior: Sequence[str] = (),
        reads: Reads = "first",
        row_starts: Sequence[str] = (),
    ) -> None:
        self._labels, self._prior, self._reads, self._row_starts = labels, prior, reads, row_starts

    def apply(self, resps: Iterable[Sequence[str]], docs: Sequence[dict[str, Any]]) -> list[list[str]]:
        """Return, per document and response, a label word, a prior word, or ``INVALID``."""
        return [[self._read(response) for response in responses] for responses in resps]

    def _read(self, response: str | None) -> str:
        for words in (self._labels, self._prior):
            # An API that withholds a completion gives None.
            answer = read_answer(response or "", words, self._reads, self._row_starts) if words else None
            if answer is not None:
                return answer
        return INVALID


filters.register(ANSWER_FILTER, VerbalizerAnswer)
