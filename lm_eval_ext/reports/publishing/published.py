"""What is published of a model: its id on the hub, and its scores as the harness wrote them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from pathlib import Path
from typing import Any

from lm_eval_ext.families.schema import COUNT
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.results.files import shown
from lm_eval_ext.results.issue import named
from lm_eval_ext.results.load import GivenName, find_runs, measured_alike, renamed
from lm_eval_ext.results.models import GGUF, EvaluatedModel
from lm_eval_ext.results.recognition import Choice
from lm_eval_ext.results.runs import Runs, TaskRun
from lm_eval_ext.sources import EMBEDDED, EMBEDDED_NOTE

HUB_ID = re.compile(r"[A-Za-z0-9](?:[\w.-]*\w)?/[A-Za-z0-9](?:[\w.-]*\w)?", re.ASCII)
"""The form of ``owner/name`` on the hub; both can also be parts of a path."""
ADDITIONS = ("peft", "delta", "base", GGUF)
"""Arguments with which a model is not, or not only, what its other arguments name."""
HOW = ("base", "strategy", "rounds", "early_stop", "dtype", "load_in_4bit", "load_in_8bit", "quantization")
"""Arguments that change answers and are published; others may be local paths or addresses."""


@dataclass(frozen=True)
class Score:
    """A figure of one task or group.

    Attributes:
        name: the task or group.
        metric: its metric.
        higher_is_better: the better direction.
        value: the figure.
        error: its standard error according to the harness, which treats rows as independent; ``None`` if there is none.
        rows: the number of evaluated rows.
        range: the least and the greatest possible value; infinite where there is no limit.
        run: the run of the task, or of one task of the group.
    """

    name: str
    metric: str
    higher_is_better: bool
    value: float
    error: float | None
    rows: int
    range: tuple[float, float]
    run: TaskRun


@dataclass(frozen=True)
class PublishedModel:
    """A model whose results are published.

    Attributes:
        id: ``owner/name``.
        runs: its runs, one for each task.
        groups: the tasks of each group in its files.
    """

    id: str
    runs: tuple[TaskRun, ...]
    groups: Mapping[str, tuple[str, ...]]

    @property
    def date(self) -> float:
        """The date of its newest run, in seconds since 1970; the time of writing would differ every time."""
        return max(run.file.date for run in self.runs)

    def names(self) -> tuple[str, ...]:
        """Return the names of its groups and tasks."""
        tasks = {run.task for run in self.runs}
        return (*(group for group, parts in self.groups.items() if tasks.issuperset(parts)), *sorted(tasks))

    def scores(self) -> Iterator[Score]:
        """Yield the figures of all tasks whose metrics have a better direction."""
        for run in self.runs:
            for metric in run.metrics:
                higher_is_better = _direction(run, metric)
                if higher_is_better is not None and (value := run.figure(metric)) is not None:
                    error = run.figures.get(f"{metric}_stderr,{run.reader}")
                    yield Score(
                        run.task, metric, higher_is_better, value, _number(error), run.count, _range(run, metric), run
                    )

    def left_out(self) -> Iterator[str]:
        """Yield which numbers of the results ``scores`` leaves out because they are none that the metric can have."""
        for run in self.runs:
            for metric in run.metrics:
                value = run.figures[f"{metric},{run.reader}"]
                # The harness writes N/A where a task has nothing to score.
                if (
                    isinstance(value, int | float)
                    and run.figure(metric) is None
                    and _direction(run, metric) is not None
                ):
                    yield f"{run.task}, {metric}: {shown(value)} in the results"

    def headline(self, name: str) -> Score:
        """Return the headline of a task or group.

        Raises:
            ReportError: there is no such task or group, or the results have no figure of it.
        """
        by_task = {run.task: run for run in self.runs}
        if name in by_task:
            found = [score for score in self.scores() if (score.name, score.metric) == (name, _headline(by_task[name]))]
            if not found:
                raise ReportError(f"{self.id}, {name}: no figure of {_headline(by_task[name])} in the results")
            return found[0]
        if name not in self.names():
            raise ReportError(f"{self.id}: no results of {name}; expected one of {named(self.names(), 20)}")
        return self._of_group(name, [by_task[part] for part in self.groups[name]])

    def _of_group(self, name: str, runs: Sequence[TaskRun]) -> Score:
        run, metric = runs[0], _headline(runs[0])
        entry = _entry(run.file.content["results"], name)
        value = _number(entry.get(f"{metric},{run.reader}"))
        if value is None or len({each.file.path for each in runs}) > 1:
            raise ReportError(
                f"{self.id}, {name}: no figure of {metric} for this group in the results; expected all of its tasks "
                "from one run of the harness: run the group by its name, or publish its tasks"
            )
        error = _number(entry.get(f"{metric}_stderr,{run.reader}"))
        better = run.headline.higher_is_better is not False
        return Score(name, metric, better, value, error, sum(each.count for each in runs), _range(run, metric), run)


def published(paths: Sequence[Path], ids: Sequence[GivenName]) -> tuple[tuple[PublishedModel, ...], Runs]:
    """Return the models in results files, by id, and what was found in the files.

    Args:
        paths: results files or folders.
        ids: the ids that the user gives.

    Raises:
        OSError: a file cannot be read.
        ReportError: a model has no id or shares it with another, or its rows are not to be published.
        RowsError: a file is not a results file, or an id is for no model.
    """
    (found,) = measured_alike([find_runs(paths, others=True)], Choice())
    labels = found.labels
    # A renamed label is the user's id; others are looked up in the results.
    given = renamed(found, ids)
    models: dict[str, tuple[EvaluatedModel, PublishedModel]] = {}
    for model in found.models:
        runs = tuple(run for run in found.counting if run.model == model)
        _require_real(labels[model], runs)
        name = given[model] if given[model] != labels[model] else _id(model, labels[model], runs)
        if name in models:
            raise ReportError(
                f"{name}: results of two models or settings have this id ({labels[models[name][0]]}; {labels[model]}); "
                "expected one: give the folder or file of one of them"
            )
        models[name] = model, PublishedModel(name, runs, found.groups)
    return tuple(each for _, (_, each) in sorted(models.items())), found


def how(model: EvaluatedModel) -> str:
    """Return how a model was run, as far as readers need it: its type in the harness, and the arguments ``HOW``."""
    arguments = dict(model.arguments)
    return " ".join([f"--model {model.kind}", *(f"{name}={arguments[name]}" for name in HOW if name in arguments)])


def limit(run: TaskRun) -> str | None:
    """Return the ``--limit`` of a run, which had only some of the rows; ``None`` if it had all."""
    found = run.file.config.get("limit")
    return f"{found:g}" if isinstance(found, int | float) else None if found is None else shown(found)


def _id(model: EvaluatedModel, label: str, runs: Sequence[TaskRun]) -> str:
    """Return a model's id on the hub, if the results say it."""
    arguments = dict(model.arguments)
    name = arguments.get("pretrained", "")
    if added := [argument for argument in ADDITIONS if arguments.get(argument) not in (None, "", "None")]:
        why = f"it was run with {' and '.join(added)}"
    elif not HUB_ID.fullmatch(name):
        why = f"pretrained is {name!r}" if name else "it has no argument `pretrained`"
    elif any(run.file.config.get("model_sha") == "" for run in runs):
        # The harness asks the hub for the commit of a model.
        why = f"the harness found no {name!r} on the hub"
    else:
        return name
    raise ReportError(
        f"{label}: the results do not say which model on the hub this is ({why}); give it as --model-id "
        "RUNS=OWNER/NAME, where RUNS is the folder or file of this model"
    )


