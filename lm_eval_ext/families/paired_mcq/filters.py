"""The readers of ``lm_eval_ext.classifier`` as filters of the harness: each text is replaced by its reading.

A filter receives the responses to all requests of a process at once, and reads them in one batch. Log-likelihoods pass
through unchanged.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from lm_eval_ext.classifier.reading import Answer, Option, Reader, Reading
from lm_eval_ext.families.paired_mcq.prompt import LETTERS
from lm_eval_ext.harness import filters
from lm_eval_ext.verifiers.reasoning import is_empty, without_reasoning


class ReadingFilter(filters.Filter):  # type: ignore[misc] # the harness ships no types
    """Replaces each text by its reading; see ``said``."""

    @abstractmethod
    def reader(self) -> Reader:
        """Return the reader; called only when there is something to read."""

    def apply(self, resps: Iterable[Sequence[Any]], docs: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
        """Return, per request and response, the reading of the text, or the log-likelihood unchanged."""
        given = [list(responses) for responses in resps]
        places = [
            (request, number)
            for request, responses in enumerate(given)
            for number, response in enumerate(responses)
            if _is_text(response)
        ]
        if places:
            answers = [_answer(given[request][number], docs[request]) for request, number in places]
            for (request, number), reading in zip(places, self.reader()(answers), strict=True):
                given[request][number] = said(reading, empty=is_empty(given[request][number]))
        return given


def _is_text(response: object) -> bool:
    # An API that withholds a completion gives None; a log-likelihood is a pair.
    return response is None or isinstance(response, str)


def _answer(response: str | None, doc: Mapping[str, Any]) -> Answer:
    return Answer(without_reasoning(response or ""), options_of(doc))


def options_of(doc: Mapping[str, Any]) -> tuple[Option, ...]:
    """Return the options of a row in the order shown."""
    return tuple(Option(letter, text) for letter, text in zip(LETTERS, doc["options"], strict=False))


def said(reading: Reading, *, empty: bool = False) -> str:
    """Return a reading as a line of JSON: ``{"reading": "A", "certainty": 1.0}``; see ``Reading.value``.

    That of an empty text has ``"empty": true``, too. A line, not a mapping, because the harness logs anything but text
    and lists in Python syntax.
    """
    return json.dumps({"reading": reading.value, "certainty": reading.certainty, **({"empty": True} if empty else {})})


class StringMatchFilter(ReadingFilter):
    """``mcq_string_match``: the paper's baseline."""

    def reader(self) -> Reader:
        """Return the reader."""
        from lm_eval_ext.classifier.rules.reader import string_match  # noqa: PLC0415 # each filter imports its own reader

        return string_match


class RulesFilter(ReadingFilter):
    """``mcq_rules``: careful rules, which abstain when the answer is unclear."""

    def reader(self) -> Reader:
        """Return the reader."""
        from lm_eval_ext.classifier.rules import reader as rules  # noqa: PLC0415 # as above

        return rules.read


class ClassifierFilter(ReadingFilter):
    """``mcq_classifier``: a trained classifier.

    Args:
        name: see ``lm_eval_ext.classifier.readers.reader``.
        placement: where it runs, if it is a causal model; see ``lm_eval_ext.classifier.availability``.
    """

    def __init__(self, name: str = "default", **placement: Any) -> None:
        super().__init__()
        self._name, self._placement = name, placement

    def reader(self) -> Reader:
        """Return the reader, after loading its weights."""
        from lm_eval_ext.classifier import readers  # noqa: PLC0415 # imports torch, unless the name is rules
        from lm_eval_ext.classifier.availability import Placement  # noqa: PLC0415 # as above

        return readers.reader(self._name, Placement.of(self._placement))


class LLMFilter(ReadingFilter):
    """``mcq_llm``: an instruction-tuned LM that is asked which option the text gives (appendix A.4).

    Args:
        path: the model: a folder, or an id on the hub.
        shots: 0 or 4.
        placement: where it runs; see ``lm_eval_ext.classifier.availability``.
    """

    def __init__(self, path: str, shots: Literal[0, 4] = 4, **placement: Any) -> None:
        super().__init__()
        self._path, self._shots, self._placement = path, shots, placement

    def reader(self) -> Reader:
        """Return the reader, after loading its weights."""
        from lm_eval_ext.classifier import readers  # noqa: PLC0415 # torch
        from lm_eval_ext.classifier.availability import Placement  # noqa: PLC0415 # as above

        return readers.llm(self._path, self._shots, Placement.of(self._placement))


FILTERS = {
    "mcq_string_match": StringMatchFilter,
    "mcq_rules": RulesFilter,
    "mcq_classifier": ClassifierFilter,
    "mcq_llm": LLMFilter,
}

for _name, _filter in FILTERS.items():
    filters.register(_name, _filter)
