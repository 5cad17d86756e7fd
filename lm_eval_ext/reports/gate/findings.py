"""What two sides differ in: what changed, and whether a candidate is worse by more than allowed.

A unit has a difference, and a difference becomes a finding: in a comparison, whether the second side is better; in a
check, whether the candidate may be released. An outcome is all findings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import floor, inf, isinf, isnan, log10, nan
from typing import Literal

from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.gate.measure import AboveFloor, above_floor, measured
from lm_eval_ext.reports.gate.power import LEVEL, MOST_ROWS, POWER, rows_to_decide, rows_to_show, smallest_regression
from lm_eval_ext.reports.gate.sampled import Sampled, draws_to_decide, sampled
from lm_eval_ext.reports.gate.units import Compared, Sides, Unpaired, lowest_levels
from lm_eval_ext.reports.paired import Difference, MeanChange
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
MOST_DRAWS = 1000
"""The largest number of draws of each row that a message suggests."""
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
            limits: the lower one at the level of Holm's method (where the same is required, at 5 %), the upper one at
            5 %. NaN if nothing was compared.
        rows_to_decide: of a check that the rows do not decide, about how many like them would; infinite if no practical
            number does, NaN if it is decided or unknown.
        above: how far the scores are above the floor; ``None`` if there is none.
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
    above: AboveFloor | None = None

    @property
    def is_share(self) -> bool:
        """Whether its figures are shares, as far as is known."""
        return self.unit is None or self.unit.is_share

    @property
    def is_group(self) -> bool:
        """Whether a group was compared."""
        return self.unit is not None and self.unit.is_group

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
            everything else.
        requirement: what a candidate must show; ``None`` in a comparison, which requires nothing.
    """

    findings: tuple[Finding, ...]
    unpaired: tuple[Unpaired, ...] = ()
    requirement: Requirement | None = None

    @property
    def status(self) -> int:
        """The exit status: 1 if anything is worse, else 2 if anything required was not shown, else 0."""
        statuses = {self.status_of(finding) or 0 for finding in self.findings}
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


def compare(sides: Sides, k: int | None = None) -> Outcome:
    """Return how the second side differs from the first, in everything that both have.

    Args:
        sides: the two sides.
        k: the number of draws that reliable@k and pass@k are about; see ``sampled``.
    """
    unpaired: list[Unpaired] = []
    found: dict[str, tuple[Compared, Difference]] = {}
    for name in sides.known:
        unit = sides.take(name)
        if isinstance(unit, Unpaired):
            unpaired.append(unit)
            continue
        difference = measured(unit, sides)
        if difference.change.exists:
            found[name] = unit, difference
        else:
            unpaired.append(Unpaired(name, unit.family, _missing(difference)))
    p = {name: difference.p for name, (_, difference) in found.items() if not isnan(difference.p)}
    # Two lists: correcting for hundreds of single tasks must not hide what a handful of groups shows.
    adjusted: dict[str, float] = {}
    for groups in (True, False):
        adjusted |= holm({name: p[name] for name, (unit, _) in found.items() if unit.is_group is groups and name in p})
    findings = [
        Finding(
            name,
            unit.family,
            _what_it_is(unit, difference, adjusted.get(name, nan)),
            unit,
            difference,
            p.get(name, nan),
            adjusted.get(name, nan),
            (*unit.issues, *no_floor),
            sampled(unit, difference, k),
            above=above,
        )
        for name, (unit, difference) in found.items()
        for above, no_floor in [above_floor(unit, sides)]
    ]
    return Outcome(tuple(sorted(findings, key=_groups_and_large_changes_first)), tuple(unpaired))


def _what_it_is(unit: Compared, difference: Difference, adjusted: float) -> str:
    """Return whether the second side is better, as text."""
    change = difference.change.value
    if change == 0:
        return "the same"
    if not adjusted < LEVEL:
        return "unclear"
    if not unit.sign:
        return "different"
    return "better" if change * unit.sign > 0 else "worse"


