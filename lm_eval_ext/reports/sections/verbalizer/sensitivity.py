"""How far the accuracies of several wordings lie apart, and how far chance alone would spread them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.families.verbalizer.schema import OF_WORDING, SENSITIVITY
from lm_eval_ext.reports.statistics import Floats
from lm_eval_ext.results.rows import ASKED
from lm_eval_ext.results.runs import TaskRun

SHUFFLES = 1000
SEED = 20261124


@dataclass(frozen=True)
class Spread:
    """The highest accuracy of a wording minus the lowest; of several tasks, the mean of theirs.

    Attributes:
        value: the spread.
        by_chance: the mean of the spread if the answers to a row are dealt to its wordings at random; NaN without
            samples.
        p: how often chance alone spreads the accuracies as far; NaN without samples.
    """

    value: float
    by_chance: float = np.nan
    p: float = np.nan


def wordings_of(run: TaskRun) -> tuple[str, ...]:
    """Return the metrics of a task's wordings, in order; none if every row was asked in the published one alone."""
    return tuple(metric for metric in run.metrics if metric.startswith(OF_WORDING))


def spread_of(runs: Sequence[TaskRun]) -> Spread:
    """Return the spread of some tasks that ask every row in several wordings.

    It is the mean over tasks, not the spread of the mean accuracies: two tasks can depend on the wording in opposite
    ways.
    """
    if any(run.rows is None for run in runs):
        figures = [run.figure(SENSITIVITY) for run in runs]
        return Spread(float(np.mean([np.nan if figure is None else figure for figure in figures])))
    observed, chance = zip(*map(_spreads, runs), strict=True)
    value, shuffled = float(np.mean(observed)), np.mean(chance, axis=0)
    # The observed deal is one of those that chance can make (Phipson and Smyth 2010).
    p = (1 + np.count_nonzero(shuffled >= value - 1e-9)) / (1 + len(shuffled))
    return Spread(value, float(shuffled.mean()), float(p))


def _spreads(run: TaskRun) -> tuple[float, Floats]:
    """Return a task's spread, and that of every shuffle, shape (SHUFFLES,)."""
    assert run.rows is not None
    values, wordings = run.rows.values["acc"], _wordings(run)
    # Sorted by row, and within a row by wording, so that tasks on the same rows are shuffled alike: an answer to a row
    # under one verbalizer tells about that under another.
    order = np.lexsort((np.argmax(wordings, axis=1), run.rows.clusters))
    values, wordings, clusters = values[order], wordings[order], run.rows.clusters[order]
    shuffled = values[_shuffles(run.dataset, clusters.tobytes())]
    return float(_range(values[None] @ wordings, wordings)[0]), _range(shuffled @ wordings, wordings)


@lru_cache(maxsize=16)
def _shuffles(dataset: str, clusters: bytes) -> NDArray[np.int32]:
    """Return the order of answers in every shuffle, shape (SHUFFLES, rows).

    Args:
        dataset: the dataset.
        clusters: the dataset row of each answer, in ascending order. Answers change places only within a row.
    """
    rows = np.frombuffer(clusters, np.int32)
    generator = np.random.default_rng([SEED, crc32(dataset.encode())])
    return np.argsort(rows + generator.random((SHUFFLES, len(rows))), axis=1).astype(np.int32)


def _wordings(run: TaskRun) -> Floats:
    """Return whether each answer was given to each wording that was asked at all, shape (rows, wordings)."""
    assert run.rows is not None
    asked = np.stack([run.rows.values[ASKED + metric] > 0 for metric in wordings_of(run)], axis=1)
    found: Floats = asked[:, asked.any(axis=0)].astype(np.float64)
    return found


def _range(right: NDArray[np.float64], wordings: Floats) -> Floats:
    """Return the highest accuracy minus the lowest, of the numbers of right answers by wording, shape (…, wordings)."""
    accuracies = right / wordings.sum(axis=0)
    found: Floats = accuracies.max(axis=-1) - accuracies.min(axis=-1)
    return found
