"""Formats an evaluation of readers as JSON or as the paper's Tables 2 and 4."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from lm_eval_ext.classifier.evaluation.reliability import CertaintyBin
from lm_eval_ext.classifier.evaluation.scores import Evaluation, Slice


def as_json(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as JSON.

    Its fields are ``slices`` (each with ``overall``, ``by_model`` and ``mean``), ``errors`` and ``reliability``.
    """
    return {
        "slices": [
            {
                "name": part.name,
                "overall": {evaluator: asdict(cell) for evaluator, cell in part.overall.items()},
                "by_model": {
                    evaluator: {model: asdict(cell) for model, cell in cells.items()}
                    for evaluator, cells in part.by_model.items()
                },
                "mean": {
                    evaluator: dict(zip(("accuracy", "macro_f1", "weighted_f1"), part.mean(evaluator), strict=True))
                    for evaluator in part.overall
                },
            }
            for part in evaluation.slices
        ],
        "errors": {evaluator: dict(kinds) for evaluator, kinds in evaluation.errors.items()},
        "reliability": {evaluator: [asdict(one) for one in bins] for evaluator, bins in evaluation.reliability.items()},
    }


def as_markdown(evaluation: Evaluation) -> str:
    """Return an evaluation as Markdown tables with aligned columns.

    Each slice has the paper's Table 2 (with rows and intervals) and Table 4 (accuracy / macro-F1 / weighted-F1 per
    model and their mean). Each evaluator's accuracy by certainty and its errors by kind follow.
    """
    parts = [_slice_as_markdown(part) for part in evaluation.slices]
    bins = [_bin(evaluator, one) for evaluator, found in evaluation.reliability.items() for one in found]
    if bins:
        header = ["Evaluator", "Certainty", "Rows", "Mean certainty", "Acc"]
        parts.append("### Accuracy by certainty, all rows\n\n" + table(header, bins))
    errors = [
        [evaluator, kind, str(count)] for evaluator, kinds in evaluation.errors.items() for kind, count in kinds.items()
    ]
    if errors:
        parts.append("### Errors, all rows\n\n" + table(["Evaluator", "Error", "Rows"], errors))
    return "\n\n".join(parts) + "\n"


def _bin(evaluator: str, one: CertaintyBin) -> list[str]:
    certainty = f"{one.above:g} - {one.most:g}"
    return [evaluator, certainty, str(one.rows), f"{one.certainty:.3f}", f"{100 * one.accuracy:.1f} %"]


def _slice_as_markdown(part: Slice) -> str:
    overall = [
        [
            evaluator,
            str(cell.rows),
            f"{100 * cell.accuracy:.1f} %",
            f"{100 * cell.low:.1f} - {100 * cell.high:.1f} %",
            f"{cell.macro_f1:.3f}",
            f"{cell.weighted_f1:.3f}",
        ]
        for evaluator, cell in part.overall.items()
    ]
    models = list(next(iter(part.by_model.values())))
    by_model = [
        [
            evaluator,
            *(_cell(cell.accuracy, cell.macro_f1, cell.weighted_f1) for cell in cells.values()),
            _cell(*part.mean(evaluator)),
        ]
        for evaluator, cells in part.by_model.items()
    ]
    return (
        f"### Rows: {part.name}\n\n"
        + table(["Evaluator", "Rows", "Acc", "95 % interval", "Macro F1", "Weighted F1"], overall)
        + "\n\nAcc / macro-F1 / weighted-F1 by model\n\n"
        + table(["Evaluator", *models, "Avg"], by_model)
    )


def _cell(accuracy: float, macro_f1: float, weighted_f1: float) -> str:
    return f"{100 * accuracy:.1f}/{macro_f1:.3f}/{weighted_f1:.3f}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in [header, rule, *rows]
    )
