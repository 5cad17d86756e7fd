"""The differences between the first model and each other model, in every task that is not ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Figure, Forest, Panel, Table, TableCell
from lm_eval_ext.reports.gate.findings import Finding, Outcome, compare
from lm_eval_ext.reports.gate.text import by_issue, metric, name_with_tasks, p_value
from lm_eval_ext.reports.gate.units import Sides
from lm_eval_ext.results.issue import Issue, note
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import OTHER, Runs

DRAWN = 12
"""The most differences that one drawing shows."""
LISTED = 400
"""The most differences in a table, which twenty models with a hundred tasks would make unreadable."""


@dataclass(frozen=True)
class Against:
    """How a model differs from the first one.

    Attributes:
        label: the model's name.
        outcome: the comparison.
    """

    label: str
    outcome: Outcome


def differences(evidence: Evidence) -> Iterator[Figure]:
    """Yield the figures of differences: of shares, and of what has another unit; none if there is one model."""
    runs = evidence.runs
    others = replace(runs, groups=_groups(runs))
    first, *rest = [model for model in runs.models if runs.of(OTHER, model)]
    if not rest:
        return
    found = [Against(runs.labels[model], compare(_sides(others, first, model, evidence))) for model in rest]
    for name, is_share in (("any_task_differences", True), ("any_task_differences_in_units", False)):
        listed = [(each, one) for each in found for one in each.outcome.findings if one.is_share is is_share]
        if listed:
            yield _figure(name, sorted(listed, key=_by_evidence), found, runs.labels[first])


def _groups(runs: Runs) -> dict[str, tuple[str, ...]]:
    tasks = {run.task for run in runs.of(OTHER)}
    return {name: parts for name, parts in runs.groups.items() if tasks.issuperset(parts)}


def _sides(runs: Runs, first: EvaluatedModel, second: EvaluatedModel, evidence: Evidence) -> Sides:
    before, after = (_of_model(runs, model) for model in (first, second))
    return Sides(before, after, (runs.labels[first], runs.labels[second]), evidence)


def _of_model(runs: Runs, model: EvaluatedModel) -> Runs:
    found = tuple(run for run in runs.found if run.model == model and run.family.name == OTHER)
    return replace(runs, found=found, labels={model: runs.labels[model]})


def _by_evidence(listed: tuple[Against, Finding]) -> tuple[float, float, float, str]:
    """Return a sort key: the smallest p-values first; without one, the largest change."""
    compared = listed[1]
    change = compared.difference.change
    p, adjusted = (inf if isnan(value) else value for value in (compared.p, compared.adjusted))
    return adjusted, p, -abs(change.value), compared.name


def _figure(name: str, listed: Sequence[tuple[Against, Finding]], found: Sequence[Against], first: str) -> Figure:
    is_share = listed[0][1].is_share
    panels = []
    for against in found if is_share else ():
        of_model = [compared for each, compared in listed if each is against][:DRAWN]
        if of_model:
            names = tuple(name_with_tasks(compared) for compared in of_model)
            changes = tuple(compared.difference.change for compared in of_model)
            panels.append(Panel(f"{against.label} minus {first}", Forest(names, changes, "change", "change")))
    shown = listed[:LISTED]
    return Figure(
        name,
        "Which tasks differ most clearly?" if is_share else "Which tasks with another unit differ?",
        (
            f"Each model minus {first}, on the same rows"
            + (f"; a drawing has the {DRAWN} tasks and groups with the smallest p" if is_share else "")
            + ". Intervals (95 %): rows are paired; between the limits that check uses. p: paired sign-flip test, with "
            "Holm correction for each model, separately for groups and single tasks; better or worse: below "
            "0.05. Without samples, both are from the standard errors in the results, unpaired."
        ),
        tuple(panels),
        Table(
            ("task", "metric", "model", "change", "which is", "p (Holm)", "rows"),
            tuple(_row(against, compared) for against, compared in shown),
            "change" if is_share else "number",
            tuple(compared.verdict for _, compared in shown),
        ),
        tuple(_issues(found, len(listed) - len(shown))),
    )


def _row(against: Against, compared: Finding) -> tuple[TableCell, ...]:
    difference = compared.difference
    return (
        name_with_tasks(compared),
        metric(compared),
        against.label,
        difference.change,
        compared.verdict,
        p_value(compared.adjusted),
        difference.rows or None,
    )


def _issues(found: Sequence[Against], left_out: int) -> Iterator[Issue]:
    if left_out:
        yield note(
            f"{left_out} more differences, all with larger p-values, are left out: `compare` has those of two models."
        )
    for against in found:
        for line in by_issue((each.name, str(each.issue)) for each in against.outcome.unpaired):
            yield note(f"{against.label}, not compared: {line.strip()}")
