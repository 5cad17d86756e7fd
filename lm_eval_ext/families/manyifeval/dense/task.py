"""The harness task of the dense leaves."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import datasets

from lm_eval_ext.families.leaf import refuse_rows
from lm_eval_ext.families.manyifeval.answers import IGNORE_SYSTEM, heard
from lm_eval_ext.families.manyifeval.dense.form import chosen_form
from lm_eval_ext.families.manyifeval.dense.rows import COUNTS, task_of
from lm_eval_ext.families.manyifeval.placed_task import PlacedTask
from lm_eval_ext.families.manyifeval.placement import placed
from lm_eval_ext.families.manyifeval.rows import TEST
from lm_eval_ext.families.manyifeval.schema import DENSE, FORM
from lm_eval_ext.families.schema import PLACEMENT
from lm_eval_ext.harness.family_task import Documents
from lm_eval_ext.harness.requests import KnownAnswers

NAME = "manyifeval_dense"


class DenseTask(PlacedTask):
    """A report with n instructions. A leaf has ``instructions``: n, one of ``COUNTS``.

    The rows are part of this package, whatever ``source`` in ``--metadata`` says. ``form`` there says whether the
    instructions are words that the report must contain, or of many types and about its sections (``form.Form``).

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
        self._form, fact = chosen_form(task, metadata)
        if fact:
            # The template's is a field of the other form.
            config["doc_to_target"] = self._form.target
        generation, needed = config.get("generation_kwargs") or {}, count * self._form.new_tokens_per_instruction
        if needed > generation.get("max_gen_toks", 0):
            config["generation_kwargs"] = {**generation, "max_gen_toks": needed}
        config |= {"dataset_path": NAME, "test_split": TEST}
        self.has = (DENSE, self._form.name)
        return {"dataset": NAME, "instructions": count, "repeat": False, DENSE: True, **fact}

    def documents(self) -> Documents:
        """Return the ten rows."""
        found = [
            {**doc, **placed(self.placement, task_of(doc["prompt"]), doc["prompt"])}
            for doc in self._form.documents(self._count, self.row_seed)
        ]
        facts = {"rows_hash": self._form.rows_hash(self._count, self.row_seed)}
        return Documents(TEST, datasets.Dataset.from_list(found), facts)

    def before_requests(self) -> None:
        """Say what the rows cost, because a report may be as long as the model's context; see the base class."""
        super().before_requests()
        tokens = self._count * self._form.tokens_per_instruction
        message = "%s: %d prompts of about %d tokens each, and up to %d new tokens for each (max_gen_toks)"
        limit = self.config.generation_kwargs["max_gen_toks"]
        logging.getLogger(f"lm_eval.{__name__}").info(message, self.config.task, len(self.eval_docs), tokens, limit)

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return reports that follow all instructions, or which of them each policy says."""
        return self._form.known_answers(doc, self.row_seed).also(IGNORE_SYSTEM, heard(self.placement))

    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Return the value of each metric; see ``scores``."""
        return dict(self._form.score(doc, results))
