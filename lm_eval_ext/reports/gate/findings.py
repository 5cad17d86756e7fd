"""What two sides differ in: a unit has a difference, and a difference becomes a finding; an outcome is all findings.

In a comparison (``compare``), a finding says whether the second side is better; in a check (``check``), whether the
candidate may be released.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan, nan
from typing import Literal

from lm_eval_ext.reports.figure import Estimate
from lm_eval_ext.reports.gate.looks import SINGLE_LOOK, Look, Spending
from lm_eval_ext.reports.gate.power import ALPHA
from lm_eval_ext.reports.gate.sampled import Sampled
from lm_eval_ext.reports.gate.units import AboveFloor, Compared, Noise, Sides
from lm_eval_ext.reports.paired import Difference, MeanChange
from lm_eval_ext.reports.statistics import holm
from lm_eval_ext.results.issue import Issue

Requirement = Literal["no-regression", "no-worse", "same"]
"""What a candidate must show to pass: that nothing is a regression, that everything is not worse, or that everything
is the same: neither worse nor better by more than allowed."""
STATUS: Mapping[Requirement, Mapping[str, int]] = {
    "no-regression": {"REGRESSION": 1, "CANNOT TELL": 2, "GO ON": 3, "INCONCLUSIVE": 0, "NOT WORSE": 0},
    "no-worse": {"REGRESSION": 1, "CANNOT TELL": 2, "GO ON": 3, "INCONCLUSIVE": 2, "NOT WORSE": 0},
    "same": {"DIFFERENT": 1, "CANNOT TELL": 2, "GO ON": 3, "INCONCLUSIVE": 2, "SAME": 0},
}
"""Exit statuses by verdict, in order of precedence.

The first verdict is that the change is shown to be larger than allowed, and the last that it is shown not to be, each
with an error of at most 5 %. INCONCLUSIVE is what the rows do not decide. CANNOT TELL is what is missing or was asked
otherwise, and what the rows do not decide and could not have shown even if it were large; where the same is required,
all that they do not decide. GO ON is what the rows of a look do not decide while others are still to come.

