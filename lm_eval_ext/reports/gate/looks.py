"""Looks at the parts of a run that there are so far, so that it can stop when it is decided.

The rows are split into parts. After each, the gate looks at all rows so far. Whoever tests at 5 % at each of several
looks errs more often than that, so each look has a lower level: a function says how much of the error may be spent up
to the share of the rows that there is (Lan and DeMets 1983, Discrete sequential boundaries for clinical trials,
Biometrika 70). What the look at some rows says is a sum over rows, whose increments are independent from look to look
(Jennison and Turnbull 2000, Group sequential methods with applications to clinical trials, chapters 7 and 19). As they
do in section 4.4, the level of a look is applied to the p-value of a t distribution.

Regressions and drops within the bound are tested at these levels alike, and neither test counts on a stop by the other:
each errs in at most 5 % of runs over all looks, also if a run goes on although it could stop.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import exp, inf, log, pi, sqrt
from statistics import fmean

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.power import Design
from lm_eval_ext.reports.gate.units import TASKS_NAMED, Sides
from lm_eval_ext.reports.paired import MeanChange, RowSums
from lm_eval_ext.reports.statistics import Floats
from lm_eval_ext.results.issue import grouped, named
from lm_eval_ext.results.runs import Runs, TaskRun, rows_of

LOOKS = range(2, 21)
"""How many looks there can be."""
ROWS_NAMED = 10
"""The most missing rows of a task that are named; the rest are counted."""
FARTHEST = 9.0
"""The number of standard errors beyond which a path of sums is not followed: 1e-19 of the paths."""
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(128)
"""Of a quadrature whose error is below 1e-8 at twenty equal looks."""

Spent = Callable[[float, float], float]
"""Returns the error spent up to a share of the rows, of the error over all looks: from nothing at 0 to all at 1."""


def obrien_fleming(share: float, alpha: float) -> float:
    """Return the error spent by the function of O'Brien-Fleming type (Lan and DeMets 1983, section 3).

    Little is spent on the first looks, where rows are few and limits least exact, and the last look has nearly the
    level of a check without looks: whoever goes on to the end has lost hardly any power. The function of Pocock type
    stops earlier and costs several points of power at the end (``benchmarks/looks.py`` compares them).

    Args:
        share: the share of the rows so far.
        alpha: the error over all looks.
    """
    return 2 * float(ndtr(ndtri(alpha / 2) / sqrt(share)))


@lru_cache(maxsize=4096)
def nominal_levels(shares: tuple[float, ...], alpha: float, spent: Spent = obrien_fleming) -> tuple[float, ...]:
    """Return the one-sided level of the test at each look.

    Args:
        shares: the share of the rows at each look, increasing; at most 1.
        alpha: the one-sided error over all looks, less than 1.
        spent: how it is spent.
    """
    levels = []
    # Where the sums of paths that have not crossed a boundary are, and how probable: at first, all at 0.
    sums, density = np.zeros(1), np.ones(1)
    before, already = 0.0, 0.0
    for share in shares:
        scale, so_far = sqrt(share - before), spent(share, alpha)
        crossing = partial(_crossing, sums / scale, density, sqrt(share) / scale, so_far - already)
        # Where next to nothing may be spent, the boundary is out of reach.
        boundary = brentq(crossing, -FARTHEST, 40.0, xtol=1e-11) if so_far - already > 1e-300 else inf
        levels.append(float(ndtr(-boundary)))
        low, high = -FARTHEST * sqrt(share), min(boundary, FARTHEST) * sqrt(share)
        places = (high - low) / 2 * _NODES + (high + low) / 2
        kernel = np.exp(-(((places[:, None] - sums) / scale) ** 2) / 2) / (scale * sqrt(2 * pi))
        sums, density = places, (high - low) / 2 * _WEIGHTS * (kernel @ density)
        before, already = share, so_far
    return tuple(levels)


def _crossing(sums: Floats, density: Floats, slope: float, wanted: float, boundary: float) -> float:
    """Return how much more than wanted is beyond a boundary; sums and slope are in units of the next increment."""
    return float(density @ ndtr(sums - boundary * slope)) - wanted


@dataclass(frozen=True)
class Spending:
    """How the error of a test is spent over the looks up to this one.

    Attributes:
        shares: the share of all rows at each look, up to this one.
    """

    shares: tuple[float, ...]

    @property
    def goes_on(self) -> bool:
        """Whether rows are still to come."""
        return self.shares[-1] < 1

    def level(self, alpha: float) -> float:
        """Return the one-sided level of the test at this look for an error over all looks."""
        return alpha if self.shares == (1.0,) else nominal_levels(self.shares, alpha)[-1]

    def p(self, of_look: float) -> float:
        """Return the p-value over all looks: the smallest error over all looks with which this look's test succeeds.

        Holm's method takes it like any other p-value (Maurer and Bretz 2013, Multiple testing in group sequential
        trials using graphical approaches).

        Args:
            of_look: the one-sided p-value of the rows so far.

        Returns:
            The p-value; 1 if it is above one half.
        """
        if self.shares == (1.0,):
            return of_look
        highest = 0.5
        if of_look >= self.level(highest):
            return 1.0
        least = max(of_look, 1e-300)

        def too_high(logarithm: float) -> float:
            return self.level(exp(logarithm)) - of_look

        if too_high(log(least)) >= 0:
            return least
        return exp(brentq(too_high, log(least), log(highest), xtol=1e-9))


SINGLE_LOOK = Spending((1.0,))
"""All rows, and a single look."""


@dataclass(frozen=True, eq=False)
class Parts:
    """The parts of a baseline's rows.

    Attributes:
        count: the number of parts.
        of_rows: by dataset, the part of each of its rows from 1 on; 0 for rows that the baseline does not have.
        runs: the baseline's runs with samples, by task.
        without_samples: its other tasks.
    """

    count: int
    of_rows: Mapping[str, NDArray[np.int64]]
    runs: Mapping[str, TaskRun]
    without_samples: frozenset[str] = frozenset()

    def require(self, tasks: Collection[str]) -> None:
        """Raise if tasks cannot be looked at in parts.

        Raises:
            ReportError: one of them has no samples in the baseline, or no rows in some part.
        """
        if lacking := sorted(self.without_samples.intersection(tasks)):
            raise ReportError(
                f"{named(lacking, TASKS_NAMED)}: no samples in the baseline, so its rows cannot be split into parts; "
                "expected what `lm_eval --log_samples` writes"
            )
        for run in (self.runs[task] for task in tasks if task in self.runs):
            rows = np.bincount(self.of_answers(run), minlength=self.count + 1)[1:]
            if not rows.all():
                raise ReportError(
                    f"{run.task}: {len(rows_of(run))} rows in {self.count} parts leave part {int(np.argmin(rows)) + 1} "
                    "without any; expected at least one in each: choose fewer looks, or check it without looks"
                )

    def of_answers(self, run: TaskRun) -> NDArray[np.int64]:
        """Return the part of each row of a task, by either side, shape (rows,)."""
        return self.of_rows[run.dataset][rows_of(run).clusters]

    def spending(self, tasks: Iterable[str], look: int) -> Spending:
        """Return how the error of a test on some tasks is spent, up to a look."""
        runs = [self.runs[task] for task in tasks]
        by_dataset = grouped((run.dataset, rows_of(run).clusters) for run in runs)
        sizes = np.zeros(self.count, np.int64)
        for dataset, clusters in by_dataset.items():
            rows = np.unique(np.concatenate(clusters))
            sizes += np.bincount(self.of_rows[dataset][rows], minlength=self.count + 1)[1:]
        so_far = np.cumsum(sizes)
        return Spending(tuple((so_far[:look] / so_far[-1]).tolist()))


def parts_of(runs: Runs, count: int) -> Parts:
    """Return the parts of a baseline's rows: the same wherever the baseline and the number of parts are.

    All answers to a dataset row belong to one part. The rows that the same tasks ask, such as those of one level, are
    dealt out in an order that depends on nothing but the rows, so the parts of each dataset and of each such set of
    tasks differ by one row at most.

    Args:
        runs: the baseline, with its samples.
        count: the number of parts.
    """
    with_rows = sorted((run for run in runs.counting if run.rows is not None), key=lambda run: run.task)
    tasks: dict[str, dict[int, list[str]]] = {dataset: {} for dataset in sorted({run.dataset for run in with_rows})}
    for run in with_rows:
        for row in np.unique(rows_of(run).clusters).tolist():
            tasks[run.dataset].setdefault(row, []).append(run.task)
    of_rows = {}
    dealt = 0
    for dataset, asking in tasks.items():
        keys = list(runs.dataset_rows[dataset])
        shuffled = {row: hashlib.sha256(f"{dataset}\n{keys[row]!r}".encode()).digest() for row in asking}
        of_rows[dataset] = np.zeros(len(keys), np.int64)
        for row in sorted(asking, key=lambda row: (asking[row], shuffled[row])):
            of_rows[dataset][row] = dealt % count + 1
            dealt += 1
    by_task = {run.task: run for run in with_rows}
    return Parts(count, of_rows, by_task, frozenset(run.task for run in runs.counting if run.rows is None))


@dataclass(frozen=True, eq=False)
class Look:
    """A look at the parts so far.

    Attributes:
        number: its number, from 1 on.
        parts: all parts.
    """

    number: int
    parts: Parts

    def restrict(self, sides: Sides, names: Iterable[str]) -> Sides:
        """Return two sides with the rows of the parts so far.

        Args:
            sides: the baseline, of which these are the parts, and the candidate, which may have further rows.
            names: the tasks and groups that are checked.

        Raises:
            ReportError: the candidate lacks rows of a task that it should have, or a task cannot be looked at in parts.
        """
        tasks = dict.fromkeys(task for name in names for task in sides.groups.get(name, (name,)))
        self.parts.require(tasks)
        _, candidate = sides.tasks
        missing = {}
        for run in (self.parts.runs[task] for task in tasks if task in self.parts.runs):
            expected = rows_of(run).ids[self.parts.of_answers(run) <= self.number]
            other_run = candidate.get(run.task)
            present = other_run.rows.ids if other_run and other_run.rows is not None else np.array([], np.int64)
            if len(lacking := np.setdiff1d(expected, present)):
                missing[run.task] = lacking.tolist()
        if missing:
            of_tasks = [f"{task} ({named([*map(str, rows)], ROWS_NAMED)})" for task, rows in missing.items()]
            raise ReportError(
                f"look {self.number} of {self.parts.count}: the candidate lacks rows (doc_id) of the parts so far, "
                f"{named(of_tasks, TASKS_NAMED)}; expected all rows of the first {self.number}: run what "
                f"`lm-eval-ext plan --looks {self.parts.count}` prints for them"
            )
        before, after = (self._so_far(runs) for runs in (sides.before, sides.after))
        return Sides(before, after, sides.names)

    def _so_far(self, runs: Runs) -> Runs:
        # What the baseline does not have is for the check to say.
        restricted = {
            id(run): replace(run, rows=run.rows.select(self.parts.of_answers(run) <= self.number))
            for run in runs.all
            if run.rows is not None and run.dataset in self.parts.of_rows
        }
        return replace(runs, all=tuple(restricted.get(id(run), run) for run in runs.all))


@dataclass(frozen=True)
class Stopped:
    """The results of looks at a true drop.

    Attributes:
        beyond, within: the shares of runs in which it is called a regression, and not worse, at any look.
        rows_used: the share of the rows that was run until it was decided, or all, on average over the runs.
    """

    beyond: float
    within: float
    rows_used: float


def equal_shares(rows: int, looks: int) -> tuple[float, ...]:
    """Return the share of the rows at each look, if the parts differ by one row at most."""
    return tuple((np.cumsum(np.bincount(np.arange(rows) % looks, minlength=looks)) / rows).tolist())


def stopped(
    pairs: Iterable[RowSums], design: Design, bound: float, above: Sequence[float], below: Sequence[float]
) -> Stopped:
    """Return the results of looks at the drops of pairs of runs.

    Args:
        pairs: how much worse the rows of each pair are (``power.changes``); their order within a dataset says nothing.
        design: what the rows are.
        bound: the allowed drop.
        above: the level of the test for a regression at each look.
        below: the level of the test for a drop within the bound at each look.
    """
    looks = len(above)
    # Dealt out as by ``parts_of``; no order has to be broken.
    part, shares = np.arange(design.rows) % looks, equal_shares(design.rows, looks)
    at_looks = [*zip(shares, [part <= look for look in range(looks)], above, below, strict=True)]
    outcomes: list[tuple[bool, bool, float]] = []
    for of_pair in pairs:
        beyond = within = False
        for share, rows, most_above, most_below in at_looks:
            answers = int(rows.sum()) * design.answers
            measured = MeanChange.of_rows(of_pair.select(rows), answers, is_share=design.is_share)
            low, high = measured.limits(most_above, most_below)
            beyond, within = low > bound, high < bound
            if beyond or within or share == 1:
                outcomes.append((beyond, within, share))
                break
    return Stopped(*(fmean(column) for column in zip(*outcomes, strict=True)))
