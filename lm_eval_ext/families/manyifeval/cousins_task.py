"""The harness task of the ManyIFEval leaves that ask every row in several variants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from statistics import fmean
from typing import Any

import datasets

from lm_eval_ext.families.instructions import by_kind, share_followed, verdicts
from lm_eval_ext.families.instructions.kinds import PHRASINGS
from lm_eval_ext.families.manyifeval import schema
from lm_eval_ext.families.manyifeval.answers import PlacedAnswers
from lm_eval_ext.families.manyifeval.cousins import COUSINS, Cousin, cousins
from lm_eval_ext.families.manyifeval.instruction_row import InstructionRow
from lm_eval_ext.families.manyifeval.placement import Placement
from lm_eval_ext.families.manyifeval.rows import TEST, Selection, evaluated, hash_of
from lm_eval_ext.families.manyifeval.scores import RowValue, scores_of
from lm_eval_ext.families.manyifeval.task import ManyIFEvalTask, document, require_data
from lm_eval_ext.harness.family_task import Documents
from lm_eval_ext.harness.known_answers import KnownAnswers
from lm_eval_ext.self_refine.metrics import NONE
from lm_eval_ext.verifiers import Response, instructions_of

RELIABLE, GAP = f"reliable_at_{COUSINS}", "reliability_gap"
FIRST_WORDING = "first_wording"
"""A policy of the ``reference`` LM, under which reliability and gap are known."""

Outcome = tuple[int | str, float | None]
"""For one variant: the key of its row, and whether all instructions are followed; ``None`` if the run does not ask the
row in every variant."""


def reliable(rows: Iterable[Outcome]) -> float | str:
    """Return the share of rows of which every variant is followed (reliable@k of IFEval++); ``NONE`` without rows."""
    by_key = _by_key(rows)
    return fmean(map(min, by_key.values())) if by_key else NONE


def gap(rows: Iterable[Outcome]) -> float | str:
    """Return the share of variants that are followed, minus the share of rows of which every variant is."""
    by_key = _by_key(rows)
    if not by_key:
        return NONE
    return fmean(followed for of_row in by_key.values() for followed in of_row) - fmean(map(min, by_key.values()))


def _by_key(rows: Iterable[Outcome]) -> Mapping[int | str, Sequence[float]]:
    """Return what was followed of each row that is asked in every variant."""
    by_key: dict[int | str, list[float]] = {}
    for key, followed in rows:
        if followed is not None:
            by_key.setdefault(key, []).append(followed)
    return by_key


def phrasing_metric(phrasing: int) -> str:
    """Return the name of the metric of one wording, over all instruction types."""
    return f"strict_acc_phrasing_{phrasing}"


@dataclass(frozen=True)
class ProcessCousin:
    """``process_results``: the metrics of one variant."""

    def __call__(self, doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, RowValue | Outcome]:
        """Score the response as that to any row, and by wording."""
        instructions = instructions_of(doc["instruction_id_list"], doc["kwargs"])
        found = verdicts(Response(results[0] or ""), instructions)
        outcome = (doc["key"], float(found["strict"].follow_all_instructions))
        by_phrasing = by_kind(range(PHRASINGS), doc["phrasings"], found["strict"])
        return {
            **scores_of(results[0], found, instructions),
            RELIABLE: outcome,
            GAP: outcome,
            **{phrasing_metric(phrasing): occurrences for phrasing, occurrences in by_phrasing.items()},
        }


@dataclass(frozen=True)
class CousinAnswers(PlacedAnswers):
    """The answers to one variant, keyed by policy; ``first_wording`` follows only the published wording.

    Attributes:
        number: the variant's number.
    """

    number: int

    def __getitem__(self, policy: str) -> str:
        """Return a policy's answer; see the base class."""
        if policy == FIRST_WORDING:
            policy = "drop_one" if self.number else "oracle"
        return super().__getitem__(policy)

    def __contains__(self, policy: object) -> bool:
        """Tell whether there is such a policy."""
        return policy == FIRST_WORDING or super().__contains__(policy)

    def __iter__(self) -> Iterator[str]:
        yield from super().__iter__()
        yield FIRST_WORDING

    def __len__(self) -> int:
        return super().__len__() + 1


class CousinsTask(ManyIFEvalTask):
    """Every row in ``COUSINS`` variants that mean the same; see ``cousins``. A leaf has ``instructions``."""

    def configure(self, config: dict[str, Any]) -> Mapping[str, Any]:
        """Add the metrics over variants; see the base class."""
        facts = super().configure(config)
        config["process_results"] = ProcessCousin()
        config["metric_list"] += [
            {"metric": RELIABLE, "aggregation": reliable, "higher_is_better": True},
            {"metric": GAP, "aggregation": gap, "higher_is_better": False},
            *(
                {"metric": phrasing_metric(number), "aggregation": share_followed, "higher_is_better": True}
                for number in range(PHRASINGS)
            ),
        ]
        self.variants = ("key", COUSINS)
        return {**facts, schema.COUSINS: COUSINS}

    def score(self, doc: dict[str, Any], results: list[Any]) -> dict[str, Any]:
        """Score a variant; see the base class."""
        found = super().score(doc, results)
        if self.scores_rows and not self.is_whole(doc):
            found |= dict.fromkeys((RELIABLE, GAP), (doc["key"], None))
            found |= dict.fromkeys(map(phrasing_metric, range(PHRASINGS)), (0, 0))
        return found

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
        return CousinAnswers(self._row(doc), self.placement, doc["cousin"])

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
