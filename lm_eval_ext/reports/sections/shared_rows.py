"""Comparisons use only the rows that all compared runs have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from lm_eval_ext.results.runs import TaskRun

Kept = NDArray[np.bool_] | None
"""Whether each row of a run is in all runs, shape (rows,); ``None``: all are, or it has no samples."""


@dataclass(frozen=True)
class SharedRows:
    """The rows that several runs share.

    Attributes:
        kept: one for each run; see ``Kept``.
        left_out: how many rows some run lacks.
        reason: why no rows are shared, as text; empty if some are.
    """

    kept: tuple[Kept, ...]
    left_out: int = 0
    reason: str = ""


def shared_rows(runs: Sequence[TaskRun], *, same_hash: bool = True) -> SharedRows:
    """Return the dataset rows that several runs share.

    Without samples, the evaluated rows are unknown: equal numbers of rows of one dataset are assumed to be the same.

    Args:
        runs: the runs to compare, at least one.
        same_hash: whether their rows must have the same hash, as the verbalizer tasks of a dataset do. ManyIFEval's
            rows have a different hash for every number of instructions, but share their task prompts.
    """
    every = tuple[Kept, ...](None for _ in runs)
    if len({run.identity[0] for run in runs}) > 1:
        return SharedRows(every, reason="their versions differ")
    if len({run.dataset for run in runs}) > 1 or (same_hash and len({run.identity[1] for run in runs}) > 1):
        return SharedRows(every, reason="their rows are from different datasets")
    asked = [run.rows.clusters for run in runs if run.rows is not None]
    if len(asked) < len(runs):
        if len({run.count if run.rows is None else len(run.rows) for run in runs}) > 1:
            return SharedRows(
                every, reason="their numbers of rows differ, and without samples it is unknown which rows they share"
            )
        return SharedRows(every)
    shared = reduce(np.intersect1d, asked)
    if not len(shared):
        return SharedRows(every, reason="they have no rows in common")
    everything = np.unique(np.concatenate(asked))
    return SharedRows(tuple(np.isin(of_run, shared) for of_run in asked), len(everything) - len(shared))