def _groups_and_large_changes_first(finding: Finding) -> tuple[bool, bool, float, str]:
    """Return a sort key; what is no share has a unit of its own, and comes after all shares."""
    return not finding.is_group, not finding.is_share, -abs(finding.difference.change.value), finding.name


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
    drops = {name: drop_of(*found) for name, found in testable.items()}
    ways = {name: (drop, -drop) if both else (drop,) for name, drop in drops.items()}
    p = {name: min(1.0, len(each) * min(way.p_above(bounds[name]) for way in each)) for name, each in ways.items()}
    adjusted, levels = holm(p), holm_levels(p, LEVEL)
    for name, (unit, difference) in testable.items():
        scale, bound = 1.0 if unit.is_share else abs(difference.before), bounds[name]
        test = _Test(unit, difference, ways[name], bound, adjusted[name], len(p), requirement)
        drawn = sampled(unit, difference, k)
        verdict, issues, rows = _judge(test, inf if both else max(resolution * scale, 2 * bound), drawn)
        drop = Estimate(test.drop.value, *test.drop.limits(LEVEL if both else levels[name], LEVEL))
        above, no_floor = above_floor(unit, sides)
        tested, issues = (p[name], adjusted[name]), (*issues, *no_floor)
        findings.append(
            Finding(name, unit.family, verdict, unit, difference, *tested, issues, drawn, bound, drop, rows, above)
        )
    order = [*STATUS[requirement]]
    findings.sort(key=lambda finding: (order.index(finding.verdict), _room(finding, both), finding.name))
    lacking = (sides.take(name) for name in lowest_levels(sides.after) if name not in bounds)
    unpaired = tuple(found for found in lacking if isinstance(found, Unpaired))
    return Outcome(tuple(findings), unpaired, requirement)


def comparable(
    sides: Sides, bounds: Mapping[str, float], *, directed: bool = True
) -> tuple[dict[str, tuple[Compared, Difference]], list[Finding]]:
    """Return what a check tests, by task or group, and its findings on what it cannot test.

    Args:
        sides: the baseline and the candidate.
        bounds: by task or group, the largest allowed drop.
        directed: whether it must be known in which direction a metric is better.
    """
    findings: list[Finding] = []
    testable: dict[str, tuple[Compared, Difference]] = {}
    for name, bound in bounds.items():
        unit = sides.take(name)
        if isinstance(unit, Unpaired):
            findings.append(Finding(name, unit.family, "CANNOT TELL", issues=(unit.issue,), allowed=bound))
            continue
        difference = measured(unit, sides)
        if unbounded := _unbounded(unit, difference, bound, directed):
            findings.append(Finding(name, unit.family, "CANNOT TELL", issues=(unbounded,), allowed=bound))
        elif difference.change.exists and (difference.answers or not isinf(difference.mean.error)):
            testable[name] = unit, difference
        else:
            issues = (_missing(difference), *_warnings(unit.issues))
            drop = Estimate(drop_of(unit, difference).value)
            findings.append(
                Finding(name, unit.family, "CANNOT TELL", unit, difference, issues=issues, allowed=bound, drop=drop)
            )
    return testable, findings


def drop_of(unit: Compared, difference: Difference) -> MeanChange:
    """Return the change for the worse, whatever the direction of the metric; without a direction, the decrease."""
    return difference.mean if unit.sign < 0 else -difference.mean


def worst_drop(unit: Compared, difference: Difference) -> float:
    """Return the largest drop that the baseline's score leaves room for."""
    if not unit.is_share:
        return inf
    return 1 - difference.before if unit.sign < 0 else difference.before


def _missing(difference: Difference) -> Issue:
    """Return why there is no change, or no pairs of answers."""
    return difference.unpaired or error("a score is not a finite number" if difference.answers else "no rows in common")


def _unbounded(unit: Compared, difference: Difference, bound: float, directed: bool) -> Issue | None:
    """Return why a metric has no drop, or its drop no bound; ``None`` if both exist."""
    if directed and not unit.sign:
        return error(f"the results do not say whether a higher {unit.headline.name} is better")
    if isnan(bound):
        return error(
            f"{unit.headline.name} is not a share ({difference.before:.4g} → {difference.after:.4g}), so max_drop does "
            "not apply: give it a bound in its own unit in --bounds, under [tasks]"
        )
    return None


def _room(finding: Finding, both: bool) -> float:
    """Return how much further it may drop, or change in both directions; 0 if it cannot be compared."""
    drop = finding.drop.value
    return finding.allowed - (abs(drop) if both else drop) if finding.drop.exists else 0.0


@dataclass(frozen=True)
class _Test:
    """A drop and its test.

    Attributes:
        unit, difference: what was compared, and how it differs.
        ways: the drop and, if it counts in both directions, the gain.
        allowed: the largest that each of them may be.
        p: the adjusted p-value of what is allowed.
        tests: the number of units tested.
        requirement: what the candidate must show.
    """

    unit: Compared
    difference: Difference
    ways: tuple[MeanChange, ...]
    allowed: float
    p: float
    tests: int
    requirement: Requirement

    @property
    def drop(self) -> MeanChange:
        """The drop."""
        return self.ways[0]

    @property
    def most(self) -> float:
        """The largest change that the baseline's score leaves room for."""
        drop = worst_drop(self.unit, self.difference)
        return max(drop, 1 - drop) if len(self.ways) > 1 else drop

    @property
    def smallest(self) -> float:
        """The smallest true change that rows like these would show to be larger than allowed, with 80 % power."""
        return smallest_regression(self.drop, self.allowed, self.tests * len(self.ways))

    @property
    def rows_to_decide(self) -> float:
        """How many rows like these would decide, with 80 % power, if the true change is the measured one."""
        way, tests = max(self.ways, key=lambda way: way.value), len(self.ways)
        if way.value > self.allowed:
            # As the test: with Holm's method, and more rows than those that do not decide.
            return rows_to_show(way, way.value, self.allowed, self.tests * tests)
        # That all tests succeed is at least as probable as the sum of their errors says.
        return rows_to_decide(way, self.allowed, power=1 - (1 - POWER) / tests)


