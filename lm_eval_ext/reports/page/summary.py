"""Every model's headline figures side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Estimate, Figure, HeatMap, Panel, Table
from lm_eval_ext.reports.statistics import estimate
from lm_eval_ext.results.models import EvaluatedModel
from lm_eval_ext.results.runs import Runs

MANY = 6
"""Up to this many ungrouped tasks of a family get a column each; of more, those of one level share a column."""


@dataclass(frozen=True)
class Column:
    """A headline.

    Attributes:
        family: its family.
        name: the name of the group or task.
        metric: the headline metric of its tasks.
        higher_is_better: whether higher is better.
        tasks: the tasks that it is the mean over.
    """

    family: str
    name: str
    metric: str
    higher_is_better: bool | None
    tasks: tuple[str, ...]

    @property
    def heading(self) -> str:
        """Its name, its metric and whether higher is better."""
        return f"{self.name} ({self.metric} {'↑' if self.higher_is_better else '↓'})"


def columns(runs: Runs) -> list[Column]:
    """Return the headlines: those of the lowest-level groups, and of the tasks in no group, each of one level."""
    found = []
    for family, described in FAMILIES.items():
        of_task = {run.task: run.headline for run in runs.of(family)}
        facts = {run.task: run.metadata for run in runs.of(family)}
        leaves = set(of_task)
        # A group without a headline of its own is replaced by its parts.
        groups = {
            name: parts
            for name, parts in runs.groups.items()
            if set(parts) <= leaves and len({of_task[part] for part in parts}) == 1
        }
        # Of two groups with the same tasks, the harness lists the outer one first.
        names = {frozenset(parts): name for name, parts in groups.items()}
        lowest = {
            name: groups[name]
            for parts, name in sorted(names.items(), key=lambda item: item[1])
            if not any(other < parts for other in names)
        }
        named = {}
        for group, parts in lowest.items():
            for level, tasks in described.schema.by_level({part: facts[part] for part in parts}).items():
                named[_name(f"{group}, {level}" if level else group, tasks, is_whole=not level)] = tasks
        alone = sorted(leaves.difference(*lowest.values()))
        for headline in dict.fromkeys(of_task[task] for task in alone):
            tasks = tuple(task for task in alone if of_task[task] == headline)
            if len(tasks) <= MANY:
                named |= {task: (task,) for task in tasks}
                continue
            for level, of_level in described.schema.by_level({task: facts[task] for task in tasks}).items():
                which = ", ".join(filter(None, (family, level, f"{len(of_level)} tasks with {headline.name}")))
                named[_name(which, of_level)] = of_level
        for name, tasks in named.items():
            headline = of_task[tasks[0]]
            found.append(Column(family, name, headline.name, headline.higher_is_better, tasks))
    return found


def _name(several: str, tasks: Sequence[str], *, is_whole: bool = False) -> str:
    """Return the name of a headline: that of its task if it is of a single one, unless that is a whole group."""
    return tasks[0] if len(tasks) == 1 and not is_whole else several


def summary(evidence: Evidence) -> Figure:
    """Return the headlines of all models."""
    runs = evidence.runs
    chosen = columns(runs)
    estimates = {
        (model, column.name): _of_column(evidence, model, column) for model in runs.models for column in chosen
    }
    panels = []
    for family in dict.fromkeys(column.family for column in chosen):
        of_family = [column for column in chosen if column.family == family]
        models = [model for model in runs.models if any(estimates[model, column.name].exists for column in of_family)]
        values = tuple(tuple(estimates[model, column.name] for column in of_family) for model in models)
        names = tuple(_short(column, of_family) for column in of_family)
        metrics = ", ".join(dict.fromkeys(column.metric for column in of_family))
        panels.append(Panel(family, HeatMap(tuple(runs.labels[model] for model in models), names, values, metrics)))
    return Figure(
        "summary",
        "Headline metrics",
        "In percent, aggregated as in the harness's groups, but never over several levels, such as kinds of words or "
        "numbers of instructions. ↑: higher is better, ↓: lower is better. In brackets: 95 % confidence intervals from "
        "a cluster bootstrap over rows, with the same resamples for every model. Those of shares have the "
        "width of Wilson's intervals, and are one-sided at 0 and at 100 %.",
        tuple(panels),
        Table(
            ("model", *(column.heading for column in chosen)),
            tuple((runs.labels[model], *(estimates[model, column.name] for column in chosen)) for model in runs.models),
        ),
        metrics=tuple(dict.fromkeys(column.metric for column in chosen)),
    )


def _of_column(evidence: Evidence, model: EvaluatedModel, column: Column) -> Estimate:
    """Return a model's figure; a missing one if it was not run on all the tasks, as it would not be comparable."""
    done = [run for run in evidence.runs.of(column.family, model) if run.task in column.tasks]
    if len(done) < len(column.tasks):
        return Estimate(nan)
    return estimate(evidence.mean(done, column.metric))


def _short(column: Column, others: Sequence[Column]) -> str:
    """Return a heading without what a panel's title already says."""
    name = column.name.removeprefix(f"{column.family}_").removeprefix(f"{column.family}, ") or column.name
    metric = "" if len({other.metric for other in others}) == 1 else f" {column.metric}"
    return f"{name}{metric} {'↑' if column.higher_is_better else '↓'}"
