"""What two sides differ in: what changed, and whether a candidate is worse by more than allowed.

A unit has a difference, and a difference becomes a finding: in a comparison, whether the second side is better; in a
check, whether the candidate may be released. An outcome is all findings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import floor, inf, isinf, isnan, log10, nan
from typing import Literal

from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.gate.power import (
    ALPHA,
    POWER,
    draws_to_decide,
    rows_to_decide,
    rows_to_show,
    smallest_regression,
)
from lm_eval_ext.reports.gate.sampled import Sampled, sampled
from lm_eval_ext.reports.gate.truncation import truncation_issues
from lm_eval_ext.reports.gate.units import AboveFloor, Compared, Sides, lowest_levels
from lm_eval_ext.reports.paired import Difference
from lm_eval_ext.reports.statistics import holm, holm_levels
from lm_eval_ext.reports.wording import amount
from lm_eval_ext.results.issue import Issue, error, note, warning

Requirement = Literal["no-regression", "no-worse", "same"]
"""What a candidate must show to pass: that nothing is a regression, that everything is not worse, or that everything
is the same: neither worse nor better by more than allowed."""
STATUS: Mapping[Requirement, Mapping[str, int]] = {
    "no-regression": {"REGRESSION": 1, "CANNOT TELL": 2, "INCONCLUSIVE": 0, "NOT WORSE": 0},
    "no-worse": {"REGRESSION": 1, "CANNOT TELL": 2, "INCONCLUSIVE": 2, "NOT WORSE": 0},
    "same": {"DIFFERENT": 1, "CANNOT TELL": 2, "SAME": 0},
}
"""Exit statuses by verdict, in order of precedence.

