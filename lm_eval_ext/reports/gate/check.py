"""Whether a candidate is worse by more than allowed: the verdict of each finding, from what its rows show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import floor, inf, isinf, isnan, log10
from statistics import fmean

from lm_eval_ext.reports.gate.findings import GO_ON, STATUS, Finding, Outcome, Requirement, not_compared
from lm_eval_ext.reports.gate.looks import SINGLE_LOOK, Look
from lm_eval_ext.reports.gate.power import (
    ALPHA,
    POWER,
    draws_to_decide,
    rows_to_decide,
    rows_to_show,
    smallest_regression,
)
from lm_eval_ext.reports.gate.sampled import sampled
from lm_eval_ext.reports.gate.truncation import truncation_issues
from lm_eval_ext.reports.gate.units import Compared, Sides, lowest_levels, noise
from lm_eval_ext.reports.paired import Difference, MeanChange, RowSums
from lm_eval_ext.reports.statistics import holm
from lm_eval_ext.reports.wording import amount
from lm_eval_ext.results.issue import Issue, error, note, warning

RESOLUTION = 0.1
"""The drop that the rows must at least be able to show, unless they show that there is none."""
MANY = 20
"""With more tasks and groups than these, the first question is whether their mean has dropped."""


@dataclass(frozen=True)
class Criteria:
    """What a candidate must show.

    Attributes:
        requirement: that nothing is a regression, that everything is not worse, or that everything is the same.
        resolution: the true drop that the rows must be able to show, with 80 % power, where they do not show that it is
            smaller: a share, of the baseline's score if that is no share. Twice the bound, if that is more: a drop that
            is allowed cannot be shown. It does not count where the same is required: what is undecided never passes.
        look: which look at the parts of the rows it is, of sides as ``Look.restrict`` returns them; ``None``: at once.
    """

    requirement: Requirement = "no-regression"
    resolution: float = RESOLUTION
    look: Look | None = None


def check(
    sides: Sides,
    bounds: Mapping[str, float],
    criteria: Criteria = Criteria(),
    k: int | None = None,
    again: Sides | None = None,
) -> Outcome:
    """Return whether the second side, a candidate, is worse than the first by more than allowed.

    Holm's method keeps the probability that any allowed drop is called a regression at 5 %. Nothing of the kind is
    needed for "not worse": whoever requires it of everything errs only if every single one of these tests errs
    (intersection-union test, Berger 1982).

    Of more than ``MANY`` tasks and groups, the mean is tested as well, with half of the level (a weighted Holm method),
    and it is their mean that must be able to show a drop of ``resolution``.

    Where the same is required, both directions count: "the same" takes two one-sided tests (Schuirmann 1987), and
    "different" a two-sided one, with Holm's method.

    Args:
        sides: the baseline and the candidate.
        bounds: by task or group, the largest allowed drop.
        criteria: what the candidate must show.
        k: the number of draws that reliable@k and pass@k are about; see ``sampled``.
        again: the baseline and a second run of it, which shows how many answers change by themselves. Where the same is
            required, the candidate must not change more of them either, beyond what is allowed.
    """
    requirement = criteria.requirement
    both_directions = requirement == "same"
    testable, findings = comparable(sides, bounds, directed=not both_directions)
    measured = {name: _measured(unit, bounds[name], criteria, k, again) for name, unit in testable.items()}
    weights = dict.fromkeys(measured, 1.0)
    # Gains and losses cancel in a mean, so where the same is required, each must show it.
    overall = None if both_directions else _mean_of_all(list(measured.values()))
    if overall:
        weights |= {overall.name: float(len(measured))}
        measured[overall.name] = overall
    p = {name: finding.p_beyond(requirement) for name, finding in measured.items()}
    adjusted = holm(p, weights)
    for name, finding in measured.items():
        verdict = with_verdict(
            replace(finding, p=p[name], adjusted=adjusted[name]),
            criteria,
            finding.spending.level(ALPHA * weights[name] / sum(weights.values())),
            # Rows of a few in a hundred tasks cannot show much each: their mean must.
            left_to_overall=overall is not None and finding.is_in_mean,
        )
        if finding.unit:
            # Where a verdict comes from, which is no part of it.
            is_regression = verdict.verdict == "REGRESSION"
            cut_off = truncation_issues(finding.unit, finding.allowed, is_regression=is_regression)
            verdict = replace(verdict, issues=(*verdict.issues, *cut_off))
        findings.append(verdict)

    def room(finding: Finding) -> float:
        """Return how much further it may drop, or change in both directions; 0 if it cannot be compared."""
        drop = abs(finding.drop.value) if both_directions else finding.drop.value
        return finding.allowed - drop if finding.drop.exists else 0.0

    order = {verdict: place for place, verdict in enumerate(STATUS[requirement])}
    findings.sort(key=lambda finding: (order[finding.verdict], not finding.is_overall, room(finding), finding.name))
    lacking = ((name, sides.take(name)) for name in lowest_levels(sides.after) if name not in bounds)
    unpaired = tuple(not_compared(name, sides, unit) for name, unit in lacking if isinstance(unit, Issue))
    return Outcome(tuple(findings), unpaired, requirement, criteria.look)


def _measured(unit: Compared, allowed: float, criteria: Criteria, k: int | None, again: Sides | None) -> Finding:
    """Return what is measured of a task or group, without a verdict; see ``check``."""
    of_noise, look = noise(unit, again.take(unit.name)) if again else None, criteria.look
    # Where the same is required, how many answers change by themselves is a part of it.
    is_same = criteria.requirement == "same"
    issues: tuple[Issue, ...] = ()
    if isinstance(of_noise, Issue):
        issues = ((warning if is_same else note)(f"the baseline's second run: {of_noise}"),)
    elif of_noise and is_same and not unit.is_share:
        issues = (
            note("how many answers change is not tested: the score is no share, and its bound is in its own unit"),
        )
    return replace(
        Finding.of_check(unit, allowed),
        issues=issues,
        sampled=sampled(unit, k),
        noise=None if isinstance(of_noise, Issue) else of_noise,
        spending=look.parts.spending([before.task for before, _ in unit.runs], look.number) if look else SINGLE_LOOK,
    )


def _mean_of_all(findings: Sequence[Finding]) -> Finding | None:
    """Return what is measured of the mean of many tasks and groups, which weigh alike; ``None`` of few.

    Scores that are no shares have no common unit and are left out, as is what has no pairs of answers.
    """
    shares = [finding for finding in findings if finding.is_in_mean]
    if len(shares) <= MANY:
        return None
    falling = [finding.unit is not None and finding.unit.sign < 0 for finding in shares]
    # How much worse each row is in each.
    by_row = RowSums.mean_of(
        replace(finding.difference.by_row, values=(1 if falls else -1) * finding.difference.by_row.values)
        for finding, falls in zip(shares, falling, strict=True)
    )
    answers = sum(finding.difference.answers for finding in shares)
    mean = MeanChange.of_rows(by_row, answers)
    of_sides = zip(*((finding.difference.before, finding.difference.after) for finding in shares), strict=True)
    before, after = (
        fmean(1 - score if falls else score for score, falls in zip(scores, falling, strict=True))
        for scores in of_sides
    )
    better, worse = (
        None if None in of_way else sum(filter(None, of_way))
        for of_way in zip(*(finding.flips for finding in shares), strict=True)
    )
    difference = Difference(
        before,
        after,
        -mean,
        by_row,
        answers,
        sum(finding.difference.lost for finding in shares),
        sum(finding.difference.added for finding in shares),
        better,
        worse,
    )
    allowed = fmean(finding.allowed for finding in shares)
    # All parts are dealt out alike, so the shares of the rows at the looks are about those of any of them.
    spending = max(shares, key=lambda finding: finding.difference.rows).spending
    name = f"mean of {len(shares)}"
    return Finding(name, "", "", None, difference, allowed=allowed, mean_drop=mean, spending=spending)


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
            reason = unit
        elif directed and not unit.sign:
            reason = error(f"the results do not say whether a higher {unit.headline.name} is better")
        elif isnan(bound):
            reason = error(
                f"{unit.headline.name} is not a share ({unit.difference.before:.4g} → {unit.difference.after:.4g}), so "
                "max_drop does not apply: give it a bound in its own unit in --bounds, under [tasks]"
            )
        elif unit.difference.change.exists and (unit.difference.answers or not isinf(unit.mean_drop.error)):
            testable[name] = unit
            continue
        else:
            issues = (unit.gap, *(issue for issue in unit.issues if issue.severity == "warning"))
            findings.append(replace(Finding.of_check(unit, bound), verdict="CANNOT TELL", issues=issues))
            continue
        findings.append(Finding(name, sides.family(name), "CANNOT TELL", issues=(reason,), allowed=bound))
    return testable, findings


def with_verdict(finding: Finding, criteria: Criteria, alpha: float, *, left_to_overall: bool) -> Finding:
    """Return a finding with its verdict, what the reader should know, and how many rows would decide.

    Args:
        finding: the drop and its test.
        criteria: what it must show.
        alpha: the level at which a regression is tested first.
        left_to_overall: whether the mean of all drops must be able to show a large drop instead.
    """
    requirement = criteria.requirement
    beyond, *_, within = STATUS[requirement]
    warnings, notes = _about_rows(finding)
    if finding.adjusted < ALPHA:
        return replace(finding, verdict=beyond, issues=(*warnings, *notes))
    if warnings:
        return replace(finding, verdict="CANNOT TELL", issues=(*warnings, *notes))
    level = finding.spending.level(ALPHA)
    if all(change.p_below(finding.allowed) < level for change in finding.tested(requirement)):
        at_end = [note(_at_end(finding))] if _room(finding, requirement) <= finding.allowed else []
        return replace(finding, verdict=within, issues=(*at_end, *notes))
    if finding.spending.goes_on:
        return replace(finding, verdict=GO_ON, issues=tuple(notes))
    if finding.p < ALPHA:
        notes.insert(0, note("beyond what is allowed by itself, but not among so many comparisons (Holm)"))
    undecided = _undecided(finding, criteria, alpha, left_to_overall=left_to_overall)
    return replace(undecided, issues=(*undecided.issues, *notes))


def _undecided(finding: Finding, criteria: Criteria, alpha: float, *, left_to_overall: bool) -> Finding:
    """Return a finding that its rows do not decide, with its verdict, and with the reason as its only issue.

    It cannot be told without an interval, where the score leaves no room for a drop that is not allowed, and where the
    rows could not have shown even a large drop, unless the mean of all must show that. All else is inconclusive.
    """
    drop = finding.mean_drop
    if isinf(drop.error):
        return _cannot_tell(finding, "no interval; expected several rows of a dataset, with values that differ")
    if left_to_overall:
        return replace(finding, verdict="INCONCLUSIVE", issues=())
    if (room := _room(finding, criteria.requirement)) <= finding.allowed:
        less = "allow less, or " if room > 0 else ""
        return _cannot_tell(finding, f"{_at_end(finding)}: {less}leave it out of the bounds")
    # What is undecided never passes where the same is required.
    is_same = criteria.requirement == "same"
    scale = finding.unit.scale if finding.unit else 1.0
    visible = inf if is_same else max(criteria.resolution * scale, 2 * finding.allowed)
    # What the rows exclude, they could have shown.
    if finding.drop.high >= visible and smallest_regression(drop, finding.allowed, alpha) > visible:
        needed = rows_to_show(drop, visible, finding.allowed, alpha) * _rows_per_row(finding)
        more_rows = f"about {rounded(needed)} would (80 % power): evaluate more rows, or"
        return _cannot_tell(
            finding,
            f"{_rows_in_words(finding)} could not have shown even a drop of {amount(visible, is_share=drop.is_share)}; "
            f"{more_rows if needed < inf else 'no practical number would:'} give a larger --resolution",
        )
    rows, deciding = _to_decide(finding, criteria.requirement, alpha)
    verdict = "CANNOT TELL" if is_same else "INCONCLUSIVE"
    return replace(finding, verdict=verdict, issues=(deciding,), rows_to_decide=rows)


def _cannot_tell(finding: Finding, problem: str) -> Finding:
    return replace(finding, verdict="CANNOT TELL", issues=(warning(problem),))


def _room(finding: Finding, requirement: Requirement) -> float:
    """Return the largest change that the baseline's score leaves room for, in a direction that counts."""
    most = finding.unit.worst_drop if finding.unit else finding.difference.before
    return max(most, 1 - most) if requirement == "same" else most


