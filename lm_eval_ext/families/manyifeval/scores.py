"""The metrics of ManyIFEval (section 3.2), under the harness's own names for IFEval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lm_eval_ext.families.instructions import Occurrences, accuracies, by_kind, share_followed, verdicts
from lm_eval_ext.families.instructions.kinds import FIFTEEN
from lm_eval_ext.families.manyifeval.schema import SCHEMA
from lm_eval_ext.families.schema import EMPTY_RATE
from lm_eval_ext.verifiers import Checker, Response, Verdict, instructions_of

Residual = tuple[float, float, int]
"""For one row: whether all instructions are followed, the share of followed ones, and the number of instructions."""
OF_TYPE = "strict_acc_"
"""What the names of the instruction types' metrics begin with."""
RowValue = float | Residual | Occurrences
"""A row's value of a metric."""


def scores(response: str | None, instructions: Sequence[Checker]) -> dict[str, RowValue]:
    """Return the metrics of one row.

    Args:
        response: the model's response, including reasoning, which is removed before any verdict. An API that withholds
            a completion returns ``None``, which counts as empty.
        instructions: the row's instructions, at least one.

    Returns:
        ``prompt_level_…`` (1 if all instructions are followed, else 0; equation 1) and ``inst_level_…`` (the share of
        followed ones; equation 2), each strict, loose and, in the repaired edition, strict; ``empty_rate`` (1 if there
        is no answer); and the values from which
        ``curse_residual`` and ``strict_acc_<instruction>`` are computed. Every row has every metric, even for types
        that it lacks, because the harness gathers metrics from several processes by name.
    """
    return scores_of(response, verdicts(Response(response or ""), instructions), instructions)


def scores_of(
    response: str | None, found: Mapping[str, Verdict], instructions: Sequence[Checker]
) -> dict[str, RowValue]:
    """Return the metrics of one row, given the verdicts on its response; see ``scores``."""
    strict = found["strict"]
    result: dict[str, RowValue] = {**accuracies(response, found)}
    result["curse_residual"] = (float(strict.follow_all_instructions), strict.share, len(instructions))
    by_type = by_kind(FIFTEEN.weights, [instruction.id for instruction in instructions], strict)
    return result | {type_metric(name): occurrences for name, occurrences in by_type.items()}


def more_metrics() -> list[dict[str, Any]]:
    """Return the share of empty answers and the metrics of the instruction types, in the harness's format.

    They are not in the leaves' template, because the harness would have to parse these long lines for each leaf.
    """
    empty = {
        "metric": EMPTY_RATE.name,
        "aggregation": "mean",
        "higher_is_better": EMPTY_RATE.higher_is_better,
    }
    metrics = [SCHEMA.metric(type_metric(name)) for name in FIFTEEN.weights]
    return [
        empty,
        *(
            {"metric": type_metric(name), "aggregation": share_followed, "higher_is_better": metric.higher_is_better}
            for name, metric in zip(FIFTEEN.weights, metrics, strict=True)
        ),
    ]


def type_metric(instruction_id: str) -> str:
    """Return the name of an instruction type's metric: ``strict_acc_keywords_existence``."""
    return f"{OF_TYPE}{instruction_id.replace(':', '_')}"


def of_type(metric: str) -> bool:
    """Tell whether a metric is that of an instruction type."""
    return metric.startswith(OF_TYPE)


def curse_residual(rows: Iterable[Residual]) -> float:
    """Return prompt-level accuracy minus instruction-level accuracy to the power of n (equation 3); 0: as predicted.

    Args:
        rows: the values of one task's rows, all with the same number n of instructions.
    """
    followed_all, shares, counts = zip(*rows, strict=True)
    return float(sum(followed_all) / len(followed_all) - (sum(shares) / len(shares)) ** counts[0])


@dataclass(frozen=True)
class ProcessResults:
    """``process_results``: the metrics of one row.

    A dataclass rather than a closure, because the harness copies a task's config and writes it to the results.
    """

    def __call__(self, doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, RowValue]:
        """Score the response; see ``scores``."""
        return scores(results[0], instructions_of(doc["instruction_id_list"], doc["kwargs"]))
