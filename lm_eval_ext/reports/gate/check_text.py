"""The verdict on a candidate, in plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan

from lm_eval_ext.reports.gate.check import Finding, Requirement, overall, status
from lm_eval_ext.reports.gate.comparison_text import ARROWS, p_value
from lm_eval_ext.reports.gate.drop import LEVEL
from lm_eval_ext.reports.gate.limits import in_words


def text(
    findings: Sequence[Finding], titles: tuple[str, str], requirement: Requirement = "no-regression"
) -> Iterator[str]:
    """Yield the lines: the verdict, one line for each finding, and the method.

    Args:
        findings: the worst first.
        titles: descriptions of the baseline and the candidate.
        requirement: what the candidate must show.
    """
    yield verdict(findings, requirement)
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        yield f"{finding.verdict:12}  {finding.name:{width}}  {what(finding)}"
    tests = sum(not isnan(finding.p) for finding in findings)
    yield f"baseline: {titles[0]}; candidate: {titles[1]}"
    if tests:
        yield (
            "A drop is a regression if its lower limit is beyond what is allowed, and is not worse if its upper limit "
            "is within it; otherwise it is inconclusive, or nothing can be told, because the rows could not even have "
            "shown a large drop. Limits: one-sided, "
            f"{1 - LEVEL:.0%}, paired, one observation per dataset row; the lower ones with Holm correction for "
            f"{tests} comparison{'s' if tests > 1 else ''}. An allowed drop fails at most one check in twenty."
        )


def verdict(findings: Sequence[Finding], requirement: Requirement = "no-regression") -> str:
    """Return the verdict in a few words."""
    worst = overall(findings)
    count = sum(finding.verdict == worst for finding in findings)
    said = f"{worst.lower()}: {count} of {len(findings)}"
    if limits := in_words([finding.difference.unit for finding in findings if finding.difference is not None]):
        said += f" ({limits})"
    if worst == "INCONCLUSIVE":
        passes = "passes, because nothing is" if status(findings, requirement) == 0 else "does not pass with"
        return f"{said}; {passes} {'a regression' if requirement == 'no-regression' else '--require no-worse'}"
    return said


def what(finding: Finding) -> str:
    """Return the finding as text, with its numbers."""
    issues = "; ".join(map(str, finding.issues))
    difference, drop = finding.difference, finding.drop
    if difference is None or not drop.exists:
        return issues
    headline = difference.unit.headline
    numbers = (
        f"{headline.name} {ARROWS[headline.higher_is_better]} {_share(difference.before)} → "
        f"{_share(difference.after)}, drop {_share(drop.value)}"
    )
    if drop.has_interval:
        numbers += f" [{_share(drop.low)}, {_share(drop.high)}]"
    numbers += f", {finding.most:g} allowed"
    if difference.answers:
        answers = f" ({difference.answers} answers)" if difference.answers != difference.rows else ""
        numbers += f", p {p_value(finding.p)}, {difference.rows} rows{answers}"
    return f"{numbers}; {issues}" if issues else numbers


def _share(value: float) -> str:
    # What rounds to zero has no sign.
    return f"{round(value, 4) + 0.0:.4f}"
