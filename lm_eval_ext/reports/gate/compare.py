"""How the second of two sides differs from the first, in everything that both have: the judgment of ``compare``."""

from __future__ import annotations

from lm_eval_ext.reports.gate.findings import Finding, Outcome, not_compared
from lm_eval_ext.reports.gate.power import ALPHA
from lm_eval_ext.reports.gate.sampled import sampled
from lm_eval_ext.reports.gate.truncation import truncation_issues
from lm_eval_ext.reports.gate.units import Compared, Sides
from lm_eval_ext.reports.statistics import holm
from lm_eval_ext.results.issue import Issue


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
        if isinstance(unit, Compared) and unit.difference.change.exists:
            units[name] = unit
        else:
            unpaired.append(not_compared(name, sides, unit if isinstance(unit, Issue) else unit.gap))
    p = {name: unit.difference.mean.p for name, unit in units.items()}
    # Two lists: correcting for hundreds of single tasks must not hide what a handful of groups shows.
    adjusted: dict[str, float] = {}
    for groups in (True, False):
        adjusted |= holm({name: of_name for name, of_name in p.items() if units[name].is_group is groups})
    findings = []
    for name, unit in units.items():
        change = unit.difference.change.value
        if change == 0:
            verdict = "equal"
        elif not adjusted[name] < ALPHA:
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
                p[name],
                adjusted[name],
                (*unit.issues, *unit.no_floor, *truncation_issues(unit)),
                sampled(unit, k),
            )
        )
    # What is no share has a unit of its own, and comes after all shares.
    findings.sort(
        key=lambda finding: (
            not finding.is_group,
            not finding.is_share,
            -abs(finding.difference.change.value),
            finding.name,
        )
    )
    return Outcome(tuple(findings), tuple(unpaired))
