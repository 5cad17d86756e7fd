"""The additional metrics of refined answers: accuracy by round, quality of the feedback (Table 2; Figure 9), cost.

The schema of the family whose answers are refined declares them.

Every row has every metric, even for rounds in which it was no longer refined, because the harness gathers metrics by
name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from operator import attrgetter
from typing import Any

from lm_eval_ext.self_refine.loop import Feedback, Refined, Round, followed
from lm_eval_ext.verifiers import Checker, Verdict


@dataclass(frozen=True)
class Confusion:
    """Counts of judgments by truth and by verdict. The positive class is *followed*.

    The paper's figures use this class: "all false" feedback has precision 1.0 and recall 0 (Table 2), and Figure 9's
    matrix (76 of the followed instructions are judged followed and 24 are not; 17 and 83 of the broken ones) gives the
    0.82, 0.76 and 0.79 that Table 2 reports for GPT-4o. The definition of false positives in section 5.3 has it the
    other way round; under that definition, "all false" would have recall 1.

    Attributes:
        true_positives: followed, and judged followed.
        false_positives: not followed, but judged followed.
        false_negatives: followed, but judged not followed.
        true_negatives: not followed, and judged not followed.
    """

    true_positives: int = 0
    false_positives: int = 0
    false_negatives: int = 0
    true_negatives: int = 0

    @classmethod
    def of(cls, judgments: Iterable[tuple[bool, bool]]) -> Confusion:
        """Count judgments, each a pair: whether the instruction is followed and whether it is judged followed."""
        pairs = list(judgments)
        return cls(*(pairs.count((truth, judged)) for judged in (True, False) for truth in (True, False)))

    @property
    def recall(self) -> float | None:
        """The share of the followed instructions that are judged followed; ``None`` if none is followed."""
        return _share(self.true_positives, self.false_negatives)

    @property
    def precision(self) -> float | None:
        """Precision as in the paper, which weights followed and broken instructions equally regardless of their number.

        It is r / (r + w), where r is the recall and w the share of the broken instructions that are judged followed.
        This weighting explains why each row of Figure 9 adds up to 100. Computed from counts, Table 2 would be
        impossible: if nine in ten instructions are followed, hardly any feedback has a precision below 0.9
        (``precision_by_count``).

        The value is 1 if nothing is judged followed, as Table 2 has it for "all false", or if no judged instruction is
        broken, and ``None`` if nothing is judged.
        """
        wrongly = _share(self.false_positives, self.true_negatives)
        return self._precision(self.recall or 0.0, wrongly or 0.0)

    @property
    def precision_by_count(self) -> float | None:
        """The share of the instructions judged followed that are followed; 1 and ``None`` as for ``precision``."""
        return self._precision(self.true_positives, self.false_positives)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of ``precision`` and ``recall``; ``None`` if either of them is."""
        return _harmonic_mean(self.precision, self.recall)

    @property
    def f1_by_count(self) -> float | None:
        """The harmonic mean of ``precision_by_count`` and ``recall``; ``None`` if either of them is."""
        return _harmonic_mean(self.precision_by_count, self.recall)

    def _precision(self, rightly: float, wrongly: float) -> float | None:
        if self == Confusion():
            return None
        share = _share(rightly, wrongly)
        return 1.0 if share is None else share


def _share(part: float, others: float) -> float | None:
    return part / (part + others) if part + others else None


def _harmonic_mean(precision: float | None, recall: float | None) -> float | None:
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


Counts = tuple[int, int, int, int]
"""A row's true positives, false positives, false negatives and true negatives (``Confusion``)."""
COUNTS = (
    "feedback_true_positives",
    "feedback_false_positives",
    "feedback_false_negatives",
    "feedback_true_negatives",
)
"""Their metrics."""
SHARES: Mapping[str, Callable[[Confusion], float | None]] = {
    "feedback_precision": attrgetter("precision"),
    "feedback_recall": attrgetter("recall"),
    "feedback_f1": attrgetter("f1"),
    "feedback_precision_by_count": attrgetter("precision_by_count"),
    "feedback_f1_by_count": attrgetter("f1_by_count"),
}
"""The metrics whose figures are computed from these counts of all rows, and how."""


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
    counts: Counts = astuple(Confusion.of((truth, bool(verdict)) for truth, verdict in judgments))
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
