"""Reads answers in a filter of the harness: each response is replaced by a label word."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lm_eval_ext.families.verbalizer.answer import Reads, read_answer
from lm_eval_ext.families.verbalizer.invalid import kind_of
from lm_eval_ext.families.verbalizer.prompt import Prompt
from lm_eval_ext.families.verbalizer.schema import PARAPHRASE
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
        paraphrases: the same prompt in other wordings, if every row is asked in several.
    """

    def __init__(
        self,
        labels: Sequence[str],
        prior: Sequence[str] = (),
        reads: Reads = "first",
        prompt: str = "",
        paraphrases: Sequence[str] = (),
    ) -> None:
        self._labels, self._prior, self._reads = labels, prior, reads
        self._prompts = [Prompt.of(text) for text in (prompt, *paraphrases)]

    def apply(self, resps: Iterable[Sequence[str | None]], docs: Sequence[dict[str, Any]]) -> list[list[str]]:
        """Return, per document and response, a label word, a prior word, or the marker of an invalid answer."""
        return [
            [self._read(response, doc) for response in responses] for responses, doc in zip(resps, docs, strict=True)
        ]

    def _read(self, response: str | None, doc: dict[str, Any]) -> str:
        prompt = self._prompts[doc.get(PARAPHRASE, 1) - 1 if len(self._prompts) > 1 else 0]
        for words in (self._labels, self._prior):
            # An API that withholds a completion gives None.
            answer = read_answer(response or "", words, self._reads, prompt.row_starts) if words else None
            if answer is not None:
                return answer
        return marker(kind_of(response, self._labels, prompt.whole.render(doc), prompt.row.render(doc)))


filters.register(ANSWER_FILTER, VerbalizerAnswer)
