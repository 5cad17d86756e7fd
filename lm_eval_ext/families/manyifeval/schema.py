"""The metrics and facts in the results of ManyIFEval tasks, including those of refined answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any, Literal, get_args

from lm_eval_ext.families.instructions.kinds import IN_SECTIONS, OTHER_WORDINGS, PHRASINGS
from lm_eval_ext.families.schema import (
    COUNT,
    EMPTY_RATE,
    NONE,
    PROMPT_TRUNCATED_RATE,
    TRUNCATED_RATE,
    Metric,
    Outcome,
    Schema,
    outcomes_by_row,
    reliable,
    share_followed,
    share_metric,
)
from lm_eval_ext.self_refine.metrics import COUNTS, SHARES, Counts, feedback_shares

Placement = Literal["after", "before", "system", "earlier_turn"]
"""Where a conversation states the instructions. ``after``: below the task prompt, as published; ``before``: above it;
``system``: in the system message, with the task alone in the user's; ``earlier_turn``: in a turn of the user's before
the one with the task."""
PLACEMENTS: tuple[Placement, ...] = get_args(Placement)
PUBLISHED: Placement = "after"

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
    return fmean(followed for row_verdicts in by_row.values() for followed in row_verdicts) - fmean(
        map(min, by_row.values())
    )


def feedback(share: str, rows: Iterable[Counts]) -> float | str:
    """Return a share of all rows' feedback together; ``NONE`` if it is undefined."""
    value = feedback_shares(*map(sum, zip(*rows, strict=True)))[share]
    return NONE if value is None else value


def refinements(rows: Iterable[Sequence[Mapping[str, Any]]]) -> float:
    """Return how many times a row is refined on average.

    Args:
        rows: the rounds of each row as the samples record them, including that of the first answer.
    """
    # An answer that is judged to follow all its instructions is kept.
    judgments = ([answer["judged"] for answer in rounds[:-1]] for rounds in rows)
    return fmean(sum(judged is None or not all(judged) for judged in row_judgments) for row_judgments in judgments)


OF_TYPES: Mapping[str, str] = {name: f"strict_acc_{name.replace(':', '_')}" for name in OTHER_WORDINGS}
"""By instruction (Table 4), the metric of its type: how many of its occurrences are strictly followed."""
OF_PHRASINGS: Mapping[int, str] = {number: f"strict_acc_phrasing_{number}" for number in range(PHRASINGS)}
"""By wording, its metric over all instruction types."""
OF_SECTION_TYPES: Mapping[str, str] = {name: f"section_acc_{name.replace(':', '_')}" for name in IN_SECTIONS}
"""By instruction about a section, the metric of its type."""


def _part(name: str, explains: str, need: str, *, higher_is_better: bool = True) -> Metric:
    return Metric(name, higher_is_better, needs=(need,), explains=explains)


PROMPT_STRICT = Metric("prompt_level_strict_acc", higher_is_better=True, needs=(PROMPTS,), in_groups=True)
PRIMACY = Metric("primacy", higher_is_better=None, needs=(DENSE,), range=(-1.0, 1.0))
"""The first third's share minus the last third's, of every form of report: above 0, the beginning of the list is
followed more often than its end."""


def _report_metrics(listed: str, need: str, failed: str) -> tuple[Metric, ...]:
    """Return the metrics of a form of report, besides the share of empty answers.

    Args:
        listed: what is followed.
        need: what a task must have.
        failed: what is said of those that are there, but not as they should be.
    """
    followed = f"{listed}_followed"
    return (
        Metric(followed, higher_is_better=True, needs=(need,), in_groups=True),
        *(_part(f"{followed}_{third}_third", followed, need) for third in ("first", "middle", "last")),
        PRIMACY,
        _part(f"{listed}_{failed}", followed, need, higher_is_better=False),
        _part(f"{listed}_omitted", followed, need, higher_is_better=False),
    )


OF_REPORTS = _report_metrics("words", KEYWORDS, "modified")
"""The metrics of a report with many words."""
OF_SECTIONS = _report_metrics("instructions", MIXED, "broken")
"""The metrics of a report in many sections, besides those of the types."""

SCHEMA = Schema(
    metrics=(
        PROMPT_STRICT,
        Metric("inst_level_strict_acc", higher_is_better=True, needs=(PROMPTS,), in_groups=True),
        _part("prompt_level_loose_acc", "prompt_level_strict_acc", PROMPTS),
        _part("inst_level_loose_acc", "inst_level_strict_acc", PROMPTS),
        _part("prompt_level_repaired_acc", "prompt_level_strict_acc", PROMPTS),
        _part("inst_level_repaired_acc", "inst_level_strict_acc", PROMPTS),
        EMPTY_RATE,
        replace(TRUNCATED_RATE, explains="prompt_level_strict_acc"),
        PROMPT_TRUNCATED_RATE,
        Metric(
            "curse_residual",
            higher_is_better=True,
            aggregation=curse_residual,
            needs=(PROMPTS,),
            explains="prompt_level_strict_acc",
            per_row=None,
            range=(-1.0, 1.0),
        ),
        *(share_metric(name, (TYPES,), "inst_level_strict_acc") for name in OF_TYPES.values()),
        # Only for rows in several variants.
        *(share_metric(name, (COUSINS,), "inst_level_strict_acc") for name in OF_PHRASINGS.values()),
        Metric("reliable_at_5", higher_is_better=True, aggregation=reliable, needs=(COUSINS,), per_row=None),
        Metric("reliability_gap", False, reliability_gap, (COUSINS,), explains="reliable_at_5", per_row=None),
        *OF_REPORTS,
        *(metric for metric in OF_SECTIONS if metric not in OF_REPORTS),
        *(share_metric(name, (MIXED,), "instructions_followed") for name in OF_SECTION_TYPES.values()),
        # Only for refined answers; the number of rounds depends on the run.
        Metric("prompt_level_strict_acc_round_*", higher_is_better=True, needs=(REFINED,)),
        Metric("inst_level_strict_acc_round_*", higher_is_better=True, needs=(REFINED,)),
        # Counts from which precision, recall and F1 over several tasks are computed, and the confusion matrix.
        *(Metric(name, None, sum, needs=(REFINED,), per_row=None, range=COUNT) for name in COUNTS),
        # The figures by count depend on how many instructions are followed in the first place; the report shows the
        # paper's.
        *(
            Metric(name, True, partial(feedback, name), needs=(REFINED,), per_row=None, drawn="by_count" not in name)
            for name in SHARES
        ),
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
        "release_check_manyifeval": (100, 5),
        r"manyifeval(_repeat)?_n\d\d": (100, 1),
    },
)
