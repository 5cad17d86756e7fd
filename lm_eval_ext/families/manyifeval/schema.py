"""The metrics and facts in the results of ManyIFEval tasks, including those of refined answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

from lm_eval_ext.families.instructions.kinds import FIFTEEN, PHRASINGS, SECTION_TYPES
from lm_eval_ext.families.manyifeval.placement import PLACEMENTS
from lm_eval_ext.families.schema import (
    COUNT,
    EMPTY_RATE,
    NONE,
    Metric,
    Outcome,
    Schema,
    outcomes_by_row,
    reliable,
    share_followed,
)
from lm_eval_ext.self_refine.metrics import Confusion

COUSINS = "cousins"
"""The fact in how many variants every row is asked; only tasks with several record it."""
SINGLE = "single"
"""The fact whether each of a task prompt's instructions has a row of its own; older results do not record it."""

WIDE = "wide"
"""The fact that the instructions are of the larger pool; only such tasks record it."""
DENSE = "dense"
"""The fact that a task asks for a report with many words, or in many sections."""
FORM = "form"
"""The key in the metadata that chooses the form of such a report, and the fact; only ``MIXED`` reports record it."""
KEYWORDS, MIXED = "keywords", "mixed"
"""The forms: words that the report must contain; instructions of many types about its sections."""

PROMPTS, TYPES, REFINED = "task prompts", "instruction types", "refined answers"
"""What metrics need, besides ``COUSINS``, ``KEYWORDS`` and ``MIXED``: task prompts with n instructions; those of
ManyIFEval's 15 types; answers with their history."""

Residual = tuple[float, float, int]
"""For one row: whether all instructions are followed, the share of followed ones, and the number of instructions."""
Counts = tuple[int, int, int, int]
"""A row's true positives, false positives, false negatives and true negatives (``self_refine.confusion``)."""


def curse_residual(rows: Iterable[Residual]) -> float:
    """Return prompt-level accuracy minus instruction-level accuracy to the power of n (equation 3); 0: as predicted.

    Args:
        rows: the values of one task's rows, all with the same number n of instructions.
    """
    followed_all, shares, counts = zip(*rows, strict=True)
    return float(sum(followed_all) / len(followed_all) - (sum(shares) / len(shares)) ** counts[0])


def reliability_gap(variants: Iterable[Outcome]) -> float | str:
    """Return the share of variants that are followed, minus the share of rows of which every variant is."""
    by_row = outcomes_by_row(variants)
    if not by_row:
        return NONE
    return fmean(followed for of_row in by_row.values() for followed in of_row) - fmean(map(min, by_row.values()))


def feedback(figure: str, rows: Iterable[Counts]) -> float | str:
    """Return a figure of the feedback on all rows together, by its name in ``Confusion``; ``NONE`` if undefined."""
    found: float | None = getattr(Confusion.total(Confusion(*counts) for counts in rows), figure)
    return NONE if found is None else found


def refinements(rows: Iterable[Sequence[Mapping[str, Any]]]) -> float:
    """Return how many times a row is refined on average.

    Args:
        rows: the rounds of each row as the samples record them, including that of the first answer.
    """
    # An answer that is judged to follow all its instructions is kept.
    counts = [sum(one["judged"] is None or not all(one["judged"]) for one in rounds[:-1]) for rounds in rows]
    return sum(counts) / len(counts)


def _by_id(prefix: str, ids: Iterable[str]) -> Mapping[str, str]:
    return {name: f"{prefix}_{name.replace(':', '_')}" for name in ids}


OF_TYPES = _by_id("strict_acc", FIFTEEN.weights)
"""By instruction (Table 4), the metric of its type: how many of its occurrences are strictly followed."""
OF_PHRASINGS: Mapping[int, str] = {number: f"strict_acc_phrasing_{number}" for number in range(PHRASINGS)}
"""By wording, its metric over all instruction types."""
OF_SECTION_TYPES = _by_id("section_acc", SECTION_TYPES)
"""By instruction about a section, the metric of its type."""
THIRDS = ("first", "middle", "last")
"""The parts of the list of a report's instructions."""


def _part(name: str, of: str, need: str, *, higher_is_better: bool = True) -> Metric:
    return Metric(name, higher_is_better, needs=(need,), explains=of)


def _of_kind(name: str, need: str, explains: str) -> Metric:
    return Metric(name, True, share_followed, needs=(need,), explains=explains, per_row="ratio")


def _of_feedback(name: str, figure: str, *, drawn: bool = True) -> Metric:
    return Metric(name, True, partial(feedback, figure), needs=(REFINED,), per_row=None, drawn=drawn)


def _count(name: str) -> Metric:
    return Metric(name, None, sum, needs=(REFINED,), per_row=None, range=COUNT)


