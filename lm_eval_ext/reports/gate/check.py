"""Whether a candidate may be released: how much worse it is than a baseline, and whether that is more than noise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, nan, sqrt
from statistics import NormalDist
from typing import Literal

import numpy as np

from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.gate.comparison import Difference, difference_of
from lm_eval_ext.reports.gate.units import Sides, Unpaired
from lm_eval_ext.reports.statistics import holm, sign_flip_p, smallest_p
from lm_eval_ext.results.issue import Issue, error, note, warning

LEVEL = 0.05
"""Significance level: the probability, at most, of finding any regression in the list if nothing has changed.

A true drop that is slightly smaller than allowed may also be called a regression: the measured figure counts.
"""
POWER = 0.8
"""The probability of detecting a drop of the size that is called detectable."""

Verdict = Literal["REGRESSION", "CANNOT TELL", "PASS"]
STATUS: Mapping[Verdict, int] = {"REGRESSION": 1, "CANNOT TELL": 2, "PASS": 0}
"""Exit statuses, in order of precedence."""


@dataclass(frozen=True)
class Finding:
    """The finding for one task or group.

    Attributes:
        name: the name of the task or group.
        family: the family of its tasks.
        verdict: whether it is worse.
        most: the largest allowed drop.
        difference: the measured difference; ``None`` if there was nothing to compare.
        p: one-sided, adjusted by Holm's method; NaN if there was no test.
        issues: what the reader should know, such as why there is no verdict.
    """

    name: str
    family: str
    verdict: Verdict
    most: float
    difference: Difference | None = None
    p: float = nan
    issues: tuple[Issue, ...] = ()

    @property
    def drop(self) -> Estimate:
        """How much worse it is, positive if worse in either direction of the metric; NaN if nothing was compared."""
        return Estimate(nan) if self.difference is None else drop_of(self.difference)


def drop_of(difference: Difference) -> Estimate:
    """Return how much worse a score is, positive if worse in either direction of the metric."""
    change = difference.change
    if difference.sign > 0:
        return Estimate(-change.value, -change.high, -change.low)
    return change


def check(sides: Sides, bounds: Mapping[str, float]) -> tuple[Finding, ...]:
    """Return the findings, the worst first.

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
        if difference.answers:
            differences[name] = difference
        else:
            why = difference.unsampled or error("no rows in common")
            issues = (why, *_warnings(taken.issues))
            findings.append(Finding(name, taken.family, "CANNOT TELL", most, difference, issues=issues))
    p = {name: _p(difference) for name, difference in differences.items()}
    adjusted = holm(p)
    for name, difference in differences.items():
        best = holm({**p, name: smallest_p(difference.by_row, greater=True)})[name]
        findings.append(_judge(difference, bounds[name], adjusted[name], best, len(p)))
    order = list(STATUS)
    return tuple(sorted(findings, key=lambda finding: (order.index(finding.verdict), _room(finding), finding.name)))


def _p(difference: Difference) -> float:
    return sign_flip_p(-difference.sign * difference.by_row, greater=True)


def _room(finding: Finding) -> float:
    """Return how much further it may drop; 0 if it cannot be compared."""
    return finding.most - finding.drop.value if finding.drop.exists else 0.0


def _judge(difference: Difference, most: float, p: float, best: float, tests: int) -> Finding:
    """Return the finding for a difference.

    Args:
        difference: the measured difference.
        most: the largest allowed drop.
        p: the adjusted p-value of no drop.
        best: the smallest p-value that this number of differing rows could give, adjusted.
        tests: the number of drops tested.
    """
    unit = difference.unit
    # A drop exactly as large as allowed may exceed it by a rounding error.
    dropped = drop_of(difference).value > most + 1e-9
    verdict: Verdict = "PASS"
    issues: list[Issue] = []
    if dropped and p < LEVEL:
        verdict = "REGRESSION"
    elif dropped and best >= LEVEL:
        verdict = "CANNOT TELL"
        issues.append(
            error(
                f"too few rows differ to distinguish this drop from chance: p would be {best:.2g} even if all of them "
                "had become worse"
            )
        )
    elif dropped:
        issues.append(note("worse by more than allowed, but not statistically significant"))
    # Rows that were not run, or were run differently, could hide a regression.
    warnings = [*_lacking(difference), *_warnings(unit.issues)]
    if verdict == "PASS" and warnings:
        verdict = "CANNOT TELL"
    issues += warnings
    detectable = smallest_drop(difference, tests)
    if verdict == "PASS" and detectable > most:
        issues.append(
            note(
                f"too few rows to detect a drop of {most:g}: with 80 % power, they reveal a drop of {detectable:.2g} "
                "or more"
            )
        )
    issues += [issue for issue in unit.issues if issue.severity == "note"]
    return Finding(unit.name, unit.family, verdict, most, difference, p, tuple(issues))


def _warnings(issues: Iterable[Issue]) -> list[Issue]:
    return [issue for issue in issues if issue.severity == "warning"]


def _lacking(difference: Difference) -> Iterator[Issue]:
    for side, count, other in (("candidate", difference.lost, "baseline"), ("baseline", difference.added, "candidate")):
        if count:
            yield warning(f"the {side} lacks {count} of the {other}'s answers: evaluate both on the same rows")


def smallest_drop(difference: Difference, tests: int) -> float:
    """Return the smallest true drop that rows like these would reveal with 80 % power.

    This is the smallest drop that a one-sided test of normal differences detects at the level of the first step of
    Holm's method, or the drop at which enough rows become worse for a sign test, whichever is larger.

    Args:
        difference: the measured difference.
        tests: the number of drops tested.
    """
    from scipy.special import betaincinv  # noqa: PLC0415 # half a second, which only this command needs
    from scipy.stats import binom  # noqa: PLC0415 # as above

    level = LEVEL / tests
    normal = NormalDist()
    # Rows that become worse also differ: the drop adds its own variance, at most drop / rows.
    errors = normal.inv_cdf(1 - level) + normal.inv_cdf(POWER)
    own = errors**2 / difference.rows
    by_error = (own + sqrt(own**2 + 4 * (errors * difference.error) ** 2)) / 2
    # The number of rows that would give this error if each flipped between right and wrong. If nothing has changed,
    # half of them get better, and `more` further rows must become worse.
    differing = round((difference.error * difference.rows) ** 2)
    better, worse = ceil(differing / 2), differing // 2
    counts = np.arange(worse + difference.rows + 1)
    enough = counts[binom.sf(counts - 1, counts + better, 0.5) < level]
    if not len(enough):
        return 1.0
    more = max(1, int(enough[0]) - worse)
    # P(binomial >= more) = POWER: the share of rows that become worse (Clopper and Pearson 1934).
    by_signs = float(betaincinv(more, difference.rows - more + 1, POWER))
    return min(1.0, max(by_error, by_signs))


def status(findings: Sequence[Finding]) -> int:
    """Return the exit status: 1 if anything is worse, else 2 if anything has no verdict, else 0."""
    return STATUS[overall(findings)]


def overall(findings: Sequence[Finding]) -> Verdict:
    """Return the overall verdict."""
    return next(verdict for verdict in STATUS if any(finding.verdict == verdict for finding in findings))