The first verdict is that the change is shown to be larger than allowed, and the last that it is shown not to be, each
with an error of at most 5 %. The one before the last is that the rows do not decide. CANNOT TELL is also what is
missing or was asked otherwise, and what the rows do not decide and could not have shown even if it were large.
"""

RESOLUTION = 0.1
"""The drop that the rows must at least be able to show, unless they show that there is none."""
NOTHING = Difference.none(0, 0)
"""The difference where nothing was compared."""


@dataclass(frozen=True)
class Finding:
    """The finding for one task or group.

    Attributes:
        name: the name of the task or group.
        family: the family of its tasks.
        verdict: of a check, one of ``STATUS``; of a comparison, what the second side is, as text.
        unit: what was compared; ``None`` if it could not be taken.
        difference: the measured difference; of NaN if there was nothing to compare.
        p: of a comparison, two-sided, of no change; of a check, one-sided, of a drop that is allowed, or two-sided, of
            a change that is allowed, where the same is required. NaN if there was no test.
        adjusted: ``p`` adjusted by Holm's method: of a comparison, separately for groups and single tasks.
        issues: what the reader should know, such as why there is no verdict.
        sampled: what several draws per row tell; ``None`` if there are no several draws.
        allowed: of a check, the largest allowed drop; else NaN.
        drop: of a check, how much worse it is, positive if worse in either direction of the metric, with one-sided
            limits: the lower one at the alpha of Holm's method (where the same is required, at 5 %), the upper one at
            5 %. NaN if nothing was compared.
        rows_to_decide: of a check that the rows do not decide, about how many like them would; infinite if no practical
            number does, NaN if it is decided or unknown.
    """

    name: str
    family: str
    verdict: str
    unit: Compared | None = None
    difference: Difference = NOTHING
    p: float = nan
    adjusted: float = nan
    issues: tuple[Issue, ...] = ()
    sampled: Sampled | None = None
    allowed: float = nan
    drop: Estimate = NOTHING.change
    rows_to_decide: float = nan

    @property
    def is_share(self) -> bool:
        """Whether its figures are shares, as far as is known."""
        return self.unit is None or self.unit.is_share

    @property
    def is_group(self) -> bool:
        """Whether a group was compared."""
        return self.unit is not None and self.unit.is_group

    @property
    def above(self) -> AboveFloor | None:
        """How far the scores are above the floor; ``None`` if there is none."""
        return self.unit.above if self.unit else None

    @property
    def flips(self) -> tuple[int | None, int | None]:
        """The numbers of answers that got better, and that got worse; ``None`` if unknown."""
        up, down, sign = self.difference.increased, self.difference.decreased, self.unit.sign if self.unit else 0
        return (up, down) if sign > 0 else (down, up) if sign else (None, None)


@dataclass(frozen=True)
class Outcome:
    """All findings on two sides.

    Attributes:
        findings: of a check, the worst first; of a comparison, groups before tasks, the largest change of each first.
        unpaired: of a comparison, what cannot be compared; of a check, what the baseline lacks; it has a finding on
            everything else. Each has one issue, which says why.
        requirement: what a candidate must show; ``None`` in a comparison, which requires nothing.
    """

    findings: tuple[Finding, ...]
    unpaired: tuple[Finding, ...] = ()
    requirement: Requirement | None = None

    @property
    def status(self) -> int:
        """The exit status by ``STATUS``: 1 if a finding has it, else 2 if a finding has that, else 0."""
        statuses = {self.status_of(finding) for finding in self.findings}
        return next((status for status in (1, 2) if status in statuses), 0)

    def status_of(self, finding: Finding) -> int:
        """Return the exit status that a finding alone would give."""
        return STATUS[self.requirement][finding.verdict] if self.requirement else 0

    @property
    def verdict(self) -> str:
        """The worst verdict of a check."""
        found = {finding.verdict for finding in self.findings}
        return next(verdict for verdict in STATUS[self.requirement or "no-regression"] if verdict in found)

    @property
    def tests(self) -> tuple[int, int]:
        """The number of p-values for groups, and for single tasks."""
        tested = [each.is_group for each in self.findings if not isnan(each.p)]
        return tested.count(True), tested.count(False)


def not_compared(name: str, sides: Sides, why: Issue) -> Finding:
    """Return the finding on a task or group that cannot be compared."""
    return Finding(name, sides.family(name), "not compared", issues=(why,))


def compare(sides: Sides, k: int | None = None) -> Outcome:
    """Return how the second side differs from the first, in everything that both have.

    Args:
        sides: the two sides.
        k: the number of draws that reliable@k and pass@k are about; see ``sampled``.
    """
    unpaired: list[Finding] = []
    units: dict[str, Compared] = {}
    for name in sides.known:
        unit = sides.take(name)
        if isinstance(unit, Issue):
            unpaired.append(not_compared(name, sides, unit))
        elif not unit.difference.change.exists:
            unpaired.append(not_compared(name, sides, unit.gap))
        else:
            units[name] = unit
    p = {name: unit.difference.p for name, unit in units.items() if not isnan(unit.difference.p)}
    # Two lists: correcting for hundreds of single tasks must not hide what a handful of groups shows.
    adjusted: dict[str, float] = {}
    for groups in (True, False):
        adjusted |= holm({name: of_name for name, of_name in p.items() if units[name].is_group is groups})
    findings = []
    for name, unit in units.items():
        change = unit.difference.change.value
        if change == 0:
            verdict = "the same"
        elif not adjusted.get(name, nan) < ALPHA:
            verdict = "unclear"
        elif not unit.sign:
            verdict = "different"
        else:
            verdict = "better" if change * unit.sign > 0 else "worse"
        findings.append(
            Finding(
                name,
                unit.family,
                verdict,
                unit,
                unit.difference,
                p.get(name, nan),
                adjusted.get(name, nan),
                (*unit.issues, *unit.no_floor, *truncation_issues(unit)),
                sampled(unit, k),
            )
        )
    # What is no share has a unit of its own, and comes after all shares.
    findings.sort(key=lambda one: (not one.is_group, not one.is_share, -abs(one.difference.change.value), one.name))
    return Outcome(tuple(findings), tuple(unpaired))


def check(
    sides: Sides,
    bounds: Mapping[str, float],
    k: int | None = None,
    resolution: float = RESOLUTION,
    requirement: Requirement = "no-regression",
) -> Outcome:
    """Return whether the second side, a candidate, is worse than the first by more than allowed.

    Holm's method keeps the probability that any allowed drop is called a regression at 5 %. Nothing of the kind is
    needed for "not worse": whoever requires it of everything errs only if every single one of these tests errs
    (intersection-union test, Berger 1982).

    Where the same is required, both directions count: "the same" takes two one-sided tests (Schuirmann 1987), and
    "different" a two-sided one, with Holm's method.

    Args:
        sides: the baseline and the candidate.
        bounds: by task or group, the largest allowed drop.
        k: the number of draws that reliable@k and pass@k are about; see ``sampled``.
        resolution: the true drop that the rows must be able to show, with 80 % power, where they do not show that it is
            not worse: a share, of the baseline's score if that is no share. Twice the bound, if that is more: a drop
            that is allowed cannot be shown. It does not count where the same is required: what is undecided never
            passes.
        requirement: what the candidate must show.
    """
    both = requirement == "same"
    testable, findings = comparable(sides, bounds, directed=not both)
    ways = {name: (unit.drop, -unit.drop) if both else (unit.drop,) for name, unit in testable.items()}
    p = {name: min(1.0, len(each) * min(way.p_above(bounds[name]) for way in each)) for name, each in ways.items()}
    adjusted, alphas = holm(p), holm_levels(p, ALPHA)
    for name, unit in testable.items():
        limits = unit.drop.limits(ALPHA if both else alphas[name], ALPHA)
        drop, bound = Estimate(unit.drop.value, *limits), bounds[name]
        measured, tested = (unit, unit.difference), (p[name], adjusted[name])
        found = Finding(name, unit.family, "", *measured, *tested, sampled=sampled(unit, k), allowed=bound, drop=drop)
        scale = 1.0 if unit.is_share else abs(unit.difference.before)
        visible = inf if both else max(resolution * scale, 2 * bound)
        judged = _judged(found, unit, len(p), visible, requirement)
        # Which answers were cut off says where a verdict comes from; it is not part of it.
        cut_off = truncation_issues(unit, bound, is_regression=judged.verdict == "REGRESSION")
        findings.append(replace(judged, issues=(*judged.issues, *cut_off)))

    def room(one: Finding) -> float:
        """Return how much further it may drop, or change in both directions; 0 if it cannot be compared."""
        drop = abs(one.drop.value) if both else one.drop.value
        return one.allowed - drop if one.drop.exists else 0.0

    order = [*STATUS[requirement]]
    findings.sort(key=lambda one: (order.index(one.verdict), room(one), one.name))
    lacking = ((name, sides.take(name)) for name in lowest_levels(sides.after) if name not in bounds)
    unpaired = tuple(not_compared(name, sides, why) for name, why in lacking if isinstance(why, Issue))
    return Outcome(tuple(findings), unpaired, requirement)


def comparable(
    sides: Sides, bounds: Mapping[str, float], *, directed: bool = True
) -> tuple[dict[str, Compared], list[Finding]]:
    """Return what a check tests, by task or group, and its findings on what it cannot test.

    Args:
        sides: the baseline and the candidate.
        bounds: by task or group, the largest allowed drop.
        directed: whether it must be known in which direction a metric is better.
    """
    findings: list[Finding] = []
    testable: dict[str, Compared] = {}
    for name, bound in bounds.items():
        unit = sides.take(name)
        if isinstance(unit, Issue):
            why = unit
        elif directed and not unit.sign:
            why = error(f"the results do not say whether a higher {unit.headline.name} is better")
        elif isnan(bound):
            why = error(
                f"{unit.headline.name} is not a share ({unit.difference.before:.4g} → {unit.difference.after:.4g}), so "
                "max_drop does not apply: give it a bound in its own unit in --bounds, under [tasks]"
            )
        elif unit.difference.change.exists and (unit.difference.answers or not isinf(unit.drop.error)):
            testable[name] = unit
            continue
        else:
            issues = (unit.gap, *(issue for issue in unit.issues if issue.severity == "warning"))
            measured, drop = unit.difference, Estimate(unit.drop.value)
            findings.append(
                Finding(name, unit.family, "CANNOT TELL", unit, measured, issues=issues, allowed=bound, drop=drop)
            )
            continue
        findings.append(Finding(name, sides.family(name), "CANNOT TELL", issues=(why,), allowed=bound))
    return testable, findings


def _judged(finding: Finding, unit: Compared, tests: int, visible: float, requirement: Requirement) -> Finding:
    """Return a finding with its verdict, what the reader should know, and how many rows would decide.

    Args:
        finding: the drop and its test.
        unit: what was compared.
        tests: the number of units tested.
        visible: the drop that the rows must be able to show; see ``check``.
        requirement: what the candidate must show.
    """
    difference, drop, allowed, most = unit.difference, unit.drop, finding.allowed, unit.worst_drop
    change, shown, ways = "drop", "regression", [drop]
    if requirement == "same":
        change, shown, ways, most = "change", "difference", [drop, -drop], max(most, 1 - most)
    cannot_drop = f"the baseline is at {100 * difference.before:.2f} %, so no drop can be larger than allowed"
    # Rows that were not run, or were run differently, could hide a regression.
    warnings = [difference.unpaired] if difference.unpaired else []
    for side, count, other in (("candidate", difference.lost, "baseline"), ("baseline", difference.added, "candidate")):
        if count:
            lacks = f"the {side} lacks {count} of the {other}'s answers: evaluate both on the same rows"
            warnings.append(warning(lacks))
    issues = (*unit.issues, *unit.no_floor)
    warnings += (issue for issue in issues if issue.severity == "warning")
    notes = [issue for issue in issues if issue.severity == "note"]
    beyond, *_, undecided, within = STATUS[requirement]
    if finding.adjusted < ALPHA:
        return replace(finding, verdict=beyond, issues=(*warnings, *notes))
    if warnings:
        return replace(finding, verdict="CANNOT TELL", issues=(*warnings, *notes))
    if all(way.p_below(allowed) < ALPHA for way in ways):
        at_end = [note(cannot_drop)] if most <= allowed else []
        return replace(finding, verdict=within, issues=(*at_end, *notes))
    if isinf(drop.error):
        alone = "a single row of each dataset" if drop.rows > 1 else "a single row"
        why = "rows with equal values have no interval" if drop.freedom else f"{alone} has no interval"
        return replace(finding, verdict="CANNOT TELL", issues=(warning(why), *notes))
    alpha = ALPHA / (tests * len(ways))
    smallest, verdict = smallest_regression(drop, allowed, alpha), undecided
    if most <= allowed:
        verdict = "CANNOT TELL"
        warnings.append(warning(f"{cannot_drop}: allow less, or leave it out of the bounds"))
    elif smallest > visible:
        verdict = "CANNOT TELL"
        needed = rows_to_show(drop, visible, allowed, alpha)
        enough = (
            f"about {rounded(needed)} would (80 % power): evaluate more rows" if needed < inf else "no number would"
        )
        blind = f"could not have shown even a drop of {amount(visible, is_share=drop.is_share)}"
        warnings.append(warning(f"{drop.rows} rows {blind}; {enough}, or give a larger --resolution"))
    # That all tests succeed is at least as probable as the sum of their errors says.
    way = max(ways, key=lambda way: way.value)
    aim = allowed, alpha, POWER if way.value > allowed else 1 - (1 - POWER) / len(ways)
    rows = rows_to_decide(way, *aim)
    decide = f"about {rounded(rows)} rows would decide" if rows < inf else "no practical number of rows would decide"
    if finding.sampled and isnan(finding.sampled.change.within):
        decide += " (a side has a single draw, so it is not known how many draws would)"
    elif finding.sampled:
        draws = draws_to_decide(way, finding.sampled.change.error, *aim)
        instead = (
            f"or {draws:.0f} draws of these rows on each side" if draws < inf else "more draws of these rows would not"
        )
        decide += f" ({instead})"
    shows = f"cannot show a {shown}"
    if smallest < 1 or not drop.is_share:
        shows = f"show a {shown} from a true {change} of {amount(smallest, is_share=drop.is_share)} on"
    power = note(f"{decide} if the true {change} is the measured one; {drop.rows} rows {shows} (80 % power)")
    return replace(finding, verdict=verdict, issues=(*warnings, power, *notes), rows_to_decide=rows)


def rounded(rows: float) -> str:
    """Return a number of rows with two digits, as text."""
    step = 10 ** max(0, floor(log10(max(rows, 1.0))) - 1)
    return f"{max(2, round(rows / step) * step):,}"
