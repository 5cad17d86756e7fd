"""The two forms of a report with many instructions, behind one face: keywords, and instructions about its sections."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from lm_eval_ext.families.manyifeval.dense import rows as keyword_rows
from lm_eval_ext.families.manyifeval.dense.scores import score_sections, score_words, stem
from lm_eval_ext.families.manyifeval.schema import FORM, KEYWORDS, MIXED
from lm_eval_ext.harness.requests import Composed
from lm_eval_ext.metadata import mark_version

Score = Callable[[Mapping[str, Any], Sequence[str | None]], Mapping[str, Any]]


class Form(ABC):
    """What the reports of a task consist of.

    Attributes:
        target: the field of a document that says what is right.
        name: in the metadata.
        score: returns the value of each metric of a row.
        tokens_per_instruction: of a line of the list, roughly.
        new_tokens_per_instruction: how many new tokens a report may have for each instruction, whatever a leaf's limit;
            0 if that limit is enough.
    """

    name: str
    target: str
    score: Score
    tokens_per_instruction: int
    new_tokens_per_instruction: int

    @abstractmethod
    def documents(self, count: int, row_seed: int | None) -> list[dict[str, Any]]:
        """Return the rows with some number of instructions."""

    @abstractmethod
    def rows_hash(self, count: int, row_seed: int | None) -> str:
        """Return 16 hexadecimal digits that are equal if the rows are."""

    @abstractmethod
    def known_answers(self, doc: Mapping[str, Any], row_seed: int | None) -> Composed:
        """Return the answer of each policy to a document."""


class Keywords(Form):
    """Words that the report must contain."""

    name = KEYWORDS
    target = "words"
    score = staticmethod(score_words)
    # Hyphen, word, line feed.
    tokens_per_instruction = 3
    new_tokens_per_instruction = 0

    def documents(self, count: int, row_seed: int | None) -> list[dict[str, Any]]:
        """Return the rows with some number of words."""
        return [dict(vars(row)) for row in keyword_rows.dense_rows(count, row_seed)]

    def rows_hash(self, count: int, row_seed: int | None) -> str:
        """Return 16 hexadecimal digits that are equal if the rows are."""
        return keyword_rows.rows_hash(count, row_seed)

    def known_answers(self, doc: Mapping[str, Any], row_seed: int | None) -> Composed:
        """Return reports with all words, the first half, all but one, other forms only, and none."""
        words = doc["words"]
        told = {
            "oracle": words,
            "first_half": words[: len(words) // 2],
            "drop_one": words[:-1],
            "other_form": [other_form(word) for word in words],
            "ignore": [],
        }
        return Composed({policy: partial(_report, each) for policy, each in told.items()}, f"report {doc['key']}")


def other_form(word: str) -> str:
    """Return a word with another ending and the same stem."""
    forms = (f"{word}s", f"{word}ed", f"{word}ing", f"{word}ly", f"{word.removesuffix('s')}")
    return next(form for form in forms if form != word and stem(form) == stem(word))


def _report(words: Sequence[str]) -> str:
    return "\n".join(["Here it is.", *_sentences(words)])


def _sentences(words: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(words), 10):
        yield f"It is about {', '.join(words[start : start + 10])}."


class Mixed(Form):
    """Instructions of many types, each about a section of the report."""

    name = MIXED
    target = "witness"
    score = staticmethod(score_sections)

    def __init__(self) -> None:
        from lm_eval_ext.families.manyifeval.dense import section_answers, sections  # noqa: PLC0415 # IFBench's checkers

        self._answers, self._rows = section_answers.known_answers, sections

    tokens_per_instruction = 17
    new_tokens_per_instruction = 20

    def documents(self, count: int, row_seed: int | None) -> list[dict[str, Any]]:
        """Return the rows with some number of instructions.

        Raises:
            MissingDataError: NLTK's sentence data are not installed.
        """
        return [
            {
                "key": row.key,
                "prompt": row.prompt,
                "sections": list(row.sections),
                # Not IFEval's names for these: its readers would judge the report as a whole.
                "types": [instruction.id for instruction in row.instructions],
                "arguments": [instruction.arguments() for instruction in row.instructions],
                "witness": row.witness,
            }
            for row in self._rows.mixed_rows(count, row_seed)
        ]

    def rows_hash(self, count: int, row_seed: int | None) -> str:
        """Return 16 hexadecimal digits that are equal if the rows are."""
        return self._rows.rows_hash(count, row_seed)

    def known_answers(self, doc: Mapping[str, Any], row_seed: int | None) -> Composed:
        """Return reports that follow all instructions, or which of them each policy says."""
        rows = self._rows.mixed_rows(len(doc["sections"]), row_seed)
        return self._answers(next(row for row in rows if row.key == doc["key"]))


_FORMS: Mapping[str, type[Form]] = {KEYWORDS: Keywords, MIXED: Mixed}


def chosen_form(task: str, metadata: dict[str, Any]) -> tuple[Form, Mapping[str, str]]:
    """Return the form that a task's metadata choose, with the fact for its results, and mark the version with it.

    Args:
        task: the task's name, for messages.
        metadata: the task's metadata, which are modified: the form without a mark is removed if it is named, because
            that is the same as naming none.

    Raises:
        ValueError: there is no such form.
    """
    name = metadata.get(FORM, KEYWORDS)
    if not isinstance(name, str) or name not in _FORMS:
        raise ValueError(f"task {task!r}: metadata {FORM} {name!r}; expected one of {', '.join(_FORMS)}")
    if name == KEYWORDS:
        metadata.pop(FORM, None)
        return Keywords(), {}
    mark_version(metadata, name)
    return _FORMS[name](), {FORM: name}
