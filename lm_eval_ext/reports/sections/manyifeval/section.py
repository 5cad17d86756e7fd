"""The report's section on ManyIFEval."""

from __future__ import annotations

from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Section
from lm_eval_ext.reports.sections.examples import examples
from lm_eval_ext.reports.sections.manyifeval.conditions import FAMILY, ManyIFEvalRuns
from lm_eval_ext.reports.sections.manyifeval.examples import candidates
from lm_eval_ext.reports.sections.manyifeval.figures import figures
from lm_eval_ext.reports.sections.manyifeval.placements import placements
from lm_eval_ext.reports.sections.manyifeval.refinement_figures import figures as refinement_figures


def section(evidence: Evidence) -> Section | None:
    """Return the family's figures and most instructive answers; ``None`` if none of its tasks was run."""
    found = ManyIFEvalRuns.of(evidence)
    placed = tuple(placements(evidence))
    if not found.models and not placed:
        return None
    shown, issues = examples(evidence.runs, candidates(found))
    return Section(
        FAMILY,
        "Many instructions at once",
        "Does it follow one, two, … ten instructions at once?",
        (*figures(found), *placed, *refinement_figures(found)),
        shown,
        issues,
    )
