"""What a refined answer is scored by, beside what any answer is: accuracy by round, the feedback, the cost.

Every row has every metric, whether or not it was still refined in a round: the harness gathers metrics by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from lm_eval.api.metrics import mean

from lm_eval_ext.self_refine.confusion import Confusion
from lm_eval_ext.self_refine.refined import Refined, Round, followed
from lm_eval_ext.verifiers import Checker, Verdict

NONE = "N/A"
"""The harness's own word for a figure that there is none of."""
Counts = tuple[int, int, int, int]
"""Of one row: true positives, false positives, false negatives, true negatives (``confusion``)."""
COUNTS = tuple(f"feedback_{name}" for name in Confusion.__dataclass_fields__)
"""``feedback_true_positives`` and the other three."""


@dataclass(frozen=True)
class Metric:
    """How the harness is to aggregate a metric.

    Attributes:
        aggregation: of the rows' values.
        higher_is_better: or lower, or neither.
    """

    aggregation: Callable[[list[Any]], float | int | str]
    higher_is_better: bool | None = None


def scores(refined: Refined, instructions: Sequence[Checker]) -> dict[str, Any]:
    """Return the metrics of one row.

    Returns:
        ``prompt_level_strict_acc_round_<k>`` and ``inst_level_strict_acc_round_<k>`` for every k from 0 (the first
        answer) to the planned rounds: of the answer that stands after round k, whether or not it was refined in it.
        ``feedback_…``: the judgements of all the row's rounds against the faithful strict verdicts.
        ``base_requests``: to the base LM. ``rounds``: what was answered and judged, as JSON has it.
    """
    truths = [followed(one.answer, instructions) for one in refined.rounds]
    result: dict[str, Any] = {}
    for number in range(refined.planned + 1):
        verdict = Verdict(truths[min(number, len(truths) - 1)])
        result[f"prompt_level_strict_acc_round_{number}"] = float(verdict.follow_all_instructions)
        result[f"inst_level_strict_acc_round_{number}"] = verdict.share
    judgements = [
        judgement
        for one, truth in zip(refined.rounds, truths, strict=True)
        if one.feedback
        for judgement in zip(truth, one.feedback.verdicts, strict=True)
    ]
    # What cannot be read counts as "not followed", as it does in the refinement.
    counts: Counts = astuple(Confusion.of((truth, bool(verdict)) for truth, verdict in judgements))
    unread = sum(verdict is None for _, verdict in judgements)
    return (
        result
        | dict(zip(COUNTS, counts, strict=True))
        | dict.fromkeys(_SHARES, counts)
        | {
            "feedback_unparsable": (unread, len(judgements)),
            "base_requests": refined.requests,
            "rounds": list(_as_json(refined.rounds, truths)),
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


def metric(name: str) -> Metric:
    """Return how to aggregate one of the metrics that ``scores`` names.

    Raises:
        KeyError: there is no such metric.
    """
    if name.startswith(("prompt_level_strict_acc_round_", "inst_level_strict_acc_round_")):
        return Metric(mean, higher_is_better=True)
    return METRICS[name]


def _of_confusion(figure: Callable[[Confusion], float | None]) -> Callable[[Iterable[Counts]], float | str]:
    def aggregation(rows: Iterable[Counts]) -> float | str:
        found = figure(Confusion.total(Confusion(*counts) for counts in rows))
        return NONE if found is None else found

    return aggregation


def share_unparsable(rows: Iterable[tuple[int, int]]) -> float | str:
    """Return the share of the judgements that could not be read; ``NONE`` if there are none.

    Args:
        rows: how many could not, and how many there are.
    """
    unread, judgements = map(sum, zip(*rows, strict=True))
    return unread / judgements if judgements else NONE


def refinements(rows: Iterable[Sequence[object]]) -> float:
    """Return how many times a row is refined, on average.

    Args:
        rows: the answers of each, the first one included.
    """
    return float(mean([len(answers) - 1 for answers in rows]))


_SHARES = {
    "feedback_precision": Metric(_of_confusion(lambda counts: counts.precision), higher_is_better=True),
    "feedback_recall": Metric(_of_confusion(lambda counts: counts.recall), higher_is_better=True),
    "feedback_f1": Metric(_of_confusion(lambda counts: counts.f1), higher_is_better=True),
    "feedback_precision_by_count": Metric(
        _of_confusion(lambda counts: counts.precision_by_count), higher_is_better=True
    ),
    "feedback_f1_by_count": Metric(_of_confusion(lambda counts: counts.f1_by_count), higher_is_better=True),
}
METRICS = {
    **dict.fromkeys(COUNTS, Metric(sum)),
    **_SHARES,
    "feedback_unparsable": Metric(share_unparsable, higher_is_better=False),
    "base_requests": Metric(mean),
    "rounds": Metric(refinements),
}
"""All but the accuracies by round, whose number is the run's."""
