"""What a check of some size can see, before anything is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from math import isfinite, sqrt

import numpy as np

from lm_eval_ext.families.registry import FAMILIES
from lm_eval_ext.families.release_check import SETS
from lm_eval_ext.reports.errors import ReportError
from lm_eval_ext.reports.gate.check import MANY, comparable, rounded
from lm_eval_ext.reports.gate.looks import equal_shares, nominal_levels, stopped
from lm_eval_ext.reports.gate.power import (
    ALPHA,
    Design,
    changes,
    correlation_of,
    rows_to_decide,
    simulate,
    smallest_regression,
)
from lm_eval_ext.reports.gate.sampled import draws_of
from lm_eval_ext.reports.gate.text import reading
from lm_eval_ext.reports.gate.units import Compared, Sides
from lm_eval_ext.reports.paired import Difference
from lm_eval_ext.reports.wording import MISSING, amount
from lm_eval_ext.results.issue import named
from lm_eval_ext.results.runs import TaskRun

DROPS = (0.0, 0.01, 0.02, 0.05, 0.1)
"""The true drops for which the outcome is given; 0 is an unchanged model."""
PAIRS = 1000
"""The number of simulated pairs of runs: a share is off by at most 0.016 (one standard error)."""
PAIRS_LOOKED_AT = 500
"""The same with looks."""
FEWER = 10_000_000
"""The most rows that are simulated for one drop; with very many rows, there are fewer pairs."""
SECOND = "give another run of the baseline: lm-eval-ext plan ANOTHER --against BASELINE"
CHANGED = 0.13
"""The share of the answers that is taken to change where nothing shows it: about the median of the published reruns in
docs/statistics.md."""
CORRELATION = 0.3
"""The intraclass correlation of the changes of the answers to a row, where nothing shows it."""


@dataclass(frozen=True)
class Planned:
    """A task or group that will be checked.

    Attributes:
        name: its name.
        design: its rows and answers, and how much of them changes.
        bound: the largest allowed drop.
        about: where these are from.
        scale: what ``DROPS`` are shares of: 1, or the baseline's score if that is no share.
        most: the largest drop that the baseline's score leaves room for.
    """

    name: str
    design: Design
    bound: float
    about: str
    scale: float = 1.0
    most: float = 1.0


@dataclass(frozen=True)
class Assumed:
    """What is taken to change between two runs of equal quality, where nothing shows it.

    Attributes:
        changed: the share of the answers whose score changes; ``None``: what two runs or several draws of the baseline
            show, or else ``CHANGED``.
        correlation: the intraclass correlation of the changes of the answers to a row, where two runs do not show it.
    """

    changed: float | None = None
    correlation: float = CORRELATION

    @property
    def share(self) -> float:
        """The share of the answers whose score changes, where nothing shows it."""
        return CHANGED if self.changed is None else self.changed

    def in_words(self, answers: int) -> str:
        """Return this in words, of rows with so many answers."""
        correlation = f", those to a row with a correlation of {self.correlation:g} (--correlation)"
        return f"assumed: {self.share:.1%} of the answers change (--changed){correlation if answers > 1 else ''}"


def names_in(tasks: str) -> list[str]:
    """Return the tasks and groups to plan for: those in a list with commas, and what a set to run is made of.

    Raises:
        ReportError: there are none.
    """
    names = (SETS.get(name, (name,)) for name in tasks.split(",") if name)
    if not (listed := [*dict.fromkeys(chain.from_iterable(names))]):
        raise ReportError(f"--tasks {tasks!r} names no task; expected names with commas between them")
    return listed


def of_name(name: str, bound: float, assumed: Assumed = Assumed()) -> Planned:
    """Return the plan of one of our tasks or groups, of which the size is known.

    Raises:
        ReportError: it is not known.
    """
    for family in FAMILIES.values():
        for pattern, (rows, answers) in family.schema.sizes.items():
            if re.fullmatch(pattern, name):
                return of_size(name, (rows, answers), bound, assumed)
    raise ReportError(
        f"{name} is not a task of this package, nor a group with a score, so the number of its rows is not known; "
        "replace --tasks by --rows N [--answers-per-row K], or by results of the baseline: --against BASELINE"
    )


def of_size(name: str, size: tuple[int, int], bound: float, assumed: Assumed = Assumed()) -> Planned:
    """Return the plan of a task or group of some size.

    Args:
        name: what it is called.
        size: the number of rows, and of the answers to each.
        bound: the largest allowed drop.
        assumed: how much changes.
    """
    design = Design.uniform(*size, assumed.share, assumed.correlation)
    return Planned(name, design, bound, assumed.in_words(design.answers))


def of_baseline(
    sides: Sides, bounds: Mapping[str, float], assumed: Assumed = Assumed()
) -> tuple[list[Planned], dict[str, str], int]:
    """Return the plans of what a check against a baseline will compare, why the rest has none, and at what level.

    The level of a regression is 5 % divided by the number returned: of tests or, where the mean of many has half of the
    level, of twice as many.

    Args:
        sides: two runs of the baseline, or one on both sides.
        bounds: the largest allowed drop of every task or group to check.
        assumed: how much changes, where that is not measured.

    Raises:
        ReportError: there is nothing to plan for.
    """
    testable, findings = comparable(sides, bounds)
    measured = assumed.changed is None
    of_one_run = sides.before is sides.after
    drawn = _as_two_runs(sides) if measured and of_one_run else None
    plans: list[Planned] = []
    left_out = {finding.name: "; ".join(map(str, finding.issues)) for finding in findings}
    for name, unit in testable.items():
        draws = min(draws_of(unit))
        halves = drawn.take(name) if drawn and draws > 1 else unit
        difference = halves.difference if isinstance(halves, Compared) else unit.difference
        if measured and np.any(difference.by_row.values):
            scores = f"{unit.headline.name} {_number(unit, unit.difference.before)}"
            if halves is unit:
                about = f"of two runs of the baseline: {scores} and {_number(unit, difference.after)}"
            else:
                about = f"of the baseline: {scores}, {draws} draws of each row"
            about += f"; two runs differ by a standard error of {amount(difference.mean.error, is_share=unit.is_share)}"
            worse = replace(difference.by_row, values=-unit.sign * difference.by_row.values)
            correlation = correlation_of(difference.mean)
            design = replace(_design_of(difference), correlation=correlation, observed=worse, is_share=unit.is_share)
        elif isinstance(by_assumption := _assumed(unit, assumed, of_one_run=of_one_run), str):
            left_out[name] = by_assumption
            continue
        else:
            design, about = by_assumption
        plans.append(Planned(name, design, bounds[name], about, unit.scale, unit.worst_drop))
    if not plans:
        raise ReportError(f"nothing to plan for: {'; '.join(f'{name}: {reason}' for name, reason in left_out.items())}")
    return plans, left_out, parts_of_level(sum(unit.is_share for unit in testable.values()), len(testable))


def parts_of_level(shares: int, tests: int) -> int:
    """Return by what a check divides its level for each of so many tests, of which some are of shares."""
    return 2 * tests if shares > MANY else tests


def _assumed(unit: Compared, assumed: Assumed, *, of_one_run: bool) -> tuple[Design, str] | str:
    """Return the design of a task or group of which nothing shows how much changes, and from where; or why not."""
    difference = unit.difference
    if difference.unpaired:
        return str(difference.unpaired)
    if not unit.is_share or not unit.is_mean_of_rows:
        return f"its score is not a share of right answers, and these rows do not show how much it changes; {SECOND}"
    # As many answers get better as worse: at an end, none can.
    possible = 2 * min(difference.before, 1 - difference.before)
    capped = replace(assumed, changed=min(assumed.share, possible))
    design = _design_of(difference)
    about = f"of the baseline: {unit.headline.name} {_number(unit, difference.before)}; "
    about += capped.in_words(design.answers)
    if assumed.share > possible:
        about += "; at this score, no more can"
    if not of_one_run:
        about += ", because the two runs agree in every row"
    return replace(design, changed=capped.share, correlation=capped.correlation), about


def _design_of(difference: Difference) -> Design:
    rows = difference.by_row
    return Design(rows.weights, rows.rows_by_dataset, max(1, round(difference.answers / difference.rows)))


def _number(unit: Compared, score: float) -> str:
    return f"{100 * score:.2f} %" if unit.is_share else f"{score:.4g}"


def _as_two_runs(sides: Sides) -> Sides:
    """Return runs with several draws as two runs that differ as two runs with as many draws each do."""
    before, after = (
        replace(sides.before, all=tuple(_half(run, sign) for run in sides.before.all)) for sign in (0.5, -0.5)
    )
    return Sides(before, after, sides.names, sides.evidence)


def _half(run: TaskRun, sign: float) -> TaskRun:
    """Return a run whose rows are moved by half of what a second run would change, in one direction or the other."""
    if run.rows is None or run.rows.drawn == 1:
        return run
    values = {}
    for metric, draws in run.rows.draws.items():
        # Half the draws less the other half: the variance of k draws, where two runs of n each have that of 2 / n.
        even = draws.shape[1] // 2 * 2
        contrast = draws[:, 0:even:2].sum(axis=1) - draws[:, 1:even:2].sum(axis=1)
        values[metric] = draws.mean(axis=1) + sign * contrast * sqrt(2 / (draws.shape[1] * even))
    return replace(run, rows=replace(run.rows, values={**run.rows.values, **values}))


def text(plans: Sequence[Planned], tests: int, looks: int | None = None) -> Iterator[str]:
    """Yield the lines: for each task or group what it would show, and the method.

    Args:
        plans: at least one.
        tests: by what a check would divide its level for each of them (``parts_of_level``).
        looks: the number of looks, if it stops when it is decided.
    """
    alpha = ALPHA / tests
    for plan in plans:
        design = plan.design
        answers = f"{design.answers} answer{'s' * (design.answers > 1)} each"
        yield f"{plan.name}: {design.rows:,} rows, {answers}; {plan.about}"
        unit = " (points)" if design.is_share else ""
        yield f"  {f'true drop{unit}':>18}  {'regression':>10}  {'not worse':>9}  rows to decide"
        pairs = min(PAIRS, max(100, FEWER // design.rows))
        drops = [share * plan.scale for share in DROPS if share * plan.scale <= plan.most]
        simulated_drops = [simulate(design, drop, plan.bound, pairs, alpha) for drop in drops]
        for drop, simulated in zip(drops, simulated_drops, strict=True):
            rows = rows_to_decide(simulated.typical, plan.bound, alpha)
            decide = "it is the bound" if drop == plan.bound else rounded(rows) if isfinite(rows) else MISSING
            size = 100 * drop if design.is_share else drop
            yield f"  {size:>18.3g}  {simulated.beyond:>10.1%}  {simulated.within:>9.1%}  {decide:>14}"
        smallest = smallest_regression(simulated_drops[0].typical, plan.bound, alpha)
        yield (
            f"  a regression shows from a true drop of {amount(smallest, is_share=design.is_share)} on (80 % power)"
            if smallest <= plan.most
            else "  these rows cannot show a regression (80 % power)"
        )
        if looks is not None:
            yield from _with_looks(plan, drops, looks, alpha)
    bounds = named([*dict.fromkeys(amount(plan.bound, is_share=plan.design.is_share) for plan in plans)])
    yield reading("shares", pairs=PAIRS, bounds=bounds)
    if tests > 1:
        yield reading("several drops", alpha=ALPHA, tests=tests)
    if sum(plan.design.is_share for plan in plans) > MANY:
        yield reading("many drops")
    if looks is not None:
        yield reading("stopping", looks=looks)


def _with_looks(plan: Planned, drops: Sequence[float], looks: int, alpha: float) -> Iterator[str]:
    """Yield the results of looks at a task or group, and what they save."""
    design, unit = plan.design, " (points)" if plan.design.is_share else ""
    yield f"  with {looks} looks:"
    yield f"  {f'true drop{unit}':>18}  {'regression':>10}  {'not worse':>9}  rows asked"
    pairs = min(PAIRS_LOOKED_AT, max(100, FEWER // design.rows))
    shares = equal_shares(design.rows, looks)
    levels = nominal_levels(shares, alpha), nominal_levels(shares, ALPHA)
    for drop in drops:
        result = stopped(changes(design, drop, pairs), design, plan.bound, *levels)
        size = 100 * drop if design.is_share else drop
        yield f"  {size:>18.3g}  {result.beyond:>10.1%}  {result.within:>9.1%}  {result.rows_used:>10.0%}"
