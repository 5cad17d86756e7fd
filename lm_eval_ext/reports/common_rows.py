"""What is held against each other is of the same rows: of several runs those rows that all of them have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.reports.runs import Runs, TaskRun
from lm_eval_ext.reports.statistics import Ratio

Kept = NDArray[np.bool_] | None
"""Of a run: whether each of its rows is in all runs, shape (rows,); ``None``: all are, or it has no samples."""


@dataclass(frozen=True)
class Common:
    """The rows that several runs have in common.

    Attributes:
        kept: of each run; see there.
        left_out: how many rows not all runs have.
        reason: why there are none in common, in words; empty if there are any.
    """

    kept: tuple[Kept, ...]
    left_out: int = 0
    reason: str = ""


def common_rows(runs: Sequence[TaskRun], *, of_one_table: bool = True) -> Common:
    """Return the rows of the data set that all of some runs asked.

    Without samples it is not known which rows were asked: as many of one data set are taken for the same.

    Args:
        runs: what is held against each other, at least one.
        of_one_table: whether the runs' rows are told by one hash, as those of the verbalizer tasks of a data set are;
            those of ManyIFEval have another for every number of instructions, and share their task prompts.
    """
    alike = tuple[Kept, ...](None for _ in runs)
    if len({run.identity[0] for run in runs}) > 1:
        return Common(alike, reason="not all are of one version")
    if len({run.stratum for run in runs}) > 1 or (of_one_table and len({run.identity[1] for run in runs}) > 1):
        return Common(alike, reason="their rows are not of one data set")
    asked = [run.clusters for run in runs if run.clusters is not None]
    if len(asked) < len(runs):
        if len({run.count if run.clusters is None else len(run.clusters) for run in runs}) > 1:
            return Common(alike, reason="not as many rows were asked, and without samples it is not known which")
        return Common(alike)
    common = reduce(np.intersect1d, asked)
    if not len(common):
        return Common(alike, reason="no row was asked in all")
    everything = np.unique(np.concatenate(asked))
    return Common(tuple(np.isin(of_run, common) for of_run in asked), len(everything) - len(common))


def ratio(runs: Runs, run: TaskRun, metric: str, kept: Kept) -> Ratio:
    """Return a mean over some of a task's rows, with its resamples if its samples are there.

    Args:
        runs: that it is of.
        run: the task.
        metric: of it.
        kept: which rows count.

    Raises:
        KeyError: the task has no such metric.
    """
    if kept is None or run.rows is None or run.clusters is None:
        return runs.ratio(run, metric)
    # A value that is not there does not count.
    return runs.population.ratio(run.stratum, run.clusters, np.where(kept, run.rows.values[metric], np.nan))
