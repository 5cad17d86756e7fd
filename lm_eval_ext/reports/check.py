"""Whether a candidate may be released: what it has lost against a baseline, and whether chance could have done it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2, nan
from statistics import NormalDist
from typing import Literal

from lm_eval_ext.reports.comparison import Difference, difference_of
from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.statistics import holm, sign_flip_p, smallest_p
from lm_eval_ext.reports.units import Sides, Unpaired

LEVEL = 0.05
"""Of the test: so often is a regression seen somewhere in the list, at most, where there is none."""
POWER = 0.8
"""How often a drop of the size that is called detectable would be seen."""

Verdict = Literal["REGRESSION", "CANNOT TELL", "PASS"]
STATUS: Mapping[Verdict, int] = {"REGRESSION": 1, "CANNOT TELL": 2, "PASS": 0}
"""Exit statuses; the first verdict that is there counts."""


@dataclass(frozen=True)
class Finding:
    """What is said of one task or group.

    Attributes:
        name: of the task or group.
        family: of its tasks.
        verdict: whether it has become worse.
        most: the drop that is allowed.
        difference: what was found; ``None`` if there was nothing to compare.
        p: one-sided, adjusted by Holm's method; NaN if it cannot be told.
        remarks: what the reader should know; why it cannot be told.
    """

    name: str
    family: str
    verdict: Verdict
    most: float
    difference: Difference | None = None
    p: float = nan
    remarks: tuple[str, ...] = ()

    @property
    def drop(self) -> Estimate:
        """How much worse it has become, whichever way is better; NaN if there was nothing to compare."""
        return Estimate(nan) if self.difference is None else drop_of(self.difference)


def drop_of(difference: Difference) -> Estimate:
    """Return how much worse a score has become, whichever way is better."""
    change = difference.change
    if difference.sign > 0:
        return Estimate(-change.value, -change.high, -change.low)
    return change


def check(sides: Sides, bounds: Mapping[str, float]) -> tuple[Finding, ...]:
    """Return what is found, the worst first.

    Args:
        sides: the baseline and the candidate.
        bounds: by task or group, the greatest drop that is allowed.
    """
    findings: list[Finding] = []
    differences: dict[str, Difference] = {}
    for name, most in bounds.items():
        taken = sides.take(name)
        if isinstance(taken, Unpaired):
            findings.append(Finding(name, taken.family, "CANNOT TELL", most, remarks=(taken.reason,)))
            continue
        difference = difference_of(taken, sides)
        if difference.answers:
            differences[name] = difference
        else:
            remark = difference.unsampled or "no row that both have"
            findings.append(Finding(name, taken.family, "CANNOT TELL", most, difference, remarks=(remark,)))
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
    """Return how much more it may drop; of what cannot be compared, nothing."""
    return finding.most - finding.drop.value if finding.drop.exists else 0.0


def _judge(difference: Difference, most: float, p: float, best: float, tests: int) -> Finding:
    """Return what is said of a difference.

    Args:
        difference: what was found.
        most: the drop that is allowed.
        p: of no drop, adjusted.
        best: the smallest that p could have been with as many rows that differ.
        tests: how many drops are tested.
    """
    unit = difference.unit
    # A drop that is just allowed is a sum of floating-point numbers.
    dropped = drop_of(difference).value > most + 1e-9
    verdict: Verdict = "PASS"
    remarks = []
    if dropped and p < LEVEL:
        verdict = "REGRESSION"
    elif dropped and best >= LEVEL:
        verdict = "CANNOT TELL"
        remarks.append(
            f"too few rows differ to tell this drop from chance: p would be {best:.2g} if they all had become worse"
        )
    elif dropped:
        remarks.append("more than allowed, but within noise")
    # What was not asked of the candidate could be what it has lost.
    if verdict == "PASS" and difference.lost:
        verdict = "CANNOT TELL"
        remarks.append(f"the candidate lacks {difference.lost} of the baseline's answers: evaluate it on the same rows")
    detectable = smallest_drop(difference, tests)
    if verdict == "PASS" and detectable > most:
        remarks.append(
            f"too few rows to tell a drop of {most:g}: these show one of {detectable:.2g} or more in four runs of five"
        )
    if difference.added:
        remarks.append(f"{difference.added} answers that only the candidate has do not count")
    return Finding(unit.name, unit.family, verdict, most, difference, p, tuple(remarks))


def smallest_drop(difference: Difference, tests: int) -> float:
    """Return the smallest true drop that rows like these would show four times out of five.

    It is that of a one-sided test of normal differences; at the level that Holm's method gives the first of the list.

    Args:
        difference: what was found.
        tests: how many drops are tested.
    """
    level = LEVEL / tests
    normal = NormalDist()
    if smallest_p(difference.by_row, greater=True) < 1:
        return (normal.inv_cdf(1 - level) + normal.inv_cdf(POWER)) * difference.error
    # No row differs, which says nothing of how much they would: so many would have to, all for the worse.
    return min(1.0, ceil(log2(1 / level)) / difference.rows)


def status(findings: Sequence[Finding]) -> int:
    """Return the exit status: 1 if anything has become worse, else 2 if anything cannot be told, else 0."""
    return STATUS[overall(findings)]


def overall(findings: Sequence[Finding]) -> Verdict:
    """Return the verdict on all together."""
    return next(verdict for verdict in STATUS if any(finding.verdict == verdict for finding in findings))
