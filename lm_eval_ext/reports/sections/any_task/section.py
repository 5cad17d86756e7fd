"""The report's section on tasks that are not ours: what differs between the models, and every score."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Figure, Forest, Panel, Section, Table, TableCell
from lm_eval_ext.reports.layout import MISSING
from lm_eval_ext.reports.sections.any_task.differences import differences
from lm_eval_ext.reports.sections.any_task.scores import Score, scores
from lm_eval_ext.results.runs import OTHER, Runs

NAME = "any_task"
IN_A_DRAWING = 25
"""The most scores in one drawing; a hundred tasks have four."""
NO_GROUP, GROUPS = "in no group", "groups"
MOST_KINDS = 8
"""The most kinds that a table can be filtered by."""


def section(evidence: Evidence) -> Section | None:
    """Return the section; ``None`` if no such task was run."""
    if not evidence.runs.of(OTHER):
        return None
    found = scores(evidence)
    figures: list[Figure] = [*differences(evidence), *_score_figures(found, evidence.runs)]
    return Section(NAME, "Other tasks", "What else was measured, and do the models differ in it?", figures)


def _score_figures(scores: Sequence[Score], runs: Runs) -> Iterator[Figure]:
    """Yield the figures of scores: shares, and what has another unit."""
    for name, is_share in (("any_task_scores", True), ("any_task_scores_in_units", False)):
        listed = [score for score in scores if score.is_share is is_share]
        if listed:
            yield _figure(name, listed, runs)


def _figure(name: str, scores: Sequence[Score], runs: Runs) -> Figure:
    models = [model for model in runs.models if any(model in score.estimates for score in scores)]
    is_share = scores[0].is_share
    panels = []
    if len(models) == 1 and is_share:
        parts = [scores[start : start + IN_A_DRAWING] for start in range(0, len(scores), IN_A_DRAWING)]
        for number, part in enumerate(parts, start=1):
            values = tuple(score.estimates[models[0]] for score in part)
            title = f"part {number} of {len(parts)}" if len(parts) > 1 else ""
            panels.append(Panel(title, Forest(tuple(score.name for score in part), values, "score")))
    rows: list[tuple[TableCell, ...]] = [
        (score.name, score.metric, score.rows, *(score.estimates.get(model, MISSING) for model in models))
        for score in scores
    ]
    return Figure(
        name,
        "How did each model score?" if is_share else "How did each model score in another unit?",
        "↑: higher is better, ↓: lower is better. In brackets: 95 % confidence intervals from a cluster bootstrap over "
        "rows, with the same resamples for every model; without samples, from the standard errors in the results. A "
        "score without an interval is not a known function of its rows.",
        tuple(panels),
        Table(
            ("task", "metric", "rows", *(runs.labels[model] for model in models)),
            tuple(rows),
            "share" if is_share else "number",
            _kinds(scores, runs),
        ),
    )


def _kinds(scores: Sequence[Score], runs: Runs) -> tuple[str, ...]:
    """Return the smallest group of each task; none if there are no groups or too many."""
    sizes = {name: len(parts) for name, parts in runs.groups.items()}
    smallest = {task: name for name in sorted(sizes, key=lambda name: -sizes[name]) for task in runs.groups[name]}
    kinds = tuple(GROUPS if score.name in sizes else smallest.get(score.name, NO_GROUP) for score in scores)
    return kinds if 1 < len(set(kinds)) <= MOST_KINDS else ()
