"""The report's section on ManyIFEval."""

from __future__ import annotations

from collections.abc import Iterator

from lm_eval_ext.families.manyifeval.schema import COUSINS, DENSE, MIXED, SINGLE, WIDE
from lm_eval_ext.reports.evidence import Evidence
from lm_eval_ext.reports.figure import Figure, Section
from lm_eval_ext.reports.sections.examples import examples
from lm_eval_ext.reports.sections.manyifeval import figures
from lm_eval_ext.reports.sections.manyifeval.dense import dense, mixed
from lm_eval_ext.reports.sections.manyifeval.examples import candidates
from lm_eval_ext.reports.sections.manyifeval.figures import FAMILY, of_kind, study
from lm_eval_ext.reports.sections.manyifeval.placements import placements
from lm_eval_ext.reports.sections.manyifeval.refinement import refinement
from lm_eval_ext.reports.sections.manyifeval.wordings import wordings
from lm_eval_ext.reports.study import Study


def section(evidence: Evidence) -> Section | None:
    """Return the family's figures and most instructive answers; ``None`` if none of its tasks was run."""
    found = study(evidence)
    placed = tuple(placements(evidence))
    if not found.entries and not placed:
        return None
    shown, issues = examples(evidence.runs, candidates(found))
    return Section(
        FAMILY,
        "Many instructions at once",
        "Does it follow one, two, … ten instructions at once?",
        (*_figures(found), *placed, *refinement(found)),
        shown,
        issues,
    )


def _figures(found: Study) -> Iterator[Figure]:
    """Yield the figures that there are results for."""
    if of_kind(found):
        yield from (figures.curse(found), figures.types(found), figures.verdicts(found))
    if of_kind(found, SINGLE):
        yield figures.single(found)
    if of_kind(found, COUSINS):
        yield figures.reliability(found)
        yield from wordings(found)
    if of_kind(found, WIDE):
        yield figures.wide(found)
    if of_kind(found, DENSE):
        yield dense(found)
    if of_kind(found, MIXED):
        yield from mixed(found)
    if repeated := figures.repetition(found):
        yield repeated
    if found.others:
        yield figures.other_tasks(found)