def _require_real(label: str, runs: Sequence[TaskRun]) -> None:
    embedded = sorted(run.task for run in runs if run.metadata.get("source") == EMBEDDED)
    if embedded:
        raise ReportError(
            f"{label}: {named(embedded)} asked about {EMBEDDED_NOTE}; they are not published: run the tasks on rows "
            "from the hub or a folder"
        )


def _headline(run: TaskRun) -> str:
    return run.headline.name


def _direction(run: TaskRun, metric: str) -> bool | None:
    of_task = _entry(run.file.content.get("higher_is_better"), run.task).get(metric)
    if isinstance(of_task, bool):
        return of_task
    try:
        return run.schema.metric(metric).higher_is_better
    except KeyError:
        return None


def _range(run: TaskRun, metric: str) -> tuple[float, float]:
    try:
        least, most = run.schema.metric(metric).range
    except KeyError:
        return -inf, inf
    return least, inf if most == COUNT[1] else most


def _entry(table: object, name: str) -> Mapping[str, Any]:
    """Return the entry of a task or group in a table of the results; 0.5 prefixes its name with the group's."""
    found = table if isinstance(table, dict) else {}
    entry = next((found[key] for key in found if key == name or key.endswith(f"::{name}")), None)
    return entry if isinstance(entry, dict) else {}


def _number(value: object) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return float(value) if is_number else None  # type: ignore[arg-type] # checked above