PROMPT_STRICT = Metric("prompt_level_strict_acc", higher_is_better=True, needs=(PROMPTS,), in_groups=True)
# Above 0, the beginning of the list is followed more often than its end.
PRIMACY = Metric("primacy", higher_is_better=None, needs=(DENSE,), range=(-1.0, 1.0))


def _of_form(followed: str, need: str, *faults: str) -> tuple[Metric, ...]:
    """Return the metrics of a form of reports: the headline, also in each third of the list, and the faults."""
    return (
        Metric(followed, higher_is_better=True, needs=(need,), in_groups=True),
        *(_part(f"{followed}_{third}_third", followed, need) for third in THIRDS),
        PRIMACY,
        *(_part(fault, followed, need, higher_is_better=False) for fault in faults),
    )


OF_REPORTS = _of_form("words_followed", KEYWORDS, "words_modified", "words_omitted")
"""The metrics of a report with many words, besides the share of empty answers."""
# The section is there, or it is not.
OF_SECTIONS = _of_form("instructions_followed", MIXED, "instructions_broken", "instructions_omitted")
"""The metrics of a report in many sections, besides the share of empty answers and those of the types."""

SCHEMA = Schema(
    metrics=(
        PROMPT_STRICT,
        Metric("inst_level_strict_acc", higher_is_better=True, needs=(PROMPTS,), in_groups=True),
        _part("prompt_level_loose_acc", "prompt_level_strict_acc", PROMPTS),
        _part("inst_level_loose_acc", "inst_level_strict_acc", PROMPTS),
        _part("prompt_level_repaired_acc", "prompt_level_strict_acc", PROMPTS),
        _part("inst_level_repaired_acc", "inst_level_strict_acc", PROMPTS),
        EMPTY_RATE,
        Metric(
            "curse_residual",
            higher_is_better=True,
            aggregation=curse_residual,
            needs=(PROMPTS,),
            explains="prompt_level_strict_acc",
            per_row=None,
            range=(-1.0, 1.0),
        ),
        *(_of_kind(name, TYPES, "inst_level_strict_acc") for name in OF_TYPES.values()),
        # Only for rows in several variants.
        *(_of_kind(name, COUSINS, "inst_level_strict_acc") for name in OF_PHRASINGS.values()),
        Metric("reliable_at_5", higher_is_better=True, aggregation=reliable, needs=(COUSINS,), per_row=None),
        Metric("reliability_gap", False, reliability_gap, (COUSINS,), explains="reliable_at_5", per_row=None),
        *OF_REPORTS,
        *(metric for metric in OF_SECTIONS if metric not in OF_REPORTS),
        *(_of_kind(name, MIXED, "instructions_followed") for name in OF_SECTION_TYPES.values()),
        # Only for refined answers; the number of rounds depends on the run.
        Metric("prompt_level_strict_acc_round_*", higher_is_better=True, needs=(REFINED,)),
        Metric("inst_level_strict_acc_round_*", higher_is_better=True, needs=(REFINED,)),
        # Counts from which precision, recall and F1 over several tasks are computed, and the confusion matrix.
        _count("feedback_true_positives"),
        _count("feedback_false_positives"),
        _count("feedback_false_negatives"),
        _count("feedback_true_negatives"),
        _of_feedback("feedback_precision", "precision"),
        _of_feedback("feedback_recall", "recall"),
        _of_feedback("feedback_f1", "f1"),
        # These depend on how many instructions are followed in the first place; the report shows the paper's two above.
        _of_feedback("feedback_precision_by_count", "precision_by_count", drawn=False),
        _of_feedback("feedback_f1_by_count", "f1_by_count", drawn=False),
        # Of each row, the judgments that cannot be parsed, and all.
        Metric(
            "feedback_unparsable", higher_is_better=False, aggregation=share_followed, needs=(REFINED,), per_row=None
        ),
        Metric("base_requests", higher_is_better=None, needs=(REFINED,), range=COUNT),
        # What each round's answer follows, row by row; the accuracies after each round are computed from it.
        Metric(
            "rounds",
            higher_is_better=None,
            aggregation=refinements,
            needs=(REFINED,),
            explains="prompt_level_strict_acc",
            per_row=None,
            drawn=False,
            range=COUNT,
        ),
    ),
    headlines=(PROMPT_STRICT, OF_REPORTS[0], OF_SECTIONS[0]),
    # instructions: the number per row; repeat: whether one instruction is repeated that many times (appendix C).
    facts={"instructions": "a whole number", "repeat": "true or false"},
    levels=("instructions", "repeat", SINGLE, WIDE, COUSINS, DENSE, FORM),
    row_key="key",
    row_keys_of_variants={COUSINS: "key"},
    placements=PLACEMENTS,
    sizes={
        "manyifeval|manyifeval_single": (100, 10),
        "manyifeval_repeat": (100, 9),
        r"manyifeval(_repeat)?_n\d\d": (100, 1),
    },
)
