"""The uncertainty of figures that are functions of sums over rows, of tasks that are not ours.

A resample draws rows of the dataset, and the figure is computed anew from the sums over them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.statistics import Floats, Population, Replicates
from lm_eval_ext.results.aggregation import Aggregate


def terms_by_cluster(population: Population, dataset: str, clusters: NDArray[np.int32], terms: Floats) -> Floats:
    """Return the sums of terms over each row of the dataset, shape (rows, terms).

    Args:
        population: the dataset rows.
        dataset: the dataset.
        clusters: the dataset row of each answer, shape (answers,).
        terms: the terms of each answer, shape (answers, terms).
    """
    return np.stack([population.by_cluster(dataset, clusters, term) for term in terms.T], axis=1)


def replicates(population: Population, dataset: str, aggregate: Aggregate, by_cluster: Floats) -> Replicates:
    """Return the replicates of a figure; NaN in resamples where it does not exist.

    Args:
        population: the dataset rows.
        dataset: the dataset.
        aggregate: how the figure comes from sums.
        by_cluster: the sums over each row of the dataset, shape (rows, terms).
    """
    figures: Replicates = aggregate.of_sums(population.weights(dataset) @ by_cluster)
    return np.where(np.isfinite(figures), figures, np.nan)


def without_each(aggregate: Aggregate, by_cluster: Floats) -> Floats:
    """Return the figure without each row in turn, shape (rows,).

    Args:
        aggregate: how the figure comes from sums.
        by_cluster: the sums over each row, shape (rows, terms).
    """
    return aggregate.of_sums(by_cluster.sum(axis=0) - by_cluster)
