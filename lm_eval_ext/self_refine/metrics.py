"""The additional metrics of refined answers: accuracy by round, quality of the feedback, cost.

The schema of the family whose answers are refined declares them.

Every row has every metric, even for rounds in which it was no longer refined, because the harness gathers metrics by
name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple
from typing import Any

from lm_eval_ext.self_refine.confusion import Confusion
from lm_eval_ext.self_refine.refined import Refined, Round, followed
from lm_eval_ext.verifiers import Checker, Verdict

Counts = tuple[int, int, int, int]
"""A row's true positives, false positives, false negatives and true negatives (``confusion``)."""
COUNTS = (
    "feedback_true_positives",
    "feedback_false_positives",
    "feedback_false_negatives",
    "feedback_true_negatives",
)
"""Their metrics."""
SHARES = (
    "feedback_precision",
    "feedback_recall",
    "feedback_f1",
    "feedback_precision_by_count",
    "feedback_f1_by_count",
)
"""The metrics whose figures are computed from these counts of all rows."""


def scores(refined: Refined, instructions: Sequence[Checker]) -> dict[str, Any]:
    """Return the metrics of one row.

    Returns:
        ``prompt_level_strict_acc_round_<k>`` and ``inst_level_strict_acc_round_<k>`` for every k from 0 (the first
        answer) to the number of planned rounds: the scores of the answer after round k, whether or not that round
        refined it. ``feedback_…``: the judgments of all the row's rounds against the faithful strict verdicts.
        ``base_requests``: the number of requests to the base LM. ``rounds``: the answers and judgments, for JSON.
    """
    truths = [followed(one.answer, instructions) for one in refined.rounds]
    result: dict[str, Any] = {}
    for number in range(refined.planned + 1):
        verdict = Verdict(truths[min(number, len(truths) - 1)])
        result[f"prompt_level_strict_acc_round_{number}"] = float(verdict.follow_all_instructions)
        result[f"inst_level_strict_acc_round_{number}"] = verdict.share
    judgments = [
        judgment
        for one, truth in zip(refined.rounds, truths, strict=True)
        if one.feedback
        for judgment in zip(truth, one.feedback.verdicts, strict=True)
    ]
    # A judgment that cannot be parsed counts as "not followed", as it does during refinement.
    counts: Counts = astuple(Confusion.of((truth, bool(verdict)) for truth, verdict in judgments))
    unread = sum(verdict is None for _, verdict in judgments)
    return (
        result
        | dict(zip(COUNTS, counts, strict=True))
        | dict.fromkeys(SHARES, counts)
        | {
            "feedback_unparsable": (unread, len(judgments)),
            "base_requests": refined.requests,
            # A tuple, because lm-eval 0.5 interprets a list as the values of several draws.
            "rounds": tuple(_as_json(refined.rounds, truths)),
        }
    )


def _as_json(rounds: Sequence[Round], truths: Sequence[Sequence[bool]]) -> Iterator[dict[str, Any]]:
    for one, truth in zip(rounds, truths, strict=True):
        feedback = one.feedback
        yield {
            "answer": one.answer,
            "followed": list(truth),
            "judged": list(feedback.verdicts) if feedback else None,
            "replies": list(feedback.replies) if feedback else None,
        }
