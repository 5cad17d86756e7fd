"""The metrics and facts in the results of ManyIFEval tasks, including those of refined answers."""

from __future__ import annotations

from lm_eval_ext.families.manyifeval.placement import PLACEMENTS
from lm_eval_ext.families.schema import COUNT, EMPTY_RATE, Metric, Schema

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
OF_REPORTS = (
    Metric("words_followed", higher_is_better=True),
    Metric("words_followed_first_third", higher_is_better=True),
    Metric("words_followed_middle_third", higher_is_better=True),
    Metric("words_followed_last_third", higher_is_better=True),
    # Above 0, the beginning of the list is followed more often than its end.
    Metric("primacy", higher_is_better=None, range=(-1.0, 1.0)),
    Metric("words_modified", higher_is_better=False),
    Metric("words_omitted", higher_is_better=False),
)
"""The metrics of a report with many words, besides the share of empty answers."""
OF_SECTIONS = (
    Metric("instructions_followed", higher_is_better=True),
    Metric("instructions_followed_first_third", higher_is_better=True),
    Metric("instructions_followed_middle_third", higher_is_better=True),
    Metric("instructions_followed_last_third", higher_is_better=True),
    OF_REPORTS[4],
    # The section is there, or it is not.
    Metric("instructions_broken", higher_is_better=False),
    Metric("instructions_omitted", higher_is_better=False),
)
"""The metrics of a report in many sections, besides the share of empty answers and those of the types."""
SECTION_TYPE = Metric("section_acc_*", higher_is_better=True, per_row="ratio")
"""The metrics of the types of instructions about sections."""

SCHEMA = Schema(
    metrics=(
        Metric("prompt_level_strict_acc", higher_is_better=True),
        Metric("inst_level_strict_acc", higher_is_better=True),
        Metric("prompt_level_loose_acc", higher_is_better=True),
        Metric("inst_level_loose_acc", higher_is_better=True),
        Metric("prompt_level_repaired_acc", higher_is_better=True),
        Metric("inst_level_repaired_acc", higher_is_better=True),
        EMPTY_RATE,
        Metric("curse_residual", higher_is_better=True, per_row=None, range=(-1.0, 1.0)),
        Metric("strict_acc_*", higher_is_better=True, per_row="ratio"),
        # Only for rows in several variants.
        Metric("reliable_at_*", higher_is_better=True, per_row=None),
        Metric("reliability_gap", higher_is_better=False, per_row=None),
        *OF_REPORTS,
        *(metric for metric in OF_SECTIONS if metric not in OF_REPORTS),
        SECTION_TYPE,
        # Only for refined answers.
        Metric("prompt_level_strict_acc_round_*", higher_is_better=True),
        Metric("inst_level_strict_acc_round_*", higher_is_better=True),
        # Counts from which precision, recall and F1 over several tasks are computed, and the confusion matrix.
        Metric("feedback_true_positives", higher_is_better=None, per_row=None, range=COUNT),
        Metric("feedback_false_positives", higher_is_better=None, per_row=None, range=COUNT),
        Metric("feedback_false_negatives", higher_is_better=None, per_row=None, range=COUNT),
        Metric("feedback_true_negatives", higher_is_better=None, per_row=None, range=COUNT),
        Metric("feedback_precision", higher_is_better=True, per_row=None),
        Metric("feedback_recall", higher_is_better=True, per_row=None),
        Metric("feedback_f1", higher_is_better=True, per_row=None),
        # These depend on how many instructions are followed in the first place; the report shows the paper's two above.
        Metric("feedback_precision_by_count", higher_is_better=True, per_row=None, drawn=False),
        Metric("feedback_f1_by_count", higher_is_better=True, per_row=None, drawn=False),
        Metric("feedback_unparsable", higher_is_better=False, per_row=None),
        Metric("base_requests", higher_is_better=None, range=COUNT),
        # What each round's answer follows, row by row; the accuracies after each round are computed from it.
        Metric("rounds", higher_is_better=None, per_row=None, drawn=False, range=COUNT),
    ),
    headlines=(Metric("prompt_level_strict_acc", higher_is_better=True), OF_REPORTS[0], OF_SECTIONS[0]),
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
