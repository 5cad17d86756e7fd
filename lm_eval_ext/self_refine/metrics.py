"""The additional metrics of refined answers: accuracy by round, quality of the feedback (Table 2; Figure 9), cost.

The schema of the family whose answers are refined declares them.

Every row has every metric, even for rounds in which it was no longer refined, because the harness gathers metrics by
name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lm_eval_ext.self_refine.loop import Feedback, Refined, Round, followed
from lm_eval_ext.verifiers import Checker, Verdict

COUNTS = (
    "feedback_true_positives",
    "feedback_false_positives",
    "feedback_false_negatives",
    "feedback_true_negatives",
)
"""The metrics that count judgments: followed instructions that are judged followed, broken ones that are judged
followed, followed ones that are judged broken, and broken ones that are judged broken."""
Counts = tuple[int, int, int, int]
"""A row's judgments by truth and by verdict, in the order of ``COUNTS``."""
SHARES = (
    "feedback_precision",
    "feedback_recall",
    "feedback_f1",
    "feedback_precision_by_count",
    "feedback_f1_by_count",
)
"""The metrics whose figures are computed from these counts of all rows."""


def feedback_shares(
    true_positives: int, false_positives: int, false_negatives: int, true_negatives: int
) -> dict[str, float | None]:
    """Return the quality of feedback by metric, of ``SHARES``. The positive class is *followed*.

    The paper's figures use this class: "all false" feedback has precision 1.0 and recall 0 (Table 2), and Figure 9's
    matrix (76 of the followed instructions are judged followed and 24 are not; 17 and 83 of the broken ones) gives the
    0.82, 0.76 and 0.79 that Table 2 reports for GPT-4o. The definition of false positives in section 5.3 has it the
    other way round; under that definition, "all false" would have recall 1.

    The precision is the paper's, which weights followed and broken instructions equally regardless of their number: it
    is r / (r + w), where r is the recall and w the share of the broken instructions that are judged followed. This
    weighting explains why each row of Figure 9 adds up to 100. Computed from counts, Table 2 would be impossible: if
    nine in ten instructions are followed, hardly any feedback has a precision below 0.9.

    Args:
        true_positives: followed, and judged followed.
        false_positives: not followed, but judged followed.
        false_negatives: followed, but judged not followed.
        true_negatives: not followed, and judged not followed.

    Returns:
        The recall is the share of the followed instructions that are judged followed; ``None`` if none is followed.
        Both precisions are 1 if nothing is judged followed, as Table 2 has it for "all false", or if no judged
        instruction is broken, and ``None`` if nothing is judged. Each F1 is the harmonic mean of a precision and the
        recall; ``None`` if either of them is.
    """
    positives, negatives = true_positives + false_negatives, false_positives + true_negatives
    if not positives + negatives:
        return dict.fromkeys(SHARES)
    recall = true_positives / positives if positives else None
    false_positive_rate = false_positives / negatives if negatives else 0.0
    precision = _precision(recall or 0.0, false_positive_rate)
    by_count = _precision(true_positives, false_positives)
    values = (precision, recall, _f1(precision, recall), by_count, _f1(by_count, recall))
    return dict(zip(SHARES, values, strict=True))


def _precision(rightly: float, wrongly: float) -> float:
    return rightly / (rightly + wrongly) if rightly + wrongly else 1.0


def _f1(precision: float, recall: float | None) -> float | None:
    if recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def scores(refined: Refined, instructions: Sequence[Checker]) -> dict[str, Any]:
    """Return the metrics of one row.

    Returns:
        ``prompt_level_strict_acc_round_<k>`` and ``inst_level_strict_acc_round_<k>`` for every k from 0 (the first
        answer) to the number of planned rounds: the scores of the answer after round k, whether or not that round
        refined it. ``feedback_…``: the judgments of all the row's rounds against the faithful strict verdicts.
        ``base_requests``: the number of requests to the base LM. ``rounds``: the answers and judgments, for JSON.
    """
    truths = [followed(round_.answer, instructions) for round_ in refined.rounds]
    result: dict[str, Any] = {}
    for number in range(refined.planned + 1):
        verdict = Verdict(truths[min(number, len(truths) - 1)])
        result[f"prompt_level_strict_acc_round_{number}"] = float(verdict.follow_all_instructions)
        result[f"inst_level_strict_acc_round_{number}"] = verdict.share
    judgments, rounds = list[tuple[bool, bool | None]](), []
    for round_, truth in zip(refined.rounds, truths, strict=True):
        record: dict[str, Any] = {"answer": round_.answer, "followed": list(truth), "judged": None, "replies": None}
        if round_.feedback:
            judgments += zip(truth, round_.feedback.verdicts, strict=True)
            record |= {"judged": list(round_.feedback.verdicts), "replies": list(round_.feedback.replies)}
        rounds.append(record)
    # A judgment that cannot be parsed counts as "not followed", as it does during refinement.
    pairs = [(truth, bool(verdict)) for truth, verdict in judgments]
    counts = tuple(pairs.count((truth, judged)) for judged in (True, False) for truth in (True, False))
    unread = sum(verdict is None for _, verdict in judgments)
    result |= dict(zip(COUNTS, counts, strict=True)) | dict.fromkeys(SHARES, counts)
    result["feedback_unparsable"] = unread, len(judgments)
    result["base_requests"] = refined.requests
    # A tuple, because lm-eval 0.5 interprets a list as the values of several draws.
    result["rounds"] = tuple(rounds)
    return result


def refined(rounds: Sequence[Mapping[str, Any]], planned: int) -> Refined:
    """Return the answer whose rounds a row's ``rounds`` are; see ``scores``.

    Args:
        rounds: the answers and judgments; ``followed`` is not needed.
        planned: the planned number of rounds.
    """
    played = []
    for record in rounds:
        is_judged = record.get("judged") is not None
        feedback = Feedback(tuple(record["judged"]), tuple(record["replies"])) if is_judged else None
        played.append(Round(record["answer"], feedback))
    return Refined(played, planned)
