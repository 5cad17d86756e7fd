"""The verdict on a candidate, in plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan

from lm_eval_ext.reports.gate.check import LEVEL, Finding, overall
from lm_eval_ext.reports.gate.comparison_text import p_value


def text(findings: Sequence[Finding], titles: tuple[str, str]) -> Iterator[str]:
    """Yield the lines: the verdict, one line for each finding, and the method.

    Args:
        findings: the worst first.
        titles: descriptions of the baseline and the candidate.
    """
    yield verdict(findings)
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        yield f"{finding.verdict:11}  {finding.name:{width}}  {what(finding)}"
    tests = sum(not isnan(finding.p) for finding in findings)
    yield f"baseline: {titles[0]}; candidate: {titles[1]}"
    if tests:
        yield (
            "A drop is a regression if it is larger than allowed and statistically significant: one-sided paired "
            f"randomization (sign-flip) test, one observation per dataset row, p < {LEVEL:g} after Holm correction for "
            f"{tests} comparison{'s' if tests > 1 else ''}. An unchanged candidate fails at most one check in twenty; "
            "a candidate whose true drop is slightly smaller than allowed can also fail. Intervals: 95 % confidence, "
            "paired cluster bootstrap over rows."
        )


def verdict(findings: Sequence[Finding]) -> str:
    """Return the verdict in a few words."""
    worst = overall(findings)
    count = sum(finding.verdict == worst for finding in findings)
    return f"{worst.lower()}: {count} of {len(findings)}"


def what(finding: Finding) -> str:
    """Return the finding as text, with its numbers."""
    issues = "; ".join(map(str, finding.issues))
    difference, drop = finding.difference, finding.drop
    if difference is None or not drop.exists:
        return issues
    headline = difference.unit.headline
    numbers = (
        f"{headline.name} {'↑' if headline.higher_is_better else '↓'} {_share(difference.before)} → "
        f"{_share(difference.after)}, drop {_share(drop.value)}"
    )
    if drop.has_interval:
        numbers += f" [{_share(drop.low)}, {_share(drop.high)}]"
    numbers += f", {finding.most:g} allowed"
    if difference.answers:
        numbers += f", p {p_value(finding.p)}, {difference.rows} rows"
    return f"{numbers}; {issues}" if issues else numbers


def _share(value: float) -> str:
    # What rounds to zero has no sign.
    return f"{round(value, 4) + 0.0:.4f}"
