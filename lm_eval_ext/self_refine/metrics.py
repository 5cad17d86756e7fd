"""The additional metrics of refined answers: accuracy by round, quality of the feedback, cost.

Every row has every metric, even for rounds in which it was no longer refined, because the harness gathers metrics by
name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import Any, Final, Literal

from lm_eval_ext.self_refine.confusion import Confusion
from lm_eval_ext.self_refine.refined import Refined, Round, followed
from lm_eval_ext.verifiers import Checker, Verdict

NONE = "N/A"
"""The harness's own placeholder for a missing figure."""
Counts = tuple[int, int, int, int]
"""A row's true positives, false positives, false negatives and true negatives (``confusion``)."""
COUNTS = tuple(f"feedback_{name}" for name in Confusion.__dataclass_fields__)
"""``feedback_true_positives`` and the other three."""


Aggregation = Callable[[list[Any]], float | int | str]
"""Computes a figure from the rows' values."""
MEAN: Final = "mean"
"""The harness's own mean, by name: it is the only mean whose standard error the harness knows."""


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
        | dict.fromkeys(_SHARES, counts)
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


def aggregation(name: str) -> Aggregation | Literal["mean"]:
    """Return how to aggregate one of the metrics that ``scores`` returns.

    Raises:
        KeyError: there is no such metric.
    """
    if name.startswith(("prompt_level_strict_acc_round_", "inst_level_strict_acc_round_")):
        return MEAN
    return AGGREGATIONS[name]


def _of_confusion(figure: Callable[[Confusion], float | None]) -> Callable[[Iterable[Counts]], float | str]:
    def total(rows: Iterable[Counts]) -> float | str:
        found = figure(Confusion.total(Confusion(*counts) for counts in rows))
        return NONE if found is None else found

    return total


def share_unparsable(rows: Iterable[tuple[int, int]]) -> float | str:
    """Return the share of judgments that could not be parsed; ``NONE`` if there are no judgments.

    Args:
        rows: per row, the number of unparsable judgments and the number of all judgments.
    """
    unread, judgments = map(sum, zip(*rows, strict=True))
    return unread / judgments if judgments else NONE


def refinements(rows: Iterable[Sequence[Mapping[str, Any]]]) -> float:
    """Return how many times a row is refined on average.

    Args:
        rows: the rounds of each row as the samples record them, including that of the first answer.
    """
    # An answer that is judged to follow all its instructions is kept.
    counts = [sum(one["judged"] is None or not all(one["judged"]) for one in rounds[:-1]) for rounds in rows]
    return sum(counts) / len(counts)


_SHARES: Mapping[str, Aggregation] = {
    "feedback_precision": _of_confusion(lambda counts: counts.precision),
    "feedback_recall": _of_confusion(lambda counts: counts.recall),
    "feedback_f1": _of_confusion(lambda counts: counts.f1),
    "feedback_precision_by_count": _of_confusion(lambda counts: counts.precision_by_count),
    "feedback_f1_by_count": _of_confusion(lambda counts: counts.f1_by_count),
}
AGGREGATIONS: Mapping[str, Aggregation | Literal["mean"]] = {
    **dict.fromkeys(COUNTS, sum),
    **_SHARES,
    "feedback_unparsable": share_unparsable,
    "base_requests": MEAN,
    "rounds": refinements,
}
"""All but those of the accuracies by round, whose number depends on the run. The schema says which way is better."""
