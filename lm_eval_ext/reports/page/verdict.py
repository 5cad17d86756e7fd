"""The first screen of ``report NEW --against OLD``: what ``check`` finds, in a sentence and line by line.

Nothing is computed here that the gate does not compute: a line is one of its findings. The levels of a group are
measured in the same way and folded, with no verdict, because only the group is tested.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import isinf, isnan

from lm_eval_ext.reports.evidence import Floor
from lm_eval_ext.reports.figure import Unit
from lm_eval_ext.reports.gate.check import check, rounded
from lm_eval_ext.reports.gate.decision import bound_of, by_harm
from lm_eval_ext.reports.gate.findings import STATUS, Finding, Outcome
from lm_eval_ext.reports.gate.text import by_issue, checked_cells
from lm_eval_ext.reports.gate.units import Sides
from lm_eval_ext.reports.wording import interval

MAX_DROP = 0.02
"""The allowed drop of a page for which none is given: two percentage points."""


@dataclass(frozen=True)
class Line:
    """A headline, or one level of it.

    Attributes:
        finding: what the gate finds; of a level, without a verdict.
        group: of a level, the group; else empty.
    """

    finding: Finding
    group: str = ""

    @property
    def floor(self) -> Floor | None:
        """What the best answer without content scores on the compared rows; ``None`` if that is unknown."""
        return self.finding.above.floor if self.finding.above else None

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that it is over; none if it could not be compared."""
        return () if self.finding.unit is None else tuple(pair.before.task for pair in self.finding.unit.pairs)

    @property
    def cells(self) -> Mapping[str, str]:
        """What ``check`` prints of it, by heading, with its change and the limits of this."""
        unit: Unit = "change" if self.finding.is_share else "number"
        return {
            **checked_cells(self.finding),
            "interval": interval(self.finding.change, unit, 2),
        }

    @property
    def remark(self) -> str:
        """What would decide it, or why it cannot be told."""
        finding = self.finding
        if isnan(finding.rows_to_decide):
            # The file that it was seen in takes more room than what was seen.
            reason = re.sub(r"^\S+\.jsonl?: ", "", str(finding.issues[0])) if finding.verdict == "CANNOT TELL" else ""
            return re.split("[;:] ", reason)[0]
        rows = "no practical number of" if isinf(finding.rows_to_decide) else f"about {rounded(finding.rows_to_decide)}"
        return f"{rows} rows would decide"


@dataclass(frozen=True)
class Verdict:
    """Whether a candidate is worse than a baseline.

    Attributes:
        names: of the baseline and the candidate.
        outcome: the check.
        lines: a line for each finding, the worst first, and below it those of its levels.
    """

    names: tuple[str, str]
    outcome: Outcome
    lines: tuple[Line, ...]

    @cached_property
    def by_verdict(self) -> Mapping[str, Sequence[Finding]]:
        """The headlines by verdict, the worst first."""
        return {
            verdict: [finding for finding in self.outcome.findings if finding.verdict == verdict]
            for verdict in STATUS["no-regression"]
        }

    @property
    def allowed(self) -> str:
        """The largest allowed drop, in words."""
        shares = [finding for finding in self.outcome.findings if finding.is_share]
        return bound_of(shares) or "is allowed"

    @property
    def notes(self) -> Sequence[str]:
        """What the reader should know about the headlines, each once."""
        issues = ((finding.name, str(issue)) for finding in self.outcome.findings for issue in finding.issues)
        unchecked = (f"{finding.name}: not checked: {finding.issues[0]}" for finding in self.outcome.unpaired)
        return [*(line.strip() for line in by_issue(issues)), *unchecked]

    def place(self, share: float) -> float:
        """Return where a gain of a share is drawn, from 0 to 100: what is worse on the left, no change at 50."""
        return 50 + 50 * max(-1.0, min(1.0, share / self._widest))

    @cached_property
    def _widest(self) -> float:
        """The largest gain or loss for which there is room: of the levels, wider ones are cut off."""
        drawn = [line.finding.gain for line in self.lines if not line.group and line.finding.is_share]
        ends = [abs(end) for gain in drawn for end in (gain.low, gain.high, 2 * MAX_DROP) if not isnan(end)]
        return max(ends, default=1.0)


def verdict(sides: Sides, bounds: Mapping[str, float], names: tuple[str, str]) -> Verdict:
    """Return what a check finds.

    Args:
        sides: the baseline and the candidate.
        bounds: by task or group, the largest allowed drop.
        names: of the baseline and the candidate.
    """
    outcome = check(sides, bounds)
    ordered = by_harm(outcome.findings, outcome)
    lines = [[Line(finding), *(Line(level, finding.name) for level in _levels(finding))] for finding in ordered]
    return Verdict(names, outcome, tuple(chain.from_iterable(lines)))


def _levels(finding: Finding) -> Iterator[Finding]:
    """Yield the levels of a group's finding, if its tasks are of several."""
    unit = finding.unit
    if unit is None:
        return
    schema = unit.pairs[0].before.schema
    levels = schema.by_level({pair.before.task: pair.before.metadata for pair in unit.pairs})
    for level, tasks in levels.items() if len(levels) > 1 else ():
        part = replace(unit, name=level, pairs=tuple(pair for pair in unit.pairs if pair.before.task in tasks))
        yield Finding(level, unit.family, "", part, part.difference, allowed=finding.allowed, mean_drop=part.mean_drop)