def _at_end(finding: Finding) -> str:
    """Return that the baseline's score leaves no room for more than is allowed."""
    return f"the baseline is at {100 * finding.difference.before:.2f} %, so no drop can be larger than allowed"


def _about_rows(finding: Finding) -> tuple[list[Issue], list[Issue]]:
    """Return the warnings of a finding, because of which nothing but a regression can be told, and the notes.

    Rows that were not run, or were run differently, could hide a regression.
    """
    difference, unit = finding.difference, finding.unit
    warnings = [difference.unpaired] if difference.unpaired else []
    sides = ("candidate", difference.lost, "baseline"), ("baseline", difference.added, "candidate")
    for side, count, other_side in sides:
        if count:
            lacks = f"the {side} lacks {count} of the {other_side}'s answers: evaluate both on the same rows"
            warnings.append(warning(lacks))
    issues = (*finding.issues, *(unit.issues if unit else ()), *(unit.no_floor if unit else ()))
    warnings += (issue for issue in issues if issue.severity == "warning")
    return warnings, [issue for issue in issues if issue.severity == "note"]


def _to_decide(finding: Finding, requirement: Requirement, level: float) -> tuple[float, Issue]:
    """Return how many rows would decide, and this and what the rows show as a note."""
    changes = finding.tested(requirement)
    # That all tests succeed is at least as probable as the sum of their errors says.
    largest = max(changes, key=lambda change: change.value)
    alpha = level / len(changes)
    aim = finding.allowed, alpha, POWER if largest.value > finding.allowed else 1 - (1 - POWER) / len(changes)
    rows = rows_to_decide(largest, *aim) * _rows_per_row(finding)
    decide = f"about {rounded(rows)} rows would decide" if rows < inf else "no practical number of rows would decide"
    # If a side has a single draw, it is not known how many draws would.
    if finding.sampled and not isnan(finding.sampled.change.within):
        draws = draws_to_decide(largest, finding.sampled.change.error, *aim)
        instead = (
            f"or {draws:.0f} draws of these rows on each side" if draws < inf else "more draws of these rows would not"
        )
        decide += f" ({instead})"
    change, noun = ("change", "difference") if len(changes) > 1 else ("drop", "regression")
    smallest, shows = smallest_regression(finding.mean_drop, finding.allowed, alpha), f"cannot show a {noun}"
    if smallest < inf:
        shows = f"show a {noun} from a true {change} of {amount(smallest, is_share=largest.is_share)} on"
    power = f"{decide} if the true {change} is the measured one; {_rows_in_words(finding)} {shows} (80 % power)"
    return rows, note(power)


def _rows_per_row(finding: Finding) -> float:
    """Return how many rows must be evaluated for each that counts, as far as those of the finding tell."""
    return 1 + finding.difference.uncounted / max(1, finding.difference.answers)


def _rows_in_words(finding: Finding) -> str:
    """Return how many rows were compared, and of how many if some of these do not count."""
    rows, per_row = finding.mean_drop.rows, _rows_per_row(finding)
    return f"{rows} rows" if per_row == 1 else f"{rows} rows that count, of about {rounded(rows * per_row)},"


def rounded(rows: float) -> str:
    """Return a number of rows with two digits, as text."""
    step = 10 ** max(0, floor(log10(max(rows, 1.0))) - 1)
    return f"{max(2, round(rows / step) * step):,}"