Of many tasks and groups, their mean must show that nothing is lost; a single one in it then counts only if it is a
regression, or missing. Where the same is required, each must show it.
"""
GO_ON = "GO ON"

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
            a change that is allowed, where the same is required; at a look, over all looks. NaN if there was no test.
        adjusted: ``p`` adjusted by Holm's method: of a comparison, separately for groups and single tasks.
        issues: what the reader should know, such as why there is no verdict.
        sampled: what several draws per row tell; ``None`` if there are no several draws.
        allowed: of a check, the largest allowed drop; else NaN.
        mean_drop: of a check, how much worse it is, positive if worse in either direction of the metric, with what its
            limits are computed from; NaN if nothing was compared.
        rows_to_decide: of a check that the rows do not decide, about how many like them would; infinite if no practical
            number does, NaN if it is decided or unknown.
        noise: how many answers change by themselves; ``None`` if there is no second run of the baseline.
        spending: of a check, how its errors are spent over looks.
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
    mean_drop: MeanChange = NOTHING.mean
    rows_to_decide: float = nan
    noise: Noise | None = None
    spending: Spending = SINGLE_LOOK

    @classmethod
    def of_check(cls, unit: Compared, allowed: float) -> Finding:
        """Return what is measured of a task or group in a check with such a bound, without a verdict."""
        measured = unit.difference
        return cls(unit.name, unit.family, "", unit, measured, allowed=allowed, mean_drop=unit.mean_drop)

    @property
    def is_overall(self) -> bool:
        """Whether it is about the mean of all that was compared."""
        return self.unit is None and bool(self.difference.answers)

    @cached_property
    def drop(self) -> Estimate:
        """Of a check, ``mean_drop`` with one-sided limits of 95 % each: by themselves, without Holm's correction.

        At a look, the limits are over all looks.
        """
        level = self.spending.level(ALPHA)
        return Estimate(self.mean_drop.value, *self.mean_drop.limits(level, level))

    @cached_property
    def gain(self) -> Estimate:
        """How much better the candidate is, negative if worse, in either direction of the metric: minus ``drop``."""
        drop = self.drop
        return replace(drop, value=-drop.value, low=-drop.high, high=-drop.low)

    @property
    def change(self) -> Estimate:
        """Candidate minus baseline, with the limits of ``drop``; of what is lower if better, the drop itself."""
        return self.drop if self.unit is not None and self.unit.sign < 0 else self.gain

    def tested(self, requirement: Requirement) -> tuple[MeanChange, ...]:
        """Return what must be within what is allowed.

        That is the drop or, where the same is required, the change in both directions and, if the baseline was run
        again and the score is a share like that of the changed answers, how many more answers the candidate changes.
        """
        if requirement != "same":
            return (self.mean_drop,)
        return (self.mean_drop, -self.mean_drop, *((self.noise.excess,) if self.noise and self.is_share else ()))

    def p_beyond(self, requirement: Requirement) -> float:
        """Return the p-value of everything that is tested being within what is allowed."""
        changes = self.tested(requirement)
        return min(1.0, len(changes) * self.spending.p(min(change.p_above(self.allowed) for change in changes)))

    @property
    def is_share(self) -> bool:
        """Whether its figures are shares, as far as is known."""
        return self.unit is None or self.unit.is_share

    @property
    def is_in_mean(self) -> bool:
        """Whether it is a part of the mean of all, whose scores are shares; the others have no common unit."""
        return not self.is_overall and self.is_share and bool(self.difference.answers)

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
        # Of the mean of all, better is more.
        up, down, sign = self.difference.increased, self.difference.decreased, self.unit.sign if self.unit else 1
        return (up, down) if sign > 0 else (down, up) if sign else (None, None)


@dataclass(frozen=True)
class Outcome:
    """All findings on two sides.

    Attributes:
        findings: of a check, the worst first; of a comparison, groups before tasks, the largest change of each first.
        unpaired: of a comparison, what cannot be compared; of a check, what the baseline lacks; it has a finding on
            everything else. Each has one issue, which says why.
        requirement: what a candidate must show; ``None`` in a comparison, which requires nothing.
        look: which look at the parts of the rows it is; ``None`` without looks.
    """

    findings: tuple[Finding, ...]
    unpaired: tuple[Finding, ...] = ()
    requirement: Requirement | None = None
    look: Look | None = None

    @property
    def status(self) -> int:
        """The exit status by ``STATUS``: 1 if a finding has it, else 2 if a finding has that, else 3, else 0."""
        return min(filter(None, map(self.status_of, self.findings)), default=0)

    @property
    def overall(self) -> Finding | None:
        """The finding on the mean of many tasks and groups; ``None`` of few."""
        return next((finding for finding in self.findings if finding.is_overall), None)

    @cached_property
    def clearly_worse(self) -> frozenset[str]:
        """The names of what lost more than chance explains, if not more than is allowed.

        The test is that of ``compare``, of no change, with Holm's method: of many headlines that lost nothing, hardly
        any is called worse.
        """
        compared = {finding.name: finding for finding in self.findings if not isnan(finding.difference.mean.p)}
        adjusted = holm({name: finding.spending.p(finding.difference.mean.p) for name, finding in compared.items()})
        return frozenset(
            name for name, finding in compared.items() if adjusted[name] < ALPHA and finding.drop.value > 0
        )

    def status_of(self, finding: Finding) -> int:
        """Return the exit status that a finding alone would give."""
        if self.requirement is None or self._is_left_to_mean(finding):
            return 0
        return STATUS[self.requirement][finding.verdict]

    def _is_left_to_mean(self, finding: Finding) -> bool:
        """Whether a finding is undecided, and the mean of all decides instead."""
        return finding.verdict in ("INCONCLUSIVE", GO_ON) and bool(self.overall) and finding.is_in_mean

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts that a finding of a check can have, in order of precedence."""
        return tuple(STATUS[self.requirement or "no-regression"])

    @property
    def verdict(self) -> str:
        """The worst verdict of a check; that others go on does not count where the mean has decided."""
        counting = [
            finding for finding in self.findings if finding.verdict != GO_ON or not self._is_left_to_mean(finding)
        ]
        return min((finding.verdict for finding in counting), key=self.verdicts.index)

    @property
    def tests(self) -> tuple[int, int]:
        """The number of p-values for groups, and for single tasks."""
        are_groups = [finding.is_group for finding in self.findings if not isnan(finding.p)]
        return are_groups.count(True), are_groups.count(False)


def not_compared(name: str, sides: Sides, reason: Issue) -> Finding:
    """Return the finding on a task or group that cannot be compared."""
    return Finding(name, sides.family(name), "not compared", issues=(reason,))
