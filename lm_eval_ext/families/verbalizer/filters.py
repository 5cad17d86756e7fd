"""Reads answers in a filter of the harness: each response is replaced by a label word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lm_eval_ext.families.verbalizer.answer import Reads, read_answer
from lm_eval_ext.families.verbalizer.invalid import kind_of
from lm_eval_ext.families.verbalizer.prompt import row_part, row_starts, template
from lm_eval_ext.families.verbalizer.verbalizer import marker
from lm_eval_ext.harness import filters

ANSWER_FILTER = "verbalizer_answer"


class VerbalizerAnswer(filters.Filter):  # type: ignore[misc] # the harness ships no types
    """Replaces each response by the label word that it gives as its answer.

    Args:
        labels: the label words.
        prior: words to look for if no label is named: in a neutral task, the golden names.
        reads: see ``answer.read_answer``.
        prompt: the template of the prompt, by which a repetition is recognized.
    """

    def __init__(
        self, labels: Sequence[str], prior: Sequence[str] = (), reads: Reads = "first", prompt: str = ""
    ) -> None:
        self._labels, self._prior, self._reads = labels, prior, reads
        self._row_starts = row_starts(prompt)
        self._prompt, self._row = template(prompt), template(row_part(prompt))

    def apply(self, resps: Iterable[Sequence[str | None]], docs: Sequence[dict[str, Any]]) -> list[list[str]]:
        """Return, per document and response, a label word, a prior word, or the marker of an invalid answer."""
        return [
            [self._read(response, doc) for response in responses] for responses, doc in zip(resps, docs, strict=True)
        ]

    def _read(self, response: str | None, doc: dict[str, Any]) -> str:
        for words in (self._labels, self._prior):
            # An API that withholds a completion gives None.
            answer = read_answer(response or "", words, self._reads, self._row_starts) if words else None
            if answer is not None:
                return answer
        return marker(kind_of(response, self._labels, self._prompt.render(doc), self._row.render(doc)))


filters.register(ANSWER_FILTER, VerbalizerAnswer)