def _judge(test: _Test, visible: float, drawn: Sampled | None) -> tuple[str, tuple[Issue, ...], float]:
    """Return the verdict on a drop, what the reader should know, and how many rows would decide what is undecided.

    Args:
        test: the drop and its test.
        visible: the drop that the rows must be able to show; see ``check``.
        drawn: what several draws per row tell.
    """
    difference, drop = test.difference, test.drop
    # Rows that were not run, or were run differently, could hide a regression.
    unpaired = [difference.unpaired] if difference.unpaired else []
    warnings = [*unpaired, *_lacking(difference), *_warnings(test.unit.issues)]
    issues = list(warnings)
    beyond, *_, undecided, within = STATUS[test.requirement]
    if test.p < LEVEL:
        verdict = beyond
    elif warnings:
        verdict = "CANNOT TELL"
    elif all(way.p_below(test.allowed) < LEVEL for way in test.ways):
        verdict = within
    elif blind := _blind(test, visible):
        verdict = "CANNOT TELL"
        issues.append(blind)
    else:
        verdict = undecided
    rows = nan
    if verdict in (undecided, "CANNOT TELL") and not warnings and not isinf(drop.error):
        rows = test.rows_to_decide if test.rows_to_decide < MOST_ROWS else inf
        issues.append(note(_what_would_decide(test, drawn)))
    if verdict == within and test.most <= test.allowed:
        issues.append(note(_cannot_drop(difference)))
    return verdict, (*issues, *(issue for issue in test.unit.issues if issue.severity == "note")), rows


def _blind(test: _Test, visible: float) -> Issue | None:
    """Return why the rows could not have shown a drop that they should; ``None`` if they could."""
    drop, allowed = test.drop, test.allowed
    if isinf(drop.error):
        return warning("a single row has no interval" if drop.rows == 1 else "rows with equal values have no interval")
    if test.most <= allowed:
        return warning(f"{_cannot_drop(test.difference)}: allow less, or leave it out of the bounds")
    if test.smallest <= visible:
        return None
    needed = rows_to_show(drop, visible, allowed, test.tests)
    enough = f"about {rounded(needed)} would (80 % power): evaluate more rows" if needed < inf else "no number would"
    return warning(
        f"{drop.rows} rows could not have shown even a drop of {amount(visible, is_share=drop.is_share)}; {enough}, or "
        "give a larger --resolution"
    )


def _cannot_drop(difference: Difference) -> str:
    return f"the baseline is at {100 * difference.before:.2f} %, so no drop can be larger than allowed"


def _what_would_decide(test: _Test, drawn: Sampled | None) -> str:
    drop = test.drop
    rows, smallest = test.rows_to_decide, test.smallest
    change, shown = ("change", "difference") if len(test.ways) > 1 else ("drop", "regression")
    decide = (
        f"about {rounded(rows)} rows would decide" if rows < MOST_ROWS else "no practical number of rows would decide"
    )
    shows = (
        f"{drop.rows} rows show a {shown} from a true {change} of {amount(smallest, is_share=drop.is_share)} on"
        if smallest < 1 or not drop.is_share
        else f"{drop.rows} rows cannot show a {shown}"
    )
    draws = f"{_in_draws(drawn, rows)} " if drawn else ""
    return f"{decide} {draws}if the true {change} is the measured one; {shows} (80 % power)"


def _in_draws(drawn: Sampled, rows: float) -> str:
    """Return how many draws of each row would do instead of a number of rows, as text."""
    draws = draws_to_decide(drawn, rows)
    if isnan(draws):
        return "(a side has a single draw, so it is not known how many draws would)"
    if draws > MOST_DRAWS:
        return "(more draws of these rows would not)"
    return f"(or {draws:.0f} draws of these rows on each side)"


def rounded(rows: float) -> str:
    """Return a number of rows with two digits, as text."""
    step = 10 ** max(0, floor(log10(max(rows, 1.0))) - 1)
    return f"{max(2, round(rows / step) * step):,}"


def _warnings(issues: Iterable[Issue]) -> list[Issue]:
    return [issue for issue in issues if issue.severity == "warning"]


def _lacking(difference: Difference) -> Iterator[Issue]:
    for side, count, other in (("candidate", difference.lost, "baseline"), ("baseline", difference.added, "candidate")):
        if count:
            yield warning(f"the {side} lacks {count} of the {other}'s answers: evaluate both on the same rows")
