"""The same rows of two runs: how a score changed, row by row, with its limits.

Answers are paired, and each row of a dataset is one observation, however many answers there are to it: the answers to a
row succeed and fail together. Datasets are strata. ``compare``, ``check`` and the differences on a page all use this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isinf, isnan, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.limits import Tail, Unseen
from lm_eval_ext.reports.statistics import Floats
from lm_eval_ext.results.issue import Issue, grouped
from lm_eval_ext.results.rows import Rows, in_common
from lm_eval_ext.results.runs import TaskRun, rows_of

ONE_SIDE = 0.025
"""The level of each end of a 95 % interval."""
ROUNDING = 1e-9
"""The largest difference of two scores that are the same: the order of draws changes how their mean is rounded."""

AnswersOfTask = tuple[str, NDArray[np.int32], Floats, float]
"""The dataset of a task, the dataset rows of its answers, their values, and the weight of each answer."""
Measure = str | Callable[[Rows], Floats]
"""A metric, or what returns a number for each row of a task, shape (rows,)."""


@dataclass(frozen=True, eq=False)
class RowSums:
    """Sums over all answers to each row of some datasets.

    Attributes:
        values: the sum of what is measured of the answers, such as their changes, shape (rows,).
        weights: the sum of their weights, shape (rows,).
        sizes: the sum of what is measured, without signs, shape (rows,).
        clusters: the numbers of the rows in their dataset, shape (rows,).
        datasets: the names of the datasets, in the order of the rows; datasets are strata.
        rows_by_dataset: the number of rows of each dataset.
    """

    values: Floats
    weights: Floats
    sizes: Floats
    clusters: NDArray[np.int32]
    datasets: tuple[str, ...]
    rows_by_dataset: tuple[int, ...]

    @classmethod
    def of_answers(cls, answers: Iterable[AnswersOfTask]) -> RowSums:
        """Return the sums over each row with answers."""
        return cls._of_parts(
            (dataset, clusters, np.stack([values, np.full(len(values), weight), np.abs(values)]))
            for dataset, clusters, values, weight in answers
        )

    @classmethod
    def of_single_answers(cls, values: Floats, weights: Floats, rows_by_dataset: tuple[int, ...]) -> RowSums:
        """Return the sums over rows with one answer each, of datasets that are numbered."""
        clusters, datasets = np.arange(len(values), dtype=np.int32), tuple(map(str, range(len(rows_by_dataset))))
        return cls(values, weights, np.abs(values), clusters, datasets, rows_by_dataset)

    @classmethod
    def mean_of(cls, scores: Iterable[RowSums]) -> RowSums:
        """Return the sums of the mean of several scores, which weigh alike; they may be about the same rows."""
        parts = list[tuple[str, NDArray[np.int32], Floats]]()
        for score in scores:
            sums = np.stack([score.values, score.weights, score.sizes]) / score.weights.sum()
            ends = np.cumsum(score.rows_by_dataset)[:-1]
            parts += zip(score.datasets, np.split(score.clusters, ends), np.split(sums, ends, axis=1), strict=True)
        return cls._of_parts(parts)

    @classmethod
    def _of_parts(cls, parts: Iterable[tuple[str, NDArray[np.int32], Floats]]) -> RowSums:
        """Return the sums over rows of parts: a dataset, rows, and their values, weights and sizes, shape (3, n)."""
        by_dataset = grouped((dataset, (clusters, of_answers)) for dataset, clusters, of_answers in parts)
        sums: list[Floats] = []
        rows: list[NDArray[np.int32]] = []
        for of_dataset in by_dataset.values():
            of_rows = np.zeros((3, 1 + max(int(clusters.max()) for clusters, _ in of_dataset)))
            for clusters, of_answers in of_dataset:
                of_rows += [np.bincount(clusters, added, of_rows.shape[1]) for added in of_answers]
            has_answers = of_rows[1] > 0
            sums.append(of_rows[:, has_answers])
            rows.append(np.flatnonzero(has_answers).astype(np.int32))
        values, weights, sizes = np.concatenate(sums, axis=1)
        return cls(values, weights, sizes, np.concatenate(rows), (*by_dataset,), tuple(map(len, rows)))

    def select(self, rows: NDArray[np.bool_]) -> RowSums:
        """Return some of the rows.

        Args:
            rows: whether each is kept, shape (rows,); at least one of each dataset.
        """
        starts = np.cumsum([0, *self.rows_by_dataset[:-1]])
        counts = np.add.reduceat(rows.astype(np.int64), starts)
        return replace(
            self,
            values=self.values[rows],
            weights=self.weights[rows],
            sizes=self.sizes[rows],
            clusters=self.clusters[rows],
            rows_by_dataset=tuple(counts.tolist()),
        )

    def squared_deviations(self) -> float:
        """Return the sum of the squared deviations of rows from what their dataset's rows have in common."""
        deviations = self.values - float(self.values.sum()) / float(self.weights.sum()) * self.weights
        starts = np.cumsum([0, *self.rows_by_dataset[:-1]])
        means = np.add.reduceat(deviations, starts) / self.rows_by_dataset
        return float(np.sum((deviations - np.repeat(means, self.rows_by_dataset)) ** 2))


