"""Whether a candidate may be released: whether it is worse than a baseline by more than allowed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import floor, inf, isinf, isnan, log10, nan
from typing import Literal

from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.gate.comparison import difference_of
from lm_eval_ext.reports.gate.difference import Difference
from lm_eval_ext.reports.gate.drop import (
    LEVEL,
    MOST_ROWS,
    drop_of,
    rows_to_decide,
    rows_to_show,
    smallest_regression,
)
from lm_eval_ext.reports.gate.limits import limited
from lm_eval_ext.reports.gate.sampled.measured import Sampled, draws_to_decide, sampled
from lm_eval_ext.reports.gate.units import Sides, Unpaired
from lm_eval_ext.reports.paired import MeanChange
from lm_eval_ext.reports.statistics import holm, holm_levels
from lm_eval_ext.results.issue import Issue, error, note, warning

Verdict = Literal["REGRESSION", "CANNOT TELL", "INCONCLUSIVE", "NOT WORSE"]
"""The drop is larger than allowed; nothing can be said; the rows do not decide; the drop is not larger than allowed.

The first and the last are shown, each with an error of at most 5 %. Nothing can be said if something is missing or was
asked otherwise, or if the rows do not decide and could not have shown even a large drop.
"""
Requirement = Literal["no-regression", "no-worse"]
"""What a candidate must show to pass: that nothing is a regression, or that everything is not worse."""
STATUS: Mapping[Requirement, Mapping[Verdict, int]] = {
    "no-regression": {"REGRESSION": 1, "CANNOT TELL": 2, "INCONCLUSIVE": 0, "NOT WORSE": 0},
    "no-worse": {"REGRESSION": 1, "CANNOT TELL": 2, "INCONCLUSIVE": 2, "NOT WORSE": 0},
}
"""Exit statuses; the verdicts in order of precedence."""
ORDER: Sequence[Verdict] = tuple(STATUS["no-regression"])

RESOLUTION = 0.1
"""The drop that the rows must at least be able to show, unless they show that there is none."""
MOST_DRAWS = 1000
"""The largest number of draws of each row that a message suggests."""
NOTHING = Estimate(nan)
"""The drop where nothing was compared."""


@dataclass(frozen=True)
class Finding:
    """The finding for one task or group.

    Attributes:
        name: the name of the task or group.
        family: the family of its tasks.
        verdict: whether it is worse.
        most: the largest allowed drop.
        difference: the measured difference; ``None`` if there was nothing to compare.
        drop: how much worse it is, positive if worse in either direction of the metric, with one-sided limits: the
            lower one at the level of Holm's method, the upper one at 5 %. NaN if nothing was compared.
        p: one-sided, of a drop that is allowed, adjusted by Holm's method; NaN if there was no test.
        issues: what the reader should know, such as why there is no verdict.
        sampled: what several draws per row tell; ``None`` if there are no several draws.
    """

    name: str
    family: str
    verdict: Verdict
    most: float
    difference: Difference | None = None
    drop: Estimate = NOTHING
    p: float = nan
    issues: tuple[Issue, ...] = ()
    sampled: Sampled | None = None


@dataclass(frozen=True)
class Tested:
    """A drop and its test.

    Attributes:
        difference: the measured difference.
        drop: the drop, with its standard error.
        most: the largest allowed drop.
        p: the adjusted p-value of an allowed drop.
        level: the level of the lower limit.
        tests: the number of drops tested.
        resolution: the drop that the rows must be able to show; see ``check``.
        sampled: what several draws per row tell; ``None`` if there are no several draws.
    """

    difference: Difference
    drop: MeanChange
    most: float
    p: float
    level: float
    tests: int
    resolution: float
    sampled: Sampled | None = None


def check(
    sides: Sides, bounds: Mapping[str, float], k: int | None = None, resolution: float = RESOLUTION
) -> tuple[Finding, ...]:
    """Return the findings, the worst first.

    Holm's method keeps the probability that any allowed drop is called a regression at 5 %. Nothing of the kind is
    needed for "not worse": whoever requires it of everything errs only if every single one of these tests errs
    (intersection-union test, Berger 1982).

    Args:
        sides: the baseline and the candidate.
        bounds: by task or group, the largest allowed drop.
        k: the number of draws that reliable@k and pass@k are about; see ``sampled``.
        resolution: the true drop that the rows must be able to show, with 80 % power, where they do not show that it is
            not worse: a share, of the baseline's score if that is no share. Twice the bound, if that is more: a drop
            that is allowed cannot be shown.
    """
    differences, findings = compared(sides, bounds)
    drops = {name: drop_of(difference) for name, difference in differences.items()}
    p = {name: drop.p_above(bounds[name]) for name, drop in drops.items()}
    adjusted, levels = holm(p), holm_levels(p, LEVEL)
    for name, difference in differences.items():
        drawn = sampled(difference, sides.evidence.population, k)
        scale = 1.0 if difference.unit.is_share else abs(difference.before)
        visible = max(resolution * scale, 2 * bounds[name])
        tested = Tested(difference, drops[name], bounds[name], adjusted[name], levels[name], len(p), visible, drawn)
        findings.append(_judge(tested))
    return tuple(sorted(findings, key=lambda finding: (ORDER.index(finding.verdict), _room(finding), finding.name)))


def compared(sides: Sides, bounds: Mapping[str, float]) -> tuple[dict[str, Difference], list[Finding]]:
    """Return the differences that a check tests, by task or group, and its findings on what it cannot test.

    Args:
        sides: the baseline and the candidate.
        bounds: by task or group, the largest allowed drop.
    """
    findings: list[Finding] = []
    differences: dict[str, Difference] = {}
    for name, most in bounds.items():
        taken = sides.take(name)
        if isinstance(taken, Unpaired):
            findings.append(Finding(name, taken.family, "CANNOT TELL", most, issues=(taken.issue,)))
            continue
        difference = difference_of(taken, sides)
        if unbounded := _unbounded(difference, most):
            findings.append(Finding(name, taken.family, "CANNOT TELL", most, issues=(unbounded,)))
        elif difference.change.exists and (difference.answers or not isnan(difference.error)):
            differences[name] = difference
        else:
            issues = (difference.missing, *_warnings(taken.issues))
            measure = Estimate(-difference.sign * difference.change.value)
            findings.append(Finding(name, taken.family, "CANNOT TELL", most, difference, measure, issues=issues))
    return differences, findings


def _unbounded(difference: Difference, most: float) -> Issue | None:
    """Return why a metric has no drop, or its drop no bound; ``None`` if both exist."""
    headline = difference.unit.headline
    if headline.higher_is_better is None:
        return error(f"the results do not say whether a higher {headline.name} is better")
    if isnan(most):
        return error(
            f"{headline.name} is not a share ({difference.before:.4g} → {difference.after:.4g}), so max_drop does not "
            "apply: give it a bound in its own unit in --bounds, under [tasks]"
        )
    return None


def _room(finding: Finding) -> float:
    """Return how much further it may drop; 0 if it cannot be compared."""
    return finding.most - finding.drop.value if finding.drop.exists else 0.0


def _judge(tested: Tested) -> Finding:
    """Return the finding for a drop."""
    difference, drop, most = tested.difference, tested.drop, tested.most
    unit = difference.unit
    # Rows that were not run, or were run differently, could hide a regression.
    unsampled = [difference.unsampled] if difference.unsampled else []
    warnings = [*unsampled, *_lacking(difference), *_warnings(unit.issues)]
    issues = list(warnings)
    verdict: Verdict
    if tested.p < LEVEL:
        verdict = "REGRESSION"
    elif warnings:
        verdict = "CANNOT TELL"
    elif drop.p_below(most) < LEVEL:
        verdict = "NOT WORSE"
    elif blind := _blind(tested):
        verdict = "CANNOT TELL"
        issues.append(blind)
    else:
        verdict = "INCONCLUSIVE"
    if verdict == "INCONCLUSIVE" or (verdict == "CANNOT TELL" and not warnings and not isinf(drop.error)):
        issues.append(note(_what_would_decide(tested)))
    if verdict == "NOT WORSE" and worst_drop(difference) <= most:
        issues.append(note(_cannot_drop(difference)))
    issues += [*limited(unit), *(issue for issue in unit.issues if issue.severity == "note")]
    measure = Estimate(drop.value, *drop.limits(tested.level, LEVEL))
    return Finding(unit.name, unit.family, verdict, most, difference, measure, tested.p, tuple(issues), tested.sampled)


def _blind(tested: Tested) -> Issue | None:
    """Return why the rows could not have shown a drop that they should; ``None`` if they could."""
    drop, most, visible = tested.drop, tested.most, tested.resolution
    if isinf(drop.error):
        return warning("a single row has no interval" if drop.rows == 1 else "rows with equal values have no interval")
    if worst_drop(tested.difference) <= most:
        return warning(f"{_cannot_drop(tested.difference)}: allow less, or leave it out of the bounds")
    if smallest_regression(drop, most, tested.tests) <= visible:
        return None
    needed = rows_to_show(drop, visible, most, tested.tests)
    enough = f"about {rounded(needed)} would (80 % power): evaluate more rows" if needed < inf else "no number would"
    return warning(
        f"{drop.rows} rows could not have shown even a drop of {visible:.2g}; {enough}, or give a larger --resolution"
    )


def _cannot_drop(difference: Difference) -> str:
    return f"the baseline is at {difference.before:.4f}, so no drop can be larger than allowed"


def _what_would_decide(tested: Tested) -> str:
    drop, most = tested.drop, tested.most
    rows, smallest = rows_to_decide(drop, most), smallest_regression(drop, most, tested.tests)
    decide = (
        f"about {rounded(rows)} rows would decide" if rows < MOST_ROWS else "no practical number of rows would decide"
    )
    shows = (
        f"{drop.rows} rows show a regression from a true drop of {smallest:.2g} on"
        if smallest < 1 or not drop.is_share
        else f"{drop.rows} rows cannot show a regression"
    )
    draws = f"{_in_draws(tested.sampled, rows)} " if tested.sampled else ""
    return f"{decide} {draws}if the true drop is the measured one; {shows} (80 % power)"


def _in_draws(measured: Sampled, rows: float) -> str:
    """Return how many draws of each row would do instead of a number of rows, as text."""
    draws = draws_to_decide(measured, rows)
    if isnan(draws):
        return "(a side has a single draw, so it is not known how many draws would)"
    if draws > MOST_DRAWS:
        return "(more draws of these rows would not)"
    return f"(or {draws:.0f} draws of these rows on each side)"


def rounded(rows: float) -> str:
    """Return a number of rows with two digits, as text."""
    step = 10 ** max(0, floor(log10(max(rows, 1.0))) - 1)
    return f"{max(2, round(rows / step) * step):,}"


def worst_drop(difference: Difference) -> float:
    """Return the largest drop that the baseline's score leaves room for."""
    if not difference.unit.is_share:
        return inf
    return difference.before if difference.sign > 0 else 1 - difference.before


def _warnings(issues: Iterable[Issue]) -> list[Issue]:
    return [issue for issue in issues if issue.severity == "warning"]


def _lacking(difference: Difference) -> Iterator[Issue]:
    for side, count, other in (("candidate", difference.lost, "baseline"), ("baseline", difference.added, "candidate")):
        if count:
            yield warning(f"the {side} lacks {count} of the {other}'s answers: evaluate both on the same rows")


def status(findings: Sequence[Finding], requirement: Requirement = "no-regression") -> int:
    """Return the exit status: 1 if anything is worse, else 2 if anything required was not shown, else 0."""
    statuses = {STATUS[requirement][finding.verdict] for finding in findings}
    return next(status for status in (1, 2, 0) if status in statuses)


def overall(findings: Sequence[Finding]) -> Verdict:
    """Return the overall verdict."""
    return next(verdict for verdict in ORDER if any(finding.verdict == verdict for finding in findings))
