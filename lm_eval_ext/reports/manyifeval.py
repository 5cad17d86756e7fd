"""What the report says of ManyIFEval."""

from __future__ import annotations

from lm_eval_ext.reports.figure import Section
from lm_eval_ext.reports.manyifeval_figures import figures
from lm_eval_ext.reports.manyifeval_samples import lessons
from lm_eval_ext.reports.manyifeval_tasks import Study
from lm_eval_ext.reports.picking import pick, samples
from lm_eval_ext.reports.runs import Runs
from lm_eval_ext.reports.self_refine_figures import figures as refinement


def section(runs: Runs) -> Section | None:
    """Return the family's figures and most instructive answers; ``None`` if none of its tasks was run."""
    study = Study.of(runs)
    if not study.models:
        return None
    shown, notes = samples(runs, pick(lessons(study)))
    return Section(
        "manyifeval",
        "Many instructions at once",
        "Does it follow one, two, … ten instructions at once?",
        (*figures(study), *refinement(study)),
        shown,
        notes,
    )
