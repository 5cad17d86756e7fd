"""The harness task of the ManyIFEval leaves that ask every row in several variants."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any

import datasets

from lm_eval_ext.families.manyifeval import schema
from lm_eval_ext.families.manyifeval.answers import known_answers
from lm_eval_ext.families.manyifeval.cousins import COUSINS, Cousin, cousins
from lm_eval_ext.families.manyifeval.instruction_row import InstructionRow
from lm_eval_ext.families.manyifeval.placement import Placement
from lm_eval_ext.families.manyifeval.rows import TEST, Selection, evaluated, hash_of
from lm_eval_ext.families.manyifeval.scores import of_incomplete_variants
from lm_eval_ext.families.manyifeval.task import ManyIFEvalTask, document, require_data
from lm_eval_ext.harness.family_task import Documents
from lm_eval_ext.harness.requests import KnownAnswers

FIRST_WORDING = "first_wording"
"""A policy that follows only the published wording: reliability and gap are known under it."""


class CousinsTask(ManyIFEvalTask):
    """Every row in ``COUSINS`` variants that mean the same; see ``cousins``. A leaf has ``instructions``."""

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Add the metrics over variants; see the base class."""
        facts = super().configure(config)
        self.has = (*self.has, schema.COUSINS)
        self.variants = ("key", COUSINS)
        return {**facts, schema.COUSINS: COUSINS}

    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Score a variant; see the base class."""
        found = super().score(doc, results)
        return found if self.is_whole(doc) else found | of_incomplete_variants(doc)

    def documents(self) -> Documents:
        """Return the variants of every row, one after the other."""
        found = [each.row for each in variants(self._selection)]
        require_data(found)
        return Documents(TEST, _as_dataset(self._selection, self.placement), {"rows_hash": hash_of(found)})

    def demonstrations(self, n: int) -> list[dict[str, Any]]:
        """Return few-shot examples in the published wording."""
        return [{**doc, "cousin": 0, "phrasings": []} for doc in super().demonstrations(n)]

    def known_answers(self, doc: dict[str, Any]) -> KnownAnswers:
        """Return the answers of every policy, and of one that follows only the published wording."""
        answers = known_answers(self._row(doc), self.placement)
        return answers.also(FIRST_WORDING, "drop_one" if doc["cousin"] else "oracle")

    def _row(self, doc: dict[str, Any]) -> InstructionRow:
        return self._by_number[doc["key"], doc["cousin"]]

    @cached_property
    def _by_number(self) -> Mapping[tuple[int | str, int], InstructionRow]:
        return {(each.row.key, each.number): each.row for each in variants(self._selection)}


@cache
def variants(selection: Selection) -> tuple[Cousin, ...]:
    """Return the variants of the rows of a selection.

    Raises:
        RowsError: the rows are not available or not valid, or have instructions other than the 15 of Table 4.
    """
    return tuple(each for row in evaluated(selection) for each in cousins(row, selection.row_seed))


@cache
def _as_dataset(selection: Selection, placement: Placement) -> datasets.Dataset:
    return datasets.Dataset.from_list(
        [
            {**document(each.row, placement), "cousin": each.number, "phrasings": list(each.phrasings)}
            for each in variants(selection)
        ]
    )