NO_ROWS = RowSums.of_single_answers(np.empty(0), np.empty(0), ())


@dataclass(frozen=True, eq=False)
class MeanChange:
    """The mean change over rows, and what its limits are computed from (``limits``).

    Attributes:
        value: the measured change.
        error: its standard error, without made-up rows; infinite if there are too few rows for one.
        rows: the number of dataset rows.
        answers: the number of pairs of answers to them; 0 if there are none.
        larger, smaller: how much larger than measured the true change can be, and how much smaller; the latter is of
            the change in the other direction.
        clustering: how far the answers to a row change together: the mean square of the rows' changes, relative to the
            mean size of the answers' changes. 1 if all answers to a row flip together, or if a row has one answer, and
            ``1 / K`` if K answers flip one by one.
        is_share: whether the score is a share; the change of another score has no ends.
    """

    value: float
    error: float
    rows: int
    answers: int
    larger: Tail
    smaller: Tail
    clustering: float = 1.0
    is_share: bool = True

    @classmethod
    def of_rows(cls, changes: RowSums, answers: int, *, is_share: bool = True) -> MeanChange:
        """Return the mean change of rows.

        Args:
            changes: the changes of the answers.
            answers: the number of pairs of answers.
            is_share: whether the score is a share.
        """
        values, weights, rows = changes.values, changes.weights, len(changes.values)
        total = float(weights.sum())
        value = float(values.sum()) / total
        freedom = rows - len(changes.rows_by_dataset)
        squares = changes.squared_deviations()
        # Rows of a score without bounds that are all equal do not tell how rows vary.
        if freedom < 1 or isnan(value) or not (is_share or squares):
            return replace(cls.of_error(value, inf, rows, is_share=is_share), answers=answers)
        unseen = Unseen.of_weights(weights) if is_share else None
        larger, smaller = (
            Tail.of_rows(of_way, weights, changes.rows_by_dataset, unseen) for of_way in (values, -values)
        )
        # One row that changes as a whole counts among those that changed: a few changes do not tell much.
        heaviest = float(weights.max())
        clustering = (float((values**2 / weights).sum()) + heaviest) / (float(changes.sizes.sum()) + heaviest)
        error = sqrt(squares * rows / freedom) / total
        return cls(value, error, rows, answers, larger, smaller, min(1.0, clustering), is_share)

    @classmethod
    def of_error(
        cls, value: float, error: float, rows: int, freedom: float = 1, *, is_share: bool = True
    ) -> MeanChange:
        """Return a mean change without pairs of answers, of which a standard error is known; infinite if none is."""
        larger, smaller = (Tail.of_error(of_way, error, freedom) for of_way in (value, -value))
        return cls(value, error, rows, 0, larger, smaller, is_share=is_share)

    def __neg__(self) -> MeanChange:
        """Return the change in the other direction."""
        return replace(self, value=-self.value, larger=self.smaller, smaller=self.larger)

    def p_above(self, bound: float) -> float:
        """Return the one-sided p-value of "the true change is at most ``bound``"."""
        return self.smaller.p(-bound)

    def p_below(self, bound: float) -> float:
        """Return the one-sided p-value of "the true change is at least ``bound``"."""
        return self.larger.p(bound)

    @cached_property
    def p(self) -> float:
        """The two-sided p-value of no change: below 0.05 where the 95 % interval is without 0; NaN if there is none."""
        return nan if isinf(self.error) else min(1.0, 2 * min(self.p_above(0.0), self.p_below(0.0)))

    def limits(self, lower: float, upper: float) -> tuple[float, float]:
        """Return the one-sided limits at two levels, such as 0.05; NaN if there is no standard error."""
        if isinf(self.error):
            return nan, nan
        low, high = -self.smaller.limit(lower), self.larger.limit(upper)
        return (max(-1.0, low), min(1.0, high)) if self.is_share else (low, high)


