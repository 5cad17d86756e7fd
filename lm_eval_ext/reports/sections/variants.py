"""Rows that are asked in several variants: how many of them are answered right in every variant."""

from __future__ import annotations

import numpy as np

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.statistics import Ratio
from lm_eval_ext.results.runs import TaskRun


def every_variant(evidence: Evidence, run: TaskRun, metric: str, measured: str) -> Ratio:
    """Return the share of a task's dataset rows that are right in every variant, a mean over draws if any.

    Args:
        evidence: the runs.
        run: the task.
        metric: whether an answer is right.
        measured: the name of the task's own figure, which is used where there are no samples.
    """
    if run.rows is None:
        value = run.figure(measured)
        return Ratio.of(np.nan if value is None else value, 1)
    right, clusters = run.rows.draws_of(metric), run.rows.clusters
    # One number per row of the dataset, at its first variant.
    _, first, of = np.unique(clusters, return_index=True, return_inverse=True)
    least = np.ones((len(first), right.shape[1]))
    np.minimum.at(least, of, right)
    all_right, counted = np.zeros(len(clusters)), np.zeros(len(clusters))
    all_right[first], counted[first] = least.mean(axis=1), 1
    return evidence.of_counts(run, all_right, counted, measured)
