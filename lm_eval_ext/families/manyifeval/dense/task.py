"""The harness task of the dense leaves, its two forms, and the ``reference`` LM's answers to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from lm_eval_ext.families.leaf import refuse_rows
from lm_eval_ext.families.manyifeval.answers import IGNORE_SYSTEM, heard
from lm_eval_ext.families.manyifeval.dense.rows import (
    COUNTS,
    DenseRow,
    MixedRow,
    dense_rows,
    mixed_rows,
    report,
    rows_hash,
)
from lm_eval_ext.families.manyifeval.dense.scores import score_sections, score_words, stem
from lm_eval_ext.families.manyifeval.placement import PlacedTask, placed
from lm_eval_ext.families.manyifeval.prompts import TEST
from lm_eval_ext.families.manyifeval.schema import DENSE, FORM, KEYWORDS, MIXED
from lm_eval_ext.families.schema import PLACEMENT
from lm_eval_ext.harness.family_task import Documents, as_dataset
from lm_eval_ext.harness.requests import KnownAnswers
from lm_eval_ext.metadata import mark_version
from lm_eval_ext.verifiers.tokenization import PUNKT, Data, require

NAME = "manyifeval_dense"


def keyword_answers(row: DenseRow) -> KnownAnswers:
    """Return reports with all words, the first half, all but one, other forms only, and none."""
    contained: Mapping[str, Sequence[str]] = {
        "oracle": row.words,
        "first_half": row.words[: len(row.words) // 2],
        "drop_one": row.words[:-1],
        "other_form": list(map(other_form, row.words)),
        "ignore": [],
    }
    return {policy: partial(_report_with, words) for policy, words in contained.items()}


def other_form(word: str) -> str:
    """Return a word with another ending and the same stem."""
    forms = (f"{word}s", f"{word}ed", f"{word}ing", f"{word}ly", f"{word.removesuffix('s')}")
    return next(form for form in forms if form != word and stem(form) == stem(word))


def _report_with(words: Sequence[str]) -> str:
    lines = (f"It is about {', '.join(words[start : start + 10])}." for start in range(0, len(words), 10))
    return "\n".join(["Here it is.", *lines])


def section_answers(row: MixedRow) -> KnownAnswers:
    """Return the answers to a row with sections.

    ``oracle`` follows every instruction, ``first_half`` the first half of the list, ``drop_one`` all but its last one;
    ``first_sections`` writes only the first half of the sections, ``break_all`` breaks every instruction, ``ignore``
    writes no section.
    """
    count, half = len(row.instructions), max(row.sections) // 2
    written = {
        "oracle": row.witness,
        "first_sections": row.witness[: row.witness.index(f"\n\nSection {half + 1}\n")],
        "ignore": "Here it is.",
    }
    broken_from = {"first_half": count // 2, "drop_one": count - 1, "break_all": 0}
    composed = {
        policy: partial(report, row.sections, row.instructions, range(first, count))
        for policy, first in broken_from.items()
    }
    return {**written, **composed}


@dataclass(frozen=True)
class Form:
    """What the reports of a task consist of.

    Attributes:
        rows: returns the rows with some number of instructions, under a row seed.
        answers: returns the answer of each policy to a row.
        score: returns the value of each metric of a row.
        target: the field of a document that says what is right.
        new_tokens_per_instruction: how many new tokens a report may have for each instruction, whatever a leaf's limit;
            0 if that limit is enough.
    """

    rows: Callable[[int, int | None], Sequence[DenseRow | MixedRow]]
    answers: Callable[[Any], KnownAnswers]
    score: Callable[[Mapping[str, Any], Sequence[str | None]], Mapping[str, Any]]
    target: str
    new_tokens_per_instruction: int = 0


FORMS: Mapping[str, Form] = {
    KEYWORDS: Form(dense_rows, keyword_answers, score_words, "words"),
    MIXED: Form(mixed_rows, section_answers, score_sections, "witness", new_tokens_per_instruction=20),
}
"""Words that the report must contain; instructions of many types, each about a section of the report."""


class DenseTask(PlacedTask):
    """A report with n instructions. A leaf has ``instructions``: n, one of ``COUNTS``.

    The rows are part of this package, whatever ``source`` in ``--metadata`` says. ``form`` there says whether the
    instructions are words that the report must contain, or of many types and about its sections (``FORMS``).

    Raises:
        ValueError: ``instructions`` is missing or not one of these numbers, or there is no such form or placement; the
            message names leaf and key.
        MissingDataError: the form needs NLTK's sentence data, which are not installed.
    """

    TAKES = ("row_seed", PLACEMENT, FORM)
    NO_DEMONSTRATIONS = "a report with hundreds of instructions leaves no room for others; run with --num_fewshot 0"

    @classmethod
    def datasets(cls) -> Mapping[str, str]:
        """Return the only dataset, with a task that reads it."""
        return {NAME: f"{NAME}_n010"}

    @classmethod
    def nltk_data(cls, config: Mapping[str, Any]) -> Sequence[Data]:
        """Return the data that verdicts need: those on words need none."""
        return (PUNKT,) if config["metadata"].get(FORM) == MIXED else ()

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Take the number of instructions from a leaf's config; see the base class."""
        task, metadata = config["task"], config["metadata"]
        count = config.pop("instructions", None)
        if count not in COUNTS or isinstance(count, bool):
            expected = ", ".join(map(str, COUNTS))
            raise ValueError(f"task {task!r}: instructions {count!r}; expected one of {expected}")
        refuse_rows(config, "all ten reports are evaluated; remove rows (--limit evaluates fewer)")
        self._count: int = count
        self.place(config)
        name = metadata.get(FORM, KEYWORDS)
        if not isinstance(name, str) or name not in FORMS:
            raise ValueError(f"task {task!r}: metadata {FORM} {name!r}; expected one of {', '.join(FORMS)}")
        self._form = FORMS[name]
        self.has = (DENSE, name)
        facts = {"dataset": NAME, "instructions": count, "repeat": False, DENSE: True}
        if name == KEYWORDS:
            # Naming it is the same as naming none.
            metadata.pop(FORM, None)
        else:
            mark_version(metadata, name)
            facts[FORM] = name
            # The template's is a field of the other form.
            config["doc_to_target"] = self._form.target
        generation, needed = config.get("generation_kwargs") or {}, count * self._form.new_tokens_per_instruction
        if needed > generation.get("max_gen_toks", 0):
            config["generation_kwargs"] = {**generation, "max_gen_toks": needed}
        config |= {"dataset_path": NAME, "test_split": TEST}
        return facts

    def documents(self) -> Documents:
        """Return the ten rows; data that a verdict needs is checked now rather than after the last answer."""
        require(*self.nltk_data({"metadata": self.config.metadata}))
        rows = self._form.rows(self._count, self.row_seed)
        docs = [
            {**row.document, **placed(self.placement, row.prompt[: row.prompt.index(".") + 1], row.prompt)}
            for row in rows  # the task is the first sentence
        ]
        hashed = rows_hash(rows)
        return Documents(TEST, as_dataset(docs, hashed), {"rows_hash": hashed})

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return reports that follow all instructions, or which of them each policy says."""
        rows = self._form.rows(self._count, self.row_seed)
        answers = self._form.answers(next(row for row in rows if row.key == doc["key"]))
        return {**answers, IGNORE_SYSTEM: answers[heard(self.placement)]}

    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the value of each metric; see ``scores``."""
        return dict(self._form.score(doc, results))
