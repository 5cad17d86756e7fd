"""The report's section on verbalizer manipulation."""

from __future__ import annotations

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Section
from lm_eval_ext.reports.sections.examples import examples
from lm_eval_ext.reports.sections.verbalizer.conditions import FAMILY, VerbalizerRuns
from lm_eval_ext.reports.sections.verbalizer.examples import candidates
from lm_eval_ext.reports.sections.verbalizer.figures import figures


def section(evidence: Evidence) -> Section | None:
    """Return the family's figures and most instructive answers; ``None`` if none of its tasks was run."""
    found = VerbalizerRuns.of(evidence)
    if not found.models:
        return None
    shown, issues = examples(evidence.runs, candidates(found))
    return Section(
        FAMILY,
        "Verbalizer manipulation",
        "Does it label as instructed when the label words contradict its priors?",
        tuple(figures(found)),
        shown,
        issues,
    )
