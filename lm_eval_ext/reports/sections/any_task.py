"""The report's section on tasks that are not ours: what differs between the models, and every score."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from os.path import commonprefix

import numpy as np

from lm_eval_ext.families.schema import SHARE
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Estimate, Figure, Forest, Panel, Section, Table, TableCell
from lm_eval_ext.reports.gate.compare import compare
from lm_eval_ext.reports.gate.findings import Finding, Outcome
from lm_eval_ext.reports.gate.text import by_issue, metric, metric_of_run, name_with_tasks, p_value
from lm_eval_ext.reports.gate.units import Sides, unlike, weights
from lm_eval_ext.reports.layout import NO_ESTIMATE
from lm_eval_ext.reports.sections.examples import Answer, continuations
from lm_eval_ext.reports.statistics import Ratio, estimate
from lm_eval_ext.results.issue import Issue, grouped, note
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import OTHER, Runs, TaskRun

NAME = "any_task"
NORMAL = 1.959964
"""The 97.5th percentile of the standard normal distribution."""
IN_A_DRAWING = 25
"""The most scores in one drawing; a hundred tasks have four."""
NO_GROUP, GROUPS = "in no group", "groups"
MOST_KINDS = 8
"""The most kinds that a table can be filtered by."""
DRAWN = 12
"""The most differences that one drawing shows."""
LISTED = 400
"""The most differences in a table, which twenty models with a hundred tasks would make unreadable."""


def section(evidence: Evidence) -> Section | None:
    """Return the section; ``None`` if no such task was run."""
    if not evidence.runs.of_family(OTHER):
        return None
    figures = [*differences(evidence), *score_figures(scores(evidence), evidence.runs)]
    return Section(NAME, "Other tasks", "What else was measured, and do the models differ in it?", figures)


def details_of(answer: Answer, _beside: Answer | None) -> Mapping[str, str]:
    """Return the target, the answer after the filter, the score, and the continuations that the model was offered."""
    line, name = answer.line, answer.run.headline.name
    offered = continuations(line)
    texts, target, filtered = _distinct_texts(offered), line["target"], line["filtered_resps"]
    if str(target).isdecimal() and int(target) < len(texts):
        target = texts[int(target)]
    details = {"expected": target if isinstance(target, str) else json.dumps(target, ensure_ascii=False)}
    if not offered and filtered != line["resps"][0]:
        details[f"after the filter {answer.run.reader}"] = " / ".join(map(str, filtered))
    # One version of the harness writes 0, another 0.0.
    details[name] = f"{line[name]:g}" if isinstance(line[name], int | float) else json.dumps(line[name])
    if offered:
        details["log-likelihoods, and per character"] = "\n".join(
            f"{likelihood:.2f} ({likelihood / max(1, len(text)):.2f}): {label.strip()}"
            for (_, text, likelihood), label in zip(offered, texts, strict=True)
        )
    return details


def _distinct_texts(offered: Sequence[tuple[str, str, float]]) -> list[str]:
    """Return the texts by which continuations differ: some tasks offer one continuation of several prompts."""
    prompts = {prompt for prompt, _, _ in offered}
    shared = len(commonprefix([*prompts])) if len(prompts) > 1 else None  # noqa: RUF071 # texts, not paths
    return [text if shared is None else prompt[shared:] + text for prompt, text, _ in offered]


def differences(evidence: Evidence) -> Iterator[Figure]:
    """Yield the figures of differences: of shares, and of what has another unit; none if there is one model."""
    runs = evidence.runs
    first, *others = [model for model in runs.models if runs.of_family(OTHER, model)]
    if not others:
        return
    tasks = {run.task for run in runs.of_family(OTHER)}
    groups = {name: parts for name, parts in runs.groups.items() if tasks.issuperset(parts)}
    runs_by_model = {}
    for model in (first, *others):
        model_runs = tuple(run for run in runs.all if run.model == model and run.family.name == OTHER)
        runs_by_model[model] = replace(runs, all=model_runs, groups=groups, labels={model: runs.labels[model]})
    outcomes = {}
    for model in others:
        labels = runs.labels[first], runs.labels[model]
        outcomes[labels[1]] = compare(Sides(runs_by_model[first], runs_by_model[model], labels, evidence))
    for name, is_share in (("any_task_differences", True), ("any_task_differences_in_units", False)):
        listed = [
            (label, finding)
            for label, outcome in outcomes.items()
            for finding in outcome.findings
            if finding.is_share is is_share
        ]
        if listed:
            yield _differences_figure(name, sorted(listed, key=_by_evidence), outcomes, runs.labels[first])


def _by_evidence(listed: tuple[str, Finding]) -> tuple[float, float, float, str]:
    """Return a sort key: the smallest p-values first; without one, the largest change."""
    compared = listed[1]
    change = compared.difference.change
    p, adjusted = (inf if isnan(value) else value for value in (compared.p, compared.adjusted))
    return adjusted, p, -abs(change.value), compared.name


def _differences_figure(
    name: str, listed: Sequence[tuple[str, Finding]], outcomes: Mapping[str, Outcome], first: str
) -> Figure:
    is_share, in_table = listed[0][1].is_share, listed[:LISTED]
    panels = []
    for label in outcomes if is_share else ():
        drawn = [compared for listed_label, compared in listed if listed_label == label][:DRAWN]
        if drawn:
            names = tuple(name_with_tasks(compared) for compared in drawn)
            changes = tuple(compared.difference.change for compared in drawn)
            panels.append(Panel(f"{label} minus {first}", Forest(names, changes, "change", "change")))
    rows = tuple(
        (
            name_with_tasks(compared),
            metric(compared),
            label,
            compared.difference.change,
            compared.verdict,
            p_value(compared.adjusted),
            compared.difference.rows or None,
            *compared.flips,
        )
        for label, compared in in_table
    )
    issues = []
    if left_out := len(listed) - len(in_table):
        text = "more differences, all with larger p-values, are left out: `compare` has those of two models."
        issues.append(note(f"{left_out} {text}"))
    for label, outcome in outcomes.items():
        for line in by_issue((unpaired.name, str(unpaired.issues[0])) for unpaired in outcome.unpaired):
            issues.append(note(f"{label}, not compared: {line.strip()}"))
    title = "Which tasks differ most clearly?" if is_share else "Which tasks with another unit differ?"
    drawings = f"; a drawing has the {DRAWN} tasks and groups with the smallest p" if is_share else ""
    counts = "“Got better” and “got worse” count the answers with a better or a worse score."
    reading = f"Each model minus {first}, on the same rows{drawings}. {counts}"
    columns = ("task", "metric", "model", "change", "which is", "p (Holm)", "rows", "got better", "got worse")
    kinds = tuple(compared.verdict for _, compared in in_table)
    numbers = Table(columns, rows, "change" if is_share else "number", kinds)
    return Figure(name, title, reading, tuple(panels), numbers, tuple(issues))


@dataclass(frozen=True)
class Score:
    """A task or group with its score by each model.

    Attributes:
        name: the name of the task or group.
        metric: the metric's name, with the filter if there are several, and whether higher is better.
        is_share: whether it is a share, from 0 to 1.
        estimates: by model; models without it are left out.
        rows: the most rows that any model was evaluated on.
    """

    name: str
    metric: str
    is_share: bool
    estimates: dict[EvaluatedModel, Estimate]
    rows: int


def scores(evidence: Evidence) -> list[Score]:
    """Return the scores of all groups, then of all tasks, each by name.

    A group is left out if the harness gives it no score of its tasks' metric.
    """
    runs = evidence.runs
    tasks = sorted({run.task for run in runs.of_family(OTHER)})
    scored = []
    for name, parts in (*sorted(runs.groups.items()), *((task, (task,)) for task in tasks)):
        of_models = [[run for run in runs.of_family(OTHER, model) if run.task in parts] for model in runs.models]
        complete = [of_model for of_model in of_models if len(of_model) == len(parts)]
        # The models have metric and filter in common, unless one lacks what others have.
        by_metric = grouped(((of_model[0].headline.name, of_model[0].reader), of_model) for of_model in complete)
        for comparable in by_metric.values():
            estimates = {}
            for run, *more in comparable:
                value = _task_score(run, evidence) if name == run.task else _group_score(name, [run, *more], evidence)
                if value is not None:
                    estimates[run.model] = value
            if estimates:
                is_share = all(run.headline.range == SHARE for of_model in comparable for run in of_model)
                rows = max(sum(run.count for run in of_model) for of_model in comparable)
                scored.append(Score(name, metric_of_run(comparable[0][0]), is_share, estimates, rows))
    return scored


def _task_score(run: TaskRun, evidence: Evidence) -> Estimate:
    metric = run.headline.name
    figure, error = run.figure(metric), run.standard_error(metric)
    value = nan if figure is None else figure
    if run.rows is None:
        least, most = run.headline.range
        ends = max(least, value - NORMAL * (error or nan)), min(most, value + NORMAL * (error or nan))
        return Estimate(value, *ends) if error else Estimate(value)
    if metric in run.rows.values:
        return estimate(evidence.ratio(run, metric).value)
    aggregate = run.rows.aggregates.get(metric)
    return estimate(evidence.of_sums(run, aggregate)) if aggregate else Estimate(value)


def _group_score(name: str, runs: Sequence[TaskRun], evidence: Evidence) -> Estimate | None:
    """Return the score of a group; ``None`` if the harness gives it none, or if it is no mean."""
    metric, alike = runs[0].headline.name, weights([(name, runs)])
    if (
        unlike(runs)
        or isinstance(alike, Issue)
        or any(run.rows is not None and metric not in run.rows.values for run in runs)
    ):
        return None
    ratios = []
    for run in runs:
        ratio = evidence.ratio(run, metric)
        # A task weighs by all of its rows, and those without a number do not count in it.
        known = len(run.rows) - int(np.isnan(run.rows.values[metric]).sum()) if run.rows else 0
        per_row = len(run.rows) / known if run.rows and known else 1.0
        ratios.append(replace(ratio, total=per_row * ratio.total, count=per_row * ratio.count))
    return estimate(Ratio.over_tasks(ratios, tasks_weigh_alike=alike).value)


def score_figures(scores: Sequence[Score], runs: Runs) -> Iterator[Figure]:
    """Yield the figures of scores: shares, and what has another unit."""
    for name, is_share in (("any_task_scores", True), ("any_task_scores_in_units", False)):
        listed = [score for score in scores if score.is_share is is_share]
        if not listed:
            continue
        models = [model for model in runs.models if any(model in score.estimates for score in listed)]
        panels = []
        if len(models) == 1 and is_share:
            parts = [listed[start : start + IN_A_DRAWING] for start in range(0, len(listed), IN_A_DRAWING)]
            for number, part in enumerate(parts, start=1):
                values = tuple(score.estimates[models[0]] for score in part)
                title = f"part {number} of {len(parts)}" if len(parts) > 1 else ""
                panels.append(Panel(title, Forest(tuple(score.name for score in part), values, "score")))
        rows: list[tuple[TableCell, ...]] = [
            (score.name, score.metric, score.rows, *(score.estimates.get(model, NO_ESTIMATE) for model in models))
            for score in listed
        ]
        title = "How did each model score?" if is_share else "How did each model score in another unit?"
        arrows = "↑: higher is better, ↓: lower is better."
        reading = f"{arrows} A score without an interval is not a known function of its rows."
        columns = ("task", "metric", "rows", *(runs.labels[model] for model in models))
        numbers = Table(columns, tuple(rows), "share" if is_share else "number", _kinds(listed, runs))
        yield Figure(name, title, reading, tuple(panels), numbers)


def _kinds(scores: Sequence[Score], runs: Runs) -> tuple[str, ...]:
    """Return the smallest group of each task; none if there are no groups or too many."""
    sizes = {name: len(parts) for name, parts in runs.groups.items()}
    smallest = {task: name for name in sorted(sizes, key=lambda name: -sizes[name]) for task in runs.groups[name]}
    kinds = tuple(GROUPS if score.name in sizes else smallest.get(score.name, NO_GROUP) for score in scores)
    return kinds if 1 < len(set(kinds)) <= MOST_KINDS else ()