@dataclass(frozen=True)
class Difference:
    """How a score differs over the rows that both sides have.

    Attributes:
        before, after: the scores: means over all answers, or over the tasks where these have equal weight.
        mean: after minus before, with what its limits at any level are computed from.
        by_row: the changes of the answers to each row of the datasets.
        answers: the number of pairs of answers.
        lost, added: the numbers of answers that only the first, or only the second, side has, or has a number for.
        increased, decreased: the numbers of answers whose score is larger, or smaller, on the second side: of answers
            that are right or wrong, how many flipped. ``None`` if an answer alone has no score.
        unpaired: why there are no pairs of answers, where the scores are those in the results.
        uncounted: the number of pairs of answers that do not count, such as those without a number.
    """

    before: float
    after: float
    mean: MeanChange
    by_row: RowSums = NO_ROWS
    answers: int = 0
    lost: int = 0
    added: int = 0
    increased: int | None = None
    decreased: int | None = None
    unpaired: Issue | None = None
    uncounted: int = 0

    @classmethod
    def none(cls, lost: int, added: int) -> Difference:
        """Return the difference of two sides without an answer in common."""
        return cls(nan, nan, MeanChange.of_error(nan, inf, 0), lost=lost, added=added)

    @property
    def rows(self) -> int:
        """The number of dataset rows compared."""
        return len(self.by_row.values)

    @property
    def changed(self) -> int | None:
        """The number of answers whose score differs; ``None`` if an answer alone has no score."""
        return None if self.increased is None or self.decreased is None else self.increased + self.decreased

    @cached_property
    def change(self) -> Estimate:
        """After minus before, with its 95 % interval."""
        limits = self.mean.limits(ONE_SIDE, ONE_SIDE)
        return Estimate(self.mean.value, *limits, rows=self.rows, answers=self.answers)


def difference_of(
    pairs: Iterable[tuple[TaskRun, TaskRun]],
    measure: Measure,
    *,
    tasks_weigh_alike: bool = False,
    is_share: bool = True,
) -> Difference:
    """Return how the mean of a metric differs between the runs of two sides.

    Two runs of one task are paired answer by answer. Runs of different tasks over one dataset (other verbalizers, other
    numbers of instructions) are paired row by row: each side counts with the mean of its answers to the row. What only
    one side has, or has a number for, does not count.

    Args:
        pairs: for each task the run of the first side and that of the second, both with samples; their datasets' rows
            are numbered alike.
        measure: what is compared.
        tasks_weigh_alike: whether the score is the mean over tasks, not over all answers.
        is_share: whether the measure is a share, from 0 to 1.

    Returns:
        The difference; NaN if nothing can be paired.

    Raises:
        ValueError: a run has no samples.
    """
    changes: list[AnswersOfTask] = []
    before = after = 0.0
    answers = lost = added = uncounted = increased = decreased = 0
    for first, second in pairs:
        sides = rows_of(first), rows_of(second)
        scores = [rows.numbers(measure) if isinstance(measure, str) else measure(rows) for rows in sides]
        if first.task == second.task:
            places = in_common(*(rows.ids for rows in sides))
            clusters = sides[0].clusters[places[0]]
        else:
            means = [_means(rows.clusters, values) for rows, values in zip(sides, scores, strict=True)]
            places, scores = in_common(*(clusters for clusters, _ in means)), [values for _, values in means]
            clusters = means[0][0][places[0]]
        lost, added = lost + len(scores[0]) - len(places[0]), added + len(scores[1]) - len(places[1])
        old, new = scores[0][places[0]], scores[1][places[1]]
        lacking = np.isnan(old), np.isnan(new)
        known = ~(lacking[0] | lacking[1])
        if isinstance(measure, str):
            # A number that one side alone has is a row that the other lacks.
            lost += int(np.count_nonzero(lacking[1] & ~lacking[0]))
            added += int(np.count_nonzero(lacking[0] & ~lacking[1]))
        old, new, count = old[known], new[known], int(np.count_nonzero(known))
        if not count:
            continue
        answers, uncounted = answers + count, uncounted + len(known) - count
        # A task weighs by all of its answers, and those without a number do not count in it.
        weight = 1 / count if tasks_weigh_alike else len(known) / count if isinstance(measure, str) else 1.0
        before, after = before + weight * old.sum(), after + weight * new.sum()
        increased += int(np.count_nonzero(new - old > ROUNDING))
        decreased += int(np.count_nonzero(new - old < -ROUNDING))
        changes.append((first.dataset, clusters[known], weight * (new - old), weight))
    if not answers:
        return Difference.none(lost, added)
    by_row = RowSums.of_answers(changes)
    total = sum(float(part.sum()) for part in np.split(by_row.weights, np.cumsum(by_row.rows_by_dataset)))
    mean = MeanChange.of_rows(by_row, answers, is_share=is_share)
    return Difference(
        float(before / total),
        float(after / total),
        mean,
        by_row,
        answers,
        lost,
        added,
        increased,
        decreased,
        uncounted=uncounted,
    )


def _means(clusters: NDArray[np.int32], values: Floats) -> tuple[NDArray[np.int32], Floats]:
    """Return the dataset rows of answers, and the mean of the answers to each."""
    rows, places = np.unique(clusters, return_inverse=True)
    return rows, np.bincount(places, values) / np.bincount(places)
