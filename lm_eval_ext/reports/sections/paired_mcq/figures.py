"""The report's figures on first tokens and texts, drawn from estimates of any origin.

The figures follow Wang et al. 2024: Figure 2 (mismatch and refusal by constraint level), Figures 3 and 7 (letters) and
Table 3 (entropy, which it calls answer consistency).
"""

from __future__ import annotations

from collections.abc import Sequence

from lm_eval_ext.reports.figure import Figure, Panel
from lm_eval_ext.reports.sections.paired_mcq.layout import (
    FIRST_TOKEN,
    TEXT,
    panels_by_level,
    panels_by_reading,
    table,
    table_of_readings,
)
from lm_eval_ext.reports.sections.paired_mcq.task_result import TaskResult, having
from lm_eval_ext.results.issue import note

INTERVALS = (
    "Intervals are 95 % confidence intervals from a cluster bootstrap over questions; a question is resampled together "
    "with all orders of its options."
)


def mismatch_figure(
    results: Sequence[TaskResult], interval: str = INTERVALS, part: str = "the text refuses"
) -> Figure | None:
    """Return Figure 2 (a): mismatch by constraint level; ``None`` if no first tokens were requested.

    Args:
        results: results with ``mismatch``, and ``mismatch_refusal``, the part of it due to refusals.
        interval: a sentence that describes the intervals of the estimates.
        part: what the lighter portion of a bar is.
    """
    metrics = ("mismatch", "mismatch_refusal")
    measured = having(results, "mismatch")
    if not measured:
        return None
    return Figure(
        "paired_mcq_mismatch",
        "How often do first token and text differ?",
        "Share of rows in which the text does not choose the first token's option: it names another option, several or "
        f"none, or it refuses. Lower is better. The lighter part of a bar: {part}. {interval} See Figure 2 (a) of the "
        "paper.",
        tuple(panels_by_level(measured, "mismatch", "mismatch", part=("mismatch_refusal", part))),
        table(measured, ("mismatch", f"mismatch: {part}"), lambda result: [result[metric] for metric in metrics]),
        metrics=metrics,
    )


def refusal_figure(results: Sequence[TaskResult], interval: str = INTERVALS) -> Figure | None:
    """Return Figure 2 (b): refusal by constraint level.

    Args:
        results: results with ``refusal``, that of the text, and ``refusal_first_token`` if there is one.
        interval: a sentence that describes the intervals of the estimates.
    """
    measured = having(results, "refusal")
    if not measured:
        return None
    readings = {
        metric: reading
        for metric, reading in (("refusal", TEXT), ("refusal_first_token", FIRST_TOKEN))
        if having(measured, metric)
    }
    panels = [
        panel for metric, reading in readings.items() for panel in panels_by_level(measured, metric, "refusal", reading)
    ]
    return Figure(
        "paired_mcq_refusal",
        "How often does it refuse?",
        "Share of rows in which the text refuses, in words or by choosing the option “Refused”, and in which the first "
        f"token is that option's letter. {interval} See Figure 2 (b) of the paper, which shows the text only.",
        tuple(panels),
        table(measured, tuple(readings.values()), lambda result: [result[metric] for metric in readings]),
        metrics=tuple(readings),
    )


def no_answer_figure(results: Sequence[TaskResult]) -> Figure | None:
    """Return how often a text gives no answer, a contradictory one (older results lack it), or several."""
    if not having(results, "no_answer"):
        return None
    names = {"no_answer": "no answer", "contradiction": "contradiction", "several": "several options"}
    names = {metric: name for metric, name in names.items() if having(results, metric)}
    panels: list[Panel] = []
    issues = []
    for metric, name in names.items():
        measured = having(results, metric)
        if panels and not any(result[metric].value > 0 for result in measured):
            issues.append(note(f"Not drawn: {name} (none occurred)."))
            continue
        panels += panels_by_level(measured, metric, name, name)
    return Figure(
        "paired_mcq_no_answer",
        "How often is there no single answer?",
        "Share of rows in which the text contains no answer (and is not a refusal), and in which it chooses several "
        "options. A contradiction, one option's letter with another option's text, is part of the rows without an "
        f"answer. Lower is better. {INTERVALS}",
        tuple(panels),
        table(having(results, "no_answer"), tuple(names.values()), lambda result: [result[metric] for metric in names]),
        tuple(issues),
        tuple(names),
    )


def position_bias_figure(results: Sequence[TaskResult]) -> Figure | None:
    """Return the distance between the letter distributions of first tokens and of texts."""
    measured = having(results, "position_bias")
    if not measured:
        return None
    return Figure(
        "paired_mcq_position_bias",
        "How different are the letters that first tokens and texts choose?",
        "Total variation distance between the two distributions of letters over all rows: the share of rows whose "
        "letter would have to change to make the two equal. 0: both choose each letter equally often. The distance is "
        f"never negative, so chance alone increases it. {INTERVALS} Summarizes Figures 3 and 7 of the paper.",
        tuple(panels_by_level(measured, "position_bias", "total variation distance")),
        table(measured, ("position bias",), lambda result: (result["position_bias"],)),
        metrics=("position_bias",),
    )


def entropy_figure(results: Sequence[TaskResult]) -> Figure | None:
    """Return Table 3: the entropy of the choices over the orders of a question's options."""
    metrics = ("entropy_first_token", "entropy_text")
    panels = panels_by_reading(results, metrics, "entropy in nats", "number")
    if not panels:
        return None
    return Figure(
        "paired_mcq_entropy",
        "Does the order of the options change the answer?",
        "Entropy, in nats, of the contents chosen over the orders in which a question's options were shown, averaged "
        "over questions. 0: the same content in every order. Lower is better. Ten different answers to ten orders "
        f"would give 2.3 (ln 10). {INTERVALS} See Table 3 of the paper, which calls it answer consistency.",
        panels,
        table_of_readings(results, metrics, "number"),
        metrics=metrics,
    )


def accuracy_figure(results: Sequence[TaskResult]) -> Figure | None:
    """Return the accuracy of both readings, where there is a correct option."""
    metrics = ("first_token_acc", "text_acc")
    panels = panels_by_reading(results, metrics, "accuracy", "share")
    if not panels:
        return None
    return Figure(
        "paired_mcq_accuracy",
        "Which is right more often, the first token or the text?",
        "Share of rows in which the first token is the correct option's letter, and in which the text chooses that "
        f"option and no other. Higher is better. {INTERVALS}",
        panels,
        table_of_readings(results, metrics, "share"),
        metrics=metrics,
    )
