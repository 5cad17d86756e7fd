"""The figures of runs with their uncertainty, computed from their rows by resampling.

Those of tasks that are not ours can be functions of sums over rows (``results.aggregation``): a resample draws rows of
the dataset, and the figure is computed anew from the sums over them.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.schema import SHARE
from lm_eval_ext.floors import IN_WORDS
from lm_eval_ext.reports.statistics import Floats, Population, Ratio, Replicates, computed
from lm_eval_ext.results.aggregation import Aggregate
from lm_eval_ext.results.issue import Issue, named, note
from lm_eval_ext.results.models import Sizes
from lm_eval_ext.results.runs import Runs, TaskRun, rows_of
from lm_eval_ext.verifiers import MissingDataError

ANY_ANSWER = "any answer"
"""In place of the best answer without content where all of them score the same."""
LARGE = 200_000
"""More rows of all runs than these are worth several processes."""


@dataclass(frozen=True)
class Floor:
    """What the best answer without content scores on the rows of a figure: where its zero is.

    Attributes:
        answer: the name of the answer, and of the policy of the ``reference`` LM that gives it (``floors.IN_WORDS``).
        value: its score, from the same resamples as the figure.
        is_any: whether all answers without content have this score.
    """

    answer: str
    value: Replicates
    is_any: bool = False

    @property
    def in_words(self) -> str:
        """The answer, as a reader is told of it."""
        return ANY_ANSWER if self.is_any else IN_WORDS[self.answer]

    def above(self, score: Replicates) -> Replicates:
        """Return how far a score on the same rows is above the floor: (score - floor) / (1 - floor).

        It is 0 at the floor, 1 if all is right, and negative below the floor, as accuracy corrected for chance
        (Cohen's kappa) is about guessing. NaN where the floor is 1, which leaves no room above it.
        """
        with np.errstate(invalid="ignore", divide="ignore"):
            return computed(
                lambda scores, floors: np.where(floors < 1, (scores - floors) / (1 - floors), np.nan),
                score,
                self.value,
                over=score,
            )


ByAnswer = Mapping[str, Mapping[str, Floats]]
"""By answer without content and metric, what each row of a task scores, shape (rows,)."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Runs, with the resamples of their rows; every figure in a report's sections is computed with it.

    Attributes:
        runs: all runs.
        sizes: the sizes of the models.
        upper_bound: runs of task-specific models, with which a section compares those of ``runs``; loaded together with
            them, so that rows are paired.
        baseline: the label of the model with which the only other one is compared; empty if none is.
    """

    runs: Runs
    sizes: Sizes = field(default_factory=Sizes)
    upper_bound: Runs | None = None
    baseline: str = ""
    _floors: dict[Hashable, ByAnswer | Issue] = field(default_factory=dict)
    _best: dict[Hashable, Floor] = field(default_factory=dict)

    @property
    def is_large(self) -> bool:
        """Whether there is enough to compute for several processes."""
        return sum(len(run.rows) for run in self.runs.all if run.rows is not None) > LARGE

    @cached_property
    def population(self) -> Population:
        """The resampled dataset rows: everything measured on the same rows shares the same resamples."""
        return Population(self.runs.dataset_rows)

    def ratio(self, run: TaskRun, metric: str, mask: NDArray[np.bool_] | None = None) -> Ratio:
        """Return a mean over a task's rows, with its resamples if there are samples.

        It is NaN if the results predate the metric.

        Args:
            run: the task.
            metric: one of its metrics.
            mask: which rows count, shape (rows,); ``None``: all of them. Without samples, all rows count.

        Raises:
            KeyError: the family has no such metric.
        """
        limits = run.schema.metric(metric).range
        if run.rows is None:
            return _without_rows(run, metric, run.count)
        values = run.rows.values.get(metric)
        if values is None:
            return Ratio.without_rows(np.nan, run.count)
        # Missing values (NaN) do not count.
        of_kept = values if mask is None else np.where(mask, values, np.nan)
        ratio = self.population.ratio(run.dataset, run.rows.clusters, of_kept)
        # Figures on other scales do not come near an end.
        return ratio.measured(figure_name(run, metric), limits if limits == SHARE else None)

    def mean(self, runs: Sequence[TaskRun], metric: str) -> Replicates:
        """Return a figure over several tasks of one family, aggregated as in the harness's groups, with its resamples.

        Raises:
            KeyError: the family has no such metric.
        """
        ratios = [self.ratio(run, metric) for run in runs]
        return Ratio.over_tasks(ratios, tasks_weigh_alike=runs[0].schema.tasks_weigh_alike).value

    def of_sums(self, run: TaskRun, aggregate: Aggregate) -> Replicates:
        """Return a task's figure that is a function of sums over its rows; NaN in resamples where it does not exist.

        Raises:
            ValueError: the task has no samples.
        """
        clusters = rows_of(run).clusters
        sums = [self.population.by_cluster(run.dataset, clusters, term) for term in aggregate.terms.T]
        figures = aggregate.of_sums(self.population.weights(run.dataset) @ np.stack(sums, axis=1))
        return Replicates(np.where(np.isfinite(figures), figures, np.nan))

    def floor(self, runs: Sequence[TaskRun], metric: str) -> Floor | None:
        """Return what the best answer without content scores on the rows of tasks, aggregated as in ``mean``.

        The answer is the best one over all of the tasks; to labels and options, it is the one that is right most often
        in each task. Resamples do not choose anew.

        Args:
            runs: runs of tasks of one family, by one model.
            metric: one of its metrics.

        Returns:
            ``None`` where there is no floor: for a metric of which less is better or which is no share of right answers
            (with an answer without content, a mismatch, an entropy or a curse is at its best), where a task has no
            samples, and where its documents do not say what is right (``no_floor``).

        Raises:
            KeyError: the family has no such metric.
        """
        if not _can_have_floor(runs[0], metric):
            return None
        of_runs = [self._answers(run) for run in runs]
        by_answer = [answers for answers in of_runs if not isinstance(answers, Issue)]
        if len(by_answer) < len(of_runs):
            return None
        key = (metric, *map(_documents_key, runs))
        if key in self._best:
            return self._best[key]
        scores = {
            answer: [answers[answer][metric] for answers in by_answer]
            for answer in by_answer[0]
            if all(metric in answers.get(answer, ()) for answers in by_answer)
        }
        if not scores:
            return None
        tasks_weigh_alike = runs[0].schema.tasks_weigh_alike
        means = {
            answer: fmean(map(fmean, of_tasks)) if tasks_weigh_alike else float(np.concatenate(of_tasks).mean())
            for answer, of_tasks in scores.items()
        }
        best = max(means, key=means.__getitem__)
        ratios = [
            self.population.ratio(run.dataset, run.rows.clusters, values).measured(f"{best} {run.task} {metric}", SHARE)
            for run, values in zip(runs, scores[best], strict=True)
            if run.rows is not None
        ]
        value = Ratio.over_tasks(ratios, tasks_weigh_alike=tasks_weigh_alike).value
        self._best[key] = Floor(best, value, is_any=len(means) > 1 and len({*means.values()}) == 1)
        return self._best[key]

    def no_floor(self, runs: Sequence[TaskRun], metric: str) -> list[Issue]:
        """Return why tasks with samples lack the floor of a metric that can have one.

        Each reason names its tasks, unless it is that of all.
        """
        tasks: dict[Issue, dict[str, None]] = {}
        for run in runs if _can_have_floor(runs[0], metric) else ():
            if run.rows is not None and isinstance(reason := self._answers(run), Issue):
                tasks.setdefault(reason, {})[run.task] = None
        every = {run.task for run in runs}
        places = {reason: "" if {*names} == every else f" ({named([*names])})" for reason, names in tasks.items()}
        return [replace(reason, text=f"{reason}{place}") for reason, place in places.items()]

    def _answers(self, run: TaskRun) -> ByAnswer | Issue:
        """Return what answers without content score on the rows of a task, or why that is unknown.

        It is computed once for all models with the same rows.
        """
        key = _documents_key(run)
        if key not in self._floors:
            self._floors[key] = floors_of(run)
        return self._floors[key]

    def share(self, run: TaskRun, metric: str, mask: NDArray[np.bool_] | None = None) -> Ratio:
        """Return a ratio over a task's rows, such as the share of instructions that were followed.

        Without samples it is the task's own figure with the weight of one row, and must not be summed with others.

        Args:
            run: the task.
            metric: a metric whose rows have both numbers.
            mask: which rows count, shape (rows,); ``None``: all of them. Without samples, all rows count.
        """
        if run.rows is None:
            return _without_rows(run, metric, 1)
        numerators, denominators = run.rows.values[metric], run.rows.denominators[metric]
        if mask is not None:
            numerators, denominators = np.where(mask, numerators, 0.0), np.where(mask, denominators, 0.0)
        return self.of_counts(run, numerators, denominators, metric)

    def every_variant(self, run: TaskRun, metric: str, measured: str) -> Ratio:
        """Return the share of a task's dataset rows that are right in every variant, a mean over draws if any.

        Args:
            run: a task that asks every dataset row in several variants.
            metric: whether an answer is right.
            measured: the name of the task's own figure, which is used where there are no samples.
        """
        if run.rows is None:
            return _without_rows(run, measured, 1)
        right, clusters = run.rows.draws_of(metric), run.rows.clusters
        # One number per row of the dataset, at its first variant.
        _, first, places = np.unique(clusters, return_index=True, return_inverse=True)
        least = np.ones((len(first), right.shape[1]))
        np.minimum.at(least, places, right)
        all_right, counted = np.zeros(len(clusters)), np.zeros(len(clusters))
        all_right[first], counted[first] = least.mean(axis=1), 1
        return self.of_counts(run, all_right, counted, measured)

    def of_counts(self, run: TaskRun, part: Floats, total: Floats, measured: str) -> Ratio:
        """Return the ratio of two sums over a task's rows, of which the first is a part of the second.

        Args:
            run: the task.
            part: what the first sums over, shape (rows,).
            total: what the second sums over, shape (rows,).
            measured: a name for the ratio.

        Raises:
            ValueError: the task has no samples.
        """
        clusters = rows_of(run).clusters
        return self.population.ratio(run.dataset, clusters, part, total).measured(figure_name(run, measured))


def figure_name(run: TaskRun, metric: str) -> str:
    """Return a name for a figure that no other figure of a report has."""
    return f"{run.model.full_name} {run.setting} {run.task} {metric}"


def _without_rows(run: TaskRun, metric: str, count: int) -> Ratio:
    value = run.figure(metric)
    return Ratio.without_rows(np.nan if value is None else value, count)


def _can_have_floor(run: TaskRun, metric: str) -> bool:
    """Return whether an answer without content can score badly at a metric, and its scores be known."""
    declared = run.schema.metric(metric)
    is_share = declared.range == SHARE and declared.per_row == "number"
    return bool(run.family.floors_module and declared.higher_is_better and is_share)


def _documents_key(run: TaskRun) -> Hashable:
    """Return a key of the documents of a run, in their order, and of what decides how they are scored."""
    if run.rows is None:
        return None
    docs = run.rows.docs
    # Without hashes it is unknown whether they are those of another run.
    rows = hashlib.sha256(docs.tobytes()).digest() if (docs != b"").all() else id(run)
    return run.task, run.identity, str(run.config.get("doc_to_text")), rows


def floors_of(run: TaskRun) -> ByAnswer | Issue:
    """Return what each answer without content scores on the rows of a task, or why that is unknown.

    It is computed from the documents in the samples, as the task scores answers. What is echoed is a row's own prompt:
    without a chat template, a system instruction or few-shot examples.
    """
    if run.rows is None:
        return note("no floor, because there are no samples")
    columns: dict[str, dict[str, array[float]]] = {}
    try:
        docs = (line["doc"] for line in run.rows.lines())
        for by_answer in import_module(run.family.floors_module).floors(docs, run.config):
            for answer, scores in by_answer.items():
                of_answer = columns.setdefault(answer, {})
                for name, value in scores.items():
                    if isinstance(value, float):
                        of_answer.setdefault(name, array("d")).append(value)
    except MissingDataError:
        # Its own message, of several lines, is for whoever waits for verdicts.
        return note("no floor, because NLTK data are missing; lm-eval-ext doctor says which, and how to get them")
    except (OSError, LookupError, TypeError, ValueError, AttributeError) as error:
        reason = f"the samples have no {error}" if isinstance(error, KeyError) else str(error)
        return note(f"no floor, because it cannot be computed from the documents: {reason}")
    return {
        answer: {name: np.array(values) for name, values in of_answer.items() if len(values) == len(run.rows)}
        for answer, of_answer in columns.items()
    }
